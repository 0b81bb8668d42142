// Families whose feed-forward blocks use a squared ReLU. Arcee: otherwise Llama. Nemotron: layer norms that
// store the weight minus 1, and rotation of half of each head. Jais 2: layer norms, and biases everywhere.
// NanoChat: norms without weights, also on embeddings and heads, a soft cap on logits, and rotation in the
// opposite direction.

import { type DecoderTraits, PLAIN } from '../blocks/parts.ts'
import type { ModelConfig, RopeScaling } from '../config/config.ts'
import { defaults, family, lessOne, modules, type Names, NO_GGUF, ones } from '../family.ts'

const SQUARED: DecoderTraits = { ...PLAIN, mlp: 'plain', activation: 'relu2' }
const AT = 'model.layers.N'

export const arcee = family(SQUARED, {
  gguf: { architecture: 'arcee', pairing: 'interleaved' },
  hf: { classes: { ArceeForCausalLM: defaults(32_000, 2560, 18_432, 32, 32, 4096, { rms_norm_eps: 1e-5 }) } },
})

export const nemotron = family(
  { ...SQUARED, norm: 'layer', normBias: true },
  {
    gguf: { architecture: 'nemotron', pairing: 'halves' },
    hf: {
      classes: {
        NemotronForCausalLM: defaults(256_000, 6144, 24_576, 32, 48, 4096, {
          rms_norm_eps: 1e-5,
          partial_rotary_factor: 0.5,
        }),
      },
      keys: { rms_norm_eps: 'norm_eps' },
      names: {
        'norm.weight': lessOne('model.norm.weight'),
        'layers.N.attn_norm.weight': lessOne(`${AT}.input_layernorm.weight`),
        'layers.N.mlp_norm.weight': lessOne(`${AT}.post_attention_layernorm.weight`),
      },
    },
  },
)

export const jais2 = family(
  { ...SQUARED, norm: 'layer', qkvBias: true, bias: true },
  {
    gguf: { architecture: 'jais2', pairing: 'halves' },
    hf: {
      classes: {
        Jais2ForCausalLM: defaults(150_272, 3328, 26_624, 32, 26, 8192, { rms_norm_eps: 1e-5 }),
      },
      keys: { rms_norm_eps: 'layer_norm_eps' },
    },
  },
)

/** The class rotates in the opposite direction, which is equivalent to swapping the halves of each head. */
const swapped = (letter: 'q' | 'k'): Names =>
  Object.fromEntries(
    (['weight', 'bias'] as const).map((kind) => [
      `layers.N.attn_${letter}.${kind}`,
      ({ heads, kvHeads, headDim, hiddenSize }: ModelConfig) => {
        const count = letter === 'q' ? heads : kvHeads
        const half = headDim / 2
        return {
          tensor: `${AT}.self_attn.${letter}_proj.${kind}`,
          shape: kind === 'weight' ? [count * headDim, hiddenSize] : [count * headDim],
          runs: Array.from({ length: 2 * count }, (_, at) => [(at ^ 1) * half, half] as const),
        }
      },
    ]),
  )

/** The head norms follow the rotation, so they cancel its magnitude. */
const withoutMagnitude = (scaling: RopeScaling | undefined): RopeScaling | undefined =>
  scaling !== undefined && 'magnitude' in scaling ? { ...scaling, magnitude: 1 } : scaling

export const nanochat = family(
  { ...SQUARED, headNorms: 'head', embeddingNorm: true },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        NanoChatForCausalLM: defaults(50_304, 768, 8192, 12, 6, 2048, {
          num_key_value_heads: 6,
          final_logit_softcapping: 15,
        }),
      },
      biases: { qkv: 'attention_bias', output: 'attention_bias' },
      config: (fields, { rope }) => ({
        logitCap: fields.number('final_logit_softcapping', 0),
        rope: { ...rope, scaling: withoutMagnitude(rope.scaling) },
      }),
      names: {
        ...modules({ 'layers.N.mlp_up': `${AT}.mlp.fc1`, 'layers.N.mlp_down': `${AT}.mlp.fc2` }),
        ...swapped('q'),
        ...swapped('k'),
        'embed_norm.weight': ones,
        'norm.weight': ones,
        'layers.N.attn_norm.weight': ones,
        'layers.N.mlp_norm.weight': ones,
        'layers.N.attn_q_norm.weight': ones,
        'layers.N.attn_k_norm.weight': ones,
      },
    },
  },
)
