// What callers learn about a model before, during and after its load.
import type { EngineNote } from '../../core/base/engine-notes.ts'
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { SamplerOptions } from '../../core/generate/sampler/sampler-options.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { DownloadProgress } from '../../core/store/download/tally.ts'

/** Load options that make a model smaller. Spread them over the original options. */
export interface Smaller {
  /** Context length in tokens. Absent if it need not change. */
  readonly contextLength?: number
  /** Formats of keys and values. Absent if they need not change. */
  readonly kvCache?: KvFormat
  /** Precision of the weights. Absent if it need not change. */
  readonly weights?: 'w4'
}

/** One of the ONNX graphs of a repository made for transformers.js. */
export interface GraphOffer {
  /** Its path in the repository, e.g. `onnx/model_q4.onnx`. */
  readonly file: string
  /** The `dtype` that loads it. Absent if it can only be loaded by its own address or path. */
  readonly dtype?: GraphDtype | undefined
  /** Whether a load without `dtype` uses it. */
  readonly isDefault: boolean
  /** Bytes still to download. */
  readonly downloadBytes: number
  /**
   * Bytes of memory for the weights, the activations and the state of a full context: the report's number for
   * the default graph, otherwise an estimate from the file sizes.
   */
  readonly neededBytes: number
  /** Whether it fits in memory. */
  readonly fits: boolean
}

/** What is known about a model before its weights are downloaded. */
export interface ProbeReport {
  /** Whether the weights, the activations and the state of a full context fit in memory. */
  readonly fits: boolean
  /** Bytes of memory for the weights, the activations and the state of a full context. */
  readonly neededBytes: number
  /**
   * Maximum bytes of memory that this page can get, measured by allocating them; after a killed load, less
   * than what that load needed.
   */
  readonly grantedBytes: number
  /** Context length in tokens that this report assumes. */
  readonly contextLength: number
  /** Bytes of weights still to download. */
  readonly downloadBytes: number
  /**
   * Estimated speed of reading a prompt, from kernels run for a fifth of a second and the cost of the model's
   * plan at position 512.
   */
  readonly prefillTokensPerSecond: number
  /** Estimated speed of generating a reply, measured in the same way. */
  readonly decodeTokensPerSecond: number
  /**
   * What would fit instead. Tried in order: a smaller context, int8 keys and values, 4-bit weights,
   * combinations of these. Undefined if `fits` is true, or if none of them fits.
   */
  readonly suggestion: Smaller | undefined
  /**
   * The model's ONNX graphs, the preferred one first; absent if it has none, if `dtype` was given,
   * or if its weights come from other files.
   */
  readonly graphs?: readonly GraphOffer[] | undefined
}

/** Properties of a loaded model. */
export interface ModelInfo {
  /** The model's own name, or its file's name if it has none. */
  readonly id: string
  /** The family that the model was loaded as, for example `llama`. */
  readonly architecture: string
  /** Number of weights. Tied weights count once. */
  readonly parameters: number
  /**
   * Maximum number of tokens in a conversation: the model's own limit, or the requested one if it is smaller.
   */
  readonly contextLength: number
  /**
   * Sampling options that the model's files recommend (generation_config.json, or `general.sampling.*` of a
   * GGUF). They replace `SAMPLER_DEFAULTS`; options of a reply replace them. Empty if the files have none.
   */
  readonly sampling: SamplerOptions
  /** Variables of the chat template that `templateArguments` can set, such as `enable_thinking`. */
  readonly templateArguments: readonly string[]
  /**
   * Whether the chat template describes tools to the model. If not, the system prompt does, which most models
   * were not trained for.
   */
  readonly readsTools: boolean
  /** Whether messages may contain images, i.e. whether the model was loaded with its vision tower. */
  readonly seesImages: boolean
}

/** How an engine was set up by its load. */
export interface EngineInfo {
  /** The loaded model. */
  readonly model: ModelInfo
  /** The draft model; absent if none was loaded. */
  readonly draft?: ModelInfo | undefined
  /** Number of threads that compute, including the engine worker. */
  readonly threads: number
  /** How threads share the work. */
  readonly pool: PoolKind
  /** How the engine differs from the request and why, e.g. fewer threads or a shorter context. */
  readonly notes: readonly EngineNote[]
  /** Kernels in use. */
  readonly build: Build
}

/** Linear memory by purpose, in bytes. */
export interface MemoryUse {
  /** The weights of all models of the engine. */
  readonly weightsBytes: number
  /** State cache: the state of every live conversation. */
  readonly stateBytes: number
  /**
   * State of conversations that have ended, kept for new conversations with the same prefix. Freed when
   * memory is needed.
   */
  readonly keptBytes: number
  /** Activations and the execution plan. */
  readonly arenaBytes: number
  /** All of linear memory, including its free part. */
  readonly totalBytes: number
}

/** Progress of a load. Phases occur in this order, but `convert` runs at the same time as `download`. */
export type LoadProgress =
  | DownloadProgress
  /** Number of tensors converted so far, and their total. */
  | { readonly phase: 'convert'; readonly done: number; readonly total: number }
  | { readonly phase: 'compile' | 'warmup' }
