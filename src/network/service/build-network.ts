// Builds a network in this thread from open files: its graph, and the threads that share its runs.
import { HalfbyteError } from '../../core/base/errors.ts'
import { addressInside, folderOf, type Place } from '../../core/formats/names/named-files.ts'
import { chooseBuild, detectFeatures, mayCompile, NO_WASM } from '../../core/runtime/features.ts'
import type { Host } from '../../core/runtime/host.ts'
import { fileAt } from '../../core/store/file-at.ts'
import type { OpenFiles } from '../../engine/load/open/requested-files.ts'
import type { RunnableGraph } from '../compile/compiled-graph.ts'
import type { OpenNetwork, OpenNetworkOptions } from '../compile/open-network.ts'
import type { ForeignNode } from '../compile/refusal.ts'
import type { Input } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import type { NetworkInfo, NetworkMemory, NetworkValue, RunRequest } from './network-protocol.ts'

/** More threads would gain little, because a network's steps are short. */
const MAX_AUTO_THREADS = 8

/** What a network needs from its environment. Without `startWorker`, it has one thread. */
export type NetworkHost = Pick<Host, 'loadModule' | 'startWorker' | 'cores'>

/** A network that can be run, here or through a worker. */
export interface LoadedNetwork {
  readonly info: NetworkInfo
  run(inputs: ReadonlyMap<string, Tensor>, signal?: AbortSignal): Promise<ReadonlyMap<string, Tensor>>
  memory(): NetworkMemory
  /** Nodes known so far to run in another runtime. */
  foreign(): readonly ForeignNode[]
  dispose(): Promise<void>
}

/** A network in this thread. */
export interface LocalNetwork extends LoadedNetwork {
  /** Number of elements in the file's constants. */
  readonly parameters: number
}

/** Loads a network from open files, and closes them when it is disposed. `open`: opens its graph. */
export async function buildNetwork(
  open: OpenNetwork,
  files: OpenFiles,
  { build, weights, threads, fallback, limits }: RunRequest,
  { loadModule, startWorker, cores }: NetworkHost,
  reading: OpenNetworkOptions,
): Promise<LocalNetwork> {
  const features = detectFeatures(globalThis)
  const chosen = chooseBuild(features, build)
  if (!(await mayCompile())) throw new HalfbyteError('unsupported', NO_WASM)
  const wanted = threads === 'auto' ? Math.min(cores, MAX_AUTO_THREADS) : threads
  const start = wanted > 1 && features.sharedMemory ? startWorker : undefined
  const { graph, metadata } = await open(files.sources, {
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
  return loaded(graph, files, { build: chosen, threads: graph.machine.threads, metadata })
}

const loaded = (
  graph: RunnableGraph,
  files: OpenFiles,
  how: Pick<NetworkInfo, 'build' | 'threads' | 'metadata'>,
): LocalNetwork => ({
  info: {
    inputs: graph.inputs.map(described),
    outputs: graph.outputTypes.map(described),
    ...how,
  },
  parameters: graph.parameters,
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

function described({ name, type, isOptional }: Input): NetworkValue {
  const isSequence = type?.dtype === 'sequence'
  const { dtype, dims } = (isSequence ? { ...type?.item, dims: undefined } : type) ?? {}
  return {
    name,
    // A value without elements may still be one of any type.
    dtype: dtype === 'sequence' || dtype === 'none' ? undefined : dtype,
    dims,
    ...(isSequence && { isSequence }),
    ...(isOptional && { isOptional }),
  }
}

/** Finds external data in the folder of the graph's address. Files picked by the user have no folder. */
export function dataBeside(
  sources: OpenFiles['sources'],
  open: (place: Place) => Promise<OpenFiles>,
): OpenNetworkOptions['beside'] {
  const graph = sources.find((each) => each.name.endsWith('.onnx'))?.address
  if (graph === undefined) return undefined
  return async (path) => fileAt(addressInside(folderOf(graph), path, graph), open)
}
