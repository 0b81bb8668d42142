// Compresses bytes with gzip, and decompresses them to exactly the expected size.
import { reasonOf } from '../base/errors.ts'
import { malformed } from './malformed.ts'

export async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  const packed = new Response(bytes as Uint8Array<ArrayBuffer>).body?.pipeThrough(
    new CompressionStream('gzip'),
  )
  return new Uint8Array(await new Response(packed ?? null).arrayBuffer())
}

/**
 * Throws `format` if the data is damaged or does not decompress to `size` bytes. Stops at the first excess
 * byte.
 */
export async function gunzip(file: string, bytes: Uint8Array, size: number): Promise<Uint8Array> {
  // Filled chunk by chunk: collecting the chunks first would take twice the memory.
  const unpacked = new Uint8Array(size)
  let total = 0
  const stream = new Response(bytes as Uint8Array<ArrayBuffer>).body?.pipeThrough(
    new DecompressionStream('gzip'),
  ) as ReadableStream<Uint8Array>
  const reader = stream.getReader()
  try {
    while (total <= size) {
      const { done, value } = await reader.read()
      if (done) break
      if (total + value.length <= size) unpacked.set(value, total)
      total += value.length
    }
  } catch (cause) {
    throw malformed(file, `its header cannot be decompressed (${reasonOf(cause)})`)
  }
  if (total === size) return unpacked
  void reader.cancel()
  throw malformed(file, `its header decompresses to ${total} bytes, not the declared ${size}`)
}
