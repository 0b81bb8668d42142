// Decides which part of each value in a family's graph a shard computes, based on the nodes that read it.

import { columnUnit, GROUP_SIZE, isQuantized, PANEL_ROWS } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import {
  type AttentionShape,
  divide,
  type Range,
  type Value,
  type WeightPart,
  type WeightRef,
} from '../ir.ts'
import { type Graph, type Node, type NodeOf, outputsOf, producersOf, readersOf } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'

export interface ShardOptions {
  /** Each shard's share, in any unit. All are above 0. */
  readonly shares: readonly number[]
  /** Index of this shard in `shares`. */
  readonly shard: number
  readonly encodingOf: EncodingOf
}

/** The heads of one shard in one layer, and the KV heads (or groups of B and C) that they read. */
interface HeadRange {
  readonly heads: Range
  readonly kvHeads: Range
}

/** The columns of a value that a shard holds, in ascending order and in the value's own numbering. */
export type Columns = readonly Range[]

export class Cuts {
  readonly #graph: Graph
  readonly #options: ShardOptions
  readonly #readers: ReadonlyMap<number, readonly number[]>
  readonly #producers: ReadonlyMap<number, number>
  /** Number of columns that stay together because their weights share a scale. */
  readonly #unit: number

  constructor(graph: Graph, options: ShardOptions) {
    this.#graph = graph
    this.#options = options
    const units = graph.nodes.flatMap((node) =>
      node.op === 'linear' ? node.weight.parts.map(({ name }) => columnUnit(options.encodingOf(name))) : [],
    )
    this.#unit = Math.max(GROUP_SIZE, ...units)
    this.#readers = readersOf(graph)
    this.#producers = producersOf(graph)
  }

  /** This shard's part of a size that can be split at multiples of `unit`. */
  own(size: number, unit: number): Range {
    const { shares, shard } = this.#options
    return divide(size, unit, shares)[shard] as Range
  }

  readersOf({ id }: Value): Node[] {
    return (this.#readers.get(id) ?? []).map((index) => this.#graph.nodes[index] as Node)
  }

  /**
   * The columns of a product, or of a convolution after it, that this shard computes. Throws `unsupported` if
   * the value's reader cannot work with a part of it.
   */
  of(value: Value): Columns {
    const readers = this.readersOf(value)
    // The output of a convolution is read by a product and by a scan; the scan comes later.
    const reader = readers.at(-1)
    switch (reader?.op) {
      case 'slice':
        return this.#sliceBySlice(value, readers)
      case 'ropeKv': {
        const { heads, kvHeads } = this.heads(reader.attention)
        return [times(value === reader.q ? heads : kvHeads, reader.attention.headDim)]
      }
      case 'ssd': {
        const { x, z, b, dt, heads, groups } = reader
        // Every shard computes all of it: one number per head and row costs less than splitting so few rows
        // would.
        if (value === dt) return [{ first: 0, count: heads }]
        const own = this.scanned(reader)
        const isOfHeads = value === x || value === z
        return [isOfHeads ? times(own.heads, x.shape[1] / heads) : times(own.kvHeads, b.shape[1] / groups)]
      }
      case 'delta':
        return this.#deltaInput(value, reader)
      case 'clamp':
      case 'conv1d':
        return outputsOf(reader).flatMap((made) => this.of(made))
      case 'swiglu': {
        // A gate of attention's output is split by heads.
        const gated = this.#producer(value === reader.gate ? reader.up : reader.gate)
        if (gated?.op !== 'attention') return [this.own(value.shape[1], this.#unit)]
        return [times(this.heads(gated.attention).heads, gated.attention.headDim)]
      }
      case 'scan':
        return [this.own(value.shape[1], this.#unit)]
      default:
        throw uncut({ op: 'linear', output: value }, `produces values that ${reader?.op ?? 'nobody'} reads`)
    }
  }

  heads({ heads, kvHeads, headDim }: AttentionShape): HeadRange {
    const own = this.own(heads, headUnit(headDim, this.#alignment()))
    return withKvHeads(own, heads / kvHeads, headUnit(headDim, PANEL_ROWS))
  }

  /** If several groups have their own norms, each group stays whole. */
  scanned({ x, heads, groups }: NodeOf<'ssd'>): HeadRange {
    const ratio = heads / groups
    return withKvHeads(this.own(heads, groups > 1 ? ratio : headUnit(x.shape[1] / heads, this.#unit)), ratio)
  }

  /** Heads that share a key stay together. */
  ruled({ output, heads, keyHeads, keyDim, order, z }: NodeOf<'delta'>): HeadRange {
    if (order === 'tiled')
      throw uncut({ op: 'delta', output }, 'has heads that share keys in alternating order')
    const ratio = heads / keyHeads
    const values = headUnit((ratio * z.shape[1]) / heads, this.#unit)
    const own = this.own(keyHeads, Math.max(values, headUnit(keyDim, PANEL_ROWS)))
    return { heads: times(own, ratio), kvHeads: own }
  }

  /** Every shard computes the step sizes and update shares of all heads. */
  #deltaInput(value: Value, node: NodeOf<'delta'>): Columns {
    const { x, dt, beta, z, heads, keyHeads, keyDim } = node
    if (value === dt || value === beta) return [{ first: 0, count: value.shape[1] }]
    const own = this.ruled(node)
    const values = times(own.heads, z.shape[1] / heads)
    if (value !== x) return [values]
    const keys = times(own.kvHeads, keyDim)
    const width = keyHeads * keyDim
    return [keys, { ...keys, first: keys.first + width }, { ...values, first: values.first + 2 * width }]
  }

  #producer(value: Value | undefined): Node | undefined {
    return value && this.#graph.nodes[this.#producers.get(value.id) ?? -1]
  }

  #sliceBySlice(value: Value, readers: readonly Node[]): Columns {
    let end = 0
    return readers.flatMap((slice) => {
      const start = end
      if (slice.op !== 'slice' || slice.start !== start)
        throw uncut({ op: 'linear', output: value }, 'is not read part by part')
      end += slice.width
      return this.of(slice.output).map(({ first, count }) => ({ first: start + first, count }))
    })
  }

  /**
   * Heads begin at a panel boundary. If a quantised product follows, they also begin at a group boundary of
   * columns. All layers use the same unit, because they share blocks of state.
   */
  #alignment(): number {
    const isAttended = (value: Value): boolean => {
      const made = this.#producer(value)
      if (made?.op === 'rmsnorm') return isAttended(made.input)
      return (
        made?.op === 'attention' || (made?.op === 'swiglu' && this.#producer(made.up)?.op === 'attention')
      )
    }
    const isQuantised = (node: Node): boolean =>
      node.op === 'linear' &&
      isAttended(node.input) &&
      node.weight.parts.some(({ name }) => isQuantized(this.#options.encodingOf(name)))
    return this.#graph.nodes.some(isQuantised) ? this.#unit : PANEL_ROWS
  }
}

/**
 * The KV heads that the heads read. They start at a multiple of `unit`, so their rows begin at a panel
 * boundary.
 */
const withKvHeads = (heads: Range, ratio: number, unit = 1): HeadRange => {
  const first = Math.floor(heads.first / ratio / unit) * unit
  return { heads, kvHeads: { first, count: Math.ceil((heads.first + heads.count) / ratio) - first } }
}

/** Smallest number of heads whose values are a multiple of `alignment`. */
function headUnit(headDim: number, alignment: number): number {
  let unit = 1
  while ((unit * headDim) % alignment !== 0) unit++
  return unit
}

export const times = ({ first, count }: Range, by: number): Range => ({
  first: first * by,
  count: count * by,
})

export const widthOf = (columns: Columns): number => columns.reduce((sum, { count }) => sum + count, 0)

/** The part of `columns` inside [start, start + width), in the numbering of that part. */
export function within(columns: Columns, start: number, width: number): Columns {
  return columns.flatMap(({ first, count }) =>
    first >= start && first < start + width ? [{ first: first - start, count }] : [],
  )
}

/** The node with only those rows of its weights that compute `columns` or belong to them. */
export const cutWeights = <N extends Node>(node: N, columns: Columns): N =>
  Object.fromEntries(
    Object.entries(node).map(([field, value]) => [field, isWeight(value) ? cutRows(value, columns) : value]),
  ) as N

const isWeight = (value: unknown): value is WeightRef => value instanceof Object && 'parts' in value

/** Only those rows of a weight that compute `columns` or belong to them. */
export function cutRows(weight: WeightRef, columns: Columns): WeightRef {
  let end = 0
  const parts = weight.parts.map(({ name, n }): WeightPart => {
    const runs = within(columns, end, n)
    end += n
    return { name, n: widthOf(runs), rows: { whole: n, runs } }
  })
  return { ...weight, parts }
}

export function uncut({ op, output }: Pick<Node, 'op' | 'output'>, why: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `this model cannot be sharded across workers: its ${op} ${output?.label ?? ''} ${why}; use one thread`,
  )
}
