// Estimates the cost of each graph in a repository from file sizes and the memory need of one graph.
import { dtypeOf, type GraphDtype, type GraphFiles } from '../../core/formats/names/graph-files.ts'
import type { GraphOffer } from '../types/model.ts'

/** The graph whose header was read. */
interface ReadGraph {
  /** Its stored weights. */
  readonly weightBytes: number
  readonly neededBytes: number
}

/** Bytes in memory per byte of a file: 8-bit codes are stored with one scale per group of 32. */
const GROWTH: Partial<Record<GraphDtype, number>> = { q8: 17 / 16, int8: 17 / 16, uint8: 17 / 16 }

/** `graphs` in order of preference; the first one was read. */
export function graphOffers(
  graphs: readonly GraphFiles[],
  read: ReadGraph,
  grantedBytes: number,
): GraphOffer[] {
  const others = read.neededBytes - read.weightBytes
  const named = new Set<GraphDtype>()
  return graphs.map(({ file, bytes, downloadBytes }, index) => {
    const isDefault = index === 0
    const stated = dtypeOf(file)
    const dtype = stated && named.has(stated) ? undefined : stated
    if (dtype) named.add(dtype)
    const weights = bytes * ((stated && GROWTH[stated]) ?? 1)
    const neededBytes = isDefault ? read.neededBytes : Math.ceil(others + weights)
    return {
      file,
      dtype,
      isDefault,
      downloadBytes,
      neededBytes,
      fits: neededBytes <= grantedBytes,
    }
  })
}
