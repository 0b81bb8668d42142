// Command R: parallel blocks that share one layer norm without a bias, scaled logits, and rotation of
// neighbouring pairs. Command R7B and later: some layers have a window; those without one do not rotate.

import { type DecoderTraits, PLAIN } from '../blocks/parts.ts'
import { layersOf, unrotatedPast } from '../config/fields.ts'
import { defaults, family, type Names } from '../family.ts'

const COHERE: DecoderTraits = { ...PLAIN, norm: 'layer', headNorms: 'layers' }
const PARALLEL = { parallelResidual: true, sharedNorm: true } as const
const KEYS = { rms_norm_eps: 'layer_norm_eps' }

/** Stored as [heads][head_dim]. */
const headNorms = (q: string, k: string): Names => ({
  'layers.N.attn_q_norm.weight': () => ({ tensor: q, isFlat: true }),
  'layers.N.attn_k_norm.weight': () => ({ tensor: k, isFlat: true }),
})

export const cohere = family(COHERE, {
  gguf: {
    architecture: 'command-r',
    pairing: 'interleaved',
    names: headNorms('blk.N.attn_q_norm.weight', 'blk.N.attn_k_norm.weight'),
    config: (fields, _, kinds) => ({
      ...PARALLEL,
      headNorms: kinds.has('attn_q_norm.weight'),
      logitScale: fields.number('logit_scale', 1),
    }),
  },
  hf: {
    classes: {
      CohereForCausalLM: defaults(256_000, 8192, 22_528, 40, 64, 8192, {
        rms_norm_eps: 1e-5,
        rope_theta: 5e5,
        tie_word_embeddings: true,
      }),
    },
    keys: KEYS,
    pairing: 'interleaved',
    biases: { qkv: 'attention_bias', output: 'attention_bias' },
    names: headNorms('model.layers.N.self_attn.q_norm.weight', 'model.layers.N.self_attn.k_norm.weight'),
    config: (fields) => ({
      ...PARALLEL,
      headNorms: fields.fact('use_qk_norm', false),
      logitScale: fields.number('logit_scale', 0.0625),
    }),
  },
})

const PERIOD = 4

export const cohere2 = family(COHERE, {
  gguf: {
    architecture: 'cohere2',
    pairing: 'interleaved',
    windowPeriod: PERIOD,
    config: (fields, { layers }) => ({
      ...PARALLEL,
      headNorms: false,
      logitScale: fields.number('logit_scale', 1),
      ...unrotatedPast(fields, 'attention.sliding_window', layers, PERIOD),
    }),
  },
  hf: {
    classes: {
      Cohere2ForCausalLM: defaults(256_000, 8192, 22_528, 40, 64, 8192, {
        rms_norm_eps: 1e-5,
        sliding_window: 4096,
        sliding_window_pattern: PERIOD,
        tie_word_embeddings: true,
      }),
    },
    keys: KEYS,
    pairing: 'interleaved',
    biases: { qkv: 'attention_bias', output: 'attention_bias' },
    config: (fields, { layers }) => ({
      ...PARALLEL,
      headNorms: false,
      logitScale: fields.number('logit_scale', 0.0625),
      // If there is no window, no layer rotates.
      ...(fields.number('sliding_window', 0) === 0
        ? { unrotatedLayers: layersOf({ layers }) }
        : unrotatedPast(fields, 'sliding_window', layers, PERIOD)),
    }),
  },
})
