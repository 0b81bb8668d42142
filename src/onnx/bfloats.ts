// Floats of 16 bits in 32. In: a graph. Out: the same, with a shorter form of each stored f32 matrix whose
// values are all bf16: exporters write the weights of models that were trained in bf16 as f32.
import { type ByteSource, filledSource, readInto } from '../base/bytes.ts'
import { type Graph, isStored, type StoredTensor } from './ir/graph.ts'

/** Nearly every other f32 shows in so few values that it is more. */
const FIRST_BYTES = 4096
const CHUNK_BYTES = 4 << 20

/**
 * Reads such matrices whole, and of others mostly the beginning. Files that come by ranges are left as they
 * are: they would come twice.
 */
export async function withBfloats(graph: Graph, signal?: AbortSignal): Promise<Graph> {
  const constants = new Map(graph.constants)
  for (const [name, constant] of constants) {
    if (!isStored(constant) || constant.dtype !== 'f32' || constant.dims.length !== 2) continue
    if (constant.source.readAlone === undefined && (await isBfloats(constant, signal)))
      constants.set(name, { ...constant, bfloats: bfloatSource(constant) })
  }
  return { ...graph, constants }
}

async function isBfloats(
  { source, offset, byteLength }: StoredTensor,
  signal?: AbortSignal,
): Promise<boolean> {
  const chunk = new Uint32Array(Math.min(CHUNK_BYTES, byteLength) / 4)
  for (let at = 0, length = FIRST_BYTES; at < byteLength; at += length, length = CHUNK_BYTES) {
    const words = chunk.subarray(0, Math.min(length, byteLength - at) / 4)
    await readInto(source, bytesOf(words), offset + at, signal)
    let all = 0
    for (let i = 0; i < words.length; i++) all |= words[i]!
    if ((all & 0xffff) !== 0) return false
  }
  return true
}

/** The upper halves of the words. */
const bfloatSource = ({ source, offset, byteLength }: StoredTensor): ByteSource =>
  filledSource(source.name, byteLength / 2, async (target, from, signal) => {
    const end = from + target.byteLength
    const words = new Uint32Array(Math.min(CHUNK_BYTES / 4, Math.ceil(target.byteLength / 2) + 1))
    const halves = new Uint16Array(words.buffer)
    for (let at = from; at < end; ) {
      const first = at >> 1
      const count = Math.min(words.length, Math.ceil(end / 2) - first)
      await readInto(source, bytesOf(words.subarray(0, count)), offset + 4 * first, signal)
      for (let i = 0; i < count; i++) halves[i] = words[i]! >>> 16
      const part = new Uint8Array(words.buffer, at - 2 * first, Math.min(end, 2 * (first + count)) - at)
      target.set(part, at - from)
      at += part.byteLength
    }
  })

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
