// The graph that onnxruntime-genai's builder writes in int4: MatMulNBits in blocks of 32,
// GroupQueryAttention, one table for embeddings and logits.

import type { WrittenAttribute } from '../../../../../src/network/onnx/testing/write-model.ts'
import type { Shape } from '../../../shapes.ts'
import { bytesOf, type Decoder, joined } from '../decoder.ts'
import { fourBit } from '../repack.ts'
import { ExportParts, pastName, presentName } from './parts.ts'

const BLOCK = 32
/** Rows of the rotation tables; the builder writes one per position of the context. */
const POSITIONS = 4096
const MICROSOFT = 'com.microsoft'

export function genaiDecoder(shape: Shape): Decoder {
  const build = new Genai(shape)
  build.run()
  const { nodes, inputs, outputs, weights, constants } = build.parts
  return { nodes, inputs, outputs, weights, constants }
}

class Genai {
  readonly parts = new ExportParts()
  readonly #shape: Shape

  constructor(shape: Shape) {
    this.#shape = shape
  }

  run(): void {
    const g = this.parts
    const { layers, hiddenSize, vocabSize, intermediateSize } = this.#shape
    g.declare(this.#shape, 'f32', false)
    const lengths = this.#lengths()
    let sum = this.#embed()
    let normed = g.node(
      'SimplifiedLayerNormalization',
      [sum, this.#norm('model.layers.0.input_layernorm', 'blk.0.attn_norm')],
      ['/model/layers.0/input_layernorm/output_0'],
      { ...this.#epsilon, axis: -1, stash_type: 1 },
    )
    for (let layer = 0; layer < layers; layer++) {
      const at = `model.layers.${layer}`
      const from = `blk.${layer}`
      const attended = this.#attention(layer, normed, lengths)
      const mixed = this.#product(attended, `${at}.attn.o_proj`, [`${from}.attn_output`], hiddenSize)
      const inner = this.#addAndNorm(sum, mixed, `${at}.post_attention_layernorm`, `${from}.ffn_norm`)
      const gate = this.#product(inner.normed, `${at}.mlp.gate_proj`, [`${from}.ffn_gate`], intermediateSize)
      const up = this.#product(inner.normed, `${at}.mlp.up_proj`, [`${from}.ffn_up`], intermediateSize)
      const active = g.op('Mul', [g.op('Mul', [gate, g.op('Sigmoid', [gate])]), up])
      const down = this.#product(active, `${at}.mlp.down_proj`, [`${from}.ffn_down`], hiddenSize)
      const isLast = layer === layers - 1
      const next = `model.layers.${layer + 1}.${isLast ? 'final_norm' : 'input'}_layernorm`
      const outer = this.#addAndNorm(
        inner.sum,
        down,
        next,
        isLast ? 'output_norm' : `blk.${layer + 1}.attn_norm`,
      )
      sum = outer.sum
      normed = outer.normed
    }
    this.#product(normed, 'lm_head', ['token_embd'], vocabSize, 'logits')
  }

  /** `seqlens_k` and `total_sequence_length`. */
  #lengths(): readonly string[] {
    const g = this.parts
    const one = g.ints([1])
    const sum = g.op('ReduceSum', ['attention_mask', one], { keepdims: 0 })
    const total = g.op('Gather', [g.op('Shape', ['attention_mask']), g.int(1)], { axis: 0 })
    return [g.cast(g.op('Sub', [sum, one]), 'i32'), g.cast(total, 'i32')]
  }

  /** The logits' table, reshaped. */
  #embed(): string {
    const g = this.parts
    const { vocabSize, hiddenSize } = this.#shape
    const { codes, scales } = this.#blocks('lm_head', ['token_embd'], vocabSize, hiddenSize)
    const rows = g.op('Reshape', [codes, g.ints([vocabSize, hiddenSize / 2])])
    const attributes: Record<string, WrittenAttribute> = {
      bits: 4,
      block_size: BLOCK,
      gather_axis: 0,
      quantize_axis: 1,
    }
    const output = '/model/embed_tokens/GatherBlockQuantized/output_0'
    return g.node('GatherBlockQuantized', [rows, 'input_ids', scales], [output], attributes, MICROSOFT)
  }

  #attention(layer: number, input: string, lengths: readonly string[]): string {
    const g = this.parts
    const { heads, kvHeads, headDim, family } = this.#shape
    const at = `model.layers.${layer}.attn.qkv_proj`
    const stored = ['q', 'k', 'v'].map((part) => `blk.${layer}.attn_${part}`)
    const width = (heads + 2 * kvHeads) * headDim
    const product = this.#product(input, at, stored, width)
    const biased =
      family === 'qwen2'
        ? g.op('Add', [
            product,
            g.weight(`${at}.Add.bias`, 'f32', [width], (read) =>
              joined(
                stored.map((name) => `${name}.bias`),
                read,
              ),
            ),
          ])
        : product
    const kinds = ['key', 'value']
    const pasts = kinds.map((kind) => pastName(layer, kind))
    const tables = [this.#table('cos_cache', Math.cos), this.#table('sin_cache', Math.sin)]
    const attributes: Record<string, WrittenAttribute> = {
      num_heads: heads,
      kv_num_heads: kvHeads,
      scale: { float: headDim ** -0.5 },
      local_window_size: -1,
      softcap: { float: 0 },
      do_rotary: 1,
      rotary_interleaved: family === 'llama' ? 1 : 0,
    }
    const outputs = [`/${at}/GroupQueryAttention`, ...kinds.map((kind) => presentName(layer, kind))]
    const inputs = [biased, '', '', ...pasts, ...lengths, ...tables, '', '', '']
    return g.node('GroupQueryAttention', inputs, outputs, attributes, MICROSOFT)
  }

  #addAndNorm(residual: string, value: string, name: string, stored: string) {
    const sum = `/${name}/output_3`
    const inputs = [residual, value, this.#norm(name, stored)]
    const outputs = [`/${name}/output_0`, '', '', sum]
    const normed = this.parts.node(
      'SkipSimplifiedLayerNormalization',
      inputs,
      outputs,
      this.#epsilon,
      MICROSOFT,
    )
    return { normed, sum }
  }

  get #epsilon() {
    return { epsilon: { float: this.#shape.normEpsilon } } as const
  }

  #norm(name: string, stored: string): string {
    return this.parts.weight(`${name}.weight`, 'f32', [this.#shape.hiddenSize], (read) =>
      read(`${stored}.weight`),
    )
  }

  #product(input: string, name: string, stored: readonly string[], n: number, output?: string): string {
    const { hiddenSize, intermediateSize, heads, headDim } = this.#shape
    const inner = name.endsWith('.o_proj') ? heads * headDim : hiddenSize
    const k = name.endsWith('.down_proj') ? intermediateSize : inner
    const { codes, scales } = this.#blocks(name, stored, n, k)
    const attributes: Record<string, WrittenAttribute> = {
      K: k,
      N: n,
      accuracy_level: 4,
      bits: 4,
      block_size: BLOCK,
    }
    const outputs = [output ?? `/${name}/MatMul/output_0`]
    return this.parts.node('MatMulNBits', [input, codes, scales], outputs, attributes, MICROSOFT)
  }

  #blocks(name: string, stored: readonly string[], n: number, k: number) {
    const names = stored.map((each) => `${each}.weight`)
    const at = `${name}.MatMul.weight`
    return {
      codes: this.parts.weight(
        `${at}_Q4`,
        'u8',
        [n, k / BLOCK, BLOCK / 2],
        async (read) => fourBit(await joined(names, read)).codes,
      ),
      scales: this.parts.weight(`${at}_scales`, 'f32', [n, k / BLOCK], async (read) =>
        bytesOf(fourBit(await joined(names, read)).scales),
      ),
    }
  }

  /** [position][headDim / 2] */
  #table(name: string, of: (angle: number) => number): string {
    const { headDim, ropeBase } = this.#shape
    const half = headDim / 2
    return this.parts.weight(name, 'f32', [POSITIONS, half], async () => {
      const angles = (at: number) => Math.floor(at / half) * ropeBase ** (-(at % half) / half)
      return bytesOf(Float32Array.from({ length: POSITIONS * half }, (_, at) => of(angles(at))))
    })
  }
}
