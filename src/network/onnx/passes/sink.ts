// The pass that sinks concatenations. In: arithmetic on concatenated parts. Out: arithmetic on the parts,
// concatenated afterwards. A part that only moves elements then needs no copy, such as the halves of a head
// that a rotation swaps.

import { inferTypes } from '../infer.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Graph, type Node, outputsOf, producersOf, readersOf, type Type } from '../ir/graph.ts'
import { intOf } from '../ir/operator.ts'
import { tensorOf } from '../ir/tensor.ts'
import { rowOf } from '../operator-table.ts'
import { type Pass, withNodes } from './pass.ts'

const ARITHMETIC: readonly string[] = ['Add', 'Sub', 'Mul', 'Div', 'Neg']
/** More parts would make too many small loops. */
const MAX_PARTS = 4
/** Maximum depth of arithmetic that is split into parts; deeper arithmetic is computed whole. */
const DEPTH = 3
/** From this opset on, the arguments of a Slice are inputs. */
const SLICE_INPUTS = 13

export const sinkJoins: Pass = {
  name: 'concatenations below arithmetic',
  run(graph) {
    // Types are inferred only if some concatenation may sink.
    const readers = readersOf(graph)
    const maySink = (node: Node) => isJoin(node) && readers.get(node.outputs[0]!)?.some(isArithmetic)
    return graph.nodes.some(maySink) ? new Sinking(graph, readers).run() : graph
  },
}

const isJoin = ({ op, domain }: Node): boolean => op === 'Concat' && domain === ''
const isArithmetic = ({ op, domain, version }: Node): boolean =>
  domain === '' && ARITHMETIC.includes(op) && version >= SLICE_INPUTS

/** An axis counted from the end, and the range along it. */
interface Part {
  readonly fromEnd: number
  readonly from: number
  readonly to: number
}

class Sinking {
  readonly #graph: Graph
  readonly #types: ReadonlyMap<string, Type>
  readonly #producers: ReadonlyMap<string, Node>
  readonly #readers: ReadonlyMap<string, readonly Node[]>
  readonly #constants: Map<string, Graph['constants'] extends ReadonlyMap<string, infer C> ? C : never>
  /** Nodes that replace one node. */
  readonly #made = new Map<Node, readonly Node[]>()

  constructor(graph: Graph, readers: ReadonlyMap<string, readonly Node[]>) {
    this.#graph = graph
    this.#types = inferTypes(graph)
    this.#producers = producersOf(graph)
    this.#readers = readers
    this.#constants = new Map(graph.constants)
  }

  run(): Graph {
    for (const node of this.#graph.nodes) if (isJoin(node)) this.#sink(node)
    if (this.#made.size === 0) return this.#graph
    const nodes = this.#graph.nodes.flatMap((node) => this.#made.get(node) ?? [node])
    return withNodes({ ...this.#graph, constants: this.#constants }, nodes)
  }

  /** Continues as long as arithmetic with a single reader follows. */
  #sink(join: Node): void {
    const sizes = this.#sizesOf(join)
    const dims = this.#types.get(join.outputs[0]!)?.dims
    if (sizes === undefined || dims === undefined || !join.inputs.some((part) => this.#isMoved(part))) return
    const fromEnd = dims.length - axisOf(join, intOf(join, 'axis', 0), dims.length)
    const ranges = sizes.map((size, at): Part => {
      const from = sizes.slice(0, at).reduce((sum, each) => sum + each, 0)
      return { fromEnd, from, to: from + size }
    })
    const nodes: Node[] = []
    let parts = join.inputs
    let last = join
    for (let reader = this.#nextOf(last); reader !== undefined; reader = this.#nextOf(last)) {
      parts = this.#partsOf(reader, last.outputs[0]!, parts, ranges, nodes)
      this.#made.set(last, [])
      last = reader
    }
    if (last === join) return
    nodes.push({ ...join, inputs: parts, outputs: last.outputs })
    this.#made.set(last, nodes)
  }

  /** The arithmetic node that is the only reader of a node's output and has the same output shape. */
  #nextOf({ outputs: [name = ''] }: Node): Node | undefined {
    const reader = this.#onlyReader(name)
    if (reader === undefined || !isArithmetic(reader) || this.#made.has(reader)) return undefined
    if (reader.inputs.filter((input) => input === name).length !== 1) return undefined
    const [from, to] = [name, reader.outputs[0]!].map((each) => this.#types.get(each)?.dims)
    return from !== undefined && `${from}` === `${to}` ? reader : undefined
  }

  #partsOf(
    reader: Node,
    whole: string,
    parts: readonly string[],
    ranges: readonly Part[],
    nodes: Node[],
  ): readonly string[] {
    return parts.map((part, at) => {
      const inputs = reader.inputs.map((input) =>
        input === whole ? part : this.#cut(input, ranges[at]!, reader, nodes, DEPTH),
      )
      return this.#add(nodes, reader, inputs, `${whole} ${at} of ${reader.outputs[0]}`)
    })
  }

  /** The part of a value that corresponds to a part of the concatenation. */
  #cut(input: string, part: Part, reader: Node, nodes: Node[], depth: number): string {
    const dims = this.#types.get(input)?.dims ?? []
    const axis = dims.length - part.fromEnd
    if (axis < 0 || dims[axis] === 1) return input
    const maker = this.#producers.get(input)
    const isOwn = this.#onlyReader(input) !== undefined
    const name = `${reader.outputs[0]} ${part.from} ${input}`
    if (depth > 0 && maker !== undefined && isOwn && isArithmetic(maker)) {
      const inputs = maker.inputs.map((each) => this.#cut(each, part, reader, nodes, depth - 1))
      return this.#add(nodes, maker, inputs, name)
    }
    const lists = [part.from, part.to, axis, 1].map((value) => this.#list(value))
    const slice = { ...reader, op: 'Slice', attributes: new Map() }
    return this.#add(nodes, slice, [input, ...lists], name)
  }

  #add(nodes: Node[], like: Node, inputs: readonly string[], name: string): string {
    nodes.push({ ...like, inputs, outputs: [name] })
    return name
  }

  #list(value: number): string {
    const name = `(list of ${value})`
    this.#constants.set(name, tensorOf('i64', [1], [BigInt(value)]))
    return name
  }

  /** Undefined if the value has other readers or is an output. */
  #onlyReader(name: string): Node | undefined {
    const readers = this.#readers.get(name) ?? []
    return readers.length === 1 && !outputsOf(this.#graph).has(name) ? readers[0] : undefined
  }

  /** Sizes of the parts along the concatenation's axis; undefined if they are unknown or do not match. */
  #sizesOf(join: Node): readonly number[] | undefined {
    if (join.inputs.length < 2 || join.inputs.length > MAX_PARTS) return undefined
    const shapes = join.inputs.map((name) => this.#types.get(name)?.dims ?? [])
    const rank = shapes[0]!.length
    const axis = intOf(join, 'axis', 0)
    if (shapes.some((dims) => dims.length !== rank) || axis < -rank || axis >= rank) return undefined
    const sizes = shapes.map((dims) => dims.at(axis))
    return sizes.every((size) => typeof size === 'number' && size > 0) ? (sizes as number[]) : undefined
  }

  /** Whether the value needs no computation. */
  #isMoved(name: string): boolean {
    const maker = this.#producers.get(name)
    if (maker === undefined) return true
    return ['Slice', 'Split', 'Expand'].includes(maker.op) || rowOf(maker)?.lower === 'view'
  }
}
