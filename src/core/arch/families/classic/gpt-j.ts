// GPT-J and CodeGen: parallel blocks that share one layer norm; each head rotates neighbouring pairs in part
// of its dimensions.
import type { ModelConfig } from '../../config/config.ts'
import type { Fields } from '../../config/fields.ts'
import { defaults, family, modules, NO_GGUF } from '../../family.ts'
import { GPT } from './gpt2.ts'
import { mergedParts } from './merged-qkv.ts'

const AT = 'transformer.h.N'

/** Only the feed-forward block and the logits have biases. */
const TRAITS = { ...GPT, qkvBias: false } as const

const KEYS = {
  hidden_size: 'n_embd',
  num_hidden_layers: 'n_layer',
  num_attention_heads: 'n_head',
  max_position_embeddings: 'n_positions',
  intermediate_size: 'n_inner',
  rms_norm_eps: 'layer_norm_epsilon',
  hidden_act: 'activation_function',
}

function hfJ(fields: Fields, { heads, hiddenSize, rope }: ModelConfig) {
  const headDim = hiddenSize / heads
  return {
    headDim,
    kvHeads: heads,
    intermediateSize: fields.number('n_inner', 0) || 4 * hiddenSize,
    rope: { ...rope, dims: fields.number('rotary_dim', headDim) },
    parallelResidual: true,
    sharedNorm: true,
    biases: { output: false, logits: true },
  }
}

const NAMES = {
  'embed.weight': 'transformer.wte.weight',
  ...modules({
    norm: 'transformer.ln_f',
    'layers.N.attn_norm': `${AT}.ln_1`,
    'layers.N.attn_output': `${AT}.attn.out_proj`,
    'layers.N.mlp_up': `${AT}.mlp.fc_in`,
    'layers.N.mlp_down': `${AT}.mlp.fc_out`,
  }),
}

const classDefaults = (vocabulary: number) =>
  defaults(vocabulary, 4096, 0, 28, 16, 2048, { rms_norm_eps: 1e-5, rotary_dim: 64 })

export const gptJ = family(TRAITS, {
  gguf: NO_GGUF,
  hf: {
    classes: { GPTJForCausalLM: classDefaults(50_400) },
    keys: KEYS,
    pairing: 'interleaved',
    biases: {},
    config: hfJ,
    names: {
      ...NAMES,
      ...modules({
        'layers.N.attn_q': `${AT}.attn.q_proj`,
        'layers.N.attn_k': `${AT}.attn.k_proj`,
        'layers.N.attn_v': `${AT}.attn.v_proj`,
      }),
    },
  },
})

/** The matrix was split for four devices: each part holds the queries, values and keys of its own heads. */
const DEVICES = 4

export const codegen = family(TRAITS, {
  gguf: NO_GGUF,
  hf: {
    classes: { CodeGenForCausalLM: classDefaults(50_400) },
    keys: KEYS,
    pairing: 'interleaved',
    biases: {},
    config: hfJ,
    names: {
      ...NAMES,
      ...mergedParts(`${AT}.attn.qkv_proj`, ({ hiddenSize }, part) => {
        const rows = hiddenSize / DEVICES
        const place = [0, 2, 1][part]!
        return Array.from({ length: DEVICES }, (_, device) => [(3 * device + place) * rows, rows])
      }),
    },
  },
})
