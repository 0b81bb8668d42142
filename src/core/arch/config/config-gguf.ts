// Reads the hyperparameters that a GGUF header states. They are not yet validated.
import type { MetaValue } from '../../formats/tensors.ts'
import { familyFile } from '../families.ts'
import { type FamilyFile, otherBiases } from '../family.ts'
import type { Biases, Family, ModelConfig, RopeScaling, WindowConfig } from './config.ts'
import { Fields, unbuiltVariant, windowOf, withoutIdleWindow } from './fields.ts'
import { ggufSsm, NO_ATTENTION, RECURRENT_CONTEXT } from './recurrent-config.ts'

/** The contents of `rope_freqs.weight` and of LongRoPE's two tensors, if the file has them. */
interface RopeFactors {
  readonly plain?: readonly number[] | undefined
  readonly short?: readonly number[] | undefined
  readonly long?: readonly number[] | undefined
}

interface GgufFacts {
  readonly name: string
  readonly family: Family
  readonly metadata: ReadonlyMap<string, MetaValue>
  /** Rows of the embedding table. */
  readonly embeddingRows: number
  /** True if there is a separate logits matrix. */
  readonly hasOutput: boolean
  /** Tensor names without layer numbers. */
  readonly kinds: ReadonlySet<string>
  readonly ropeFactors: RopeFactors
}

/** Throws `architecture` for keys of the wrong type, `unsupported` for variants that are not implemented. */
export function ggufConfig(facts: GgufFacts): ModelConfig {
  const { name, family, metadata } = facts
  const all = new Fields(name, (key) => metadata.get(key))
  const architecture = all.text('general.architecture')
  const { traits, gguf } = familyFile(family)
  // A few keys lack the architecture's prefix.
  const fields = new Fields(name, (key) => metadata.get(`${architecture}.${key}`) ?? metadata.get(key))
  const stated = fields.number('context_length')
  const contextLength = traits === undefined ? Math.max(stated, RECURRENT_CONTEXT) : stated
  const tokens = all.list('tokenizer.ggml.tokens').length
  const vocabSize = tokens > 0 ? tokens : fields.number('vocab_size', facts.embeddingRows)
  const hiddenSize = fields.number('embedding_length')
  const layers = fields.number('block_count')
  const epsilons = ['attention.layer_norm_rms_epsilon', 'attention.layer_norm_epsilon'] as const
  const [epsilon, other] = traits?.norm === 'layer' ? epsilons.toReversed() : epsilons
  const sizes = {
    family,
    name,
    hiddenSize,
    layers,
    vocabSize,
    contextLength,
    tiedEmbeddings: !facts.hasOutput,
    // Nemotron-H uses RMS norms, but its files store their epsilon under the key of layer norms.
    normEpsilon: fields.number(fields.has(epsilon!) || !fields.has(other!) ? epsilon! : other!),
  }
  if (traits === undefined) {
    return { ...sizes, ...NO_ATTENTION, ssm: ggufSsm(fields, family === 'mamba' ? 'mamba' : 'mamba2') }
  }
  const heads = headCount(fields, 'attention.head_count', 'heads')
  const headDim = fields.number('attention.key_length', hiddenSize / heads)
  refuseVariants(fields, headDim, traits)
  const common: ModelConfig = {
    ...sizes,
    heads,
    kvHeads: headCount(fields, 'attention.head_count_kv', 'KV heads', heads, traits.isUneven),
    headDim,
    intermediateSize: widest(fields, traits.mlp === 'experts' ? 1 : undefined, traits.isUneven),
    rope: {
      theta: fields.number('rope.freq_base', 10_000),
      dims: fields.number('rope.dimension_count', headDim),
      pairing: gguf.pairing,
      scaling: ropeScaling(fields, facts.ropeFactors, contextLength, traits.latent),
    },
    window: window(fields, { layers }, gguf.windowPeriod),
    biases: biases(traits, facts.kinds),
    ...(fields.number('attention.clamp_kqv', 0) !== 0 && { qkvLimit: fields.number('attention.clamp_kqv') }),
  }
  return withoutIdleWindow({ ...common, ...gguf.config?.(fields, common, facts.kinds) })
}

const BIASES = {
  qkv: ['attn_q.bias', 'attn_qkv.bias'],
  output: ['attn_output.bias'],
  mlp: ['ffn_up.bias'],
  logits: ['output.bias'],
} as const

/** Parts for which the file has biases although the family normally has none. */
function biases(traits: FamilyFile['traits'], kinds: ReadonlySet<string>): Biases | undefined {
  const found = Object.entries(BIASES).filter(([, names]) => names.some((name) => kinds.has(name)))
  return otherBiases(traits, Object.fromEntries(found.map(([part]) => [part, true])))
}

/** The width of the feed-forward blocks: one number, or one per layer, with 0 for a layer without a block. */
function widest(fields: Fields, fallback?: number, isUneven = false): number {
  const key = 'feed_forward_length'
  if (!fields.isList(key)) return fields.number(key, fallback)
  const widths = new Set(fields.numberList(key).filter((width) => width !== 0))
  const [width = 0, another] = widths
  if (isUneven) return Math.max(0, ...widths)
  if (another === undefined) return width
  throw unbuiltVariant(
    fields.file,
    `feed-forward blocks of different widths, ${width} and ${another}`,
    'one width',
  )
}

/** One number, or one per layer, with 0 for a layer without attention. */
function headCount(fields: Fields, key: string, what: string, fallback?: number, isUneven = false): number {
  if (!fields.isList(key)) return fields.number(key, fallback)
  const counts = new Set(fields.numberList(key).filter((count) => count !== 0))
  const [count = fallback, another] = counts
  if (another === undefined || isUneven) return count ?? fields.number(key)
  throw unbuiltVariant(
    fields.file,
    `layers with ${count} ${what} and layers with ${another}`,
    'the same number in every layer',
  )
}

/** The pattern is either a period, in which one layer has no window, or one flag per layer. */
function window(fields: Fields, model: Pick<ModelConfig, 'layers'>, period = 0): WindowConfig | undefined {
  const positions = fields.number('attention.sliding_window', 0)
  const key = 'attention.sliding_window_pattern'
  const pattern = fields.isList(key) ? fields.list(key).map(Boolean) : fields.number(key, period)
  return windowOf(model, positions, pattern)
}

export function refuseVariants(
  fields: Fields,
  headDim: number,
  traits: NonNullable<FamilyFile['traits']>,
): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const experts = fields.number('expert_count', 0)
  const mayHaveExperts = traits.mlp === 'experts' || traits.mayHaveExperts === true
  if (experts > 0 && !mayHaveExperts) throw refuse(`${experts} experts`, 'one dense MLP per layer')
  const valueDim = fields.number('attention.value_length', headDim)
  if (!fields.fact('attention.causal', true)) throw refuse('attention to later positions', 'none')
  if (valueDim !== headDim && traits.latent !== true)
    throw refuse(`keys of ${headDim} and values of ${valueDim}`, 'equal lengths')
}

/** Each key may be absent or have one of its neutral values. */
function refuseOthers(fields: Fields, neutral: Readonly<Record<string, readonly number[]>>): void {
  for (const [name, numbers] of Object.entries(neutral)) {
    const key = `rope.scaling.${name}`
    const value = fields.number(key, numbers[0])
    if (numbers.some((each) => Math.abs(value - each) < 1e-4)) continue
    throw unbuiltVariant(fields.file, `${key} ${value}`, `${key} ${numbers.join(' or ')}`)
  }
}

const TYPES: readonly string[] = ['linear', 'yarn', 'longrope', 'none']

function ropeScaling(
  fields: Fields,
  { plain, short, long }: RopeFactors,
  contextLength: number,
  isLatent = false,
): RopeScaling | undefined {
  const type = fields.text('rope.scaling.type', fields.has('rope.scale_linear') ? 'linear' : 'none')
  if (!TYPES.includes(type)) {
    throw unbuiltVariant(
      fields.file,
      `RoPE scaling "${type}"`,
      'linear, llama3, yarn or longrope scaling, or none',
    )
  }
  const multiplier = fields.number('rope.scaling.yarn_log_multiplier', 0)
  // Latent attention applies the magnitude to its scores instead.
  const isScaled = type === 'yarn' && !isLatent
  const others = isScaled ? 1 + 0.1 * multiplier * Math.log(fields.number('rope.scaling.factor')) : 1
  const yarn = type === 'yarn' ? 1 + 0.1 * Math.log(fields.number('rope.scaling.factor')) : 1
  refuseOthers(fields, {
    // llama.cpp reads this key as an extra factor of the magnitude, but converters write the whole magnitude.
    yarn_attn_factor: [1, yarn],
    yarn_ext_factor: [-1, 1],
    ...(type !== 'yarn' && { yarn_log_multiplier: [0] }),
    ...(type !== 'yarn' && short === undefined && { attn_factor: [1] }),
  })
  if (short !== undefined && long !== undefined) {
    return {
      type: 'longrope',
      shortFactors: short,
      longFactors: long,
      originalContextLength: fields.number('rope.scaling.original_context_length', contextLength),
      magnitude: fields.number('rope.scaling.attn_factor', 1),
    }
  }
  if (type === 'yarn') {
    return {
      type,
      factor: fields.number('rope.scaling.factor'),
      originalContextLength: fields.number('rope.scaling.original_context_length', contextLength),
      fast: fields.number('rope.scaling.yarn_beta_fast', 32),
      slow: fields.number('rope.scaling.yarn_beta_slow', 1),
      magnitude: (fields.number('rope.scaling.attn_factor', 1) * yarn) / others,
    }
  }
  const factor =
    type === 'linear' ? fields.number('rope.scaling.factor', fields.number('rope.scale_linear', 1)) : 1
  // Both divide the frequencies, so they are combined into one list of divisors.
  if (plain !== undefined) return { type: 'factors', factors: plain.map((each) => each * factor) }
  return factor === 1 ? undefined : { type: 'linear', factor }
}
