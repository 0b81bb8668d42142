// The graph that optimum exports in primitive operators. `f16`: norms, angles and attention weights are in
// f32, as in the model. `q8`: as transformers.js quantises the f32 graph, with one scale per matrix,
// MatMulInteger, and an int8 table.
// The logits are the product with the transposed embedding table. The mask combines positions and
// `attention_mask`; keys and values are repeated for the heads that read them.
import type { Shape } from '../../../shapes.ts'
import { bytesOf, type Decoder } from '../decoder.ts'
import { eightBits, transposed } from '../repack.ts'
import { asType, ExportParts, pastName, presentName, valuesOf } from './parts.ts'

type OptimumPrecision = 'f32' | 'f16' | 'q8'

const LEAST = { f32: -3.4028234663852886e38, f16: -65504 } as const

export function optimumDecoder(shape: Shape, precision: OptimumPrecision): Decoder {
  const build = new Optimum(shape, precision)
  build.run()
  const { nodes, inputs, outputs, weights, constants } = build.parts
  return { nodes, inputs, outputs, weights, constants }
}

class Optimum {
  readonly parts = new ExportParts()
  readonly #shape: Shape
  readonly #isEight: boolean
  /** Type of rows and states. */
  readonly #type: 'f32' | 'f16'

  constructor(shape: Shape, precision: OptimumPrecision) {
    this.#shape = shape
    this.#isEight = precision === 'q8'
    this.#type = precision === 'f16' ? 'f16' : 'f32'
  }

  run(): void {
    const g = this.parts
    const { layers } = this.#shape
    g.declare(this.#shape, this.#type, true)
    const table = this.#table()
    const mask = this.#mask()
    const turn = this.#turn()
    let rows = table.rows
    for (let layer = 0; layer < layers; layer++) {
      const normed = this.#norm(rows, `blk.${layer}.attn_norm`)
      rows = g.op('Add', [rows, this.#attention(layer, normed, mask, turn)])
      rows = g.op('Add', [rows, this.#mlp(layer, this.#norm(rows, `blk.${layer}.ffn_norm`))])
    }
    g.node('MatMul', [this.#norm(rows, 'output_norm'), table.turned()], ['logits'])
  }

  /** Rows of the tokens, and the table as a matrix [hidden, vocabulary]. */
  #table(): { readonly rows: string; readonly turned: () => string } {
    const g = this.parts
    const { vocabSize, hiddenSize } = this.#shape
    const turn = { perm: { ints: [1, 0] } } as const
    if (!this.#isEight) {
      const table = g.weight('model.embed_tokens.weight', this.#type, [vocabSize, hiddenSize], async (read) =>
        asType(await valuesOf('token_embd.weight', hiddenSize, undefined, read), this.#type),
      )
      const rows = g.op('Gather', [table, 'input_ids'])
      return { rows, turned: () => g.op('Transpose', [table], turn) }
    }
    const { codes, parameters } = this.#eight(
      'model.embed_tokens',
      'token_embd',
      vocabSize,
      hiddenSize,
      false,
    )
    const rows = g.op('DequantizeLinear', [g.op('Gather', [codes, 'input_ids']), ...parameters])
    return {
      rows,
      turned: () => g.op('DequantizeLinear', [g.op('Transpose', [codes], turn), ...parameters]),
    }
  }

  /** [batch, 1, tokens, total], added to scores. */
  #mask(): string {
    const g = this.parts
    const tokens = g.op('Gather', [g.op('Shape', ['input_ids']), g.int(1)])
    const past = g.op('Gather', [g.op('Shape', [pastName(0, 'key')]), g.int(2)])
    const total = g.op('Add', [past, tokens])
    const rows = g.op('Unsqueeze', [g.op('Range', [past, total, g.int(1)]), g.ints([1])])
    const columns = g.op('Unsqueeze', [g.op('Range', [g.int(0), total, g.int(1)]), g.ints([0])])
    const causal = g.op('Unsqueeze', [g.op('LessOrEqual', [columns, rows]), g.ints([0, 1])])
    const kept = g.op('Unsqueeze', [g.cast('attention_mask', 'bool'), g.ints([1, 2])])
    const seen = g.op('And', [causal, kept])
    return g.op('Where', [seen, this.#number(0), this.#number(LEAST[this.#type])])
  }

  /** Cosines and sines [batch, 1, tokens, headDim]. */
  #turn(): readonly [string, string] {
    const g = this.parts
    const { headDim, ropeBase } = this.#shape
    const half = headDim / 2
    const frequencies = Array.from({ length: half }, (_, pair) => Math.fround(ropeBase ** (-pair / half)))
    const positions = g.cast(g.op('Unsqueeze', ['position_ids', g.ints([1])]), 'f32')
    const product = g.op('MatMul', [g.floats(frequencies, [1, half, 1]), positions])
    const angles = g.op('Transpose', [product], { perm: { ints: [0, 2, 1] } })
    const both = g.op('Concat', [angles, angles], { axis: -1 })
    return [
      g.op('Unsqueeze', [this.#own(g.op('Cos', [both])), g.ints([1])]),
      g.op('Unsqueeze', [this.#own(g.op('Sin', [both])), g.ints([1])]),
    ]
  }

  #attention(layer: number, input: string, mask: string, turn: readonly [string, string]): string {
    const g = this.parts
    const { heads, kvHeads, headDim, family } = this.#shape
    const counts = { q: heads, k: kvHeads, v: kvHeads } as const
    const [q, k, v] = (['q', 'k', 'v'] as const).map((part) => {
      const rows = this.#product(input, `blk.${layer}.attn_${part}`, family === 'qwen2')
      const shaped = g.op('Reshape', [rows, g.ints([0, 0, counts[part], headDim])])
      return g.op('Transpose', [shaped], { perm: { ints: [0, 2, 1, 3] } })
    }) as [string, string, string]
    const own = { key: this.#turned(k, turn), value: v }
    const [keys, values] = (['key', 'value'] as const).map((kind) => {
      const inputs = [pastName(layer, kind), own[kind]]
      return this.#repeated(g.node('Concat', inputs, [presentName(layer, kind)], { axis: -2 }))
    }) as [string, string]
    const turned = g.op('Transpose', [keys], { perm: { ints: [0, 1, 3, 2] } })
    const product = g.op('MatMul', [this.#turned(q, turn), turned])
    const scores = g.op('Mul', [product, this.#number(headDim ** -0.5)])
    const masked = g.op('Add', [scores, mask])
    const shares = this.#own(g.op('Softmax', [this.#wide(masked)], { axis: -1 }))
    const attended = g.op('Transpose', [g.op('MatMul', [shares, values])], { perm: { ints: [0, 2, 1, 3] } })
    const rows = g.op('Reshape', [attended, g.ints([0, 0, heads * headDim])])
    return this.#product(rows, `blk.${layer}.attn_output`)
  }

  #turned(heads: string, [cos, sin]: readonly [string, string]): string {
    const g = this.parts
    const { headDim } = this.#shape
    const cut = (from: number, to: number) =>
      g.op('Slice', [heads, g.ints([from]), g.ints([to]), g.ints([3]), g.ints([1])])
    const swapped = g.op('Concat', [g.op('Neg', [cut(headDim / 2, headDim)]), cut(0, headDim / 2)], {
      axis: -1,
    })
    return g.op('Add', [g.op('Mul', [heads, cos]), g.op('Mul', [swapped, sin])])
  }

  #repeated(heads: string): string {
    const g = this.parts
    const { heads: count, kvHeads, headDim } = this.#shape
    if (count === kvHeads) return heads
    const shape = g.op('Shape', [heads])
    const part = (from: number, to: number) =>
      g.op('Slice', [shape, g.ints([from]), g.ints([to]), g.ints([0])])
    const wide = g.op('Concat', [part(0, 2), g.ints([count / kvHeads]), part(2, 4)], { axis: 0 })
    const expanded = g.op('Expand', [g.op('Unsqueeze', [heads, g.ints([2])]), wide])
    return g.op('Reshape', [expanded, g.ints([0, count, -1, headDim])])
  }

  #mlp(layer: number, input: string): string {
    const g = this.parts
    const gate = this.#product(input, `blk.${layer}.ffn_gate`)
    const up = this.#product(input, `blk.${layer}.ffn_up`)
    const active = g.op('Mul', [g.op('Mul', [gate, g.op('Sigmoid', [gate])]), up])
    return this.#product(active, `blk.${layer}.ffn_down`)
  }

  #norm(input: string, stored: string): string {
    const g = this.parts
    const { hiddenSize, normEpsilon } = this.#shape
    const rows = this.#wide(input)
    const square = g.op('ReduceMean', [g.op('Pow', [rows, g.float(2)]), g.ints([-1])], {
      keepdims: 1,
    })
    const root = g.op('Sqrt', [g.op('Add', [square, g.float(normEpsilon)])])
    const scaled = this.#own(g.op('Mul', [rows, g.op('Div', [g.float(1), root])]))
    const weight = g.weight(`${stored}.weight`, this.#type, [hiddenSize], async (read) =>
      asType(floatsOf(await read(`${stored}.weight`)), this.#type),
    )
    return g.op('Mul', [weight, scaled])
  }

  #product(input: string, stored: string, hasBias = false): string {
    const g = this.parts
    const [n, k] = this.#sizes(stored)
    const product = this.#isEight
      ? this.#eightProduct(input, stored, n, k)
      : this.#floatProduct(input, stored, n, k)
    if (!hasBias) return product
    const bias = g.weight(`${stored}.bias`, this.#type, [n], async (read) =>
      asType(floatsOf(await read(`${stored}.bias`)), this.#type),
    )
    return g.op('Add', [bias, product])
  }

  #floatProduct(input: string, stored: string, n: number, k: number): string {
    const weight = this.parts.weight(`onnx::MatMul ${stored}`, this.#type, [k, n], async (read) =>
      asType(transposed(await valuesOf(`${stored}.weight`, k, this.#headsOf(stored), read), k), this.#type),
    )
    return this.parts.op('MatMul', [input, weight])
  }

  #eightProduct(input: string, stored: string, n: number, k: number): string {
    const g = this.parts
    const { codes, parameters } = this.#eight(`onnx::MatMul ${stored}`, stored, n, k, true)
    const [scale, zero] = parameters
    const made = [`${input}_quantized`, `${input}_scale`, `${input}_zero_point`] as const
    if (!g.nodes.some(({ outputs }) => outputs[0] === made[0])) g.node('DynamicQuantizeLinear', [input], made)
    const sum = g.op('MatMulInteger', [made[0], codes, made[2], zero])
    return g.op('Mul', [g.cast(sum, 'f32'), g.op('Mul', [made[1], scale])])
  }

  /** Codes of a matrix [n, k], or of its transpose, and their scale and zero point. */
  #eight(name: string, stored: string, n: number, k: number, isTurned: boolean) {
    const g = this.parts
    const values = (read: (name: string) => Promise<Uint8Array>) =>
      valuesOf(`${stored}.weight`, k, this.#headsOf(stored), read)
    const codes = g.weight(`${name}_quantized`, 'i8', isTurned ? [k, n] : [n, k], async (read) => {
      const { codes: rows } = eightBits(await values(read))
      return bytesOf(isTurned ? transposed(rows, k) : rows)
    })
    const scale = g.weight(`${name}_scale`, 'f32', [], async (read) =>
      bytesOf(Float32Array.of(eightBits(await values(read)).scale)),
    )
    const zero = g.weight(`${name}_zero_point`, 'i8', [], async () => new Uint8Array(1))
    return { codes, parameters: [scale, zero] as const }
  }

  /** Outputs and inputs. */
  #sizes(stored: string): readonly [number, number] {
    const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = this.#shape
    if (/attn_[kv]$/.test(stored)) return [kvHeads * headDim, hiddenSize]
    if (stored.endsWith('attn_q')) return [heads * headDim, hiddenSize]
    if (stored.endsWith('attn_output')) return [hiddenSize, heads * headDim]
    return stored.endsWith('ffn_down') ? [hiddenSize, intermediateSize] : [intermediateSize, hiddenSize]
  }

  /** The head size, if the GGUF stores the rows of heads in a different order. */
  #headsOf(stored: string): number | undefined {
    const { family, headDim } = this.#shape
    return family === 'llama' && /attn_[qk]$/.test(stored) ? headDim : undefined
  }

  /** A constant of the rows' type. */
  #number(value: number): string {
    return this.#type === 'f16' ? this.parts.halves([value], []) : this.parts.float(value)
  }

  /** A value cast from f16 to f32 if necessary. */
  #wide(value: string): string {
    return this.#type === 'f16' ? this.parts.cast(value, 'f32') : value
  }

  /** An f32 value cast to the rows' type. */
  #own(value: string): string {
    return this.#type === 'f16' ? this.parts.cast(value, 'f16') : value
  }
}

const floatsOf = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer)
