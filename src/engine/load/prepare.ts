// Prepares a model from its headers: everything that can be known before a weight is read.

import {
  groupEncoding,
  isQuantized,
  isSparse,
  type PackedEncoding,
  sparseParts,
  sparseTableBytes,
} from '../../core/abi/encodings.ts'
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { buildGraph, familyFile } from '../../core/arch/families.ts'
import { type ReadConfigOptions, readConfig } from '../../core/arch/read-config.ts'
import { ropeTables } from '../../core/arch/rope.ts'
import { resolveWeights, roleOf, type Weights, weightOf } from '../../core/arch/tensors/names.ts'
import { shown } from '../../core/base/check-options.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { readVector } from '../../core/formats/dequantize.ts'
import type { MetaObject } from '../../core/formats/json-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import {
  type NumberKey,
  SAMPLER_NUMBERS,
  type SamplerOptions,
} from '../../core/generate/sampler/sampler-options.ts'
import { compile } from '../../core/graph/compile-graph.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import type { Plan } from '../../core/graph/plan/plan.ts'
import { shardGraph } from '../../core/graph/shard/shard.ts'
import { adaptWeights, type ScaledAdapter } from '../../core/weights/adapt.ts'
import { chooseEncoding } from '../../core/weights/choose-encoding.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import { coarserScales, longRotation, provenContext, refusedSampling, shorterContext } from './load-notes.ts'

/** The dtypes of each weight. A layer's experts are one weight, however each of them is stored. */
function encodings(
  weights: Weights,
  { experts }: ModelConfig,
  policy: WeightPolicy,
): (name: string) => PackedEncoding {
  const known = new Map<string, PackedEncoding>()
  return (name) => {
    const all = name.replace(/\.experts\.\d+/, '.experts')
    const found = known.get(all)
    if (found !== undefined) return found
    const tensors = Array.from({ length: all === name ? 1 : (experts?.count ?? 1) }, (_, expert) =>
      weightOf(weights, all.replace('.experts', `.experts.${expert}`)),
    )
    const chosen = chooseEncoding(
      policy,
      roleOf(name),
      tensors.map(({ dtype, like = dtype }) => like),
    )
    const [{ packed } = {}] = tensors
    const isPacked = packed !== undefined && tensors.every((each) => each.packed === packed)
    const encoding = isPacked && groupEncoding(packed) === chosen ? packed : chosen
    known.set(all, encoding)
    return encoding
  }
}

interface WeightOptions {
  readonly weights: WeightPolicy
  /**
   * True if the weights will be stored, so that every matrix must keep the model's input order. Default
   * false.
   */
  readonly forPack?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Whether floats keep the file's dtype. With adapters they do not. */
export const keepsFloats = ({
  weights,
  lora = [],
}: Pick<WeightOptions, 'weights'> & { readonly lora?: readonly unknown[] | undefined }): boolean =>
  weights === 'auto' && lora.length === 0

/**
 * Matrices whose inputs are sorted by group, if their kernels read int8 activations, which are then
 * quantised in that order. Equal orders share a name.
 */
async function sortInputs(weights: Weights, options: WeightOptions) {
  const sorted = new Map(weights)
  const orders = new Map<string, string>()
  const known = new Map<string, string>()
  for (const [name, { sorted: form }] of weights) {
    if (form === undefined || options.forPack === true || name.includes('.experts.')) continue
    if (!isQuantized(chooseEncoding(options.weights, roleOf(name), [form.tensor.dtype]))) continue
    const places = String(await readVector(form.order, options.signal))
    const order = known.get(places) ?? form.order.name
    known.set(places, order)
    orders.set(name, order)
    sorted.set(name, form.tensor).set(order, form.order)
  }
  return { weights: sorted, orders }
}

interface SamplingDefaults {
  /** Options that replace the sampler's own defaults. */
  readonly sampling: SamplerOptions
  /** Invalid settings, as `name value`. */
  readonly refused: readonly string[]
}

/** Names from generation_config.json, and those from GGUF's `general.sampling.*` that the former lacks. */
const NAMES: Readonly<Record<string, NumberKey>> = {
  temperature: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  typical_p: 'typicalP',
  repetition_penalty: 'repeatPenalty',
  penalty_last_n: 'repeatLastN',
  xtc_probability: 'xtcProbability',
  xtc_threshold: 'xtcThreshold',
  mirostat: 'mirostat',
  mirostat_tau: 'mirostatEnt',
  mirostat_eta: 'mirostatLr',
}

/**
 * The meaning of a bare `do_sample: true`: the defaults of transformers' GenerationConfig, whose penalty
 * covers the whole text.
 */
const TRANSFORMERS_DEFAULTS: SamplerOptions = {
  temperature: 1,
  topK: 50,
  topP: 1,
  minP: 0,
  repeatLastN: Number.POSITIVE_INFINITY,
}

/**
 * The sampler's options that a model recommends. `do_sample: false` means greedy. Values of the wrong type or
 * outside the sampler's range are dropped and listed.
 */
export function samplingDefaults(generation: MetaObject = {}): SamplingDefaults {
  const refused: string[] = []
  const found: Partial<Record<NumberKey, number>> = {}
  for (const [name, key] of Object.entries(NAMES)) {
    if (!Object.hasOwn(generation, name)) continue
    const value = generation[name]
    // llama.cpp writes -1 for the whole context.
    const number = key === 'repeatLastN' && value === -1 ? Number.POSITIVE_INFINITY : value
    if (SAMPLER_NUMBERS[key].fits(number)) found[key] = number as number
    else refused.push(`${name} ${shown(value)}`)
  }
  const { do_sample: samples } = generation
  const sampling = {
    ...(samples === true && TRANSFORMERS_DEFAULTS),
    ...found,
    ...(samples === false && { temperature: 0 }),
  }
  // Numbers are checked against their ranges only, which allows any mirostat from 0 to 2.
  return { sampling: sampling as SamplerOptions, refused }
}

export interface PrepareOptions extends WeightOptions, Pick<ReadConfigOptions, 'architecture'> {
  /** Default: the model's trained length, at most 4096. */
  readonly contextLength?: number | undefined
  /** Lets contextLength exceed the trained length, as evaluations do. Default false. */
  readonly beyondTraining?: boolean | undefined
  /** Adapters to add to the model's matrices, in this order. */
  readonly adapters?: readonly ScaledAdapter[] | undefined
  /** Default: f32, exactly. */
  readonly kvCache?: KvFormat | undefined
}

/** A consistent model that is not yet in memory. */
export interface PreparedModel {
  readonly file: ModelFile
  readonly config: ModelConfig
  readonly plan: Plan
  /** The plan of one of several shards; throws `unsupported` for a model that cannot be split like this. */
  readonly shardPlan: (shares: readonly number[], shard: number) => Plan
  readonly parameters: number
  /** Maximum number of tokens of a sequence. */
  readonly contextLength: number
  /** The stored tensor of each canonical weight that the plan reads. */
  readonly weights: Weights
  /** Sampling options that the model's files recommend. */
  readonly sampling: SamplerOptions
  /** How the load differs from the caller's or the files' settings. */
  readonly notes: readonly EngineNote[]
  /** Maximum bytes of state of all sequences. Absent if limited only by memory. */
  readonly stateBytes?: number | undefined
}

/** Default number of tokens in a conversation; memory grows towards it. */
const DEFAULT_CONTEXT = 4096
/** Maximum rows of a step: enough for GEMM tiles to pay off, few enough to keep the activations in cache. */
const STEP_TOKENS = 256
/**
 * Rows of a step whose logits are needed, one per sequence and per draft after it. There may be more, up to
 * the maximum, if they take few bytes.
 */
const STEP_LOGIT_ROWS = { least: 16, most: 64, bytes: 8 << 20 } as const

/** Reads the configuration, then builds and lowers the graph. Throws `architecture` or `unsupported`. */
export async function prepareModel(file: ModelFile, options: PrepareOptions): Promise<PreparedModel> {
  const own = await readConfig(file, options)
  const { adapters = [] } = options
  if (file.graph !== undefined && adapters.length > 0) throw otherNames(file.name)
  const stored = file.graph === undefined ? resolveWeights(file, own) : file.tensors
  const { weights: found, config } = adaptWeights(stored, own, adapters)
  const { weights, orders } = await sortInputs(found, options)
  const encodingOf = encodings(weights, config, options.weights)
  const stripBytesOf = (name: string): number => {
    const { byteLength, shape } = weightOf(weights, name)
    return byteLength - sparseTableBytes(shape[0] ?? 0)
  }
  const graph = file.graph ?? buildGraph(config)
  const sizes = {
    kvCache: options.kvCache,
    tokens: STEP_TOKENS,
    logitRows: logitRowsOf(config.vocabSize),
    // Saved state fits every context, so use the frequencies of the shortest.
    frequencies: ropeTables(config, 0).map(({ frequencies }) => frequencies),
  }
  const ownOrders = { orderOf: (name: string) => orders.get(name), stripBytesOf }
  const plan = planOf(file, () => compile(graph, { ...sizes, encodingOf, ...ownOrders }))
  // Strips cannot be split by columns, so shards store their weights densely.
  const denseOf = (name: string): PackedEncoding => {
    const encoding = encodingOf(name)
    return isSparse(encoding) ? sparseParts(encoding).base : encoding
  }
  const shardPlan = (shares: readonly number[], shard: number): Plan => {
    if (orders.size > 0) {
      throw new HalfbyteError('unsupported', 'inputs sorted by activation (desc_act) cannot be sharded')
    }
    return compile(shardGraph(graph, { shares, shard, encodingOf: denseOf }), {
      ...sizes,
      encodingOf: denseOf,
    })
  }
  // Position tables end at the trained length.
  const { positions = 'rope' } = familyFile(config.family).traits ?? {}
  const isOpen = options.beyondTraining === true && positions === 'rope'
  const most = isOpen ? Number.POSITIVE_INFINITY : config.contextLength
  // Without keys and values, a longer context needs no additional memory.
  const usual = plan.stateGroups.length === 0 ? config.contextLength : DEFAULT_CONTEXT
  const { mostPositions = Number.POSITIVE_INFINITY } = file
  const contextLength = Math.min(options.contextLength ?? usual, most, mostPositions)
  const { sampling, refused } = samplingDefaults(file.generationConfig)
  return {
    file,
    config,
    plan,
    shardPlan,
    contextLength,
    weights,
    sampling,
    parameters: countParameters(found),
    notes: [
      ...(contextLength < mostPositions
        ? shorterContext(options.contextLength, contextLength)
        : provenContext(options.contextLength ?? DEFAULT_CONTEXT, contextLength)),
      ...longRotation(config, contextLength),
      ...refusedSampling(refused),
      ...coarserScales(weights, encodingOf),
    ],
  }
}

/** Adapters name weights as families do. */
const otherNames = (file: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file} is an ONNX graph, whose weights have different names, and adapters change weights by name; ` +
      'merge the adapter with "halfbyte convert --lora" and load the pack',
    { file },
  )

/** Unlike a family's graph, a file's own graph may read values that a plan overwrites. */
function planOf(file: ModelFile, compiled: () => Plan): Plan {
  try {
    return compiled()
  } catch (error) {
    if (file.graph === undefined || !isHalfbyteError(error) || error.code !== 'internal') throw error
    throw new HalfbyteError(
      'unsupported',
      `${file.name}: ${error.message}; export the model in another form, or as GGUF`,
      { file: file.name },
      { cause: error },
    )
  }
}

function logitRowsOf(vocab: number): number {
  const { least, most, bytes } = STEP_LOGIT_ROWS
  return Math.max(least, Math.min(most, Math.floor(bytes / (vocab * 4))))
}

function countParameters(weights: Weights): number {
  return [...weights.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  )
}
