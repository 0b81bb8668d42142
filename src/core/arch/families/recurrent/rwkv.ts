// RWKV-4: an exponentially weighted average of values in place of attention.
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import { timeMix } from '../../blocks/rwkv.ts'
import { unbuiltVariant } from '../../config/fields.ts'
import { type FamilyFile, modules, NO_GGUF } from '../../family.ts'

const TRAITS: DecoderTraits = {
  ...PLAIN,
  norm: 'layer',
  normBias: true,
  embeddingNorm: true,
  mlp: 'shifted',
}
const BLOCK = 'rwkv.blocks.N'
/** The shares of a row and of the previous one, as the two weights of a convolution. */
const shares = (tensor: string) => () => ({ tensor, form: 'shares' }) as const

export const rwkv: FamilyFile = {
  traits: TRAITS,
  attention: false,
  recurrence: 'wkv',
  build: (config, decoder) => decoder(config, TRAITS, timeMix),
  gguf: NO_GGUF,
  hf: {
    classes: { RwkvForCausalLM: { vocab_size: 50_277, hidden_size: 4096, num_hidden_layers: 32 } },
    config(fields, { hiddenSize }) {
      const epsilon = fields.number('layer_norm_epsilon', 1e-5)
      // In the class, the last norm has a different epsilon.
      if (epsilon !== 1e-5) throw unbuiltVariant(fields.file, `layer_norm_epsilon ${epsilon}`, '1e-5')
      const halvedEvery = fields.number('rescale_every', 6)
      return {
        ...(halvedEvery !== 0 && { halvedEvery }),
        normEpsilon: epsilon,
        intermediateSize: fields.number('intermediate_size', 4 * hiddenSize),
        ssm: {
          kind: 'wkv',
          innerSize: fields.number('attention_hidden_size', hiddenSize),
          stateSize: 3,
          convKernel: 2,
          convBias: false,
        },
      }
    },
    names: {
      ...modules({
        embed: 'rwkv.embeddings',
        embed_norm: 'rwkv.blocks.0.pre_ln',
        norm: 'rwkv.ln_out',
        output: 'head',
        'layers.N.ssm_norm': `${BLOCK}.ln1`,
        'layers.N.mlp_norm': `${BLOCK}.ln2`,
        'layers.N.ssm_r': `${BLOCK}.attention.receptance`,
        'layers.N.ssm_k': `${BLOCK}.attention.key`,
        'layers.N.ssm_v': `${BLOCK}.attention.value`,
        'layers.N.ssm_output': `${BLOCK}.attention.output`,
        'layers.N.mlp_r': `${BLOCK}.feed_forward.receptance`,
        'layers.N.mlp_k': `${BLOCK}.feed_forward.key`,
        'layers.N.mlp_down': `${BLOCK}.feed_forward.value`,
      }),
      'layers.N.ssm_r_conv.weight': shares(`${BLOCK}.attention.time_mix_receptance`),
      'layers.N.ssm_k_conv.weight': shares(`${BLOCK}.attention.time_mix_key`),
      'layers.N.ssm_v_conv.weight': shares(`${BLOCK}.attention.time_mix_value`),
      'layers.N.mlp_r_conv.weight': shares(`${BLOCK}.feed_forward.time_mix_receptance`),
      'layers.N.mlp_k_conv.weight': shares(`${BLOCK}.feed_forward.time_mix_key`),
    },
  },
}
