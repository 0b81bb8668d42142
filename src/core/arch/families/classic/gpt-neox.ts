// GPT-NeoX and Pythia: GPT-2 with partial RoPE and parallel blocks. Persimmon: the same with layer norms per
// head and a squared ReLU.
import { defaults, family, modules, NO_GGUF } from '../../family.ts'
import { GPT, withBias } from './gpt2.ts'
import { groupedQkv, stackedQkv } from './merged-qkv.ts'

const AT = 'gpt_neox.layers.N'

export const gptNeox = family(
  { ...GPT, activation: 'gelu_exact' },
  {
    gguf: {
      architecture: 'gptneox',
      pairing: 'halves',
      names: stackedQkv('blk.N.attn_qkv'),
      config: (fields) => ({ parallelResidual: fields.fact('use_parallel_residual', true) }),
    },
    hf: {
      classes: {
        GPTNeoXForCausalLM: defaults(50_432, 6144, 24_576, 44, 64, 2048, {
          rms_norm_eps: 1e-5,
          partial_rotary_factor: 0.25,
        }),
      },
      keys: {
        rms_norm_eps: 'layer_norm_eps',
        partial_rotary_factor: 'rotary_pct',
        rope_theta: 'rotary_emb_base',
      },
      config: (fields) => ({ parallelResidual: fields.fact('use_parallel_residual', true) }),
      names: {
        ...groupedQkv(`${AT}.attention.query_key_value`),
        'embed.weight': 'gpt_neox.embed_in.weight',
        'output.weight': 'embed_out.weight',
        ...withBias({
          norm: 'gpt_neox.final_layer_norm',
          'layers.N.attn_norm': `${AT}.input_layernorm`,
          'layers.N.attn_output': `${AT}.attention.dense`,
          'layers.N.mlp_norm': `${AT}.post_attention_layernorm`,
          'layers.N.mlp_up': `${AT}.mlp.dense_h_to_4h`,
          'layers.N.mlp_down': `${AT}.mlp.dense_4h_to_h`,
        }),
      },
    },
  },
)

const LAYER = 'model.layers.N'

export const persimmon = family(
  { ...GPT, activation: 'relu2', headNorms: 'layer' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        PersimmonForCausalLM: defaults(262_144, 4096, 16_384, 36, 64, 16_384, {
          rms_norm_eps: 1e-5,
          partial_rotary_factor: 0.5,
        }),
      },
      keys: { rms_norm_eps: 'layer_norm_eps' },
      biases: {},
      // Every head has a key and a value, whatever the file states.
      config: (fields, { heads }) => ({ kvHeads: heads, headNorms: fields.fact('qk_layernorm', true) }),
      names: {
        ...groupedQkv(`${LAYER}.self_attn.query_key_value`),
        ...modules({
          norm: 'model.final_layernorm',
          'layers.N.attn_q_norm': `${LAYER}.self_attn.q_layernorm`,
          'layers.N.attn_k_norm': `${LAYER}.self_attn.k_layernorm`,
          'layers.N.attn_output': `${LAYER}.self_attn.dense`,
          'layers.N.mlp_up': `${LAYER}.mlp.dense_h_to_4h`,
          'layers.N.mlp_down': `${LAYER}.mlp.dense_4h_to_h`,
        }),
      },
    },
  },
)
