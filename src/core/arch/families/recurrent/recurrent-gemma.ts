// RecurrentGemma: Griffin's gated linear recurrence in two of every three layers, attention with a window in
// the third.
import { hybrid } from '../../blocks/hybrid.ts'
import { lruLayer } from '../../blocks/lru.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import { unbuiltVariant, windowOf } from '../../config/fields.ts'
import { defaults, type FamilyFile, lessOne, modules, NO_GGUF } from '../../family.ts'

const TRAITS: DecoderTraits = { ...PLAIN, activation: 'gelu' }
const LAYER = 'model.layers.N'
const BLOCK = `${LAYER}.temporal_block`

/** sqrt(n) in bfloat16, as the class stores it. */
function rootInHalf(n: number): number {
  const words = new Uint32Array(Float32Array.of(Math.sqrt(n)).buffer)
  const word = words[0]!
  words[0] = (word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000
  return new Float32Array(words.buffer)[0]!
}

export const recurrentGemma: FamilyFile = {
  traits: TRAITS,
  recurrence: 'lru',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(lruLayer)),
  gguf: NO_GGUF,
  hf: {
    classes: {
      RecurrentGemmaForCausalLM: defaults(256_000, 2560, 7680, 26, 10, 8192, {
        partial_rotary_factor: 0.5,
        tie_word_embeddings: true,
        logits_soft_cap: 30,
      }),
    },
    keys: { hidden_act: 'hidden_activation' },
    config(fields, common) {
      const { hiddenSize, heads, layers, intermediateSize, biases } = common
      const kinds = fields.has('block_types')
        ? fields.textList('block_types')
        : ['recurrent', 'recurrent', 'attention']
      const other = kinds.find((kind) => kind !== 'recurrent' && kind !== 'attention')
      if (other !== undefined || kinds.length === 0) {
        throw unbuiltVariant(fields.file, 'other block_types', 'recurrent and attention')
      }
      const attends = Array.from(
        { length: Math.min(layers, 1 << 10) },
        (_, i) => kinds[i % kinds.length] === 'attention',
      )
      return {
        attentionLayers: [...attends.keys()].filter((layer) => attends[layer]),
        window: windowOf(common, fields.number('attention_window_size', 2048), attends),
        ssm: {
          kind: 'lru',
          innerSize: fields.number('lru_width', hiddenSize),
          stateSize: 1,
          convKernel: fields.number('conv1d_width', 4),
          convBias: true,
          heads,
        },
        biases: { ...biases, output: true, mlp: true },
        intermediateSize: intermediateSize / 2,
        embeddingScale: rootInHalf(hiddenSize),
        logitCap: fields.number('logits_soft_cap'),
      }
    },
    names: {
      'norm.weight': lessOne('model.final_norm.weight'),
      'layers.N.attn_norm.weight': lessOne(`${LAYER}.temporal_pre_norm.weight`),
      'layers.N.ssm_norm.weight': lessOne(`${LAYER}.temporal_pre_norm.weight`),
      'layers.N.mlp_norm.weight': lessOne(`${LAYER}.channel_pre_norm.weight`),
      ...modules({
        'layers.N.attn_q': `${BLOCK}.q_proj`,
        'layers.N.attn_k': `${BLOCK}.k_proj`,
        'layers.N.attn_v': `${BLOCK}.v_proj`,
        'layers.N.attn_output': `${BLOCK}.o_proj`,
        'layers.N.mlp_gate': `${LAYER}.mlp_block.gate_proj`,
        'layers.N.mlp_up': `${LAYER}.mlp_block.up_proj`,
        'layers.N.mlp_down': `${LAYER}.mlp_block.down_proj`,
        'layers.N.ssm_in_x': `${BLOCK}.linear_x`,
        'layers.N.ssm_in_z': `${BLOCK}.linear_y`,
        'layers.N.ssm_conv': `${BLOCK}.conv_1d`,
        'layers.N.ssm_output': `${BLOCK}.linear_out`,
      }),
    },
  },
}
