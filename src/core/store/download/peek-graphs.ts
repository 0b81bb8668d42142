// Finds the graphs of a repository in the layout of transformers.js, and the sizes of their files.
import { isHalfbyteError } from '../../base/errors.ts'
import { GRAPH_FOLDER, type GraphFiles, graphNames } from '../../formats/names/graph-files.ts'
import { openRanges, type RangeOptions } from './ranges.ts'
import { bodyLength } from './request.ts'

/** Bytes of a file, and how many of them are not on this device. */
export type FileSize = Pick<GraphFiles, 'bytes' | 'downloadBytes'>

/** A larger graph contains its own weights. */
const MAX_STRUCTURE = 64 << 20

/** Requests the size of each possible file once: graphs, and the data files of small graphs. */
export async function peekGraphs(
  folder: string,
  sizeOf: (url: string) => Promise<FileSize | undefined>,
): Promise<GraphFiles[]> {
  const found = await Promise.all(
    graphNames().map(async (name) => {
      const file = GRAPH_FOLDER + name
      const size = await sizeOf(folder + file)
      if (size === undefined) return []
      let { bytes, downloadBytes } = size
      let next = bytes < MAX_STRUCTURE ? await sizeOf(`${folder}${file}_data`) : undefined
      for (let part = 1; next !== undefined; part++) {
        bytes += next.bytes
        downloadBytes += next.downloadBytes
        next = await sizeOf(`${folder}${file}_data_${part}`)
      }
      return [{ file, bytes, downloadBytes }]
    }),
  )
  return found.flat()
}

/**
 * Requests one byte. Undefined for a file that is missing, that the server denies, or whose size the server
 * does not report. Throws the signal's reason.
 */
export async function peekSize(url: string, options: RangeOptions): Promise<number | undefined> {
  try {
    const found = await openRanges(url, { ...options, blockBytes: 1 })
    if (!(found instanceof Response)) return found === 'refused' ? undefined : found?.size
    await found.body?.cancel()
    return bodyLength(found) || undefined
  } catch (error) {
    if (isHalfbyteError(error)) return undefined
    throw error
  }
}
