// Ettin and other ModernBERT decoders: layer norms without biases, also on the embeddings but not before the
// first attention; windowed layers that rotate faster; a dense layer between the last norm and the logits.

import { PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { type Fields, layersOf, requireFacts, unbuiltVariant, windowOf } from '../config/fields.ts'
import { localRope } from '../config/hf-rope.ts'
import { defaults, family, modules, type Names, NO_GGUF } from '../family.ts'
import { mergedGateUp } from './phi3.ts'

const AT = 'model.layers.N'

/** The biases of gate and up are merged like their matrices. */
const mergedBias =
  (part: 0 | 1) =>
  ({ intermediateSize: n }: ModelConfig) => ({
    tensor: `${AT}.mlp.Wi.bias`,
    shape: [2 * n],
    runs: [[part * n, n]] as const,
  })

const NAMES: Names = {
  ...mergedGateUp(`${AT}.mlp.Wi.weight`),
  'layers.N.mlp_gate.bias': mergedBias(0),
  'layers.N.mlp_up.bias': mergedBias(1),
  ...modules({
    embed: 'model.embeddings.tok_embeddings',
    embed_norm: 'model.embeddings.norm',
    norm: 'model.final_norm',
    head: 'lm_head.dense',
    head_norm: 'lm_head.norm',
    output: 'decoder',
    'layers.N.attn_norm': `${AT}.attn_norm`,
    'layers.N.attn_q': `${AT}.attn.q_proj`,
    'layers.N.attn_k': `${AT}.attn.k_proj`,
    'layers.N.attn_v': `${AT}.attn.v_proj`,
    'layers.N.attn_output': `${AT}.attn.Wo`,
    'layers.N.mlp_norm': `${AT}.mlp_norm`,
    'layers.N.mlp_down': `${AT}.mlp.Wo`,
  }),
}

/** The window is half of `local_attention`, whatever `sliding_window` says. */
function windowed(fields: Fields, common: ModelConfig): Partial<ModelConfig> {
  const positions = Math.floor(fields.number('local_attention') / 2)
  const kinds = fields.list('layer_types')
  const period = fields.number('global_attn_every_n_layers', 3)
  const isLocal = layersOf(common).map((layer) =>
    kinds.length > 0 ? kinds[layer] === 'sliding_attention' : layer % period !== 0,
  )
  const window = windowOf(common, positions, isLocal)
  return { window, localRope: window && localRope(fields, common, fields.number('local_rope_theta', 10_000)) }
}

export const modernbertDecoder = family(
  {
    ...PLAIN,
    norm: 'layer',
    activation: 'gelu_exact',
    embeddingNorm: true,
    firstNorm: false,
    predictionHead: true,
  },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        ModernBertDecoderForCausalLM: defaults(50_368, 768, 1152, 22, 12, 8192, {
          rms_norm_eps: 1e-5,
          rope_theta: 160_000,
          local_attention: 128,
          tie_word_embeddings: true,
        }),
      },
      keys: { rms_norm_eps: 'norm_eps', hidden_act: 'hidden_activation', rope_theta: 'global_rope_theta' },
      biases: { qkv: 'attention_bias', output: 'attention_bias', mlp: 'mlp_bias' },
      names: NAMES,
      config(fields, common) {
        requireFacts(fields, { norm_bias: false, classifier_bias: false })
        const act = fields.text('classifier_activation', 'gelu')
        if (act !== 'gelu') throw unbuiltVariant(fields.file, `classifier_activation "${act}"`, '"gelu"')
        const biases = { ...common.biases, logits: fields.fact('decoder_bias', true) }
        // The class does not support grouped heads.
        return { kvHeads: common.heads, biases, ...windowed(fields, common) }
      },
    },
  },
)
