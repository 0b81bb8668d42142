// GGUF configuration. In: a header's keys and tensors. Out: the hyperparameters it states, not yet validated.
import type { MetaValue } from '../formats/tensors.ts'
import { FAMILIES, type Family, type ModelConfig, type RopeScaling } from './config.ts'
import { Fields } from './fields.ts'
import {
  ggufAttentionLayers,
  ggufMultipliers,
  ggufSsm,
  isPurelyRecurrent,
  NO_ATTENTION,
} from './recurrent-config.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'

export interface GgufFacts {
  readonly name: string
  readonly metadata: ReadonlyMap<string, MetaValue>
  /** Rows of the embedding table. */
  readonly embeddingRows: number
  /** Whether there is a logits matrix beside it. */
  readonly hasOutput: boolean
  /** What `rope_freqs.weight` holds, when there is one. */
  readonly ropeFactors: readonly number[] | undefined
}

/** Throws `architecture` for another family and keys of the wrong type, `unsupported` for variants that are not built. */
export function ggufConfig(facts: GgufFacts): ModelConfig {
  const { name, metadata } = facts
  const all = new Fields(name, (key) => metadata.get(key))
  const architecture = all.text('general.architecture')
  const family = FAMILIES.find((known) => known === architecture)
  if (family === undefined) throw unknownArchitecture(name, architecture)
  const fields = new Fields(name, (key) => metadata.get(`${family}.${key}`))
  const contextLength = fields.number('context_length')
  const tokens = all.list('tokenizer.ggml.tokens').length
  return {
    family,
    name,
    hiddenSize: fields.number('embedding_length'),
    layers: fields.number('block_count'),
    ...(isPurelyRecurrent(family) ? NO_ATTENTION : attention(fields, family, contextLength, facts)),
    ...(family !== 'llama' && family !== 'qwen2' && { ssm: ggufSsm(fields, family) }),
    vocabSize: tokens > 0 ? tokens : fields.number('vocab_size', facts.embeddingRows),
    normEpsilon: fields.number('attention.layer_norm_rms_epsilon'),
    contextLength,
    tiedEmbeddings: !facts.hasOutput,
  }
}

/** Heads, the MLP beside them, and how positions are told apart. */
function attention(fields: Fields, family: Family, contextLength: number, facts: GgufFacts) {
  const heads = fields.number('attention.head_count')
  const headDim = fields.number('attention.key_length', fields.number('embedding_length') / heads)
  refuseVariants(fields, headDim, contextLength)
  const isHybrid = family === 'granitehybrid'
  const isTurned = !isHybrid || fields.fact('rope.scaling.finetuned', true)
  const hybrid = isHybrid ? ggufAttentionLayers(fields) : undefined
  return {
    heads,
    kvHeads: hybrid?.kvHeads ?? fields.number('attention.head_count_kv', heads),
    headDim,
    intermediateSize: fields.number('feed_forward_length'),
    ...(hybrid && { attentionLayers: hybrid.layers, multipliers: ggufMultipliers(fields, headDim) }),
    rope: {
      theta: fields.number('rope.freq_base', 10_000),
      dims: isTurned ? fields.number('rope.dimension_count', headDim) : 0,
      // llama.cpp's converter reorders the rows of Q and K of `llama` and what it derives from it.
      pairing: family === 'qwen2' ? ('halves' as const) : ('interleaved' as const),
      scaling: isTurned ? ropeScaling(fields, facts.ropeFactors) : undefined,
    },
  }
}

function refuseVariants(fields: Fields, headDim: number, contextLength: number): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const experts = fields.number('expert_count', 0)
  if (experts > 0) throw refuse(`${experts} experts`, 'one dense MLP per layer')
  const valueDim = fields.number('attention.value_length', headDim)
  if (valueDim !== headDim) throw refuse(`keys of ${headDim} and values of ${valueDim}`, 'equal lengths')
  const window = fields.number('attention.sliding_window', 0)
  if (window > 0 && window < contextLength) throw refuse(`a sliding window of ${window}`, 'full attention')
}

function ropeScaling(fields: Fields, factors: readonly number[] | undefined): RopeScaling | undefined {
  const type = fields.text('rope.scaling.type', fields.has('rope.scale_linear') ? 'linear' : 'none')
  if (type !== 'linear' && type !== 'none') {
    throw unbuiltVariant(fields.file, `RoPE scaling "${type}"`, 'linear or llama3 scaling, or none')
  }
  const factor =
    type === 'none' ? 1 : fields.number('rope.scaling.factor', fields.number('rope.scale_linear', 1))
  // Both divide the frequencies, so together they are one list of divisors.
  if (factors !== undefined) return { type: 'factors', factors: factors.map((each) => each * factor) }
  return factor === 1 ? undefined : { type: 'linear', factor }
}
