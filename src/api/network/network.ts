// Networks: ONNX graphs of any kind (encoders, classifiers, towers) that run in the thread that calls them.
import { checkChoice, checkKeys, checkSignal, readFrom, signalOf } from '../../base/check-options.ts'
import { HalfbyteError, isHalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import type { CompiledGraph } from '../../compile/compiled-graph.ts'
import { NETWORK_WEIGHTS, type WeightPolicy } from '../../compile/lower/policy.ts'
import { openNetwork } from '../../compile/open-network.ts'
import { engineModule } from '../../engine/browser-host.ts'
import { type OpenFiles, openRequestedFiles } from '../../engine/load/open/requested-files.ts'
import { GRAPH_DTYPES, type GraphDtype } from '../../formats/names/graph-files.ts'
import { addressInside } from '../../formats/names/named-files.ts'
import { type Build, chooseBuild, detectFeatures, mayCompile, NO_WASM } from '../../runtime/features.ts'
import type { Host } from '../../runtime/host.ts'
import type { DownloadProgress } from '../../store/download/tally.ts'
import type { Hub } from '../../store/hub.ts'
import { asyncDispose } from '../generation.ts'
import { prepareRequest, resolveSource } from '../request/load-request.ts'
import type { AbortOptions, Assets, ModelSource } from '../types.ts'
import { checkTensor, type NetworkDType, type NetworkTensor } from './tensors.ts'

export type { NetworkDType, NetworkTensor } from './tensors.ts'

/** Options of `Network.load`; every key is optional. An unknown key rejects the load with `unsupported`. */
export interface NetworkOptions {
  /** Aborting rejects the load with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called while files arrive. Default: none. */
  readonly onProgress?: ((event: DownloadProgress) => void) | undefined
  /**
   * Whether downloads are kept on this device, which only workers can do. Default `opfs`: they are kept where
   * that works.
   */
  readonly cache?: 'opfs' | 'none' | undefined
  /**
   * The precision of the graph where a repository has several. Default: the first of `Engine.load`'s order.
   */
  readonly dtype?: GraphDtype | undefined
  /** The hub's address, and a token for private repositories. Default: Hugging Face, without a token. */
  readonly hub?: Hub | undefined
  /**
   * `relaxed` uses fused multiply-add; `simd128` runs in every browser with SIMD. Default `auto`: relaxed
   * SIMD if it runs here.
   */
  readonly build?: Build | 'auto' | undefined
  /**
   * How constant matrices are multiplied. `f32`: in f32. `w8` and `w4`: rounded to 8 or 4 bits, by rows that
   * are rounded to 8 bits, each 32 numbers with a scale of their own. Default `auto`: so where the file has
   * 8-bit or 4-bit codes, which are kept; floats stay f32.
   */
  readonly weights?: WeightPolicy | undefined
  /** Address of the folder of the engine's `halfbyte-*.wasm`. Default: where the library lies. */
  readonly assets?: Pick<Assets, 'wasm'> | undefined
}

/** An input or an output of a network. */
export interface NetworkValue {
  readonly name: string
  /** Undefined for an output whose type only a run shows. */
  readonly dtype: NetworkDType | undefined
  /**
   * Sizes; a text is a size that a run may choose, the same in all inputs that name it. Undefined where the
   * file does not say.
   */
  readonly dims: readonly (number | string)[] | undefined
}

/** Bytes that a network holds. */
export interface NetworkMemory {
  /** Linear memory: weights, and the values of the largest run so far. */
  readonly memoryBytes: number
  /** WebAssembly that was made for this network. */
  readonly codeBytes: number
}

/** What the command line and tests may replace. */
interface Inside {
  /** Finds external data beside the graph. */
  readonly beside?: Parameters<typeof openNetwork>[1]['beside']
  readonly loadModule?: Host['loadModule']
  /** Threads that share a run, with memory that can be shared and `startWorker`. Default: 1. */
  readonly threads?: number | undefined
  readonly startWorker?: Host['startWorker']
}

const KEYS = ['signal', 'onProgress', 'cache', 'dtype', 'hub', 'build', 'weights', 'assets']

/** A graph that runs in this thread. For a page that stays responsive, load it in a worker of yours. */
export class Network implements AsyncDisposable {
  readonly inputs: readonly NetworkValue[]
  readonly outputs: readonly NetworkValue[]
  /** Instructions in use. */
  readonly build: Build
  // Functions, because pages keep objects in proxies, through which private names cannot be read.
  private readonly graph: () => CompiledGraph
  private readonly close: () => Promise<void>

  private constructor(graph: CompiledGraph, build: Build, files: OpenFiles) {
    let open: CompiledGraph | undefined = graph
    this.graph = () => {
      if (open !== undefined) return open
      throw new HalfbyteError('disposed', 'the network was disposed; load it again')
    }
    this.close = async () => {
      if (open === undefined) return
      open = undefined
      graph.dispose()
      await files.close()
    }
    this.build = build
    this.inputs = graph.inputs.map(({ name, type }) => ({ name, dtype: type?.dtype, dims: type?.dims }))
    this.outputs = graph.outputTypes.map(({ name, type }) => ({ name, dtype: type?.dtype, dims: type?.dims }))
  }

  /**
   * Loads an ONNX file. What its graph needs is compiled when a shape of inputs is first run.
   *
   * ```ts
   * const network = await Network.load('/models/minilm.onnx')
   * ```
   *
   * Rejects with a HalfbyteError (`network`, `storage-full`, `format`, `integrity`, `out-of-memory` or
   * `unsupported`) or with the signal's reason.
   */
  static async load(source: ModelSource, options: NetworkOptions = {}): Promise<Network> {
    const checked = checkedOptions(options)
    const { signal, cache = 'opfs', hub, dtype } = checked
    signal?.throwIfAborted()
    const place = resolveSource(source, globalThis.location?.href, hub)
    const hooks = {
      signal: signal ?? new AbortController().signal,
      onProgress: (event: { readonly phase: string }) => {
        if (event.phase === 'download') checked.onProgress?.(event as DownloadProgress)
      },
    }
    const open = (from: string | readonly File[]) =>
      openRequestedFiles({ source: from, cache, hub, dtype }, hooks)
    const files = await open(place)
    const others: OpenFiles[] = []
    const close = async () => void (await Promise.all([files, ...others].map((each) => each.close())))
    try {
      const beside: Inside['beside'] = async (name) => {
        const graph = files.sources.find((each) => each.name.endsWith('.onnx'))?.address
        if (graph === undefined) return undefined
        const found = await openIfThere(() => open(addressInside(folderOf(graph), name, graph)))
        if (found !== undefined) others.push(found)
        return found?.sources[0]
      }
      return await Network.open({ sources: files.sources, close }, checked, { beside })
    } catch (error) {
      await close()
      throw error
    }
  }

  /**
   * The same from files that are open: for the command line and tests.
   * @internal
   */
  static async open(
    files: OpenFiles,
    { signal, dtype, build = 'auto', weights, assets }: NetworkOptions = {},
    { beside, loadModule, threads = 1, startWorker }: Inside = {},
  ): Promise<Network> {
    const features = detectFeatures(globalThis)
    const chosen = chooseBuild(features, build)
    if (!(await mayCompile())) throw new HalfbyteError('unsupported', NO_WASM)
    const place = prepareRequest({ assets })
    const isShared = threads > 1 && features.sharedMemory && startWorker !== undefined
    const memory = isShared ? 'shared' : 'plain'
    const graph = await openNetwork(files.sources, {
      signal,
      dtype,
      beside,
      fuse: chosen === 'relaxed',
      weights,
      loadKernels: () =>
        loadModule === undefined
          ? engineModule(chosen, memory, { wasm: place.assets.wasm })
          : loadModule(chosen, memory),
      workers: isShared ? { threads, start: startWorker } : undefined,
    })
    return new Network(graph, chosen, files)
  }

  /**
   * Computes the outputs for one tensor per input, by name.
   *
   * ```ts
   * const { last_hidden_state } = await network.run({ input_ids, attention_mask, token_type_ids })
   * ```
   *
   * The first run with new sizes plans them, which takes some milliseconds. Runs come one after the other.
   * Rejects with `unsupported` for an input that is missing, unknown or of another dtype or shape, and for a
   * node that is not compiled; with `format` for an index outside of its table; `out-of-memory`, `disposed`,
   * or the signal's reason.
   */
  async run(
    inputs: Readonly<Record<string, NetworkTensor>>,
    options?: AbortOptions,
  ): Promise<Record<string, NetworkTensor>> {
    const graph = this.graph()
    const signal = signalOf(options)
    const feeds = readFrom('the inputs', () => {
      if (!isObject(inputs))
        throw new HalfbyteError('unsupported', 'the inputs are not an object; give tensors by name')
      checkKeys(
        'the inputs',
        inputs,
        this.inputs.map(({ name }) => name),
      )
      return new Map(
        this.inputs.flatMap(({ name, dtype }) =>
          Object.hasOwn(inputs, name) && dtype !== undefined
            ? [[name, checkTensor(name, inputs[name], dtype)] as const]
            : [],
        ),
      )
    })
    signal?.throwIfAborted()
    return Object.fromEntries(await graph.run(feeds, signal))
  }

  /** Bytes of memory. */
  memory(): NetworkMemory {
    const { memoryBytes, codeBytes } = this.graph().sizes
    return { memoryBytes, codeBytes }
  }

  /** Frees the memory. Later calls reject with `disposed`. */
  dispose(): Promise<void> {
    return this.close()
  }

  [asyncDispose](): Promise<void> {
    return this.dispose()
  }
}

function checkedOptions(options: NetworkOptions): NetworkOptions {
  return readFrom('the options', () => {
    checkKeys('the options', options, KEYS)
    const { signal, onProgress, cache, dtype, hub, build, weights, assets } = options
    checkSignal(signal)
    checkChoice('cache', cache, ['opfs', 'none'])
    checkChoice('dtype', dtype, GRAPH_DTYPES)
    checkChoice('build', build, ['auto', 'relaxed', 'simd128'])
    checkChoice('weights', weights, NETWORK_WEIGHTS)
    if (assets !== undefined) checkKeys('assets', assets, ['wasm'])
    return { signal, onProgress, cache, dtype, hub, build, weights, assets }
  })
}

const folderOf = (address: string): string => address.slice(0, address.lastIndexOf('/') + 1)

async function openIfThere(open: () => Promise<OpenFiles>): Promise<OpenFiles | undefined> {
  try {
    return await open()
  } catch (error) {
    if (isHalfbyteError(error) && error.detail['status'] === 404) return undefined
    throw error
  }
}
