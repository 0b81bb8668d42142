// Splits off the graph of one shard from a family's graph, with the exchanges between shards.
//
//   shard s holds                          of                       cut by
//   rows of Q, of K and V                  attn_q, attn_k, attn_v   query heads; the KV heads that they read
//   columns of the attention's output      attn_output              the same query heads
//   biases of scores by distance, sinks    distances, attn_sinks    the same query heads
//   rows of gate and up, columns of down   mlp_*                    inner values, in groups of 32
//   rows of x and z, columns of the output ssm_*, conv_*            groups of channels (Mamba-2: heads), B, C
//   rows of the table and of the logits    embed, output            ids, in groups of 32
//   norms, step sizes of Mamba-2           all                      whole on every shard
//
// A step exchanges rows after the embedding, after each product of split values, and once at the end, where
// the first shard collects the logits. A layer of attention or Mamba with an MLP has two exchanges, and so
// does a layer of only Mamba. A layer of only Mamba-2 has one.
import { GROUP_SIZE, PANEL_ROWS, ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import { biasColumns, divide, type Range, type StateGroup, type Value, type WeightRef } from '../ir.ts'
import { rowsOf } from '../node.ts'
import { type Graph, inputsOf, mapInputs, type Node, type NodeOf, nextId, outputsOf } from '../nodes.ts'
import {
  type Columns,
  Cuts,
  cutRows,
  cutWeights,
  type ShardOptions,
  times,
  uncut,
  widthOf,
  within,
} from './cuts.ts'

/** Throws `unsupported` for a graph that cannot be split this way, or not into this many shards. */
export function shardGraph(graph: Graph, options: ShardOptions): Graph {
  return new Sharder(graph, options).graph()
}

class Sharder {
  readonly #graph: Graph
  readonly #options: ShardOptions
  readonly #cuts: Cuts
  /** Values that are now split, by their original id. */
  readonly #replaced = new Map<number, Value>()
  /** Columns of split values. Partial sums, which the other shards still have to complete, have none. */
  readonly #columns = new Map<number, Columns>()
  readonly #partial = new Set<number>()
  /** Norms whose input rows are split across shards, keyed by the id of their output. */
  readonly #norms = new Map<number, NodeOf<'rmsnorm'>>()
  readonly #nodes: Node[] = []
  #nextId: number

  constructor(graph: Graph, options: ShardOptions) {
    this.#graph = graph
    this.#options = options
    this.#cuts = new Cuts(graph, options)
    this.#nextId = nextId(graph)
  }

  graph(): Graph {
    for (const node of this.#graph.nodes) this.#add(node)
    const { output, hidden, stateGroups } = this.#graph
    return {
      nodes: this.#nodes,
      output: this.#now(output),
      hidden: this.#now(hidden),
      stateGroups: stateGroups.map((group) => this.#stateGroup(group)),
    }
  }

  #add(node: Node): void {
    const columns = 'input' in node ? this.#columns.get(node.input.id) : undefined
    if (node.op === 'embed') this.#embed(node)
    else if (node.op === 'linear') this.#linear(node, columns)
    else if (node.op === 'ropeKv' || node.op === 'attention') this.#attend(node)
    else if (node.op === 'swiglu') this.#push(node, this.#columnsOf(node, node.gate))
    else if (node.op === 'scan') this.#pushCut(node, this.#columnsOf(node, node.x))
    else if (node.op === 'ssd') this.#stateSpace(node)
    else if (node.op === 'delta') this.#delta(node)
    else if (node.op === 'add') this.#sum(node)
    else if (columns !== undefined && node.op === 'slice') this.#slice(node, columns)
    else if (node.op === 'clamp') this.#limit(node, columns)
    else if (columns !== undefined && node.op === 'conv1d') this.#convolve(node, columns)
    else if (columns !== undefined && node.op === 'rmsnorm') this.#norm(node, columns)
    else this.#pushWhole(node)
  }

  /** If one side is a partial sum, the sums of all shards are exchanged. */
  #sum(node: NodeOf<'add'>): void {
    const product = [node.right, node.left].find(({ id }) => this.#partial.has(id))
    if (product === undefined) {
      this.#pushWhole(node)
      return
    }
    const residual = product === node.right ? node.left : node.right
    this.#push({ op: 'exchange', input: product, residual, ...this.#place(), output: node.output })
  }

  /** Looks up this shard's rows of the table. Ids whose rows are on other shards yield zeros. */
  #embed(node: NodeOf<'embed'>): void {
    if (node.by === 'position') {
      this.#push(node)
      return
    }
    const output = this.#fresh(node.output)
    this.#push({ ...cutWeights(node, [this.#vocab(node.table)]), output })
    this.#meet(output, node.output)
  }

  #linear(node: NodeOf<'linear'>, columns: Columns | undefined): void {
    if (columns !== undefined) this.#sumOfOwn(node, columns)
    else if (this.#isLogits(node.output)) this.#logits(node)
    else this.#pushCut(node, this.#cuts.of(node.output))
  }

  /**
   * Multiplies by the columns that match this shard's values. The product lacks the other shards'
   * contributions.
   */
  #sumOfOwn(node: NodeOf<'linear'>, [columns, more]: Columns): void {
    const { weight, output } = node
    const encodings = new Set(weight.parts.map(({ name }) => this.#options.encodingOf(name)))
    if (node.bias !== undefined) throw uncut(node, 'adds a bias to a sum of several workers')
    if (output === this.#graph.output || columns === undefined || more !== undefined || encodings.size > 1)
      throw uncut(node, 'reads values that are split across shards')
    const { first, count } = columns
    const norm = this.#norms.get(node.input.id)
    const isPartial = norm === undefined && this.#isAdded(output)
    const product = isPartial ? output : this.#fresh(output)
    const held = { ...weight, k: count, columns: { first, whole: weight.k } }
    this.#push({ ...node, weight: held, output: product })
    if (isPartial) this.#partial.add(output.id)
    else if (norm === undefined) this.#meet(product, output)
    else this.#normLater(norm, product, output)
  }

  /** True for a value whose only reader adds it to a value that every shard holds. */
  #isAdded(value: Value): boolean {
    const [reader, another] = this.#cuts.readersOf(value)
    if (another !== undefined || reader?.op !== 'add' || reader.scale !== 1) return false
    return !this.#partial.has((reader.left === value ? reader.right : reader.left).id)
  }

  /**
   * A product of rows that were normalised using only this shard's part of them. A norm is one factor for the
   * whole row, so it can be applied after the shards' products are summed, together with the squares of all
   * parts.
   */
  #normLater({ input, epsilon }: NodeOf<'rmsnorm'>, product: Value, output: Value): void {
    const [, width] = output.shape
    const x = this.#now(input)
    const [own, sum] = [0, 0].map(() => this.#fresh(output, roundUp(width, GROUP_SIZE) + 1)) as [Value, Value]
    const renorm = { op: 'renorm', width, epsilon } as const
    this.#nodes.push({ ...renorm, input: product, x, size: x.shape[1], output: own })
    this.#meet(own, sum)
    this.#nodes.push({ ...renorm, input: sum, size: input.shape[1], output })
  }

  /** Sums `input` over all shards. */
  #meet(input: Value, output: Value): void {
    this.#nodes.push({ op: 'exchange', input, ...this.#place(), output })
  }

  #logits(node: NodeOf<'linear'>): void {
    const { shares, shard } = this.#options
    const own = this.#vocab(node.weight)
    const [rows, width] = node.output.shape
    const output = this.#fresh(node.output, own.count)
    this.#push({ ...cutWeights(node, [own]), output })
    const widths = divide(width, ROW_PADDING, shares).map(({ count }) => count)
    const whole: Value = { ...node.output, shape: [rows, shard === 0 ? width : own.count] }
    this.#replaced.set(whole.id, whole)
    this.#nodes.push({ op: 'collect', input: output, shard, widths, output: whole })
  }

  /** Whether the value is the logits, before or after they are clamped. */
  #isLogits(value: Value): boolean {
    const [reader, another] = this.#cuts.readersOf(value)
    const isLimited = reader?.op === 'clamp' && reader.output === this.#graph.output
    return value === this.#graph.output || (another === undefined && isLimited)
  }

  #limit(node: NodeOf<'clamp'>, columns: Columns | undefined): void {
    if (node.output !== this.#graph.output) {
      if (columns === undefined) this.#pushWhole(node)
      else this.#push(node, columns)
      return
    }
    // All shards except the first have only their own logits.
    const input = this.#now(node.input)
    const output: Value = { ...node.output, shape: input.shape }
    this.#replaced.set(output.id, output)
    this.#nodes.push({ ...node, input, output })
  }

  #slice(node: NodeOf<'slice'>, columns: Columns): void {
    const own = within(columns, node.start, node.width)
    const start = widthOf(columns.filter(({ first }) => first < node.start))
    this.#push({ ...node, start, width: widthOf(own) }, own)
  }

  #attend(node: NodeOf<'ropeKv' | 'attention'>): void {
    if (node.op === 'ropeKv' && node.norms?.over === 'row')
      throw uncut(node, 'normalises heads of several workers')
    const { heads, kvHeads } = this.#cuts.heads(node.attention)
    const whole = node.attention
    const ratio = whole.heads / whole.kvHeads
    const attention = {
      ...whole,
      heads: heads.count,
      kvHeads: kvHeads.count,
      ratio: kvHeads.count === 1 ? heads.count : ratio,
      absent: kvHeads.count === 1 ? 0 : heads.first - kvHeads.first * ratio,
    }
    const columns = [times(heads, whole.headDim)]
    if (node.op === 'attention') {
      const { bias } = cutWeights({ ...node, sinks: undefined }, [times(heads, biasColumns(node.reach ?? 0))])
      const { sinks } = cutWeights({ ...node, bias: undefined }, [heads])
      this.#push({ ...node, bias, sinks, attention }, columns)
      return
    }
    const norms = node.norms?.hasWeightOfEach === true && {
      ...node.norms,
      q: cutRows(node.norms.q, columns),
      k: node.norms.k && cutRows(node.norms.k, [times(kvHeads, whole.headDim)]),
    }
    this.#push({ ...node, attention, ...(norms && { norms }) }, columns)
  }

  #convolve(node: NodeOf<'conv1d'>, columns: Columns): void {
    const isOdd = columns.some(({ first, count }) => (first | count) % PANEL_ROWS !== 0)
    if (isOdd) throw uncut(node, `has channels that cannot be split into groups of ${PANEL_ROWS}`)
    this.#pushCut(node, columns)
  }

  /** Every shard has the step sizes of all heads. */
  #stateSpace(node: NodeOf<'ssd'>): void {
    const { heads, kvHeads } = this.#cuts.scanned(node)
    const { first: start, count: width } = heads
    const dt = this.#fresh(node.dt, width)
    this.#push({ op: 'slice', input: node.dt, start, width, output: dt })
    const own = { ...cutWeights(node, [heads]), dt, heads: width, groups: kvHeads.count }
    this.#push(own, this.#columnsOf(node, node.x))
  }

  /** Every shard has the step sizes and shares of all heads. */
  #delta(node: NodeOf<'delta'>): void {
    const { heads, kvHeads } = this.#cuts.ruled(node)
    const { first: start, count: width } = heads
    const own = (input: Value): Value => {
      const steps = input.shape[1] / node.heads
      const output = this.#fresh(input, width * steps)
      this.#push({ op: 'slice', input, start: start * steps, width: width * steps, output })
      return output
    }
    const [dt, beta] = [own(node.dt), own(node.beta)]
    // The weight of the norm is the same for all heads.
    const cut = cutWeights(node, [heads])
    const dtBias = cutRows(node.dtBias, [times(heads, node.dt.shape[1] / node.heads)])
    const weights = { decay: cut.decay, dtBias, weight: node.weight }
    const rest = { ...node, dt, beta, heads: width, keyHeads: kvHeads.count, ...weights }
    this.#push(rest, this.#columnsOf(node, node.z))
  }

  /** Normalises part of a row on its own. If the norm must cover the whole row, later nodes correct it. */
  #norm(node: NodeOf<'rmsnorm'>, columns: Columns): void {
    const { input, parts = 1 } = node
    for (const made of outputsOf(node)) {
      if (parts > 1) continue
      if (this.#cuts.readersOf(made).some(({ op }) => op !== 'linear'))
        throw uncut(node, 'reads values that are split across shards')
      this.#norms.set(made.id, node)
    }
    const own = parts > 1 ? { parts: (parts * widthOf(columns)) / input.shape[1] } : {}
    this.#pushCut({ ...node, ...own }, columns)
  }

  #stateGroup(group: StateGroup): StateGroup {
    const layer = group.layers[0]
    const node = this.#graph.nodes.find((each) => each.op === 'ropeKv' && each.attention.layer === layer)
    if (node?.op !== 'ropeKv') return group
    const { first, count } = this.#cuts.heads(node.attention).kvHeads
    return { ...group, kvHeads: count, held: { first, whole: group.kvHeads } }
  }

  #vocab(weight: WeightRef): Range {
    return this.#cuts.own(rowsOf(weight), ROW_PADDING)
  }

  #place(): { shard: number; shards: number } {
    return { shard: this.#options.shard, shards: this.#options.shares.length }
  }

  #columnsOf(node: Node, value: Value): Columns {
    const columns = this.#columns.get(value.id)
    if (columns !== undefined) return columns
    throw uncut(node, 'reads values that every worker has')
  }

  #now(value: Value): Value {
    return this.#replaced.get(value.id) ?? value
  }

  /** A new value with the properties of `value`. */
  #fresh(value: Value, width = value.shape[1]): Value {
    return { ...value, id: this.#nextId++, shape: [value.shape[0], width] }
  }

  /** Adds a node. With `columns`, its output has only those columns of the original. */
  #push(node: Node, columns?: Columns): void {
    const now = mapInputs(node, (value) => this.#now(value))
    if (columns === undefined || now.output === undefined) {
      this.#nodes.push(now)
      return
    }
    const output: Value = { ...now.output, shape: [now.output.shape[0], widthOf(columns)] }
    this.#replaced.set(output.id, output)
    this.#columns.set(output.id, columns)
    this.#nodes.push({ ...now, output } as Node)
  }

  /** Adds the node with only the rows of its weights that compute these columns. */
  #pushCut(node: Node, columns: Columns): void {
    this.#push(cutWeights(node, columns), columns)
  }

  /** Adds a node that every shard runs in full. It must not read split values. */
  #pushWhole(node: Node): void {
    const isCut = ({ id }: Value) => this.#columns.has(id) || this.#partial.has(id)
    if (inputsOf(node).some(isCut)) throw uncut(node, 'reads values that are split across shards')
    this.#push(node)
  }
}
