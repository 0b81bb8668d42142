// The hyperparameters of a model under GGUF's names, and a check that a reader would get the same model.

import type { ModelConfig, RopeConfig } from '../../../core/arch/config/config.ts'
import { ggufConfig } from '../../../core/arch/config/config-gguf.ts'
import { familyFile } from '../../../core/arch/families.ts'
import { inverseFrequencies, ropeTables } from '../../../core/arch/rope.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { GgufValue } from '../../../core/formats/gguf/gguf-writer.ts'

type GgufMetadata = ReadonlyMap<string, GgufValue>

/** Families that can be written as GGUF. In GGUF, all others have merged, transposed or stacked tensors. */
export const GGUF_FAMILIES: readonly string[] = ['llama', 'smollm3', 'qwen2', 'qwen3', 'gemma3']

/** The family's keys, without the tokenizer's. */
export function ggufSettings(config: ModelConfig): GgufMetadata {
  const { hiddenSize, headDim, window: sliding, logitCap = 0, localRope } = config
  const own: [string, GgufValue | undefined][] = [
    ['context_length', ['u32', config.contextLength]],
    ['embedding_length', ['u32', hiddenSize]],
    ['block_count', ['u32', config.layers]],
    ['feed_forward_length', ['u32', config.intermediateSize]],
    ['vocab_size', ['u32', config.vocabSize]],
    ['attention.head_count', ['u32', config.heads]],
    ['attention.head_count_kv', ['u32', config.kvHeads]],
    ['attention.key_length', ['u32', headDim]],
    ['attention.value_length', ['u32', headDim]],
    ['attention.layer_norm_rms_epsilon', ['f32', config.normEpsilon]],
    ['attention.sliding_window', sliding && ['u32', sliding.positions]],
    ['final_logit_softcapping', logitCap === 0 ? undefined : ['f32', logitCap]],
    ['rope.freq_base_swa', localRope && ['f32', localRope.theta]],
    ...ropeSettings(config.rope),
  ]
  const { architecture = config.family } = familyFile(config.family).gguf
  return new Map(
    own.flatMap(([key, value]) => (value === undefined ? [] : [[`${architecture}.${key}`, value] as const])),
  )
}

function ropeSettings({ theta, dims, scaling }: RopeConfig): [string, GgufValue | undefined][] {
  const plain: [string, GgufValue][] = [
    ['rope.freq_base', ['f32', theta]],
    ['rope.dimension_count', ['u32', dims]],
  ]
  if (scaling?.type === 'linear')
    return [
      ...plain,
      ['rope.scaling.type', ['string', 'linear']],
      ['rope.scaling.factor', ['f32', scaling.factor]],
    ]
  if (scaling?.type !== 'yarn') return plain
  const { factor, originalContextLength, fast, slow, magnitude } = scaling
  const usual = 1 + 0.1 * Math.log(factor)
  return [
    ...plain,
    ['rope.scaling.type', ['string', 'yarn']],
    ['rope.scaling.factor', ['f32', factor]],
    ['rope.scaling.original_context_length', ['u32', originalContextLength]],
    ['rope.scaling.yarn_beta_fast', fast === 32 ? undefined : ['f32', fast]],
    ['rope.scaling.yarn_beta_slow', slow === 1 ? undefined : ['f32', slow]],
    ['rope.scaling.attn_factor', Math.abs(magnitude - usual) < 1e-6 ? undefined : ['f32', magnitude / usual]],
  ]
}

/** Llama 3's frequency divisors, which are stored as a tensor, [dims/2]; undefined if keys suffice. */
export function ropeFactors({ rope }: ModelConfig): Float32Array | undefined {
  if (rope.scaling?.type !== 'llama3') return undefined
  const plain = inverseFrequencies({ ...rope, scaling: undefined } as RopeConfig)
  const scaled = inverseFrequencies(rope)
  return Float32Array.from(plain, (frequency, pair) => frequency / scaled[pair]!)
}

/**
 * Throws `unsupported` if GGUF's keys would describe a different model: the format lacks a key for this
 * family, such as a window for Llama.
 */
export function checkSettings(
  config: ModelConfig,
  metadata: GgufMetadata,
  factors: Float32Array | undefined,
): void {
  const back = ggufConfig({
    name: config.name,
    family: config.family,
    metadata: new Map([...metadata].map(([key, [, value]]) => [key, value])),
    embeddingRows: config.vocabSize,
    hasOutput: !config.tiedEmbeddings,
    kinds: new Set(),
    ropeFactors: { plain: factors && [...factors] },
  })
  const hasWindow = config.window !== undefined && config.family !== 'gemma3'
  const other = hasWindow ? 'window' : firstDifference(config, back)
  if (other === undefined) return
  throw new HalfbyteError(
    'unsupported',
    `${config.name}: GGUF's keys for ${familyFile(config.family).gguf.architecture} cannot express this model's ${other}, so a different model would be read; write a .hbm`,
    { family: config.family, setting: other },
  )
}

/** Formats order rotation pairs differently, and express frequency scaling in different ways. */
const BY_VALUE: readonly string[] = ['rope', 'localRope', 'name'] satisfies (keyof ModelConfig)[]

/**
 * The first setting in which a model that is read back computes something else; undefined if there is none.
 */
export function firstDifference(config: ModelConfig, back: ModelConfig): string | undefined {
  const keys = new Set([...Object.keys(config), ...Object.keys(back)])
  const other = [...keys].find((key) => {
    if (BY_VALUE.includes(key)) return false
    return !isSame(config[key as keyof ModelConfig], back[key as keyof ModelConfig])
  })
  if (other !== undefined) return other
  const rotation = (own: ModelConfig) =>
    ropeTables(own, 0).map(({ frequencies, magnitude }) => [...frequencies, magnitude])
  return isSame(rotation(config), rotation(back)) ? undefined : 'rope'
}

/** Compares with f32 precision. Absent values, 0 and empty lists are equal. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number')
    return Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b))
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, at) => isSame(each, b[at]))
  if (isEmpty(a) && isEmpty(b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => isSame(a[key as keyof object], b[key as keyof object]))
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === 0 || (Array.isArray(value) && value.length === 0)
