// Computes a checksum for each chunk of a file, and finds the chunks whose bytes have changed.

/** Bytes in one request. A broken connection loses at most this much. */
export const CHUNK_BYTES = 4 << 20

const MODULUS = 65521
/** Number of bytes that are read and summed at a time: few enough to stay in the CPU cache. */
export const PIECE_BYTES = 256 << 10
/** How many words can be added, two bytes in each 32-bit word, before one sum overflows into the other. */
const RUN_WORDS = 256

/** What sums bytes in the engine's memory faster than `addSum`. */
interface Summer {
  /** Continues a sum with `count` bytes at an address. The result may be negative. */
  readonly sum: (sum: number, address: number, count: number) => number
  /**
   * `PIECE_BYTES` of the memory, for bytes that are only summed. A reader takes them away while it uses them.
   */
  spare: Uint8Array | undefined
}

const summers = new WeakMap<ArrayBufferLike, Summer>()

/** Sets or removes what sums bytes of a memory, until the memory grows. */
export function sumWith(summer: Summer | undefined, { buffer }: { readonly buffer: ArrayBufferLike }): void {
  if (summer === undefined) summers.delete(buffer)
  else summers.set(buffer, summer)
}

export const summerOf = ({ buffer }: Uint8Array): Summer | undefined => summers.get(buffer)

/**
 * Continues a chunk's sum, which starts at 0, with `bytes`: Adler-32 that begins with 0. It detects
 * accidental changes, not deliberate ones.
 */
export function addSum(sum: number, bytes: Uint8Array): number {
  const { buffer, byteOffset, byteLength } = bytes
  const summer = summerOf(bytes)
  if (summer !== undefined) return summer.sum(sum, byteOffset, byteLength) >>> 0
  const head = -byteOffset & 3
  if (byteLength < head + 16) return addBytes(sum, bytes)
  const words = new Int32Array(buffer, byteOffset + head, ((byteLength - head) >> 4) << 2)
  const tail = head + words.byteLength
  return addBytes(addWords(addBytes(sum, bytes.subarray(0, head)), words), bytes.subarray(tail))
}

/** For the few bytes before and after the whole words. */
function addBytes(sum: number, bytes: Uint8Array): number {
  let low = sum & 0xffff
  let high = sum >>> 16
  for (const byte of bytes) {
    low += byte
    high += low
  }
  return join(low, high)
}

const join = (low: number, high: number): number => (((high % MODULUS) << 16) | (low % MODULUS)) >>> 0

/** The sum of bytes and of `bytes` others after them, from the sums of both. */
export function joinSums(sum: number, next: number, bytes: number): number {
  const low = sum & 0xffff
  return join(low + (next & 0xffff), (sum >>> 16) + (next >>> 16) + bytes * low)
}

/**
 * Four words at a time, without a multiplication for each byte. `even` holds the sums of bytes 0 and 2 of all
 * words in a run, `odd` those of bytes 1 and 3, `total` the sum of all bytes so far, and `before` the sum of
 * `total` at the start of each word.
 */
function addWords(sum: number, words: Int32Array): number {
  let low = sum & 0xffff
  let high = sum >>> 16
  for (let at = 0; at < words.length; ) {
    const count = Math.min(RUN_WORDS, words.length - at)
    const end = at + count
    let even = 0
    let odd = 0
    let total = 0
    let before = 0
    for (; at < end; at += 4) {
      const a = words[at]!
      const b = words[at + 1]!
      const c = words[at + 2]!
      const d = words[at + 3]!
      const evenA = a & PAIR
      const evenB = b & PAIR
      const evenC = c & PAIR
      const evenD = d & PAIR
      const oddA = (a >>> 8) & PAIR
      const oddB = (b >>> 8) & PAIR
      const oddC = (c >>> 8) & PAIR
      const oddD = (d >>> 8) & PAIR
      even = (even + evenA + evenB + evenC + evenD) | 0
      odd = (odd + oddA + oddB + oddC + oddD) | 0
      const ofA = (evenA + oddA) | 0
      const ofB = (evenB + oddB) | 0
      const ofC = (evenC + oddC) | 0
      const all = (ofA + ofB + ofC + evenD + oddD) | 0
      const earlier = (3 * ofA + 2 * ofB + ofC) | 0
      before = (before + 4 * total + (earlier & 0xffff) + (earlier >>> 16)) | 0
      total = (total + (all & 0xffff) + (all >>> 16)) | 0
    }
    const within = 4 * (even & 0xffff) + 3 * (odd & 0xffff) + 2 * (even >>> 16) + (odd >>> 16)
    high = (high + 4 * (count * low + before) + within) % MODULUS
    low = (low + total) % MODULUS
  }
  return join(low, high)
}

/** Bytes 0 and 2 of a word. */
const PAIR = 0xff00ff

/** By chunk; null if unknown. */
export type Sums = readonly (number | null)[]

export const isSums = (value: unknown): value is Sums =>
  Array.isArray(value) && value.every((sum) => sum === null || sum === sum >>> 0)

/** Bytes of chunk `index` of a file of `size` bytes. */
export const chunkBytes = (index: number, size: number): number =>
  Math.min(CHUNK_BYTES, size - index * CHUNK_BYTES)

/**
 * The chunks of a file of `size` bytes whose sum is known and does not match. `read` fills its target from
 * `at`.
 */
export async function damagedChunks(
  sums: Sums,
  size: number,
  read: (target: Uint8Array, at: number) => unknown,
): Promise<number[]> {
  const damaged: number[] = []
  const buffer = new Uint8Array(PIECE_BYTES)
  for (let index = 0; index < sums.length; index++) {
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
