// Makes the ONNX graph that ONNX Runtime runs fastest for a shape and precision, and describes how to make
// each weight. Keys and values are inputs and outputs, as in the exports that pages load. One linear computes
// queries, keys and values; logits are computed only for the last row. `int4`: MatMulNBits, blocks of 32.
// `int8`: DynamicQuantizeMatMul, weights by channel. `f32`: MatMul. `f32-bf16`: the same with bf16 values, as
// in f32 exports of a model trained in bf16.
import type { WrittenAttribute, WrittenNode } from '../../../../src/network/onnx/testing/write-model.ts'
import type { Shape } from '../../shapes.ts'
import type { ElementType, Graph, Value, Weight } from './proto.ts'
import { eightBit, floats, fourBit, transposed } from './repack.ts'

export type Precision = 'int4' | 'int8' | 'f32' | 'f32-bf16'

/** A weight and its bytes. `read` returns a tensor of the GGUF file. */
export interface SourcedWeight extends Weight {
  readonly make: (read: (name: string) => Promise<Uint8Array>) => Promise<Uint8Array>
}
export interface Decoder extends Graph {
  readonly weights: readonly SourcedWeight[]
}

/** Number of positions in the RoPE tables. */
export const MAX_POSITIONS = 2560
const BLOCK = 32

/**
 * Inputs: `ids` i64 [1, rows]; `last` i32 [1], positions minus one after this run; `total` i32 [], positions
 * after it;
 * `past_k.N` and `past_v.N` f32 [1, kvHeads, past, headDim]. Outputs: `logits` f32 [1, 1, vocabSize] of the
 * last row;
 * `k.N` and `v.N`, the past with the new rows.
 */
export function decoder(shape: Shape, precision: Precision): Decoder {
  const build = new DecoderBuilder(shape, precision)
  build.run()
  return build.parts
}

class DecoderBuilder {
  readonly parts = {
    nodes: [] as WrittenNode[],
    inputs: [] as Value[],
    outputs: [] as Value[],
    weights: [] as SourcedWeight[],
  }
  readonly #shape: Shape
  readonly #precision: Precision

  constructor(shape: Shape, precision: Precision) {
    this.#shape = shape
    this.#precision = precision
  }

  run(): void {
    const { layers, hiddenSize, intermediateSize, vocabSize, normEpsilon } = this.#shape
    this.#declare()
    const epsilon = { epsilon: { float: normEpsilon } } as const
    let residual = this.#embed()
    let normed = 'layer0.attn_norm'
    this.#node(
      'SimplifiedLayerNormalization',
      [residual, this.#vector(normed, 'blk.0.attn_norm.weight')],
      [normed],
      { ...epsilon, axis: -1 },
    )
    for (let layer = 0; layer < layers; layer++) {
      const at = `layer${layer}`
      const from = `blk.${layer}`
      const attended = this.#attention(layer, normed)
      const mixed = this.#linear(`${at}.attn_output`, attended, [`${from}.attn_output.weight`], hiddenSize)
      const inner = this.#addAndNorm(residual, mixed, `${at}.mlp_norm`, `${from}.ffn_norm.weight`)
      const gate = this.#linear(`${at}.gate`, inner.normed, [`${from}.ffn_gate.weight`], intermediateSize)
      const up = this.#linear(`${at}.up`, inner.normed, [`${from}.ffn_up.weight`], intermediateSize)
      this.#node('QuickGelu', [gate], [`${at}.silu`], { alpha: { float: 1 } }, 'com.microsoft')
      this.#node('Mul', [`${at}.silu`, up], [`${at}.act`])
      const down = this.#linear(`${at}.down`, `${at}.act`, [`${from}.ffn_down.weight`], hiddenSize)
      const isLast = layer === layers - 1
      const next = isLast ? 'norm' : `layer${layer + 1}.attn_norm`
      const stored = isLast ? 'output_norm.weight' : `blk.${layer + 1}.attn_norm.weight`
      const outer = this.#addAndNorm(inner.sum, down, next, stored)
      residual = outer.sum
      normed = outer.normed
    }
    this.#node('Gather', [normed, this.#constant('minus_one', 'i64', [1], [-1])], ['last_row'], {
      axis: 1,
    })
    this.#linear('logits', 'last_row', ['token_embd.weight'], vocabSize)
  }

  #declare(): void {
    const { layers, kvHeads, headDim, vocabSize } = this.#shape
    const { inputs, outputs } = this.parts
    inputs.push({ name: 'ids', type: 'i64', shape: [1, 'rows'] })
    inputs.push({ name: 'last', type: 'i32', shape: [1] }, { name: 'total', type: 'i32', shape: [] })
    outputs.push({ name: 'logits', type: 'f32', shape: [1, 1, vocabSize] })
    for (let layer = 0; layer < layers; layer++) {
      for (const kind of ['k', 'v']) {
        inputs.push({ name: `past_${kind}.${layer}`, type: 'f32', shape: [1, kvHeads, 'past', headDim] })
        outputs.push({ name: `${kind}.${layer}`, type: 'f32', shape: [1, kvHeads, 'total', headDim] })
      }
    }
  }

  #embed(): string {
    const { vocabSize, hiddenSize } = this.#shape
    const stored = 'token_embd.weight'
    if (this.#precision === 'int4') {
      const codes = this.#weight(
        'embed.codes',
        'u8',
        [vocabSize, hiddenSize / 2],
        async (read) => fourBit(await read(stored)).codes,
      )
      const scales = this.#weight('embed.scales', 'f32', [vocabSize, hiddenSize / BLOCK], async (read) =>
        bytesOf(fourBit(await read(stored)).scales),
      )
      const attributes: Record<string, WrittenAttribute> = {
        bits: 4,
        block_size: BLOCK,
        gather_axis: 0,
        quantize_axis: 1,
      }
      this.#node('GatherBlockQuantized', [codes, 'ids', scales], ['embed'], attributes, 'com.microsoft')
      return 'embed'
    }
    if (this.#isFloat) {
      const table = this.#weight('embed.weight', 'f32', [vocabSize, hiddenSize], async (read) =>
        bytesOf(this.#floats(await read(stored))),
      )
      this.#node('Gather', [table, 'ids'], ['embed'], { axis: 0 })
      return 'embed'
    }
    const codes = this.#weight('embed.codes', 'i8', [vocabSize, hiddenSize], async (read) =>
      bytesOf(eightBit(await read(stored), hiddenSize).codes),
    )
    const scales = this.#weight('embed.scales', 'f32', [vocabSize, 1], async (read) =>
      bytesOf(eightBit(await read(stored), hiddenSize).scales),
    )
    this.#node('Gather', [codes, 'ids'], ['embed.row'], { axis: 0 })
    this.#node('Cast', ['embed.row'], ['embed.float'], { to: 1 })
    this.#node('Gather', [scales, 'ids'], ['embed.scale'], { axis: 0 })
    this.#node('Mul', ['embed.float', 'embed.scale'], ['embed'])
    return 'embed'
  }

  #attention(layer: number, input: string): string {
    const { heads, kvHeads, headDim, family } = this.#shape
    const at = `layer${layer}`
    const stored = ['q', 'k', 'v'].map((part) => `blk.${layer}.attn_${part}`)
    const width = (heads + 2 * kvHeads) * headDim
    const matrices = stored.map((name) => `${name}.weight`)
    const biases = family === 'qwen2' ? stored.map((name) => `${name}.bias`) : undefined
    const qkv = this.#linear(`${at}.qkv`, input, matrices, width, biases)
    const tables = [this.#rope('cos', Math.cos), this.#rope('sin', Math.sin)]
    const past = ['past_k', 'past_v'].map((name) => `${name}.${layer}`)
    const attributes: Record<string, WrittenAttribute> = {
      num_heads: heads,
      kv_num_heads: kvHeads,
      do_rotary: 1,
      rotary_interleaved: family === 'llama' ? 1 : 0,
    }
    this.#node(
      'GroupQueryAttention',
      [qkv, '', '', ...past, 'last', 'total', ...tables],
      [`${at}.attention`, `k.${layer}`, `v.${layer}`],
      attributes,
      'com.microsoft',
    )
    return `${at}.attention`
  }

  /** The residual plus `value`, and its norm, in one op. */
  #addAndNorm(
    residual: string,
    value: string,
    name: string,
    stored: string,
  ): { normed: string; sum: string } {
    const sum = `${name}.sum`
    const inputs = [residual, value, this.#vector(name, stored)]
    const attributes = { epsilon: { float: this.#shape.normEpsilon } } as const
    this.#node('SkipSimplifiedLayerNormalization', inputs, [name, '', '', sum], attributes, 'com.microsoft')
    return { normed: name, sum }
  }

  /** `input` times the rows of the stored matrices, concatenated: [rows, n]. */
  #linear(
    name: string,
    input: string,
    stored: readonly string[],
    n: number,
    biases?: readonly string[],
  ): string {
    const { hiddenSize, intermediateSize, heads, headDim } = this.#shape
    const k = name.endsWith('.down')
      ? intermediateSize
      : name.endsWith('.attn_output')
        ? heads * headDim
        : hiddenSize
    const all = (read: (name: string) => Promise<Uint8Array>) => joined(stored, read)
    const bias =
      biases === undefined ? '' : this.#weight(`${name}.bias`, 'f32', [n], (read) => joined(biases, read))
    if (this.#precision === 'int4') {
      const codes = this.#weight(
        `${name}.codes`,
        'u8',
        [n, k / BLOCK, BLOCK / 2],
        async (read) => fourBit(await all(read)).codes,
      )
      const scales = this.#weight(`${name}.scales`, 'f32', [n, k / BLOCK], async (read) =>
        bytesOf(fourBit(await all(read)).scales),
      )
      const attributes: Record<string, WrittenAttribute> = {
        N: n,
        K: k,
        bits: 4,
        block_size: BLOCK,
        accuracy_level: 4,
      }
      const inputs = bias === '' ? [input, codes, scales] : [input, codes, scales, '', '', bias]
      this.#node('MatMulNBits', inputs, [name], attributes, 'com.microsoft')
      return name
    }
    if (this.#isFloat) {
      const weight = this.#weight(`${name}.weight`, 'f32', [k, n], async (read) =>
        bytesOf(transposed(this.#floats(await all(read)), k)),
      )
      const product = bias === '' ? name : `${name}.product`
      this.#node('MatMul', [input, weight], [product])
      if (bias !== '') this.#node('Add', [product, bias], [name])
      return name
    }
    const codes = this.#weight(`${name}.codes`, 'i8', [k, n], async (read) =>
      bytesOf(transposed(eightBit(await all(read), k).codes, k)),
    )
    const scales = this.#weight(`${name}.scales`, 'f32', [n], async (read) =>
      bytesOf(eightBit(await all(read), k).scales),
    )
    const inputs = bias === '' ? [input, codes, scales] : [input, codes, scales, '', bias]
    this.#node('DynamicQuantizeMatMul', inputs, [name], {}, 'com.microsoft')
    return name
  }

  get #isFloat(): boolean {
    return this.#precision === 'f32' || this.#precision === 'f32-bf16'
  }

  #floats(q4: Uint8Array): Float32Array {
    const values = floats(q4)
    if (this.#precision === 'f32-bf16') {
      const words = new Uint32Array(values.buffer)
      for (let i = 0; i < words.length; i++) words[i] = words[i]! & 0xffff0000
    }
    return values
  }

  #vector(name: string, stored: string): string {
    return this.#weight(`${name}.weight`, 'f32', [this.#shape.hiddenSize], (read) => read(stored))
  }

  /** [position][headDim / 2] */
  #rope(name: string, table: (angle: number) => number): string {
    const half = this.#shape.headDim / 2
    return this.#weight(name, 'f32', [MAX_POSITIONS, half], async () => {
      const values = new Float32Array(MAX_POSITIONS * half)
      for (const index of values.keys()) {
        const frequency = this.#shape.ropeBase ** (-(index % half) / half)
        values[index] = table(Math.floor(index / half) * frequency)
      }
      return bytesOf(values)
    })
  }

  #constant(name: string, type: ElementType, shape: readonly number[], values: readonly number[]): string {
    return this.#weight(name, type, shape, async () => bytesOf(BigInt64Array.from(values, BigInt)))
  }

  /** Once per name: layers share the RoPE tables. */
  #weight(name: string, type: ElementType, shape: readonly number[], make: SourcedWeight['make']): string {
    const { weights } = this.parts
    if (!weights.some((weight) => weight.name === name)) weights.push({ name, type, shape, make })
    return name
  }

  #node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Readonly<Record<string, WrittenAttribute>> = {},
    domain?: 'com.microsoft',
  ): void {
    this.parts.nodes.push({ op, domain, inputs, outputs, attributes })
  }
}

/** Rows of several Q4_0 tensors, concatenated. */
export async function joined(
  names: readonly string[],
  read: (name: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for (const name of names) parts.push(await read(name))
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : new Uint8Array(Buffer.concat(parts))
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
