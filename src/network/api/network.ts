// Networks: ONNX graphs of any kind (encoders, classifiers, towers), in this thread or in a worker.
import { checkKeys, readFrom, signalOf, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import {
  ANY,
  checkOption,
  checkValues,
  choice,
  type OptionKind,
  SWITCH,
} from '../../core/base/options/option-kinds.ts'
import { isObject } from '../../core/base/values.ts'
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { DownloadProgress } from '../../core/store/download/tally.ts'
import type { Hub } from '../../core/store/hub.ts'
import { asyncDispose } from '../../engine/api/generation.ts'
import { checkedLoad, LOAD_OPTIONS } from '../../engine/api/request/load-options.ts'
import { loadRequest, workerAddress } from '../../engine/api/request/load-request.ts'
import type { AbortOptions, Assets, LoadOptions, ModelSource } from '../../engine/api/types.ts'
import { engineModule } from '../../engine/browser-host.ts'
import type { OpenFiles } from '../../engine/load/open/requested-files.ts'
import type { LoadHooks } from '../../engine/wire/client.ts'
import type { Connection } from '../../engine/wire/connection.ts'
import { NETWORK_FALLBACKS, NETWORK_WEIGHTS, type WeightPolicy } from '../compile/lower/policy.ts'
import type { OpenNetworkOptions } from '../compile/open-network.ts'
import type { ForeignNode } from '../compile/refusal.ts'
import {
  type NetworkInput,
  type NetworkResult,
  type NetworkTensor,
  resultOf,
  valueFrom,
} from '../helpers/tensors.ts'
import { NETWORK_LIMITS, type NetworkLimits } from '../onnx/graph-budget.ts'
import type { LoadedNetwork, NetworkHost } from '../service/build-network.ts'
import type {
  NetworkFallback,
  NetworkMemory,
  NetworkRequest,
  NetworkValue,
} from '../service/network-protocol.ts'
import { inTime, TIME_LIMIT } from './time-limit.ts'

export type { ForeignNode } from '../compile/refusal.ts'
export { type CtcOptions, type CtcText, ctcDecode } from '../helpers/ctc-decode.ts'
export { nonMaxSuppression, type SuppressionOptions } from '../helpers/non-max-suppression.ts'
export {
  type NetworkPicture,
  type PictureOptions,
  type PictureTensor,
  pictureTensor,
} from '../helpers/picture-tensor.ts'
export type { Numbers } from '../helpers/rows.ts'
export { softmax } from '../helpers/softmax.ts'
export type {
  NetworkDType,
  NetworkInput,
  NetworkResult,
  NetworkStrings,
  NetworkTensor,
} from '../helpers/tensors.ts'
export { type TopScore, topK } from '../helpers/top-k.ts'
export type { NetworkLimits } from '../onnx/graph-budget.ts'
export type { NetworkFallback, NetworkMemory, NetworkValue } from '../service/network-protocol.ts'

/** Options of `Network.load`; every key is optional. An unknown key rejects the load with `unsupported`. */
export interface NetworkOptions {
  /** Aborting rejects the load with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called as files download. Default: none. */
  readonly onProgress?: ((event: DownloadProgress) => void) | undefined
  /**
   * Whether the network runs in its own worker: the page then stays responsive, and a run can be stopped at
   * any time. Default: true in a page. In a worker and in Node, a network runs in the thread that loads it
   * unless `threads` asks for more than one.
   */
  readonly worker?: boolean | undefined
  /**
   * How many threads share a run. More than one needs a worker and a cross-origin isolated page; otherwise
   * one is used. `auto`: one per core, at most eight. Default: one.
   */
  readonly threads?: number | 'auto' | undefined
  /**
   * Whether downloads are stored on this device, which only workers can do. Default `opfs`: they are stored
   * where the browser allows it.
   */
  readonly cache?: 'opfs' | 'none' | undefined
  /**
   * The folder in which Node keeps downloads, or `false`, as for `Engine.load`. Default: that of
   * `Engine.load`.
   */
  readonly store?: string | false | undefined
  /**
   * The precision to load if a repository has several. Default: the first one in the order of `Engine.load`.
   */
  readonly dtype?: GraphDtype | undefined
  /** The hub's address, and a token for private repositories. Default: Hugging Face, without a token. */
  readonly hub?: Hub | undefined
  /**
   * `relaxed` uses fused multiply-add; `simd128` runs in every browser with SIMD. Default `auto`: relaxed
   * SIMD if supported here.
   */
  readonly build?: Build | 'auto' | undefined
  /**
   * How constant matrices are multiplied. `f32`: in f32. `w8` and `w4`: rounded to 8 or 4 bits, then
   * multiplied by rows rounded to 8 bits, with one scale per 32 numbers. Default `auto`: 8-bit and 4-bit
   * codes in the file are used as they are; floats stay f32.
   */
  readonly weights?: WeightPolicy | undefined
  /**
   * The fallback for nodes that the compiler does not support. `ort`: the package onnxruntime-web, which the
   * application installs alongside this one; everything else is compiled. Default: such a node is rejected,
   * and the error names it.
   */
  readonly fallback?: NetworkFallback | undefined
  /**
   * Limits on what a file may use; they keep a small file from exhausting memory or hanging the page. A run
   * that would exceed them rejects with `out-of-memory` before it begins. Default: 2^27 units of planning,
   * 2^40 steps and 512 MiB.
   */
  readonly limits?: NetworkLimits | undefined
  /** Time limit of a run in milliseconds, counted from the call. Default: none. */
  readonly timeLimitMs?: number | undefined
  /**
   * URLs of the folder with the engine's `halfbyte-*.wasm`, and of the scripts for a network's worker and
   * for the threads. Default: the location of the library.
   */
  readonly assets?: Assets | undefined
}

/** Options of `Network.run`; every key is optional. */
export interface NetworkRunOptions extends AbortOptions {
  /**
   * Time limit of this run in milliseconds, counted from the call. The run then rejects with a
   * `TimeoutError`, as with `AbortSignal.timeout`. Default: the limit given at load.
   */
  readonly timeLimitMs?: number | undefined
}

/** What Node and tests replace. */
interface Inside extends Partial<NetworkHost>, Pick<OpenNetworkOptions, 'beside' | 'plans'> {}

const LIMIT: OptionKind = {
  wanted: 'a count, or Infinity',
  fits: (value) => typeof value === 'number' && value >= 0,
}

const NETWORK_OPTIONS = {
  signal: LOAD_OPTIONS.signal,
  onProgress: LOAD_OPTIONS.onProgress,
  worker: SWITCH,
  threads: LOAD_OPTIONS.threads,
  cache: LOAD_OPTIONS.cache,
  store: LOAD_OPTIONS.store,
  dtype: LOAD_OPTIONS.dtype,
  hub: LOAD_OPTIONS.hub,
  build: LOAD_OPTIONS.build,
  weights: choice(NETWORK_WEIGHTS),
  fallback: choice(NETWORK_FALLBACKS),
  limits: ANY,
  timeLimitMs: TIME_LIMIT,
  assets: LOAD_OPTIONS.assets,
} satisfies Record<keyof NetworkOptions, OptionKind>

/** A loaded ONNX graph, which runs in this thread or in its own worker. */
export class Network implements AsyncDisposable {
  /** The inputs that `run` needs, in the file's order. */
  readonly inputs: readonly NetworkValue[]
  /** The outputs that `run` returns, in the file's order. */
  readonly outputs: readonly NetworkValue[]
  /**
   * The file's metadata, by key, such as class names, the characters of a text recognizer, or the author.
   * Empty if the file has none. In ONNX files these are the `metadata_props`.
   *
   * ```ts
   * const characters = network.metadata.get('character')?.split('\n') ?? []
   * ```
   */
  readonly metadata: ReadonlyMap<string, string>
  /** The instruction set in use. */
  readonly build: Build
  /** Number of threads that share a run. */
  readonly threads: number
  // Functions, because frameworks wrap objects in proxies, through which private members cannot be read.
  private readonly loaded: () => LoadedNetwork
  private readonly close: () => Promise<void>
  private readonly timeLimitMs: number | undefined

  private constructor(loaded: LoadedNetwork, { timeLimitMs }: NetworkOptions) {
    let open: LoadedNetwork | undefined = loaded
    this.loaded = () => {
      if (open !== undefined) return open
      throw new HalfbyteError('disposed', 'the network was disposed; load it again')
    }
    this.close = async () => {
      if (open === undefined) return
      open = undefined
      await loaded.dispose()
    }
    const { inputs, outputs, build, threads, metadata } = loaded.info
    this.inputs = inputs
    this.outputs = outputs
    this.metadata = metadata
    this.build = build
    this.threads = threads
    this.timeLimitMs = timeLimitMs
  }

  /**
   * Loads an ONNX file. Its kernels are compiled when an input shape is first run.
   *
   * ```ts
   * const network = await Network.load('/models/minilm.onnx', { worker: true })
   * ```
   *
   * Rejects with a HalfbyteError (`network`, `storage-full`, `format`, `integrity`, `out-of-memory`,
   * `unsupported`, `worker` or `internal`) or with the signal's reason.
   */
  static async load(source: ModelSource, options: NetworkOptions = {}): Promise<Network> {
    const checked = checkedOptions(options)
    checked.signal?.throwIfAborted()
    const { worker = isSeveral(checked.threads) || isPage() } = checked
    if (worker) {
      const { startNetworkWorker } = await import('./remote-network.ts')
      return Network.remote(startNetworkWorker(workerAddress(checked)), source, checked)
    }
    const request = networkRequest(source, checked)
    const { loadNetwork } = await import('../service/load-network.ts')
    const { signal = new AbortController().signal, onProgress = () => undefined } = hooksOf(checked)
    return new Network(await loadNetwork(request, { signal, onProgress }, hostHere(request.assets)), checked)
  }

  /**
   * Like `load`, through a service that runs elsewhere.
   * @internal
   */
  static async through(
    connection: Connection,
    source: ModelSource,
    options: NetworkOptions = {},
  ): Promise<Network> {
    return Network.remote(connection, source, checkedOptions(options))
  }

  /** @internal */
  private static async remote(
    connection: Connection,
    source: ModelSource,
    checked: NetworkOptions,
  ): Promise<Network> {
    try {
      const request = networkRequest(source, checked)
      const { loadRemotely } = await import('./remote-network.ts')
      return new Network(await loadRemotely(connection, request, hooksOf(checked)), checked)
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /**
   * Like `load`, from open files and in this thread, for Node and tests. Several threads need `startWorker`.
   * @internal
   */
  static async open(
    files: OpenFiles,
    options: NetworkOptions = {},
    { beside, plans, ...others }: Inside = {},
  ): Promise<Network> {
    const checked = checkedOptions(options)
    const { signal, dtype, build = 'auto', weights = 'auto', threads = 1, fallback, limits } = checked
    const { buildNetwork } = await import('../service/build-network.ts')
    const { openNetwork } = await import('../compile/open-network.ts')
    const host = { ...hostHere({}), ...others }
    const how = { build, weights, threads, fallback, limits }
    const reading = { signal, dtype, beside, plans }
    return new Network(await buildNetwork(openNetwork, files, how, host, reading), checked)
  }

  /**
   * Computes the outputs. Takes one tensor per input, by name, and a list of tensors for a sequence. An
   * optional input may be missing, and an optional output without a value is.
   *
   * ```ts
   * const { last_hidden_state } = await network.run({ input_ids, attention_mask, token_type_ids })
   * const { labels } = await network.run<NetworkStrings>({ scores })
   * ```
   *
   * `Result` says what the outputs are if they are not all tensors of numbers.
   *
   * The first run with new sizes plans them, which takes a few milliseconds. Runs execute one after another.
   * An abort or a time limit takes effect between two parts of a run, each about 200 ms long. A worker that
   * does not answer within 5 s is terminated, and later runs reject with `disposed`.
   *
   * Rejects with `unsupported` for an input that is missing, is unknown or has the wrong dtype or shape, and
   * for a node that cannot be compiled; with `format` for an index outside its table; with `out-of-memory` if
   * the run exceeds the limits or the device's memory; with `disposed`, a `TimeoutError`, or the signal's
   * reason.
   */
  async run<Result extends NetworkResult = NetworkTensor>(
    inputs: Readonly<Record<string, NetworkInput>>,
    options?: NetworkRunOptions,
  ): Promise<Record<string, Result>> {
    const loaded = this.loaded()
    const signal = signalOf(options)
    const timeLimitMs = readFrom('the options', () => options?.timeLimitMs) ?? this.timeLimitMs
    checkOption('timeLimitMs', timeLimitMs, TIME_LIMIT)
    const feeds = readFrom('the inputs', () => {
      if (!isObject(inputs))
        throw new HalfbyteError('unsupported', 'the inputs are not an object; give tensors by name')
      checkKeys(
        'the inputs',
        inputs,
        this.inputs.map(({ name }) => name),
      )
      return new Map(
        this.inputs.flatMap((input) => {
          const value = Object.hasOwn(inputs, input.name) ? inputs[input.name] : undefined
          return value === undefined ? [] : [[input.name, valueFrom(input, value)] as const]
        }),
      )
    })
    signal?.throwIfAborted()
    const outputs = await inTime(signal, timeLimitMs, (either) => loaded.run(feeds, either))
    return Object.fromEntries([...outputs].map(([name, value]) => [name, resultOf(value) as Result]))
  }

  /** Bytes of memory in use after the load or the last run. */
  memory(): NetworkMemory {
    return this.loaded().memory()
  }

  /**
   * Nodes that are not compiled, with the reasons, as of the load or the last run. Some are found only when
   * sizes are known.
   */
  foreignNodes(): readonly ForeignNode[] {
    return this.loaded().foreign()
  }

  /** Frees the memory and terminates the worker. Later calls reject with `disposed`. */
  dispose(): Promise<void> {
    return this.close()
  }

  [asyncDispose](): Promise<void> {
    return this.dispose()
  }
}

/** The caller's thread does not start other threads, because a page must not block on them. */
const hostHere = (assets: NetworkRequest['assets']): NetworkHost => ({
  loadModule: (build, memory) => engineModule(build, memory, assets),
  cores: 1,
})

const isPage = (): boolean => globalThis.document !== undefined && globalThis.Worker !== undefined

const isSeveral = (threads: NetworkOptions['threads']): boolean => threads !== undefined && threads !== 1

function checkedOptions(options: NetworkOptions): NetworkOptions {
  const { worker, onProgress, fallback, limits, timeLimitMs, ...others } = readFrom('the options', () => {
    checkKeys('the options', options, Object.keys(NETWORK_OPTIONS))
    const copy = { ...options }
    checkValues(NETWORK_OPTIONS, copy)
    return copy
  })
  checkLimits(limits)
  const checked = checkedLoad(
    { ...others, onProgress: onProgress as LoadOptions['onProgress'] },
    'onProgress',
  )
  if (worker === false && isSeveral(others.threads))
    throw wrongOption('worker', worker, `true with ${others.threads} threads`)
  return { ...others, onProgress, worker, fallback, limits, timeLimitMs, assets: checked.assets }
}

function networkRequest(source: ModelSource, options: NetworkOptions): NetworkRequest {
  const {
    threads = 1,
    weights = 'auto',
    fallback,
    limits,
    timeLimitMs: _limit,
    onProgress: _,
    ...others
  } = options
  const { source: place, cache, hub, dtype, build, assets } = loadRequest(source, others)
  return { source: place, cache, hub, dtype, build, assets, threads, weights, fallback, limits }
}

function checkLimits(limits: unknown): asserts limits is NetworkLimits | undefined {
  if (limits === undefined) return
  readFrom('limits', () => {
    checkKeys('limits', limits, Object.keys(NETWORK_LIMITS))
    for (const [name, value] of Object.entries(limits as object)) checkOption(`limits.${name}`, value, LIMIT)
  })
}

const hooksOf = ({ signal, onProgress }: NetworkOptions): LoadHooks => ({
  signal,
  onProgress: (event) => (event.phase === 'download' ? onProgress?.(event) : undefined),
})
