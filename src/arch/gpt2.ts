// GPT-2. In: nothing. Out: GPT-2: layer norms, learned positions, biases everywhere, a feed-forward block without gate.
import type { ModelConfig } from './config.ts'
import { type DecoderTraits, PLAIN } from './decoder.ts'
import { family, type Names, type Place } from './family.ts'

export const GPT: DecoderTraits = {
  ...PLAIN,
  norm: 'layer',
  qkvBias: true,
  bias: true,
  mlp: 'plain',
  activation: 'gelu',
}

/** Q, K and V one after the other, matrix and bias. */
export const mergedQkv = (name: string, form?: Place['form']): Names => {
  const part = (index: number, kind: 'weight' | 'bias') => (config: ModelConfig) => {
    const n = config.heads * config.headDim
    const tensor = `${name}.${kind}`
    const runs = [[index * n, n]] as const
    return kind === 'weight'
      ? { tensor, shape: [3 * n, config.hiddenSize], runs, form }
      : { tensor, shape: [3 * n], runs }
  }
  const parts = (kind: 'weight' | 'bias') => ({
    [`layers.N.attn_q.${kind}`]: part(0, kind),
    [`layers.N.attn_k.${kind}`]: part(1, kind),
    [`layers.N.attn_v.${kind}`]: part(2, kind),
  })
  return { ...parts('weight'), ...parts('bias') }
}

const transposed = (tensor: string) => () => ({ tensor, form: 'transposed' }) as const

export const gpt2 = family(
  { ...GPT, positions: 'learned' },
  {
    gguf: { architecture: 'gpt2', pairing: 'halves', names: mergedQkv('blk.N.attn_qkv') },
    hf: {
      classes: ['GPT2LMHeadModel'],
      activations: ['gelu_new', 'gelu_pytorch_tanh'],
      keys: {
        hidden_size: 'n_embd',
        num_hidden_layers: 'n_layer',
        num_attention_heads: 'n_head',
        max_position_embeddings: 'n_positions',
        intermediate_size: 'n_inner',
        rms_norm_eps: 'layer_norm_epsilon',
        hidden_act: 'activation_function',
      },
      tied: true,
      names: {
        ...mergedQkv('transformer.h.N.attn.c_attn', 'transposed'),
        'embed.weight': 'transformer.wte.weight',
        'positions.weight': 'transformer.wpe.weight',
        'norm.weight': 'transformer.ln_f.weight',
        'norm.bias': 'transformer.ln_f.bias',
        'layers.N.attn_norm.weight': 'transformer.h.N.ln_1.weight',
        'layers.N.attn_norm.bias': 'transformer.h.N.ln_1.bias',
        'layers.N.attn_output.weight': transposed('transformer.h.N.attn.c_proj.weight'),
        'layers.N.attn_output.bias': 'transformer.h.N.attn.c_proj.bias',
        'layers.N.mlp_norm.weight': 'transformer.h.N.ln_2.weight',
        'layers.N.mlp_norm.bias': 'transformer.h.N.ln_2.bias',
        'layers.N.mlp_up.weight': transposed('transformer.h.N.mlp.c_fc.weight'),
        'layers.N.mlp_up.bias': 'transformer.h.N.mlp.c_fc.bias',
        'layers.N.mlp_down.weight': transposed('transformer.h.N.mlp.c_proj.weight'),
        'layers.N.mlp_down.bias': 'transformer.h.N.mlp.c_proj.bias',
      },
    },
  },
)
