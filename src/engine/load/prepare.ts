// Preparing. In: a model's headers and what the caller wants. Out: everything about it that can be known before a weight is read.

import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import type { PackedEncoding } from '../../abi/encodings.ts'
import { groupEncoding, isQuantized, isSparse, sparseParts, sparseTableBytes } from '../../abi/encodings.ts'
import type { ModelConfig } from '../../arch/config/config.ts'
import { readConfig } from '../../arch/config/read-config.ts'
import { buildGraph, familyFile } from '../../arch/families.ts'
import { resolveWeights, roleOf, type Weights } from '../../arch/tensors/names.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { readVector } from '../../formats/gguf/dequantize.ts'
import type { ModelFile } from '../../formats/model-file.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { compile } from '../../graph/compile.ts'
import type { KvFormat } from '../../graph/ir.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { planTotals } from '../../graph/plan/totals.ts'
import { shardGraph } from '../../graph/shard/shard.ts'
import { adaptWeights, type ScaledAdapter } from '../../weights/adapt.ts'
import { chooseEncoding, type WeightPolicy } from '../../weights/choose.ts'

export interface PrepareOptions {
  /** Default: what the model was trained for, at most 4096. */
  readonly contextLength?: number | undefined
  /** Lets contextLength exceed what the model was trained for, as evaluations do. Default false. */
  readonly beyondTraining?: boolean | undefined
  readonly weights: WeightPolicy
  /** What is added to the model's matrices, in this order. */
  readonly adapters?: readonly ScaledAdapter[] | undefined
  /** Default: f32, exactly. */
  readonly kvCache?: KvFormat | undefined
  /** The weights are to be stored: every matrix keeps its inputs in the model's order. Default false. */
  readonly forPack?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** A model that fits together, not yet in memory. */
export interface PreparedModel {
  readonly file: ModelFile
  readonly config: ModelConfig
  readonly plan: Plan
  /** The plan of one of several shards; throws `unsupported` for a model that cannot be shared out like that. */
  readonly shardPlan: (shares: readonly number[], shard: number) => Plan
  readonly parameters: number
  /** Most tokens of a sequence. */
  readonly contextLength: number
  /** The stored tensor of each canonical weight that the plan reads. */
  readonly weights: Weights
  /** Most bytes of the state of all its sequences; absent: what the memory grants. */
  readonly stateBytes?: number | undefined
}

/** Tokens of a conversation when nobody says how many; memory grows towards it. */
const DEFAULT_CONTEXT = 4096
/** Most rows of a step: enough for the GEMM tiles to pay, few enough that the activations stay in cache. */
const STEP_TOKENS = 256
/** Rows of a step whose logits are wanted, one for each sequence and each draft behind it: these, and up to the most while they take few bytes. */
const STEP_LOGIT_ROWS = { least: 16, most: 64, bytes: 8 << 20 } as const

/** Reads the configuration, builds and lowers the graph. Throws `architecture` or `unsupported`. */
export async function prepareModel(file: ModelFile, options: PrepareOptions): Promise<PreparedModel> {
  if (options.kvCache !== undefined) checkKvCache(options.kvCache)
  const config = await readConfig(file, options.signal)
  const found = adaptWeights(resolveWeights(file, config), config, options.adapters ?? [])
  const { weights, orders } = await sortInputs(found, options)
  const encodingOf = encodings(weights, config, options.weights)
  const stripBytesOf = (name: string): number => {
    const { byteLength, shape } = weightOf(weights, name)
    return byteLength - sparseTableBytes(shape[0] ?? 0)
  }
  const graph = buildGraph(config)
  const sizes = {
    kvCache: options.kvCache,
    tokens: STEP_TOKENS,
    logitRows: logitRowsOf(config.vocabSize),
  }
  const plan = compile(graph, { ...sizes, encodingOf, orderOf: (name) => orders.get(name), stripBytesOf })
  // Strips cannot be cut by columns: shards hold their weights densely.
  const denseOf = (name: string): PackedEncoding => {
    const encoding = encodingOf(name)
    return isSparse(encoding) ? sparseParts(encoding).base : encoding
  }
  const shardPlan = (shares: readonly number[], shard: number): Plan => {
    if (orders.size > 0) {
      throw new HalfbyteError('unsupported', 'inputs sorted by activation (desc_act) cannot be shared out')
    }
    return compile(shardGraph(graph, { shares, shard, encodingOf: denseOf }), {
      ...sizes,
      encodingOf: denseOf,
    })
  }
  // Learned positions end where the training did.
  const isOpen = options.beyondTraining === true && familyFile(config.family).traits?.positions !== 'learned'
  const most = isOpen ? Number.POSITIVE_INFINITY : config.contextLength
  // Without blocks of keys and values a longer context takes no more memory.
  const usual = plan.stateGroups.length === 0 ? config.contextLength : DEFAULT_CONTEXT
  const contextLength = Math.min(options.contextLength ?? usual, most)
  return { file, config, plan, shardPlan, contextLength, weights, parameters: countParameters(found) }
}

/** Of each weight by itself; the experts' of a layer are one weight, whichever way each of them is stored. */
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

/**
 * Matrices whose inputs lie sorted by their groups, where kernels read int8 activations, which are then made in that order. Equal
 * orders have one name.
 */
async function sortInputs(weights: Weights, options: PrepareOptions) {
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

function logitRowsOf(vocab: number): number {
  const { least, most, bytes } = STEP_LOGIT_ROWS
  return Math.max(least, Math.min(most, Math.floor(bytes / (vocab * 4))))
}

const KEY_FORMATS: readonly KvFormat['k'][] = ['f32', 'int8']
const VALUE_FORMATS: readonly KvFormat['v'][] = ['f32', 'int8', 'fp8']

function checkKvCache({ k, v }: KvFormat): void {
  if (KEY_FORMATS.includes(k) && VALUE_FORMATS.includes(v)) return
  throw new HalfbyteError(
    'unsupported',
    `kvCache is { k: '${k}', v: '${v}' } but keys can be ${KEY_FORMATS.join(' or ')} and values ${VALUE_FORMATS.join(' or ')}; choose one of these`,
    { k: String(k), v: String(v) },
  )
}

/** The stored tensor of a weight that the plan names. Throws `architecture` where a configuration made the plan read what its family has not. */
export function weightOf(weights: Weights, name: string): TensorInfo {
  const tensor = weights.get(name)
  if (tensor !== undefined) return tensor
  throw new HalfbyteError(
    'architecture',
    `the model's configuration asks for the tensor ${name}, which its family does not have; convert or fetch it again`,
    { tensor: name },
  )
}

function countParameters(weights: Weights): number {
  return [...weights.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  )
}

/** Linear memory in bytes: without it nothing runs; with it a whole conversation fits; with it a second one does. */
export interface MemoryNeed {
  readonly needBytes: number
  readonly fullBytes: number
  readonly wantBytes: number
}

/** Slabs of a conversation that is forked and edited: its own, and checkpoints to come back to. */
const SLABS = 16
/** Step descriptors, block tables, stacks, padding: small beside everything else. */
const OVERHEAD_BYTES = 8 << 20

/** Of models that share a memory. */
export function memoryNeed(...models: readonly PreparedModel[]): MemoryNeed {
  const sum = { needBytes: 0, fullBytes: 0, wantBytes: 0 }
  for (const { plan, contextLength, stateBytes = Number.POSITIVE_INFINITY } of models) {
    const { weightBytes, arenaBytes, blockBytes, slabBytes } = planTotals(plan)
    const base = weightBytes + arenaBytes + OVERHEAD_BYTES
    const block = blockBytes.reduce((all, bytes) => all + bytes, 0)
    const context = Math.ceil(contextLength / BLOCK_POSITIONS) * block
    sum.needBytes += base + block + slabBytes
    sum.fullBytes += base + Math.min(context + slabBytes, stateBytes)
    sum.wantBytes += base + Math.min(2 * context + (SLABS + 1) * slabBytes, stateBytes)
  }
  return sum
}
