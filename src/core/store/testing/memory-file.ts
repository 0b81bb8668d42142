// In-memory transfers: a file that stores its bytes, and test bytes of several chunks.
import { createHash } from 'node:crypto'
import type { PartialFile, Version } from '../device/part-file.ts'
import { CHUNK_BYTES } from '../device/sums.ts'

/** Five chunks and a half. */
export const SIZE = 5.5 * CHUNK_BYTES
export const BYTES = new Uint8Array(SIZE).map((_, index) => (index * 31 + (index >> 9)) & 255)
export const OTHER = BYTES.map((byte) => byte ^ 1)
export const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** An in-memory version of a part file. */
export class MemoryFile implements PartialFile {
  version: Version | undefined
  bytes = new Uint8Array()
  /** Hashes of the chunks that are present. */
  readonly chunks = new Map<number, string>()
  begun = 0
  has(index: number): boolean {
    return this.chunks.has(index)
  }
  async begin(version: Version): Promise<void> {
    this.begun++
    this.version = version
    this.chunks.clear()
    this.bytes = new Uint8Array(version.size)
  }
  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.byteLength
    if (end > this.bytes.byteLength) {
      const grown = new Uint8Array(this.bytes.buffer.transfer(Math.max(end, 2 * this.bytes.byteLength)))
      this.bytes = grown
    }
    this.bytes.set(bytes, offset)
  }
  finish(index: number): boolean {
    const before = this.chunks.get(index)
    const sum = hash(this.bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES))
    this.chunks.set(index, sum)
    return before === undefined || before === sum
  }
}
