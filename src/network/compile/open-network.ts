// Opens an ONNX file as a runnable graph.
import type { ByteSource } from '../../core/base/bytes.ts'
import { chooseGraph, type GraphDtype } from '../../core/formats/names/graph-files.ts'
import { baseName } from '../../core/formats/names/named-files.ts'
import { type FindFile, type OnnxModel, readModel } from '../onnx/read-model.ts'
import { CompiledGraph, type CompileOptions, type RunnableGraph } from './compiled-graph.ts'
import { StagedGraph } from './staged/staged-graph.ts'

export interface OpenNetworkOptions {
  readonly signal?: AbortSignal | undefined
  /** Finds external data that is not among the sources, by its path relative to the graph. Default: none. */
  readonly beside?: FindFile | undefined
  /** The precision to open if the sources have several. */
  readonly dtype?: GraphDtype | undefined
}

/**
 * The graph among a model's files, and its metadata. Throws `format` for damaged files, `unsupported` for
 * unsupported features.
 */
export async function readNetwork(
  sources: readonly ByteSource[],
  { signal, beside, dtype }: OpenNetworkOptions = {},
): Promise<Pick<OnnxModel, 'graph' | 'metadata'>> {
  const source = graphAmong(sources, dtype)
  const files = new Map(sources.map((each) => [baseName(each.name), each]))
  const find: FindFile = async (path) => files.get(path) ?? (await beside?.(path))
  return readModel(source, { find, signal })
}

/** A single file without an extension is the graph, because bytes and blob URLs have no name. */
function graphAmong(sources: readonly ByteSource[], dtype: GraphDtype | undefined): ByteSource {
  const [first] = sources
  if (first !== undefined && sources.length === 1 && !first.name.includes('.')) return first
  const names = sources.map(({ name }) => name)
  return sources[names.indexOf(chooseGraph(names, dtype))] as ByteSource
}

/** A graph that can run, and what its file says about itself. */
interface OpenedNetwork {
  readonly graph: RunnableGraph
  readonly metadata: OnnxModel['metadata']
}

/** Opens a graph that can run. `fallback`: onnxruntime-web runs the nodes that are not compiled. */
export type OpenNetwork = (
  sources: readonly ByteSource[],
  options: OpenNetworkOptions & CompileOptions & { readonly fallback?: 'ort' | undefined },
) => Promise<OpenedNetwork>

/** Without the fallback, nodes that are not compiled run in TypeScript where that is possible. */
export const openNetwork: OpenNetwork = async (sources, { beside, dtype, signal, ...how }) => {
  const { graph, metadata } = await readNetwork(sources, { beside, dtype, signal })
  return { graph: await StagedGraph.open(graph, how, signal), metadata }
}

/** For graphs that must be compiled as a whole: a smaller script, which has no other way to run a node. */
export const openCompiled: OpenNetwork = async (sources, { beside, dtype, signal, ...how }) => {
  const { graph, metadata } = await readNetwork(sources, { beside, dtype, signal })
  return { graph: new CompiledGraph(graph, how), metadata }
}
