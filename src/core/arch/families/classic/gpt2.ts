// GPT-2: layer norms, learned positions, biases, feed-forward blocks without a gate.

import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import { defaults, family, type Names, type StoredWeight } from '../../family.ts'
import { stackedQkv } from './merged-qkv.ts'

export const GPT: DecoderTraits = {
  ...PLAIN,
  norm: 'layer',
  qkvBias: true,
  bias: true,
  mlp: 'plain',
  activation: 'gelu',
}

/** Matrices or norms with their biases, by module. `form`: how the file stores the matrices. */
export const withBias = (modules: Readonly<Record<string, string>>, form?: StoredWeight['form']): Names =>
  Object.fromEntries(
    Object.entries(modules).flatMap(([name, file]): [string, Names[string]][] => [
      [`${name}.weight`, () => ({ tensor: `${file}.weight`, form })],
      [`${name}.bias`, `${file}.bias`],
    ]),
  )

const AT = 'transformer.h.N'

export const gpt2 = family(
  { ...GPT, positions: 'learned' },
  {
    gguf: { architecture: 'gpt2', pairing: 'halves', names: stackedQkv('blk.N.attn_qkv') },
    hf: {
      classes: {
        GPT2LMHeadModel: {
          // Default: four times the hidden size.
          ...defaults(50_257, 768, 0, 12, 12, 1024, { rms_norm_eps: 1e-5, tie_word_embeddings: true }),
        },
      },
      keys: {
        hidden_size: 'n_embd',
        num_hidden_layers: 'n_layer',
        num_attention_heads: 'n_head',
        max_position_embeddings: 'n_positions',
        intermediate_size: 'n_inner',
        rms_norm_eps: 'layer_norm_epsilon',
        hidden_act: 'activation_function',
      },
      biases: {},
      config: (fields) => ({
        attentionScale: fields.fact('scale_attn_weights', true) ? undefined : 1,
        dividedByLayer: fields.fact('scale_attn_by_inverse_layer_idx', false) || undefined,
      }),
      names: {
        ...stackedQkv(`${AT}.attn.c_attn`, 'transposed'),
        'embed.weight': 'transformer.wte.weight',
        'positions.weight': 'transformer.wpe.weight',
        ...withBias({
          norm: 'transformer.ln_f',
          'layers.N.attn_norm': `${AT}.ln_1`,
          'layers.N.mlp_norm': `${AT}.ln_2`,
        }),
        ...withBias(
          {
            'layers.N.attn_output': `${AT}.attn.c_proj`,
            'layers.N.mlp_up': `${AT}.mlp.c_fc`,
            'layers.N.mlp_down': `${AT}.mlp.c_proj`,
          },
          'transposed',
        ),
      },
    },
  },
)
