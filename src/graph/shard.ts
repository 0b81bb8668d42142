// Shard. In: a family's graph, the shares of several shards. Out: the graph of one of them, whose sums meet those of the others.
//
//   shard s holds                          of                       cut by
//   rows of Q, of K and V                  attn_q, attn_k, attn_v   query heads; the KV heads that they read
//   columns of the attention's output      attn_output              the same query heads
//   rows of gate and up, columns of down   mlp_*                    inner values, in groups of 32
//   rows of the table and of the logits    embed, output            ids, in groups of 32
//   norms                                  all                      whole on every shard
//
// A step meets the others behind the embedding, twice in each layer, where products are added to the residual, and once
// at the end, where the first shard collects the logits.
import { HalfbyteError } from '../base/errors.ts'
import { GROUP_SIZE, isQuantized, PANEL_ROWS, ROW_PADDING } from '../weights/encoding.ts'
import { divide, type Range } from './divide.ts'
import type { AttentionShape, Graph, Node, NodeOf, StateGroup, Value, WeightPart, WeightRef } from './ir.ts'
import { inputsOf, mapInputs, nextId, producersOf, readersOf } from './nodes.ts'
import { rowsOf } from './shapes.ts'
import type { EncodingOf } from './split.ts'

export interface ShardOptions {
  /** Of each shard, in any unit; above 0. */
  readonly shares: readonly number[]
  /** Which of them. */
  readonly shard: number
  readonly encodingOf: EncodingOf
}

/** The heads of one shard in one layer. */
interface HeadRange {
  readonly heads: Range
  readonly kvHeads: Range
}

/** Throws `unsupported` for a graph that cannot be cut like this, or not for so many shards. */
export function shardGraph(graph: Graph, options: ShardOptions): Graph {
  return new Sharder(graph, options).graph()
}

class Sharder {
  readonly #graph: Graph
  readonly #options: ShardOptions
  readonly #readers: ReadonlyMap<number, readonly number[]>
  readonly #producers: ReadonlyMap<number, number>
  /** Values that are cut now, by the id they have kept. */
  readonly #replaced = new Map<number, Value>()
  /** Columns of cut values; values that are sums of one shard alone have none. */
  readonly #columns = new Map<number, Range>()
  readonly #partial = new Set<number>()
  readonly #nodes: Node[] = []
  #nextId: number

  constructor(graph: Graph, options: ShardOptions) {
    this.#graph = graph
    this.#options = options
    this.#readers = readersOf(graph)
    this.#producers = producersOf(graph)
    this.#nextId = nextId(graph)
  }

  graph(): Graph {
    for (const node of this.#graph.nodes) this.#add(node)
    const now = (value: Value) => this.#replaced.get(value.id) ?? value
    const { output, hidden, stateGroups } = this.#graph
    return {
      nodes: this.#nodes,
      output: now(output),
      hidden: now(hidden),
      stateGroups: stateGroups.map((group) => this.#stateGroup(group)),
    }
  }

  #add(node: Node): void {
    if (node.op === 'embed') this.#embed(node)
    else if (node.op === 'linear') this.#linear(node)
    else if (node.op === 'slice') this.#slice(node)
    else if (node.op === 'ropeKv' || node.op === 'attention') this.#attend(node)
    else if (node.op === 'swiglu') this.#push(node, this.#columnsOf(node.gate))
    else if (node.op === 'add') this.#sum(node)
    else this.#pushWhole(node)
  }

  /** Where one side is a sum of one shard alone, all shards' sums meet. */
  #sum(node: NodeOf<'add'>): void {
    const product = [node.right, node.left].find(({ id }) => this.#partial.has(id))
    if (product === undefined) {
      this.#pushWhole(node)
      return
    }
    if (node.scale !== 1) throw uncut(node, 'scales a sum of several workers')
    const residual = product === node.right ? node.left : node.right
    this.#push({ op: 'exchange', input: product, residual, ...this.#place(), output: node.output })
  }

  /** Rows of the table; ids of other shards' rows make zeros. */
  #embed(node: NodeOf<'embed'>): void {
    if (node.by === 'position') {
      this.#push(node)
      return
    }
    const rows = this.#own(this.#vocab(node.table))
    const table = cutRows(node.table, () => rows)
    const output = { ...node.output, id: this.#nextId++ }
    this.#nodes.push({ ...node, table, output })
    this.#push({ op: 'exchange', input: output, ...this.#place(), output: node.output })
  }

  #linear(node: NodeOf<'linear'>): void {
    const columns = this.#columns.get(node.input.id)
    if (columns !== undefined) this.#sumOfOwn(node, columns)
    else if (node.output === this.#graph.output) this.#logits(node)
    else this.#someRows(node)
  }

  /** The columns that meet this shard's values: the product lacks what the others add. */
  #sumOfOwn(node: NodeOf<'linear'>, { first, count }: Range): void {
    const { weight, output } = node
    if (node.bias !== undefined) throw uncut(node, 'adds a bias to a sum of several workers')
    if (output === this.#graph.output) throw uncut(node, 'makes logits of values that are shared out')
    this.#partial.add(output.id)
    const columns = { first, whole: weight.k }
    this.#nodes.push(this.#withInputs({ ...node, weight: { ...weight, k: count, columns } }))
  }

  #someRows(node: NodeOf<'linear'>): void {
    const { weight, bias } = node
    const cuts = weight.parts.map((_, index) => this.#cutOfPart(node, index))
    const cut = (index: number): Range => cuts[index] as Range
    const held = cutRows(weight, cut)
    const columns = cuts.length === 1 ? cut(0) : { first: 0, count: rowsOf(held) }
    this.#push({ ...node, weight: held, bias: bias && cutRows(bias, cut) }, columns)
  }

  #logits(node: NodeOf<'linear'>): void {
    const ranges = this.#vocab(node.weight)
    const own = this.#own(ranges)
    const weight = cutRows(node.weight, () => own)
    const bias = node.bias && cutRows(node.bias, () => own)
    const [rows] = node.output.shape
    const output: Value = { ...node.output, id: this.#nextId++, shape: [rows, own.count] }
    this.#nodes.push(this.#withInputs({ ...node, weight, bias, output }))
    const widths = ranges.map(({ count }) => count)
    const { shard } = this.#options
    const whole: Value = { ...node.output, shape: [rows, shard === 0 ? node.output.shape[1] : own.count] }
    this.#replaced.set(whole.id, whole)
    this.#nodes.push({ op: 'collect', input: output, shard, widths, output: whole })
  }

  #slice(node: NodeOf<'slice'>): void {
    const linear = this.#graph.nodes[this.#producers.get(node.input.id) ?? -1]
    if (linear?.op !== 'linear') throw uncut(node, 'is cut out of something that is not a product')
    const before = partAt(linear.weight, node)
    if (before === undefined) throw uncut(node, 'is not one part of a product')
    const cuts = linear.weight.parts.slice(0, before + 1).map((_, index) => this.#cutOfPart(linear, index))
    const own = cuts.pop() as Range
    const start = cuts.reduce((sum, { count }) => sum + count, 0)
    this.#push({ ...node, start, width: own.count }, own)
  }

  #attend(node: NodeOf<'ropeKv' | 'attention'>): void {
    if (node.op === 'ropeKv' && node.norms?.over === 'row')
      throw uncut(node, 'norms heads of several workers')
    const { heads, kvHeads } = this.#heads(node.attention)
    const whole = node.attention
    const ratio = whole.heads / whole.kvHeads
    const attention = {
      ...whole,
      heads: heads.count,
      kvHeads: kvHeads.count,
      ratio: kvHeads.count === 1 ? heads.count : ratio,
      absent: kvHeads.count === 1 ? 0 : heads.first - kvHeads.first * ratio,
    }
    this.#push({ ...node, attention }, times(heads, whole.headDim))
  }

  /** The rows that this shard holds of one part of a merged product, by who reads them. */
  #cutOfPart(linear: NodeOf<'linear'>, index: number): Range {
    const value = this.#partValue(linear, index)
    const readers = (this.#readers.get(value.id) ?? []).map((reader) => this.#graph.nodes[reader])
    const [reader] = readers
    if (reader?.op === 'ropeKv') {
      const { heads, kvHeads } = this.#heads(reader.attention)
      return times(value === reader.q ? heads : kvHeads, reader.attention.headDim)
    }
    if (reader?.op === 'swiglu') return this.#own(divide(value.shape[1], GROUP_SIZE, this.#options.shares))
    throw uncut(linear, `makes values that ${reader?.op ?? 'nobody'} reads`)
  }

  #partValue(linear: NodeOf<'linear'>, index: number): Value {
    if (linear.weight.parts.length === 1) return linear.output
    for (const reader of this.#readers.get(linear.output.id) ?? []) {
      const slice = this.#graph.nodes[reader]
      if (slice?.op === 'slice' && partAt(linear.weight, slice) === index) return slice.output
    }
    throw uncut(linear, 'is not read part by part')
  }

  #heads({ heads, kvHeads, headDim }: AttentionShape): HeadRange {
    const own = this.#own(divide(heads, headUnit(headDim, this.#alignment()), this.#options.shares))
    const ratio = heads / kvHeads
    const first = Math.floor(own.first / ratio)
    return { heads: own, kvHeads: { first, count: Math.ceil((own.first + own.count) / ratio) - first } }
  }

  /**
   * Heads begin at a whole panel of rows and, where a product behind them is quantised, at a whole group of columns: in all
   * layers alike, as they share blocks of state.
   */
  #alignment(): number {
    const isQuantised = (node: Node): boolean =>
      node.op === 'linear' &&
      this.#graph.nodes[this.#producers.get(node.input.id) ?? -1]?.op === 'attention' &&
      node.weight.parts.some(({ name }) => isQuantized(this.#options.encodingOf(name)))
    return this.#graph.nodes.some(isQuantised) ? GROUP_SIZE : PANEL_ROWS
  }

  #stateGroup(group: StateGroup): StateGroup {
    const layer = group.layers[0]
    const node = this.#graph.nodes.find((each) => each.op === 'ropeKv' && each.attention.layer === layer)
    if (node?.op !== 'ropeKv') return group
    const { first, count } = this.#heads(node.attention).kvHeads
    return { ...group, kvHeads: count, held: { first, whole: group.kvHeads } }
  }

  #vocab(weight: WeightRef): Range[] {
    return divide(rowsOf(weight), ROW_PADDING, this.#options.shares)
  }

  #own(ranges: readonly Range[]): Range {
    return ranges[this.#options.shard] as Range
  }

  #place(): { shard: number; shards: number } {
    return { shard: this.#options.shard, shards: this.#options.shares.length }
  }

  #columnsOf(value: Value): Range {
    const columns = this.#columns.get(value.id)
    if (columns !== undefined) return columns
    throw uncut({ op: 'swiglu', output: value }, 'gates values that every worker has')
  }

  #withInputs<N extends Node>(node: N): N {
    return mapInputs(node, (value) => this.#replaced.get(value.id) ?? value) as N
  }

  /** Adds a node; with `columns` its output is that part of what it was. */
  #push(node: Node, columns?: Range): void {
    const now = this.#withInputs(node)
    if (columns === undefined || now.output === undefined) {
      this.#nodes.push(now)
      return
    }
    const output: Value = { ...now.output, shape: [now.output.shape[0], columns.count] }
    this.#replaced.set(output.id, output)
    this.#columns.set(output.id, columns)
    this.#nodes.push({ ...now, output } as Node)
  }

  /** A node that every shard runs alike: it must not read what is cut. */
  #pushWhole(node: Node): void {
    const isCut = ({ id }: Value) => this.#columns.has(id) || this.#partial.has(id)
    if (inputsOf(node).some(isCut)) throw uncut(node, 'reads values that are shared out')
    this.#push(node)
  }
}

/** Least number of heads whose values are a multiple of `alignment`. */
function headUnit(headDim: number, alignment: number): number {
  let unit = 1
  while ((unit * headDim) % alignment !== 0) unit++
  return unit
}

const times = ({ first, count }: Range, by: number): Range => ({ first: first * by, count: count * by })

/** Which part of a merged weight a slice is. */
function partAt({ parts }: WeightRef, { start, width }: NodeOf<'slice'>): number | undefined {
  let at = 0
  for (const [index, { n }] of parts.entries()) {
    if (at === start && n === width) return index
    at += n
  }
  return undefined
}

function cutRows(weight: WeightRef, cut: (part: number) => Range): WeightRef {
  const parts = weight.parts.map(({ name, n }, index): WeightPart => {
    const { first, count } = cut(index)
    return { name, n: count, rows: { first, whole: n } }
  })
  return { ...weight, parts }
}

function uncut({ op, output }: Pick<Node, 'op' | 'output'>, why: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `this model cannot be shared out to workers without shared memory: its ${op} ${output?.label ?? ''} ${why}; use one thread`,
  )
}
