// Opens an ONNX file as a runnable graph.
import type { ByteSource } from '../../core/base/bytes.ts'
import { endSpan } from '../../core/base/time/spans.ts'
import { chooseGraph, type GraphDtype } from '../../core/formats/names/graph-files.ts'
import { baseName, type InnerPath, pathInside } from '../../core/formats/names/named-files.ts'
import { type FindFile, type OnnxModel, readModel } from '../onnx/read-model.ts'
import { PlanCache, type PlanStore } from './cache/plan-cache.ts'
import { CompiledGraph, type CompileOptions, type RunnableGraph } from './compiled-graph.ts'
import { type GraphFacts, StagedGraph } from './staged/staged-graph.ts'

export interface OpenNetworkOptions {
  readonly signal?: AbortSignal | undefined
  /** Finds external data that is not among the sources, by its path relative to the graph. Default: none. */
  readonly beside?: FindFile | undefined
  /** The precision to open if the sources have several. */
  readonly dtype?: GraphDtype | undefined
  /** Where to store what loads and first runs compute, by the graph's file. Default: nowhere. */
  readonly plans?: ((graph: ByteSource) => Promise<PlanStore | undefined>) | undefined
}

/**
 * The graph among a model's files, and its metadata. Throws `format` for damaged files, `unsupported` for
 * unsupported features.
 */
export async function readNetwork(
  sources: readonly ByteSource[],
  { signal, beside, dtype }: OpenNetworkOptions = {},
): Promise<Pick<OnnxModel, 'graph' | 'metadata'>> {
  return readModel(graphAmong(sources, dtype), { find: finder(sources, beside), signal })
}

function finder(sources: readonly ByteSource[], beside: FindFile | undefined): FindFile {
  const files = new Map(sources.map((each) => [baseName(each.name), each]))
  return async (path) => files.get(path) ?? (await beside?.(path))
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
export const openNetwork: OpenNetwork = async (
  sources,
  { beside, dtype, signal, plans: openPlans, ...how },
) => {
  const source = graphAmong(sources, dtype)
  const find = finder(sources, beside)
  const paths = new Map<ByteSource, string>([[source, '']])
  const found = async (path: InnerPath) => {
    const file = await find(path)
    if (file !== undefined) paths.set(file, path)
    return file
  }
  const store = how.fallback === undefined ? await openPlans?.(source) : undefined
  const files = {
    paths,
    find: async (path: string) => (path === '' ? source : found(pathInside(path, source.name))),
  }
  const plans = store && new PlanCache(store, files, dependencies(how))
  let start = performance.now()
  const known = await plans?.read('', (value) => value as Known)
  if (known !== undefined) {
    endSpan('read the plan', start)
    // A run without a cached plan reads the graph long after the load.
    const read = async () => (await readModel(source, { find: found })).graph
    return { graph: StagedGraph.known(known.facts, read, { ...how, plans }), metadata: known.metadata }
  }
  start = performance.now()
  const { graph, metadata } = await readModel(source, { find: found, signal })
  endSpan('read the graph', start)
  const staged = await StagedGraph.open(graph, { ...how, plans }, signal)
  await plans?.write('', { facts: staged.facts, metadata } satisfies Known)
  return { graph: staged, metadata }
}

/** The entry for the graph itself. */
interface Known {
  readonly facts: GraphFacts
  readonly metadata: OnnxModel['metadata']
}

/** The options on which programs depend. */
const dependencies = ({ fuse, weights, loadKernels, limits }: CompileOptions): string =>
  JSON.stringify([fuse, weights, loadKernels !== undefined, Object.entries(limits ?? {}).sort()])

/** For graphs that must be compiled as a whole: a smaller script, which has no other way to run a node. */
export const openCompiled: OpenNetwork = async (sources, { beside, dtype, signal, ...how }) => {
  const { graph, metadata } = await readNetwork(sources, { beside, dtype, signal })
  return { graph: new CompiledGraph(graph, how), metadata }
}
