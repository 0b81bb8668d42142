// Opens a model of any format by whatever names it, and reads its headers.
import type { ByteSource } from '../../../base/bytes.ts'
import { isHalfbyteError } from '../../../base/errors.ts'
import { addressInside } from '../../../formats/names/named-files.ts'
import { adapterFiles, openAdapter } from '../../../formats/open-adapter.ts'
import { openFiles } from '../../../formats/open-files.ts'
import type { LoadReaders, ModelFile } from '../../../formats/readers.ts'
import { graphBuilder } from '../../../graph/builder.ts'
import type { Host } from '../../../runtime/host.ts'
import type { ScaledAdapter } from '../../../weights/adapt.ts'
import type { LoadRequest } from '../../wire/protocol.ts'

/** Throws what `open` and `readers` throw, and `format` or `unsupported` if a file is not a LoRA adapter. */
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

type Place = string | readonly File[]

/** The files of a place. Throws `network` with the status 404 when an address has nothing. */
export type Open<F> = (place: Place) => Promise<F>

export interface OpenAnyOptions {
  readonly signal?: AbortSignal | undefined
  /** Looks for floats of 16 bits in f32 of ONNX models, where that takes no download. Default: false. */
  readonly bfloats?: boolean | undefined
}

const isMissing = (error: unknown): boolean => isHalfbyteError(error) && error.detail['status'] === 404

/**
 * A folder at an address may be an ONNX model: the files beside the graph are then found one by one. Throws
 * what `open` and the reader of the format throw.
 */
export async function openAny<F extends { readonly sources: readonly ByteSource[] }>(
  place: Place,
  open: Open<F>,
  host: Pick<Host, 'loadOnnx' | keyof LoadReaders>,
  { signal, bfloats }: OpenAnyOptions = {},
): Promise<{ readonly file: ModelFile; readonly files: F }> {
  const isAddress = typeof place === 'string'
  const graph = isAddress && place.endsWith('/') ? `${place}model.onnx` : place
  const files = await open(place).catch((error) => {
    if (graph === place || !isMissing(error)) throw error
    return open(graph).catch(() => {
      throw error
    })
  })
  const { sources } = files
  if (!sources.some(({ name }) => /\.onnx$/.test(name)))
    return { file: await openFiles(sources, host, signal), files }
  const beside = async (name: string) => {
    // The folder of a path has already been read.
    if (!isAddress || !/^https?:/.test(place)) return undefined
    const address = addressInside(new URL('.', graph as string).href, name, String(graph))
    try {
      // A name with the number of a part stands for all parts.
      return (await open(address)).sources.find((source) => address.endsWith(encodeURIComponent(source.name)))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
  const { openOnnx } = await host.loadOnnx()
  return { file: await openOnnx(sources, { newGraph: graphBuilder, signal, beside, bfloats }), files }
}
