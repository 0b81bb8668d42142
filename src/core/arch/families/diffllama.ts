// DiffLlama: Llama with differential attention.
import {
  DIFFERENCE_NORM,
  differenceNormSize,
  differenceNormWeight,
  differentialAttention,
  initialShare,
} from '../blocks/differential.ts'
import { type DecoderTraits, PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { layersOf } from '../config/fields.ts'
import { defaults, type FamilyFile, NO_GGUF, row, type StoredWeight } from '../family.ts'

const TRAITS: DecoderTraits = { ...PLAIN, isDifferential: true }
const ATTENTION = 'model.layers.N.self_attn'

/** Interleaves the value heads: one from the first half, then one from the second. */
function pairs({ kvHeads, headDim }: ModelConfig): StoredWeight['runs'] {
  const half = kvHeads / 2
  return Array.from({ length: Math.trunc(half) }, (_, head) =>
    [head, head + half].map((each) => [each * headDim, headDim] as const),
  ).flat()
}

const dot = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, at) => sum + value * (right[at] ?? Number.NaN), 0)

export const diffllama: FamilyFile = {
  traits: TRAITS,
  tensors: [row(`layers.N.${DIFFERENCE_NORM}`, '', '', (config) => [differenceNormSize(config)])],
  isUnused: (name) => /\.self_attn\.lambda_[qk][12]$/.test(name),
  build: (config, decoder) => decoder(config, TRAITS, differentialAttention),
  gguf: NO_GGUF,
  hf: {
    classes: { DiffLlamaForCausalLM: defaults(32_000, 2048, 8192, 16, 32, 2048, { rms_norm_eps: 1e-5 }) },
    biases: { qkv: 'attention_bias', output: 'attention_bias' },
    names: {
      'layers.N.attn_v.weight': (config) => ({
        tensor: `${ATTENTION}.v_proj.weight`,
        shape: [config.kvHeads * config.headDim, config.hiddenSize],
        runs: pairs(config),
      }),
      'layers.N.attn_v.bias': (config) => ({
        tensor: `${ATTENTION}.v_proj.bias`,
        shape: [config.kvHeads * config.headDim],
        runs: pairs(config),
      }),
      [`layers.N.${DIFFERENCE_NORM}`]: (config, _, layer) => ({
        tensor: '',
        constant: differenceNormWeight(config, layer),
      }),
    },
    async stored(config, numbers) {
      const subtracted: number[] = []
      for (const layer of layersOf(config)) {
        const of = (name: string) => numbers(`model.layers.${layer}.self_attn.lambda_${name}`)
        const first = Math.exp(dot(await of('q1'), await of('k1')))
        const second = Math.exp(dot(await of('q2'), await of('k2')))
        subtracted.push(first - second + initialShare(layer))
      }
      return { subtracted }
    },
  },
}
