// The pass for heads that share keys and values. In: keys that are repeated for several heads and merged with
// the heads into one axis, which strides cannot express. Out: products over both axes, so that nothing is
// repeated; merging their results is a view.
import { inferTypes } from '../infer.ts'
import { type Graph, type Node, producersOf, type Type } from '../ir/graph.ts'
import { intOf, intsOf } from '../ir/operator.ts'
import { countOf, tensorOf } from '../ir/tensor.ts'
import { type Pass, withNodes } from './pass.ts'

export const shareHeads: Pass = {
  name: 'shared heads',
  run(graph) {
    // Types are inferred only where repeated rows may be merged.
    const producers = producersOf(graph)
    const mayMerge = ({ op, inputs }: Node) =>
      op === 'Reshape' && producers.get(inputs[0] ?? '')?.op === 'Expand'
    return graph.nodes.some(mayMerge) ? new Sharing(graph, producers).run() : graph
  },
}

const ARITHMETIC: readonly string[] = ['Add', 'Sub', 'Mul', 'Div']
/** From this opset on, Softmax works along one axis. */
const SOFTMAX_ALONG = 13

/** A value one of whose axes is two axes of another value. */
interface Split {
  /** The other value. */
  readonly apart: string
  readonly axis: number
  readonly sizes: readonly [number, number]
  /** Whether the value comes from a product. */
  readonly isMade: boolean
}

class Sharing {
  readonly #graph: Graph
  readonly #types: ReadonlyMap<string, Type>
  readonly #producers: ReadonlyMap<string, Node>
  readonly #splits = new Map<string, Split>()
  readonly #nodes: Node[] = []
  readonly #shapes = new Map<string, readonly number[]>()
  #products = 0

  constructor(graph: Graph, producers: ReadonlyMap<string, Node>) {
    this.#graph = graph
    this.#types = inferTypes(graph)
    this.#producers = producers
  }

  run(): Graph {
    for (const node of this.#graph.nodes) {
      const split = node.domain === '' ? this.#splitOf(node) : undefined
      if (split === undefined) this.#nodes.push(node)
    }
    if (this.#products === 0) return this.#graph
    const lists = [...this.#shapes].map(
      ([name, dims]) => [name, tensorOf('i64', [dims.length], dims.map(BigInt))] as const,
    )
    const constants = new Map([...this.#graph.constants, ...lists])
    return withNodes({ ...this.#graph, constants }, this.#nodes)
  }

  /** The output as a split value, if the node produces one; its nodes then replace the node. */
  #splitOf(node: Node): Split | undefined {
    if (node.op === 'Reshape') this.#begin(node)
    const at = node.inputs.findIndex((name) => this.#splits.has(name))
    const split = this.#splits.get(node.inputs[at] ?? '')
    const rank = this.#dims(node.inputs[at] ?? '')?.length
    if (split === undefined || rank === undefined || node.op === 'Reshape') return undefined
    if (node.op === 'Transpose') return this.#transposed(node, split, rank)
    if (node.op === 'MatMul') return this.#carried(node, split, rank, true)
    const isAlong = node.op === 'Softmax' && node.version >= SOFTMAX_ALONG
    const axis = intOf(node, 'axis', -1)
    const isRow = isAlong && (axis === -1 || axis === rank - 1)
    if (!split.isMade || (!isRow && !ARITHMETIC.includes(node.op))) return undefined
    return this.#carried(isRow ? withAxis(node) : node, split, rank, false)
  }

  /** Repeated rows that are merged with the axis along which they are repeated. */
  #begin(node: Node): void {
    const [from = '', to = ''] = [node.inputs[0], node.outputs[0]]
    const maker = this.#producers.get(from)
    const [before, after] = [this.#dims(from), this.#dims(to)]
    if (maker?.op !== 'Expand' || before === undefined || after === undefined) return
    const own = this.#dims(maker.inputs[0]!)
    const axis = after.findIndex((size, at) => size !== before[at])
    const sizes = before.slice(axis, axis + 2) as [number, number]
    const isMerged = axis >= 0 && `${before.toSpliced(axis, 2, countOf(sizes))}` === `${after}`
    const isRepeated = own?.at(axis + 1 - before.length) === 1 && sizes[1] > 1
    if (isMerged && isRepeated && axis < after.length - 2)
      this.#splits.set(to, { apart: from, axis, sizes, isMade: false })
  }

  #transposed(node: Node, split: Split, rank: number): Split | undefined {
    const perm = intsOf(node, 'perm', undefined) ?? [...Array(rank).keys()].reverse()
    const axis = perm.indexOf(split.axis)
    const wide = perm.flatMap((each) => {
      if (each === split.axis) return [each, each + 1]
      return each < split.axis ? each : each + 1
    })
    const attributes = new Map([['perm', { kind: 'ints', value: wide } as const]])
    return this.#made({ ...node, attributes }, [split.apart], { ...split, axis })
  }

  /** The node over both axes. Undefined if another input does not have both. */
  #carried(node: Node, split: Split, rank: number, isProduct: boolean): Split | undefined {
    if (isProduct && split.axis >= rank - 2) return undefined
    const dims = this.#dims(node.outputs[0]!)
    if (dims?.length !== rank || dims[split.axis] !== countOf(split.sizes)) return undefined
    const views: Node[] = []
    const inputs = node.inputs.map((name) => this.#apart(node, name, split, rank, views))
    if (inputs.includes(undefined)) return undefined
    this.#nodes.push(...views)
    if (isProduct) this.#products++
    return this.#made(node, inputs as string[], { ...split, isMade: true })
  }

  /** An input with its axis split in two. */
  #apart(node: Node, name: string, split: Split, rank: number, views: Node[]): string | undefined {
    const known = this.#splits.get(name)
    if (known !== undefined)
      return known.axis === split.axis && `${known.sizes}` === `${split.sizes}` ? known.apart : undefined
    const dims = this.#dims(name)
    if (dims === undefined || dims.length > rank) return undefined
    const axis = split.axis - rank + dims.length
    if (axis < 0) return name
    const size = dims[axis]!
    if (size !== 1 && size !== countOf(split.sizes)) return undefined
    const wide = dims.toSpliced(axis, 1, ...(size === 1 ? [1, 1] : split.sizes))
    const output = `${name} for ${node.outputs[0]}`
    views.push(this.#reshape(node, name, output, wide))
    return output
  }

  /** Adds a node, and a view of its output with the name and shape of the node that it replaces. */
  #made(node: Node, inputs: readonly string[], split: Omit<Split, 'apart'>): Split {
    const [name = ''] = node.outputs
    const apart = `${name} apart`
    this.#nodes.push({ ...node, inputs, outputs: [apart] })
    this.#nodes.push(this.#reshape(node, apart, name, this.#dims(name)!))
    const made = { ...split, apart }
    this.#splits.set(name, made)
    return made
  }

  #reshape(node: Node, from: string, to: string, dims: readonly number[]): Node {
    const shape = `(shape ${dims})`
    this.#shapes.set(shape, dims)
    return { ...node, op: 'Reshape', attributes: new Map(), inputs: [from, shape], outputs: [to] }
  }

  #dims(name: string): readonly number[] | undefined {
    const dims = this.#types.get(name)?.dims
    return dims?.every((size) => typeof size === 'number') ? (dims as readonly number[]) : undefined
  }
}

/** The same node along the last axis, whatever the rank. */
const withAxis = (node: Node): Node => ({
  ...node,
  attributes: new Map([...node.attributes, ['axis', { kind: 'int', value: -1 } as const]]),
})
