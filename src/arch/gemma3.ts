// Gemma 3. In: nothing. Out: Gemma 3, its text models: Gemma 2 with norms of heads for caps, and a RoPE of its own for windows.
import type { ModelConfig, RopeConfig } from './config.ts'
import { family } from './family.ts'
import { GEMMA, GEMMA_NORMS, gemmaScale } from './gemma2.ts'

/** Layers with a window rotate faster, and their frequencies are not scaled. */
const localRope = ({ rope }: ModelConfig, theta: number): RopeConfig => ({
  ...rope,
  theta,
  scaling: undefined,
})

export const gemma3 = family(
  { ...GEMMA, headNorms: 'head' },
  {
    gguf: {
      architecture: 'gemma3',
      pairing: 'halves',
      windowPeriod: 6,
      config: (fields, common) => ({
        embeddingScale: Math.sqrt(common.hiddenSize),
        attentionScale: gemmaScale(common, 62),
        logitCap: fields.number('final_logit_softcapping', 0),
        localRope: localRope(common, fields.number('rope.freq_base_swa', 10_000)),
      }),
    },
    hf: {
      classes: ['Gemma3ForCausalLM'],
      activations: ['gelu_pytorch_tanh'],
      keys: { hidden_act: 'hidden_activation' },
      tied: true,
      windowPeriod: 6,
      names: GEMMA_NORMS,
      config(fields, common) {
        const local = fields.record('rope_parameters')?.record('sliding_attention')
        const theta = local?.number('rope_theta', 10_000) ?? fields.number('rope_local_base_freq', 10_000)
        return {
          embeddingScale: Math.sqrt(common.hiddenSize),
          attentionScale: 1 / Math.sqrt(fields.number('query_pre_attn_scalar', 256)),
          attentionCap: fields.number('attn_logit_softcapping', 0),
          logitCap: fields.number('final_logit_softcapping', 0),
          localRope: localRope(common, theta),
        }
      },
    },
  },
)
