// Phi-3, Phi-3.5 and Phi-4, dense: Llama with merged matrices, LongRoPE and a window.

import { PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { defaults, family, type Names, type StoredWeight } from '../family.ts'

/** Gate and up in one tensor. */
export const mergedGateUp = (tensor: string): Names => {
  const part =
    (index: 0 | 1) =>
    ({ intermediateSize: n, hiddenSize }: ModelConfig) => ({
      tensor,
      shape: [2 * n, hiddenSize],
      runs: [[index * n, n]] as const,
    })
  return { 'layers.N.mlp_gate.weight': part(0), 'layers.N.mlp_up.weight': part(1) }
}

/** The rows of one part (0: Q, 1: K, 2: V) in a combined QKV matrix or bias. */
export function qkvRows(tensor: string, config: ModelConfig, part: number): StoredWeight {
  const { heads, kvHeads, headDim, hiddenSize } = config
  const sizes = [heads * headDim, kvHeads * headDim, kvHeads * headDim]
  const first = sizes.slice(0, part).reduce((sum, size) => sum + size, 0)
  const rows = sizes.reduce((sum, size) => sum + size, 0)
  const shape = tensor.endsWith('.bias') ? [rows] : [rows, hiddenSize]
  return { tensor, shape, runs: [[first, sizes[part] ?? 0]] }
}

/** Q, K and V in one tensor, gate and up in another. */
const merged = (qkv: string, gateUp: string): Names => {
  const ofQkv = (part: 0 | 1 | 2) => (config: ModelConfig) => qkvRows(qkv, config, part)
  return {
    'layers.N.attn_q.weight': ofQkv(0),
    'layers.N.attn_k.weight': ofQkv(1),
    'layers.N.attn_v.weight': ofQkv(2),
    ...mergedGateUp(gateUp),
  }
}

export const phi3 = family(PLAIN, {
  gguf: {
    architecture: 'phi3',
    pairing: 'halves',
    names: merged('blk.N.attn_qkv.weight', 'blk.N.ffn_up.weight'),
  },
  hf: {
    classes: {
      Phi3ForCausalLM: defaults(32_064, 3072, 8192, 32, 32, 4096, {
        rms_norm_eps: 1e-5,
        sliding_window: 0,
        original_max_position_embeddings: 4096,
        partial_rotary_factor: 1,
      }),
    },
    biases: {},
    names: merged('model.layers.N.self_attn.qkv_proj.weight', 'model.layers.N.mlp.gate_up_proj.weight'),
  },
})
