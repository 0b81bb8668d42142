// Opens a model of any format from an address or files, and reads its headers.
import type { ByteSource } from '../../../core/base/bytes.ts'
import { COMPANIONS, GRAPH_FOLDER, type GraphDtype } from '../../../core/formats/names/graph-files.ts'
import { addressInside, folderOf, type InnerPath } from '../../../core/formats/names/named-files.ts'
import { adapterFiles, openAdapter } from '../../../core/formats/open-adapter.ts'
import { openFiles } from '../../../core/formats/open-files.ts'
import type { LoadReaders, ModelFile } from '../../../core/formats/readers.ts'
import { graphBuilder } from '../../../core/graph/builder.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { fileAt, isNotFound } from '../../../core/store/file-at.ts'
import type { ScaledAdapter } from '../../../core/weights/adapt.ts'
import type { LoadRequest } from '../../wire/protocol.ts'

/**
 * Throws the errors of `open` and `readers`, and `format` or `unsupported` if a file is not a LoRA adapter.
 */
export async function openAdapters(
  lora: LoadRequest['lora'],
  open: (source: LoadRequest['source']) => Promise<{ readonly sources: readonly ByteSource[] }>,
  readers: LoadReaders,
  signal?: AbortSignal,
): Promise<ScaledAdapter[]> {
  const adapters: ScaledAdapter[] = []
  for (const { source, scale } of lora ?? []) {
    const sources: ByteSource[] = []
    for (const file of typeof source === 'string' ? adapterFiles(source) : [source]) {
      sources.push(...(await open(file)).sources)
    }
    adapters.push({ adapter: await openAdapter(sources, readers, signal), scale })
  }
  return adapters
}

/** The files at a location. Throws `network` with the status 404 if nothing exists at an address. */
export type Open<F> = (place: LoadRequest['source']) => Promise<F>

interface OpenAnyOptions {
  readonly signal?: AbortSignal | undefined
  /** Detects 16-bit floats in f32 weights of ONNX models, if that needs no download. Default: false. */
  readonly bfloats?: boolean | undefined
  /** The precision of the graph if the files have several. Default: the first of `GRAPH_DTYPES`. */
  readonly dtype?: GraphDtype | undefined
}

interface Sources {
  readonly sources: readonly ByteSource[]
}

/**
 * A folder without config.json may be an ONNX model. Files next to a graph at an address are found one by
 * one. Throws the errors of `open` and of the format's reader.
 */
export async function openAny<F extends Sources>(
  place: LoadRequest['source'],
  open: Open<F>,
  host: Pick<Host, 'loadOnnx' | keyof LoadReaders>,
  { signal, bfloats, dtype }: OpenAnyOptions = {},
): Promise<{ readonly file: ModelFile; readonly files: F }> {
  const isFolder = typeof place === 'string' && place.endsWith('/')
  /** Whether all files that describe a model were requested there. */
  let isDescribed = isFolder
  const files = await open(place).catch((error) => {
    if (!isFolder || !isNotFound(error)) throw error
    isDescribed = false
    return open(addressInside(place, 'model.onnx', place)).catch(() => {
      throw error
    })
  })
  const { sources } = files
  const graph = sources.find(({ name }) => name.endsWith('.onnx'))
  if (graph === undefined) return { file: await openFiles(sources, host, signal), files }
  const beside =
    graph.address !== undefined && /^https?:/.test(graph.address)
      ? findBeside(graph.address, isDescribed, open)
      : undefined
  const { openOnnx } = await host.loadOnnx()
  const file = await openOnnx(sources, { newGraph: graphBuilder, signal, beside, bfloats, dtype })
  return { file: { ...file, loadFamilies: () => host.loadFamilies() }, files }
}

/**
 * Finds files next to the graph at an address. In transformers.js layout, the files that describe the model
 * are one level up. With `isDescribed`, these are not looked for.
 */
function findBeside(
  graph: string,
  isDescribed: boolean,
  open: Open<Sources>,
): (path: InnerPath) => Promise<ByteSource | undefined> {
  const folder = folderOf(graph)
  const above = folder.endsWith(`/${GRAPH_FOLDER}`) ? folderOf(folder.slice(0, -1)) : undefined
  return async (path) => {
    const isCompanion = COMPANIONS.has(path)
    if (isCompanion && isDescribed) return undefined
    const upper =
      isCompanion && above !== undefined ? await fileAt(addressInside(above, path, graph), open) : undefined
    return upper ?? fileAt(addressInside(folder, path, graph), open)
  }
}
