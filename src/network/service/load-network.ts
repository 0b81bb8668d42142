// Loads a network in this thread: its files, its graph, and the threads that share its runs.
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { addressInside, folderOf, type Place } from '../../core/formats/names/named-files.ts'
import { chooseBuild, detectFeatures, mayCompile, NO_WASM } from '../../core/runtime/features.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import { type OpenFiles, openRequestedFiles } from '../../engine/load/open/requested-files.ts'
import type { RunnableGraph } from '../compile/compiled-graph.ts'
import { type OpenNetworkOptions, openNetwork } from '../compile/open-network.ts'
import type { ForeignNode } from '../compile/refusal.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import type { NetworkInfo, NetworkMemory, NetworkRequest, RunRequest } from './network-protocol.ts'

/** More threads than this gain little, because networks have short steps. */
const MAX_AUTO_THREADS = 8

/** What a network needs from its host. Without `startWorker`, it has one thread. */
export type NetworkHost = Pick<Host, 'loadModule' | 'startWorker' | 'cores'>

/** A runnable network, here or in a worker. */
export interface LoadedNetwork {
  readonly info: NetworkInfo
  run(inputs: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<ReadonlyMap<string, Tensor>>
  memory(): NetworkMemory
  /** Nodes known to run in another runtime. */
  foreign(): readonly ForeignNode[]
  dispose(): Promise<void>
}

/** Finds the files that a request names and loads their network. Closes what it opened if that fails. */
export async function loadNetwork(
  request: NetworkRequest,
  hooks: LoaderHooks,
  host: NetworkHost,
): Promise<LoadedNetwork> {
  const { source, cache, hub, dtype } = request
  const open = (from: Place | readonly File[]) =>
    openRequestedFiles({ source: from, cache, hub, dtype }, hooks)
  const files = await open(source)
  const others: OpenFiles[] = []
  const close = async () => void (await Promise.all([files, ...others].map((each) => each.close())))
  const beside: OpenNetworkOptions['beside'] = async (path) => {
    const graph = files.sources.find((each) => each.name.endsWith('.onnx'))?.address
    if (graph === undefined) return undefined
    const found = await openIfThere(() => open(addressInside(folderOf(graph), path, graph)))
    if (found !== undefined) others.push(found)
    return found?.sources[0]
  }
  try {
    const reading = { signal: hooks.signal, dtype, beside }
    return await buildNetwork({ sources: files.sources, close }, request, host, reading)
  } catch (error) {
    await close()
    throw error
  }
}

/** The same, from open files, which the network closes when it is disposed. */
export async function buildNetwork(
  files: OpenFiles,
  { build, weights, threads, fallback, limits }: RunRequest,
  { loadModule, startWorker, cores }: NetworkHost,
  reading: OpenNetworkOptions,
): Promise<LoadedNetwork> {
  const features = detectFeatures(globalThis)
  const chosen = chooseBuild(features, build)
  if (!(await mayCompile())) throw new HalfbyteError('unsupported', NO_WASM)
  const wanted = threads === 'auto' ? Math.min(cores, MAX_AUTO_THREADS) : threads
  const start = wanted > 1 && features.sharedMemory ? startWorker : undefined
  const graph = await openNetwork(files.sources, {
    ...reading,
    fallback,
    fuse: chosen === 'relaxed',
    weights,
    limits,
    loadKernels: () => loadModule(chosen, start === undefined ? 'plain' : 'shared'),
    workers: start && { threads: wanted, start },
  })
  try {
    if (start !== undefined) await graph.machine.open()
    reading.signal?.throwIfAborted()
  } catch (error) {
    await graph.dispose()
    throw error
  }
  return loaded(graph, files, { build: chosen, threads: graph.machine.threads })
}

const loaded = (
  graph: RunnableGraph,
  files: OpenFiles,
  how: Pick<NetworkInfo, 'build' | 'threads'>,
): LoadedNetwork => ({
  info: {
    inputs: graph.inputs.map(({ name, type }) => ({ name, dtype: type?.dtype, dims: type?.dims })),
    outputs: graph.outputTypes.map(({ name, type }) => ({ name, dtype: type?.dtype, dims: type?.dims })),
    ...how,
  },
  run: (inputs, signal) => graph.run(inputs, signal),
  memory() {
    const { memoryBytes, codeBytes } = graph.machine.sizes
    return { memoryBytes, codeBytes }
  },
  foreign: () => graph.foreign,
  async dispose() {
    await graph.dispose()
    await files.close()
  },
})

async function openIfThere(open: () => Promise<OpenFiles>): Promise<OpenFiles | undefined> {
  try {
    return await open()
  } catch (error) {
    if (isHalfbyteError(error) && error.detail['status'] === 404) return undefined
    throw error
  }
}
