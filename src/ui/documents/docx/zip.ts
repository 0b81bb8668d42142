// Reads single files of a ZIP archive, bounds first. The browser decompresses, and only up to a limit: a few
// kilobytes can expand to gigabytes.
import { crc32 } from './crc32.ts'

const END = 0x06054b50
const ENTRY = 0x02014b50
const LOCAL = 0x04034b50
/** Bytes of the fixed part of each record. */
const END_BYTES = 22
const ENTRY_BYTES = 46
const LOCAL_BYTES = 30
const MAX_COMMENT = 0xffff
/** Far more than the number of parts of a document. */
const MAX_ENTRIES = 10_000
const STORED = 0
const DEFLATED = 8

export interface ZipEntry {
  /** Offset of its local header. */
  readonly offset: number
  readonly method: number
  readonly isEncrypted: boolean
  readonly compressedBytes: number
  readonly bytes: number
  readonly crc: number
}

/** Why an archive cannot be read. `long`: an entry expands to more than the limit. */
export class ZipError extends Error {
  readonly fault: 'damaged' | 'locked' | 'long'

  constructor(fault: 'damaged' | 'locked' | 'long', why: string) {
    super(why)
    this.fault = fault
  }
}

const damaged = (why: string) => new ZipError('damaged', why)

/** The entries by name. Throws `damaged`. */
export function zipEntries(bytes: Uint8Array): ReadonlyMap<string, ZipEntry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = endOf(view)
  const count = view.getUint16(end + 10, true)
  const size = view.getUint32(end + 12, true)
  const start = view.getUint32(end + 16, true)
  if (start + size > end) throw damaged(`the directory ends at ${start + size}, past ${end}`)
  if (count > MAX_ENTRIES || count * ENTRY_BYTES > size)
    throw damaged(`${count} entries in a directory of ${size} bytes`)
  const entries = new Map<string, ZipEntry>()
  let at = start
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > start + size || view.getUint32(at, true) !== ENTRY)
      throw damaged(`entry ${index} of ${count} is missing`)
    const nameBytes = view.getUint16(at + 28, true)
    const next = at + ENTRY_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
    if (next > start + size) throw damaged(`entry ${index} ends at ${next}, past ${start + size}`)
    const name = new TextDecoder().decode(bytes.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes))
    entries.set(name, {
      offset: view.getUint32(at + 42, true),
      method: view.getUint16(at + 10, true),
      isEncrypted: (view.getUint16(at + 8, true) & 1) !== 0,
      compressedBytes: view.getUint32(at + 20, true),
      bytes: view.getUint32(at + 24, true),
      crc: view.getUint32(at + 16, true),
    })
    at = next
  }
  return entries
}

/** The last end record: a comment of up to 64 KiB may follow it. */
function endOf(view: DataView): number {
  const last = view.byteLength - END_BYTES
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT); at--) {
    if (view.getUint32(at, true) === END && at + END_BYTES + view.getUint16(at + 20, true) <= view.byteLength)
      return at
  }
  throw damaged('the archive has no directory')
}

/**
 * Decompresses an entry. Throws `ZipError`, for example if it has more than `most` bytes, and the signal's
 * reason.
 */
export async function unzipped(
  bytes: Uint8Array<ArrayBuffer>,
  entry: ZipEntry,
  most: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (entry.isEncrypted) throw new ZipError('locked', 'the entry is encrypted')
  if (entry.bytes > most) throw new ZipError('long', `${entry.bytes} bytes, more than ${most}`)
  const packed = packedBytes(bytes, entry)
  const content = entry.method === STORED ? packed : await inflated(packed, entry, signal)
  if (content.length !== entry.bytes) throw damaged(`${content.length} bytes instead of ${entry.bytes}`)
  if (crc32(content) !== entry.crc) throw damaged('the checksum differs')
  return content
}

function packedBytes(bytes: Uint8Array<ArrayBuffer>, entry: ZipEntry): Uint8Array<ArrayBuffer> {
  const { offset, method, compressedBytes } = entry
  if (method !== STORED && method !== DEFLATED) throw damaged(`compression method ${method}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (offset + LOCAL_BYTES > bytes.length || view.getUint32(offset, true) !== LOCAL)
    throw damaged(`no entry at ${offset}`)
  const start = offset + LOCAL_BYTES + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true)
  if (start + compressedBytes > bytes.length)
    throw damaged(`an entry ends at ${start + compressedBytes} of ${bytes.length}`)
  return bytes.subarray(start, start + compressedBytes)
}

/** Stops at the first byte beyond the announced size. */
async function inflated(
  packed: Uint8Array<ArrayBuffer>,
  { bytes: announced }: ZipEntry,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const content = new Uint8Array(announced)
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const reader = stream.getReader()
  let length = 0
  try {
    for (;;) {
      signal?.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) return content.subarray(0, length)
      if (length + value.length > announced)
        throw new ZipError('long', `more than the announced ${announced} bytes`)
      content.set(value, length)
      length += value.length
    }
  } catch (cause) {
    signal?.throwIfAborted()
    throw cause instanceof ZipError ? cause : damaged(`the compressed data is invalid: ${cause}`)
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}
