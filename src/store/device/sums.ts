// Sums. In: the bytes of a file as they are written, or as they lie there. Out: a sum for each of its chunks,
// and those whose bytes are others by now.
import { CHUNK_BYTES } from '../download/chunk.ts'

/** The sums of Adler-32 stay below 2^31 for so many bytes. */
const RUN_BYTES = 3800
const MODULUS = 65521
/** What is read at a time to be summed. */
const PIECE_BYTES = 256 << 10

/**
 * The sum of a chunk so far, from 0, and of `bytes` after it. It finds accidents, nothing that was made to
 * match.
 */
export function addSum(sum: number, bytes: Uint8Array): number {
  let low = sum & 0xffff
  let high = sum >>> 16
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(at + RUN_BYTES, bytes.length)
    for (; at < end; at++) {
      low += bytes[at] as number
      high += low
    }
    low %= MODULUS
    high %= MODULUS
  }
  return ((high << 16) | low) >>> 0
}

/** By chunk; null where nothing is known. */
export type Sums = readonly (number | null)[]

export const isSums = (value: unknown): value is Sums =>
  Array.isArray(value) && value.every((sum) => sum === null || sum === sum >>> 0)

/** Bytes of chunk `index` of a file of `size` bytes. */
export const chunkBytes = (index: number, size: number): number =>
  Math.min(CHUNK_BYTES, size - index * CHUNK_BYTES)

/**
 * Chunks of a file of `size` bytes whose sum is known and is another. `read` fills its target from `at`. With
 * `step` only one chunk of so many is looked at, others each time.
 */
export async function damagedChunks(
  sums: Sums,
  size: number,
  read: (target: Uint8Array, at: number) => unknown,
  step = 1,
): Promise<number[]> {
  const damaged: number[] = []
  const buffer = new Uint8Array(PIECE_BYTES)
  const first = Math.floor(Math.random() * Math.min(step, sums.length))
  for (let index = first; index < sums.length; index += step) {
    if (sums[index] === null) continue
    const start = index * CHUNK_BYTES
    const end = start + chunkBytes(index, size)
    let sum = 0
    for (let at = start; at < end; at += PIECE_BYTES) {
      const piece = buffer.subarray(0, end - at)
      await read(piece, at)
      sum = addSum(sum, piece)
    }
    if (sum !== sums[index]) damaged.push(index)
  }
  return damaged
}
