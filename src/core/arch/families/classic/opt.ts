// OPT and GPT-Neo: GPT-2 with matrices that are not transposed. OPT uses ReLU; GPT-Neo has a window in every
// second layer.
import type { ModelConfig } from '../../config/config.ts'
import { type Fields, unbuiltVariant, windowOf } from '../../config/fields.ts'
import { defaults, family, modules, NO_GGUF } from '../../family.ts'
import { GPT } from './gpt2.ts'

const OPT = 'model.decoder.layers.N'

/** The position table begins with two unused rows. */
const UNUSED_POSITIONS = 2

function hfOpt(fields: Fields, { heads, hiddenSize }: ModelConfig) {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const width = fields.number('word_embed_proj_dim', hiddenSize)
  if (width !== hiddenSize)
    throw refuse(`embeddings with ${width} numbers`, `embeddings with ${hiddenSize} numbers`)
  for (const [key, wanted] of [
    ['do_layer_norm_before', true],
    ['_remove_final_layer_norm', false],
    ['layer_norm_elementwise_affine', true],
  ] as const)
    if (fields.fact(key, wanted) !== wanted) throw refuse(`${key} ${!wanted}`, `${key} ${wanted}`)
  return { kvHeads: heads, headDim: hiddenSize / heads }
}

export const opt = family(
  { ...GPT, positions: 'learned', activation: 'relu' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        OPTForCausalLM: defaults(50_272, 768, 3072, 12, 12, 2048, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
        }),
      },
      keys: { intermediate_size: 'ffn_dim', hidden_act: 'activation_function' },
      biases: { qkv: 'enable_bias', output: 'enable_bias', mlp: 'enable_bias' },
      config: hfOpt,
      names: {
        'embed.weight': 'model.decoder.embed_tokens.weight',
        'positions.weight': ({ contextLength, hiddenSize }) => ({
          tensor: 'model.decoder.embed_positions.weight',
          shape: [contextLength + UNUSED_POSITIONS, hiddenSize],
          runs: [[UNUSED_POSITIONS, contextLength]],
        }),
        ...modules({
          norm: 'model.decoder.final_layer_norm',
          'layers.N.attn_norm': `${OPT}.self_attn_layer_norm`,
          'layers.N.attn_q': `${OPT}.self_attn.q_proj`,
          'layers.N.attn_k': `${OPT}.self_attn.k_proj`,
          'layers.N.attn_v': `${OPT}.self_attn.v_proj`,
          'layers.N.attn_output': `${OPT}.self_attn.out_proj`,
          'layers.N.mlp_norm': `${OPT}.final_layer_norm`,
          'layers.N.mlp_up': `${OPT}.fc1`,
          'layers.N.mlp_down': `${OPT}.fc2`,
        }),
      },
    },
  },
)

const NEO = 'transformer.h.N'

/** Whether each layer has a window. The file lists sequences of layer types and how often each repeats. */
function localLayers(fields: Fields): boolean[] {
  return fields.list('attention_types').flatMap((entry) => {
    const [kinds, count] = Array.isArray(entry) ? entry : []
    if (!Array.isArray(kinds) || typeof count !== 'number' || !(count >= 0 && count <= 1 << 10))
      throw unbuiltVariant(
        fields.file,
        'attention_types in an unknown form',
        'lists of layer types and their counts',
      )
    const turn = kinds.map((kind) => {
      if (kind === 'local' || kind === 'global') return kind === 'local'
      throw unbuiltVariant(fields.file, 'an unknown layer type in attention_types', 'global and local layers')
    })
    return Array.from({ length: count }, () => turn).flat()
  })
}

export const gptNeo = family(
  { ...GPT, qkvBias: false, positions: 'learned' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        GPTNeoForCausalLM: defaults(50_257, 2048, 0, 24, 16, 2048, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
        }),
      },
      keys: {
        num_hidden_layers: 'num_layers',
        num_attention_heads: 'num_heads',
        rms_norm_eps: 'layer_norm_epsilon',
        hidden_act: 'activation_function',
      },
      biases: {},
      config(fields, common) {
        const { heads, hiddenSize, layers } = common
        const stated = fields.has('attention_types')
        const local = stated
          ? localLayers(fields)
          : Array.from({ length: Math.min(layers, 1 << 10) }, (_, layer) => layer % 2 === 1)
        return {
          kvHeads: heads,
          headDim: hiddenSize / heads,
          attentionScale: 1,
          window: windowOf(common, fields.number('window_size', 256), local),
        }
      },
      names: {
        'embed.weight': 'transformer.wte.weight',
        'positions.weight': 'transformer.wpe.weight',
        ...modules({
          norm: 'transformer.ln_f',
          'layers.N.attn_norm': `${NEO}.ln_1`,
          'layers.N.attn_q': `${NEO}.attn.attention.q_proj`,
          'layers.N.attn_k': `${NEO}.attn.attention.k_proj`,
          'layers.N.attn_v': `${NEO}.attn.attention.v_proj`,
          'layers.N.attn_output': `${NEO}.attn.attention.out_proj`,
          'layers.N.mlp_norm': `${NEO}.ln_2`,
          'layers.N.mlp_up': `${NEO}.mlp.c_fc`,
          'layers.N.mlp_down': `${NEO}.mlp.c_proj`,
        }),
      },
    },
  },
)
