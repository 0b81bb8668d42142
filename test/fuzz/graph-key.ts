// Keys of ONNX graphs. In: a parsed graph. Out: a text that is equal for graphs that differ only in the names
// of nodes and inner values, or in unused constants.
import { createHash, type Hash } from 'node:crypto'
import { type Attribute, type Constant, type Graph, isStored } from '../../src/network/onnx/ir/graph.ts'
import type { Tensor } from '../../src/network/onnx/ir/tensor.ts'

/** Returns undefined for a graph with a constant that is not loaded from its file. */
export function graphKey(graph: Graph): string | undefined {
  if ([...graph.constants.values()].some(isStored)) return undefined
  return new KeyWriter(graph).key()
}

class KeyWriter {
  readonly #hash: Hash = createHash('sha256')
  readonly #graph: Graph
  /** Names of inputs and outputs carry meaning; others are numbered in order of appearance. */
  readonly #outer: ReadonlySet<string>
  readonly #numbers = new Map<string, number>()

  constructor(graph: Graph) {
    this.#graph = graph
    this.#outer = new Set([...graph.inputs.map(({ name }) => name), ...graph.outputs])
  }

  key(): string {
    this.#add(this.#graph)
    return this.#hash.digest('base64')
  }

  #add({ inputs, outputs, nodes, constants }: Graph): void {
    const named = inputs.map(({ name, type }) => [this.#name(name), type])
    this.#hash.update(JSON.stringify([named, outputs.map(this.#name), nodes.length]))
    const added = new Set<string>()
    const constant = (name: string) => {
      const found = constants.get(name)
      if (found === undefined || added.has(name)) return
      added.add(name)
      this.#hash.update(JSON.stringify(this.#name(name)))
      this.#constant(found)
    }
    for (const { op, domain, version, inputs: reads, outputs: made, attributes } of nodes) {
      const names = [reads.map(this.#name), made.map(this.#name)]
      this.#hash.update(JSON.stringify([op, domain, version, ...names, attributes.size]))
      for (const [name, attribute] of attributes) this.#attribute(name, attribute)
      for (const name of reads) constant(name)
    }
    for (const name of outputs) constant(name)
    // Graphs in attributes may read constants that no node of this graph reads.
    if (nodes.some(({ attributes }) => [...attributes.values()].some(({ kind }) => kind === 'graph')))
      for (const name of constants.keys()) constant(name)
    this.#hash.update(`${added.size}`)
  }

  readonly #name = (name: string): string | number => {
    if (name === '' || this.#outer.has(name)) return name
    const known = this.#numbers.get(name) ?? this.#numbers.size
    this.#numbers.set(name, known)
    return known
  }

  #attribute(name: string, attribute: Attribute): void {
    this.#hash.update(JSON.stringify([name, attribute.kind]))
    if (attribute.kind === 'graph') this.#add(attribute.value)
    else if (attribute.kind === 'tensor') this.#constant(attribute.value)
    else if (attribute.kind === 'float' || attribute.kind === 'floats') {
      // JSON has neither infinities nor NaN.
      const values = typeof attribute.value === 'number' ? [attribute.value] : attribute.value
      this.#hash.update(`${values.length}`).update(Float64Array.from(values))
    } else this.#hash.update(JSON.stringify(attribute.value))
  }

  #constant(tensor: Constant): void {
    const { dtype, dims, data } = tensor as Tensor
    this.#hash.update(JSON.stringify([dtype, dims]))
    this.#hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  }
}
