// gzip. In: bytes. Out: them packed, or unpacked to exactly the size that was promised.
import { malformed } from './malformed.ts'

export async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  return collect(new CompressionStream('gzip'), bytes, Number.POSITIVE_INFINITY)
}

/** Throws `format` when the data is damaged or does not unpack to `size` bytes; stops as soon as it is more. */
export async function gunzip(file: string, bytes: Uint8Array, size: number): Promise<Uint8Array> {
  let unpacked: Uint8Array
  try {
    unpacked = await collect(new DecompressionStream('gzip'), bytes, size)
  } catch (cause) {
    throw malformed(
      file,
      `its header does not unpack (${cause instanceof Error ? cause.message : String(cause)})`,
    )
  }
  if (unpacked.length === size) return unpacked
  throw malformed(file, `its header unpacks to ${unpacked.length} bytes where ${size} were promised`)
}

async function collect(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
  limit: number,
): Promise<Uint8Array> {
  const writer = stream.writable.getWriter()
  // A failure shows on the readable side; here it must only not count as unhandled.
  writer.write(bytes as Uint8Array<ArrayBuffer>).catch(() => undefined)
  writer.close().catch(() => undefined)
  const reader = stream.readable.getReader()
  const chunks: Uint8Array[] = []
  let total = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    total += value.length
    if (total > limit) {
      await reader.cancel()
      break
    }
  }
  const whole = new Uint8Array(total)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
