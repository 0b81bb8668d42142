// Small decoders. In: a decoder's masks, positions, rotations, lengths and states. Out: the bytes of its ONNX
// file. Defaults follow the exporters.

import { NodeWriter, TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import { modelBytes, type WrittenValue } from '../../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../helpers/random.ts'
import { convName, convOutput, convValue, shortConvolution } from './convolutions.ts'
import type { DecoderForm, Places, StateKind, StatePlace } from './form.ts'
import { activated, asForm, LEAST, masked } from './layers.ts'
import { turnedNeighbours, twice } from './turns.ts'

export const VOCAB = 96
export const HIDDEN = 16
const INNER = 16
/** GroupQueryAttention rotates heads whose size is a multiple of 16. */
export const HEAD_DIM = 16

/** Epsilon of norms of heads outside the attention operator. */
export const HEAD_EPSILON = 0.01

export const pastName = ({ layer, kind }: StatePlace): string => `past_key_values.${layer}.${kind}`
const presentName = ({ layer, kind }: StatePlace): string => `present.${layer}.${kind}`

export function decoderBytes(form: DecoderForm): Uint8Array {
  return new Decoder(form).bytes()
}

/** Constants of more than 64 KB stay in their file, also in f16. */
export const vocabOf = ({ head }: DecoderForm): number => (head === undefined ? VOCAB : 2304)

/** Number of heads of keys and values. */
export const kvHeadsOf = ({ attention, heads = 2, kvHeads = 1 }: DecoderForm): number =>
  attention === 'multi-head' ? heads : kvHeads
export const layersOf = ({ layers = 1 }: DecoderForm): number => layers

interface Turn {
  readonly cos: string
  readonly sin: string
}

class Decoder {
  readonly #form: DecoderForm
  readonly #g = new NodeWriter()
  readonly #random: Random
  readonly #presents = new Map<string, string>()
  readonly #heads: number
  readonly #kvHeads: number
  readonly #hasState: boolean

  constructor(form: DecoderForm) {
    this.#form = form
    this.#random = new Random(form.seed ?? 1)
    this.#heads = form.heads ?? 2
    this.#kvHeads = kvHeadsOf(form)
    this.#hasState = form.hasState ?? true
  }

  bytes(): Uint8Array {
    const g = this.#g
    const places = this.#places()
    const usual = this.#hasState ? 'position_ids' : g.unsqueeze(places.rows, 0)
    const positions = this.#form.positions?.(g, usual, places) ?? usual
    const mask = this.#mask(places)
    const turn = this.#turn(positions, places)
    const vocab = vocabOf(this.#form)
    const table = this.#matrix(vocab, HIDDEN, 1)
    let x = g.op('Gather', [table, 'input_ids'])
    if (this.#form.places === 'learned')
      x = g.op('Add', [x, g.op('Gather', [this.#matrix(this.#form.tableRows ?? 64, HIDDEN, 1), positions])])
    for (let layer = 0; layer < layersOf(this.#form); layer++) {
      x = this.#convolved(layer, x)
      x = g.op('Add', [x, this.#attention(layer, this.#norm(x), { mask, turn, positions, places })])
      x = g.op('Add', [x, this.#mlp(this.#norm(x))])
    }
    g.node('MatMul', [this.#norm(x), this.#head(table, vocab)], ['logits'])
    const values = this.#values()
    this.#form.edit?.(g)
    const graph = { ...values, nodes: g.nodes, constants: g.constants }
    return modelBytes(graph, this.#form.attention === 'standard' ? 23 : 17)
  }

  #convolved(layer: number, x: string): string {
    const g = this.#g
    const { convolution } = this.#form
    if (convolution === undefined) return x
    const matrix = (rows: number, columns: number, dims?: number[]) =>
      this.#matrix(rows, columns, undefined, (values, own) => g.floats(values, dims ?? own))
    const made = shortConvolution(g, this.#norm(x), layer, convolution, { width: HIDDEN, matrix })
    return g.op('Add', [x, made])
  }

  #head(table: string, vocab: number): string {
    const g = this.#g
    switch (this.#form.head) {
      case 'transposed':
        return g.op('Transpose', [table], { perm: { ints: [1, 0] } })
      case 'cast':
        return g.cast(this.#matrix(HIDDEN, vocab, undefined, g.halves.bind(g)), 'f32')
      case 'reshaped': {
        const rows = this.#matrix(HIDDEN * 2, vocab / 2, 2 / Math.sqrt(HIDDEN))
        return g.op('Reshape', [rows, g.ints([HIDDEN, vocab])])
      }
      default:
        return this.#matrix(HIDDEN, vocab)
    }
  }

  #values(): { inputs: WrittenValue[]; outputs: WrittenValue[] } {
    const inputs: WrittenValue[] = [{ name: 'input_ids', type: TYPE.i64, dims: ['batch', 'tokens'] }]
    for (const name of this.#form.inputs ?? [])
      inputs.push({ name, type: TYPE.i64, dims: ['batch', 'tokens'] })
    const outputs: WrittenValue[] = [
      { name: 'logits', type: TYPE.f32, dims: ['batch', 'tokens', vocabOf(this.#form)] },
    ]
    if (!this.#hasState) return { inputs, outputs }
    const { maskAxis = 'past + tokens' } = this.#form
    inputs.push({ name: 'attention_mask', type: TYPE.i64, dims: ['batch', maskAxis] })
    inputs.push({ name: 'position_ids', type: TYPE.i64, dims: ['batch', 'tokens'] })
    const { convolution } = this.#form
    for (let layer = 0; convolution !== undefined && layer < layersOf(this.#form); layer++) {
      inputs.push(convValue(convName(layer), convolution, HIDDEN))
      outputs.push(convValue(convOutput(layer), convolution, HIDDEN))
    }
    for (const place of this.#states()) {
      const axis = this.#form.stateAxis?.(place) ?? 'past'
      const dims = ['batch', this.#kvHeads, axis, HEAD_DIM]
      inputs.push({ name: pastName(place), type: TYPE.f32, dims })
      const { presentOf = (same) => same, presentOp } = this.#form
      const made = this.#presents.get(presentName(presentOf(place)))!
      const kept = presentOp?.(this.#g, made, place) ?? made
      this.#g.node('Identity', [kept], [presentName(place)])
      outputs.push({ name: presentName(place), type: TYPE.f32, dims: dims.with(2, `${axis} + tokens`) })
    }
    return { inputs, outputs }
  }

  #states(): StatePlace[] {
    return Array.from({ length: layersOf(this.#form) }, (_, layer) =>
      (['key', 'value'] as const).map((kind) => ({ layer, kind })),
    ).flat()
  }

  #places(): Places {
    const g = this.#g
    const tokens = g.op('Gather', [g.op('Shape', ['input_ids']), g.int(1)])
    const past = this.#hasState
      ? g.op('Gather', [g.op('Shape', [pastName({ layer: 0, kind: 'key' })]), g.int(2)])
      : g.int(0)
    const total = g.op('Add', [past, tokens])
    const rows = g.op('Range', [past, total, g.int(1)])
    const columns = g.op('Range', [g.int(0), total, g.int(1)])
    return { tokens, past, total, rows, columns }
  }

  /** [1, 1 or heads, tokens, total]: the values added to scores, or the positions each token sees. */
  #mask(places: Places): string {
    const g = this.#g
    const { seen: change, bias: added } = this.#form
    if (this.#form.attention === 'group' && change === undefined && added === undefined) return ''
    const { rows, columns } = places
    const causal = g.op('LessOrEqual', [g.unsqueeze(columns, 0), g.unsqueeze(rows, 1)])
    const seen = this.#form.seen?.(g, causal, places) ?? causal
    const whole = this.#asMask(seen)
    if (this.#form.form === 'kept') return whole
    if (this.#form.form === 'dropped') return g.op('Not', [whole])
    const bias = this.#form.bias === undefined ? g.float(0) : this.#asMask(this.#form.bias(g, places))
    return g.op('Where', [whole, bias, g.float(LEAST)])
  }

  /** Adds an axis of heads and one of the batch in front. */
  #asMask(value: string): string {
    const g = this.#g
    const { rows, columns } = { rows: g.ints([1]), columns: g.ints([1]) }
    // Broadcasting to [1, 1, 1] gives [tokens, total] three axes, like [heads, tokens, total].
    const shape = g.op('Concat', [g.ints([1]), rows, columns], { axis: 0 })
    return g.unsqueeze(g.op('Expand', [value, shape]), 0)
  }

  #turn(positions: string, places: Places): Turn | undefined {
    const g = this.#g
    const { places: kind = 'rope', angles } = this.#form
    if (kind !== 'rope') return undefined
    const half = (this.#form.turned ?? HEAD_DIM) / 2
    const frequencies = Array.from({ length: half }, (_, pair) => 10_000 ** (-pair / half))
    const usual = g.op('Mul', [g.unsqueeze(g.cast(positions, 'f32'), 2), g.floats(frequencies)])
    const made = angles?.(g, usual, places) ?? usual
    const { neighbours, angleOrder = neighbours === undefined ? 'halves' : 'neighbours' } = this.#form
    const both = twice(g, made, 2 * half, angleOrder)
    const ofHeads = this.#form.turnsFirst ? 2 : 1
    return {
      cos: g.unsqueeze(g.op('Cos', [both]), ofHeads),
      sin: g.unsqueeze(g.op('Sin', [both]), ofHeads),
    }
  }

  #attention(
    layer: number,
    x: string,
    control: { mask: string; turn: Turn | undefined; positions: string; places: Places },
  ): string {
    const heads = this.#heads * HEAD_DIM
    const kv = this.#kvHeads * HEAD_DIM
    const g = this.#g
    const isByHead = this.#form.merged === 'by-head'
    const parts = isByHead ? this.#byHead(x) : this.#products(x, [heads, kv, kv])
    const isFused = this.#form.attention !== undefined && this.#form.attention !== 'primitive'
    const made = isFused ? this.#fused(layer, parts, control) : this.#primitive(layer, parts, control)
    if (this.#form.blocks !== undefined) return this.#inBlocks(made, heads, this.#form.blocks)
    return g.op('MatMul', [made, this.#matrix(heads, HIDDEN)])
  }

  /** Rows times a matrix [HIDDEN, k] of codes. */
  #inBlocks(
    x: string,
    k: number,
    { bits, block, levels, hasZeros, isMixed }: NonNullable<DecoderForm['blocks']>,
  ): string {
    const g = this.#g
    const count = Math.ceil(k / block)
    const bytes = (size: number) => Uint8Array.from({ length: size }, () => this.#random.below(256))
    if (levels !== undefined) {
      const scales = this.#matrix(1, Math.ceil((HIDDEN * k) / block), 1 / Math.sqrt(k), (values) =>
        g.floats(values.map(Math.abs)),
      )
      const parts = [x, g.bytes(bytes((HIDDEN * k) / 2), [(HIDDEN * k) / 2]), scales]
      const sizes = { K: k, N: HIDDEN, block_size: block, quant_type: levels }
      return g.node('MatMulBnb4', parts, [`${x}_multiplied`], sizes, MICROSOFT)
    }
    const rowBytes = (block * bits) / 8
    const zeroBytes = Math.ceil((count * bits) / 8)
    const inputs = [
      x,
      g.bytes(bytes(HIDDEN * count * rowBytes), [HIDDEN, count, rowBytes]),
      this.#matrix(HIDDEN, count, 2 / Math.sqrt(k) / 2 ** bits),
      hasZeros ? g.bytes(bytes(HIDDEN * zeroBytes), [HIDDEN * zeroBytes]) : '',
      isMixed ? g.words(Array.from({ length: k }, () => this.#random.below(count))) : '',
    ]
    const attributes = { K: k, N: HIDDEN, bits, block_size: block }
    return g.node('MatMulNBits', inputs, [`${x}_multiplied`], attributes, MICROSOFT)
  }

  #primitive(
    layer: number,
    rows: readonly string[],
    { mask, turn, places }: { mask: string; turn: Turn | undefined; places: Places },
  ): string {
    const g = this.#g
    const counts = [this.#heads, this.#kvHeads, this.#kvHeads]
    const isFirst = this.#form.turnsFirst === true
    const [q = '', k = '', v = ''] = rows.map((each, index) => {
      if (this.#form.merged === 'by-head') return each
      const shaped = g.op('Reshape', [each, g.ints([0, 0, counts[index]!, HEAD_DIM])])
      const turned = turn !== undefined && isFirst && index < 2 ? this.#rotated(shaped, turn) : shaped
      return g.op('Transpose', [turned], { perm: { ints: [0, 2, 1, 3] } })
    })
    const isTurned = turn === undefined || isFirst
    const [query, key] = isTurned ? [q, k] : [this.#rotated(q, turn), this.#rotated(k, turn)]
    const keys = this.#copied(this.#joined(layer, 'key', key), places.total)
    const values = this.#copied(this.#joined(layer, 'value', v), places.total)
    const turned = this.#form.joinsHeads
      ? this.#turnedTogether(keys)
      : g.op('Transpose', [keys], { perm: { ints: [0, 1, 3, 2] } })
    const product = g.op('MatMul', [query, turned])
    const scaled = g.op('Mul', [product, g.float(1 / Math.sqrt(HEAD_DIM))])
    const scores = this.#capped(scaled)
    const { form = 'added', again } = this.#form
    const once = masked(g, scores, mask, form)
    const twice =
      again === undefined
        ? once
        : masked(g, once, asForm(g, this.#asMask(again.seen(g, places)), again.form), again.form)
    const shares = g.op('Softmax', [twice], { axis: -1 + 4 })
    const attended = g.op('Transpose', [g.op('MatMul', [shares, values])], { perm: { ints: [0, 2, 1, 3] } })
    return g.op('Reshape', [attended, g.ints([0, 0, this.#heads * HEAD_DIM])])
  }

  #capped(scores: string): string {
    const g = this.#g
    const { cap } = this.#form
    if (cap === undefined) return scores
    return g.op('Mul', [g.op('Tanh', [g.op('Div', [scores, g.float(cap)])]), g.float(cap)])
  }

  #turnedTogether(keys: string): string {
    const g = this.#g
    const shape = g.op('Shape', [keys])
    const [lead, tokens, last] = [
      [0, 2],
      [2, 3],
      [3, 4],
    ].map(([from, to]) => this.#cut(shape, 0, from!, to!)) as [string, string, string]
    const joined = g.op('Reshape', [keys, g.op('Concat', [g.ints([-1]), tokens, last], { axis: 0 })])
    const turned = g.op('Transpose', [joined], { perm: { ints: [0, 2, 1] } })
    return g.op('Reshape', [turned, g.op('Concat', [lead, last, tokens], { axis: 0 })])
  }

  #rotated(x: string, { cos, sin }: Turn): string {
    const g = this.#g
    const { turned: dims } = this.#form
    if (dims !== undefined) {
      const made = this.#turned(this.#cut(x, 3, 0, dims), { cos, sin }, dims)
      return g.op('Concat', [made, this.#cut(x, 3, dims, HEAD_DIM)], { axis: 3 })
    }
    return this.#turned(x, { cos, sin }, HEAD_DIM)
  }

  #turned(x: string, { cos, sin }: Turn, dims: number): string {
    const g = this.#g
    const { neighbours } = this.#form
    const turned = neighbours === undefined ? this.#halves(x, dims) : turnedNeighbours(g, x, dims, neighbours)
    return g.op('Add', [g.op('Mul', [x, cos]), g.op('Mul', [turned, sin])])
  }

  #halves(x: string, dims: number): string {
    const g = this.#g
    const first = this.#cut(x, 3, 0, dims / 2)
    const second = this.#cut(x, 3, dims / 2, dims)
    return g.op('Concat', [g.op('Neg', [second]), first], { axis: 3 })
  }

  #cut(x: string, axis: number, from: number, to: number): string {
    const g = this.#g
    return g.op('Slice', [x, g.ints([from]), g.ints([to]), g.ints([axis])])
  }

  /** Heads of queries, keys and values, [1, heads, tokens, HEAD_DIM] each. */
  #byHead(x: string): string[] {
    const g = this.#g
    const product = g.op('MatMul', [x, this.#matrix(HIDDEN, 3 * this.#heads * HEAD_DIM)])
    const made = g.op('Add', [product, this.#matrix(1, 3 * this.#heads * HEAD_DIM)])
    const shaped = g.op('Reshape', [made, g.ints([0, 0, this.#heads, 3 * HEAD_DIM])])
    const heads = g.op('Transpose', [shaped], { perm: { ints: [0, 2, 1, 3] } })
    return [0, 1, 2].map((part) => this.#cut(heads, 3, part * HEAD_DIM, (part + 1) * HEAD_DIM))
  }

  /** One product per width, of `x` and a random matrix; some forms cut them from a single product. */
  #products(x: string, widths: readonly number[]): string[] {
    const g = this.#g
    const { merged } = this.#form
    const product = (width: number) => g.op('MatMul', [x, this.#matrix(HIDDEN, width)])
    if (merged === undefined || merged === 'by-head') return widths.map(product)
    const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, width) => sum + width, 0))
    const whole = product(widths.reduce((sum, width) => sum + width, 0))
    if (merged === 'slice')
      return widths.map((width, index) => this.#cut(whole, 2, starts[index]!, starts[index]! + width))
    const names = widths.map((_, index) => `${whole}_${index}`)
    g.node('Split', [whole, g.ints(widths)], names, { axis: 2 })
    return names
  }

  #joined(layer: number, kind: StateKind, own: string): string {
    if (!this.#hasState) return own
    const place = { layer, kind }
    const past = pastName(this.#form.pastOf?.(place) ?? place)
    const made = this.#g.op('Concat', [past, own], { axis: 2 })
    this.#presents.set(presentName(place), made)
    return made
  }

  /** Repeats each head of keys or values for every query head that reads it. */
  #copied(heads: string, total: string): string {
    const g = this.#g
    const copies = this.#heads / this.#kvHeads
    if (copies === 1) return heads
    switch (this.#form.copies) {
      case 'gather': {
        const numbers = Array.from({ length: this.#heads }, (_, head) => Math.floor(head / copies))
        return g.op('Gather', [heads, g.ints(numbers)], { axis: 1 })
      }
      case 'tile heads':
        return g.op('Tile', [heads, g.ints([1, copies, 1, 1])])
      case 'expand heads':
        return g.op('Expand', [heads, g.ints([1, copies, 1, 1])])
      case 'tile': {
        const tiled = g.op('Tile', [g.unsqueeze(heads, 2), g.ints([1, 1, copies, 1, 1])])
        return g.op('Reshape', [tiled, g.ints([0, this.#heads, -1, HEAD_DIM])])
      }
      default:
    }
    const shape = g.op('Shape', [heads])
    const part = (from: number, to: number) =>
      g.op('Slice', [shape, g.ints([from]), g.ints([to]), g.ints([0])])
    const isOfFirst = this.#form.stateAxis !== undefined
    const rest = isOfFirst ? [g.unsqueeze(total, 0), g.ints([HEAD_DIM])] : [part(2, 4)]
    const wide = g.op('Concat', [part(0, 2), g.ints([copies]), ...rest], { axis: 0 })
    const joined = [g.ints([1, this.#heads]), ...rest]
    const sizes = isOfFirst ? g.op('Concat', joined, { axis: 0 }) : g.ints([0, this.#heads, -1, HEAD_DIM])
    return g.op('Reshape', [g.op('Expand', [g.unsqueeze(heads, 2), wide]), sizes])
  }

  #fused(
    layer: number,
    rows: readonly string[],
    { mask, positions, places }: { mask: string; positions: string; places: Places },
  ): string {
    const g = this.#g
    const isGroup = this.#form.attention === 'group'
    const isTurned = this.#form.places === 'op'
    const counts = [this.#heads, this.#kvHeads, this.#kvHeads]
    const [q, k, v] = rows.map((each, index) => {
      if (!isTurned || index === 2 || isGroup) return each
      const { countsHeads = true } = this.#form
      const attributes: Record<string, number> = countsHeads
        ? { num_heads: counts[index]!, rotary_embedding_dim: HEAD_DIM }
        : {}
      const inputs = [each, positions, ...this.#tables()]
      return g.node('RotaryEmbedding', inputs, [`turned_${layer}_${index}`], attributes, 'com.microsoft')
    }) as [string, string, string]
    const kinds = ['key', 'value'] as const
    const pasts = kinds.map((kind) => pastName(this.#form.pastOf?.({ layer, kind }) ?? { layer, kind }))
    const made = [`attended_${layer}`, ...kinds.map((kind) => `joined_${layer}_${kind}`)]
    if (this.#form.attention === 'standard') return this.#standard(layer, [q, k, v], mask, pasts)
    if (!this.#hasState) {
      const attributes = { num_heads: this.#heads }
      return g.node('MultiHeadAttention', [q, k, v, '', '', mask], made.slice(0, 1), attributes, MICROSOFT)
    }
    for (const [index, kind] of kinds.entries())
      this.#presents.set(presentName({ layer, kind }), made[index + 1]!)
    if (!isGroup) {
      const inputs = [q, k, v, '', '', mask, ...pasts]
      return g.node('MultiHeadAttention', inputs, made, { num_heads: this.#heads }, MICROSOFT)
    }
    const tables = isTurned ? this.#tables() : ['', '']
    const sinks = this.#form.hasSinks ? this.#matrix(1, this.#heads, 1, (values) => g.floats(values)) : ''
    const own = this.#form.positions !== undefined && isTurned ? positions : ''
    const { headNorms, stated } = this.#form
    const norms = headNorms === undefined ? [] : [this.#gains(HEAD_DIM), this.#gains(HEAD_DIM)]
    const isApart = headNorms === 'apart'
    const heads = isApart ? [q, k].map((each, at) => this.#headsNormed(each, norms[at]!)) : [q, k]
    const inside = isApart ? [] : ['', '', ...norms]
    const inputs = [...heads, v, ...pasts, ...this.#lengths(places), ...tables, own, mask, sinks, ...inside]
    while (inputs.at(-1) === '') inputs.pop()
    const attributes = {
      num_heads: this.#heads,
      kv_num_heads: this.#kvHeads,
      do_rotary: isTurned ? 1 : 0,
      ...(this.#form.window !== undefined && { local_window_size: this.#form.window }),
      ...stated,
    }
    return g.node('GroupQueryAttention', inputs, made, attributes, MICROSOFT)
  }

  /** Omits unused outputs, or names them. */
  #standard(layer: number, rows: readonly string[], mask: string, pasts: readonly string[]): string {
    const { isCausal = false, givesScores = false, cap } = this.#form
    const kinds = ['key', 'value'] as const
    const joined = kinds.map((kind) => `joined_${layer}_${kind}`)
    if (this.#hasState)
      for (const [index, kind] of kinds.entries())
        this.#presents.set(presentName({ layer, kind }), joined[index]!)
    const inputs = [...rows, isCausal ? '' : mask, ...(this.#hasState ? pasts : [])]
    const outputs = [
      `attended_${layer}`,
      ...(this.#hasState ? joined : givesScores ? ['', ''] : []),
      ...(givesScores ? [`scores_${layer}`] : []),
    ]
    const attributes = {
      q_num_heads: this.#heads,
      kv_num_heads: this.#kvHeads,
      ...(isCausal && { is_causal: 1 }),
      ...(cap !== undefined && { softcap: { float: cap } }),
    }
    while (inputs.at(-1) === '') inputs.pop()
    return this.#g.node('Attention', inputs, outputs, attributes)
  }

  #lengths(places: Places): [string, string] {
    const g = this.#g
    const sum = g.op('ReduceSum', ['attention_mask', g.ints([1])], { keepdims: 0 })
    const usual = g.op('Sub', [sum, g.ints([1])])
    const lengths = this.#form.lengths?.(g, usual, places) ?? usual
    const total = g.op('Gather', [g.op('Shape', ['attention_mask']), g.int(1)])
    return [g.cast(lengths, 'i32'), g.cast(total, 'i32')]
  }

  #known: [string, string] | undefined
  /** [position][headDim / 2] */
  #tables(): [string, string] {
    if (this.#known !== undefined) return this.#known
    const half = HEAD_DIM / 2
    const rows = this.#form.tableRows ?? 64
    const { tableBase = () => 10_000, isLong } = this.#form
    const tablesOf = (g: NodeWriter, baseOf: (position: number) => number): [string, string] => {
      const angles = Array.from({ length: rows * half }, (_, at) => {
        const position = Math.floor(at / half)
        return position * baseOf(position) ** (-(at % half) / half)
      })
      const table = (of: (angle: number) => number) => g.floats(angles.map(of), [rows, half])
      return [table(Math.cos), table(Math.sin)]
    }
    if (isLong === undefined) this.#known = tablesOf(this.#g, tableBase)
    else {
      const branch = (prefix: string, baseOf: (position: number) => number) => {
        const g = new NodeWriter(prefix)
        const outputs = tablesOf(g, baseOf)
        const nodes = g.constants.map((value) => ({
          op: 'Constant',
          inputs: [],
          outputs: [value.name],
          attributes: { value },
        }))
        return { nodes, outputs: outputs.map((name) => ({ name, type: TYPE.f32, dims: [rows, half] })) }
      }
      const attributes = { then_branch: branch('long_', () => 500), else_branch: branch('short_', tableBase) }
      const names = ['chosen_cosines', 'chosen_sines']
      this.#known = names as [string, string]
      this.#g.node('If', [isLong(this.#g, this.#places())], names, attributes)
    }
    return this.#known
  }

  #mlp(x: string): string {
    const g = this.#g
    const [gate = '', up = ''] = this.#products(x, [INNER, INNER])
    const changed = this.#form.rowsOp?.(g, gate) ?? gate
    const active = activated(g, changed, up, this.#form.activation ?? 'silu')
    return g.op('MatMul', [active, this.#matrix(INNER, HIDDEN)])
  }

  /** Rows with normed heads, as [batch, tokens * heads, numbers]. */
  #headsNormed(rows: string, gains: string): string {
    const g = this.#g
    const apart = g.op('Reshape', [rows, g.ints([0, -1, HEAD_DIM])])
    const attributes = { axis: -1, epsilon: { float: HEAD_EPSILON } }
    const made = g.op('SimplifiedLayerNormalization', [apart, gains], attributes)
    return g.op('Reshape', [made, g.op('Shape', [rows])])
  }

  #gains(count: number): string {
    return this.#g.floats(Array.from({ length: count }, () => 0.5 + this.#random.unit()))
  }

  #norm(x: string): string {
    const weight = this.#gains(HIDDEN)
    const attributes = { axis: 2, epsilon: { float: 1e-6 } }
    return this.#g.op('SimplifiedLayerNormalization', [x, weight], attributes)
  }

  /** Random numbers that keep rows at unit scale. */
  #matrix(
    rows: number,
    columns: number,
    scale = 2 / Math.sqrt(rows),
    write = (values: number[], dims: number[]) => this.#g.floats(values, dims),
  ): string {
    const values = Array.from({ length: rows * columns }, () => (this.#random.unit() * 2 - 1) * scale * 1.7)
    return write(values, [rows, columns])
  }
}

const MICROSOFT = 'com.microsoft'
