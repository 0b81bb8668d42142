// Session files. In: an index and blocks. Out: a saved session with a correct hash, whatever its index says.
import { createHash } from 'node:crypto'

/** The index's SHA-256 in hex, its length, the magic. */
export const TRAILER_BYTES = 76

/** A session file with any index and a correct hash. */
export function sealed(index: string, blocks: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(index)
  const bytes = new Uint8Array(blocks.length + json.length + TRAILER_BYTES)
  bytes.set(blocks)
  bytes.set(json, blocks.length)
  const at = blocks.length + json.length
  bytes.set(new TextEncoder().encode(createHash('sha256').update(json).digest('hex')), at)
  new DataView(bytes.buffer).setUint32(at + 64, json.length, true)
  bytes.set(new TextEncoder().encode('HBSTATE1'), at + 68)
  return bytes
}
