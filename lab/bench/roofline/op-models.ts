// Models with the shapes of published ones but fewer layers, to time the ops of their families. No file is
// read: weights are generated when they are read, in the kernels' own encoding.
import { readFileSync } from 'node:fs'
import { type Encoding, matrixBytes } from '../../../src/core/abi/encodings.ts'
import { storedConfig } from '../../../src/core/arch/config/config-hbm.ts'
import { hfConfig } from '../../../src/core/arch/config/config-hf.ts'
import { Fields } from '../../../src/core/arch/config/fields.ts'
import { addRareFamilies, buildGraph, findFamily } from '../../../src/core/arch/families.ts'
import * as rare from '../../../src/core/arch/rare/table.ts'
import { expectedTensors } from '../../../src/core/arch/tensors/tensor-names.ts'
import type { ByteSource } from '../../../src/core/base/bytes.ts'
import { DTYPE_OF } from '../../../src/core/formats/hbm/hbm.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { MetaValue, TensorInfo } from '../../../src/core/formats/tensors.ts'
import type { WeightRef } from '../../../src/core/graph/ir.ts'

export interface OpModel {
  /** The published model with these sizes. */
  readonly like: string
  /** File of test/conformance/transformers/golden, whose first configuration has all other keys. */
  readonly golden: string
  readonly sizes: Readonly<Record<string, MetaValue>>
  /** Ops to report: the start of an op's name and, after a space, of its label without the layer. */
  readonly ops: readonly string[]
  /** The encoding of matrices. Default `w4_g32`. */
  readonly encoding?: Encoding
  /** Values of ModelConfig that files store in tensors. */
  readonly stored?: object
}

const attention = (heads: number, kvHeads: number, headDim: number) => ({
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  head_dim: headDim,
})

/** BitNet b1.58 2B. */
const BITNET = {
  hidden_size: 2560,
  intermediate_size: 6912,
  num_hidden_layers: 4,
  ...attention(20, 5, 128),
}

export const OP_MODELS: readonly OpModel[] = [
  {
    like: 'BitNet b1.58 2B',
    golden: 'bitnet',
    sizes: BITNET,
    ops: ['linear_w2a8_g256', 'swiglu'],
    encoding: 'w2_g256',
  },
  {
    like: 'the same in 4 bits',
    golden: 'bitnet',
    sizes: BITNET,
    ops: ['linear_w4a8_g32 layers'],
  },
  {
    like: 'Qwen3-Next 80B, dense',
    golden: 'qwen3_5text',
    sizes: {
      hidden_size: 2048,
      intermediate_size: 5120,
      num_hidden_layers: 3,
      ...attention(16, 2, 256),
      linear_num_key_heads: 16,
      linear_num_value_heads: 32,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
    },
    ops: ['delta'],
  },
  {
    like: 'RecurrentGemma 2B',
    golden: 'recurrentgemma',
    sizes: {
      hidden_size: 2560,
      lru_width: 2560,
      intermediate_size: 15_360,
      num_hidden_layers: 3,
      attention_window_size: 2048,
      ...attention(10, 1, 256),
    },
    ops: ['lru'],
  },
  {
    like: 'RWKV-4 430M',
    golden: 'rwkv',
    sizes: {
      hidden_size: 1024,
      attention_hidden_size: 1024,
      intermediate_size: 4096,
      num_hidden_layers: 4,
      context_length: 1024,
    },
    ops: ['wkv'],
  },
  {
    like: 'gpt-oss 20B, with experts of 288',
    golden: 'gptoss',
    sizes: {
      hidden_size: 2880,
      intermediate_size: 288,
      num_hidden_layers: 2,
      ...attention(64, 8, 64),
      num_local_experts: 32,
      num_experts_per_tok: 4,
      sliding_window: 128,
    },
    ops: ['attention', 'route', 'gather', 'linear_experts', 'bias_experts', 'combine'],
  },
  {
    like: 'DeepSeek-V3, with experts of 64',
    golden: 'deepseekv3',
    sizes: {
      hidden_size: 2048,
      intermediate_size: 5632,
      moe_intermediate_size: 64,
      num_hidden_layers: 2,
      ...attention(16, 16, 64),
      kv_lora_rank: 512,
      q_lora_rank: 1536,
      qk_nope_head_dim: 128,
      qk_rope_head_dim: 64,
      qk_head_dim: 192,
      v_head_dim: 128,
      n_routed_experts: 256,
      num_experts_per_tok: 8,
      n_group: 8,
      topk_group: 4,
    },
    ops: ['route', 'join_heads'],
  },
  {
    like: 'Qwen3-30B-A3B',
    golden: 'qwen3moe',
    sizes: {
      hidden_size: 2048,
      intermediate_size: 6144,
      moe_intermediate_size: 768,
      num_hidden_layers: 2,
      ...attention(32, 4, 128),
      num_local_experts: 128,
      num_experts_per_tok: 8,
    },
    ops: ['linear_', 'route', 'gather', 'quantize', 'swiglu', 'combine'],
  },
  {
    like: 'Phi-3.5-MoE, narrower',
    golden: 'phimoe',
    sizes: { hidden_size: 1024, intermediate_size: 512, num_hidden_layers: 2, ...attention(16, 4, 64) },
    ops: ['route'],
  },
  {
    like: 'Apertus 8B',
    golden: 'apertus',
    sizes: { hidden_size: 4096, intermediate_size: 21_504, num_hidden_layers: 1, ...attention(32, 8, 128) },
    ops: ['swiglu'],
    stored: { xielu: [{ above: 0.8, below: 0.6, slope: 0.5, epsilon: -1e-6 }] },
  },
]

/** Enough for a step to have logits, but few enough not to hide the layers. */
const VOCABULARY = 1024
const CONTEXT = 4096

/** A pack of the model whose bytes are generated when they are read. */
export function openOpModel({ like, golden, sizes, encoding = 'w4_g32', stored }: OpModel): ModelFile {
  addRareFamilies(rare)
  const config = { ...configOf(like, golden, sizes), ...stored }
  const matrices = new Set<string>()
  for (const node of buildGraph(config).nodes) {
    for (const ref of Object.values(node)) {
      if (isMatrix(ref)) for (const { name } of ref.parts) matrices.add(name)
    }
  }
  const tensors = new Map<string, TensorInfo>()
  for (const { name, shape, place } of expectedTensors('hbm', config)) {
    if (place.constant !== undefined) continue
    const isTable = !name.startsWith('layers.')
    tensors.set(name, tensorOf(name, shape, matrices.has(name) ? (isTable ? 'w4_g32' : encoding) : undefined))
  }
  const metadata = new Map([['config', storedConfig(config) as MetaValue]])
  return { format: 'hbm', name: like, tensors, metadata, loadFamilies: async () => rare }
}

function configOf(name: string, golden: string, sizes: OpModel['sizes']) {
  const path = new URL(`../../../test/conformance/transformers/golden/${golden}.json`, import.meta.url)
  const { cases } = JSON.parse(readFileSync(path, 'utf8'))
  const given = Object.entries({ ...cases[0].config, vocab_size: VOCABULARY, ...sizes })
  const stated = Object.fromEntries(given.filter(([, value]) => value !== null)) as Record<string, MetaValue>
  const long = { ...stated, max_position_embeddings: CONTEXT, tie_word_embeddings: true }
  const [listed] = cases[0].config.architectures as readonly string[]
  const family = findFamily(({ hf }) => Object.hasOwn(hf.classes, listed ?? ''))
  if (family === undefined) throw new Error(`no family has the class ${listed}`)
  return hfConfig(name, Fields.of(name, long), { family })
}

const isMatrix = (value: unknown): value is WeightRef =>
  value instanceof Object && 'parts' in value && 'kind' in value && value.kind === 'matrix'

function tensorOf(name: string, shape: readonly number[], packed: Encoding | undefined): TensorInfo {
  const [n = 1, k = 1] = shape
  const byteLength =
    packed === undefined ? 4 * shape.reduce((all, size) => all * size, 1) : matrixBytes(packed, n, k)
  const source = madeSource(name, byteLength, packed === undefined)
  const dtype = packed === undefined ? 'F32' : DTYPE_OF[packed]
  return { name, dtype, shape, packed, source, offset: 0, byteLength }
}

/**
 * Floats around 1, or around -0.5 for decays. Bytes of panels are words whose halves are f16 scales near 2^-3
 * with any low bits; each byte is also a code.
 */
function madeSource(name: string, size: number, isFloat: boolean): ByteSource {
  const middle = /decay|a_log|ssm_a/i.test(name) ? -0.5 : /norm/.test(name) ? 1 : 0
  const read = async (offset: number, length: number) => {
    const words = new Uint32Array(Math.ceil(length / 4))
    const floats = new Float32Array(words.buffer)
    for (let i = 0; i < words.length; i++) {
      const noise = Math.imul(offset / 4 + i + 1, 2_654_435_761) >>> 0
      if (isFloat) floats[i] = middle + (noise / 2 ** 32 - 0.5) / 4
      else words[i] = (noise & 0x83ff83ff) | 0x20002000
    }
    return new Uint8Array(words.buffer, 0, length)
  }
  return { name, size, read }
}
