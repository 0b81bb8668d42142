// Compares chunks with their sums when their bytes were read in any order, by any thread. In: sums of ranges.
// Out: whether each chunk with one of them is undamaged. Gaps between the ranges are read to find out.
import { addSum, CHUNK_BYTES, chunkBytes, joinSums, PIECE_BYTES, type Sums } from './sums.ts'

/** Bytes of one chunk that have been read, counted from the chunk's start. */
interface ReadRange {
  readonly from: number
  readonly to: number
  readonly sum: number
}

/** The sums of what has been read of one stored file. */
export class ChunkSums {
  readonly #size: number
  readonly #sums: Sums
  readonly #ranges = new Map<number, ReadRange[]>()

  /** `sums`: those of the stored chunks. */
  constructor(size: number, sums: Sums) {
    this.#size = size
    this.#sums = sums
  }

  /** Adds the sum of the bytes [from, to) of a chunk. */
  add(chunk: number, from: number, to: number, sum: number): void {
    const ranges = this.#ranges.get(chunk)
    if (ranges === undefined) this.#ranges.set(chunk, [{ from, to, sum }])
    else ranges.push({ from, to, sum })
  }

  /** Adds bytes that begin at `offset` of the file. */
  addBytes(offset: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; ) {
      const from = (offset + at) % CHUNK_BYTES
      const part = bytes.subarray(at, at + CHUNK_BYTES - from)
      const chunk = Math.floor((offset + at) / CHUNK_BYTES)
      this.add(chunk, from, from + part.byteLength, addSum(0, part))
      at += part.byteLength
    }
  }

  /**
   * Whether every chunk of which something was read matches its sum. Skips those for which `isRight` is true,
   * and those whose sum is unknown. `read` fills its target from an offset in the file.
   */
  areRight(isRight: (chunk: number) => boolean, read: (target: Uint8Array, offset: number) => void): boolean {
    const buffer = new Uint8Array(PIECE_BYTES)
    /** The sum of the bytes [from, to) of a chunk, read again. */
    const sumOf = (chunk: number, from: number, to: number): number => {
      let sum = 0
      for (let at = from; at < to; at += PIECE_BYTES) {
        const piece = buffer.subarray(0, to - at)
        read(piece, chunk * CHUNK_BYTES + at)
        sum = addSum(sum, piece)
      }
      return sum
    }
    for (const [chunk, ranges] of this.#ranges) {
      const expected = this.#sums[chunk] ?? null
      if (expected === null || isRight(chunk)) continue
      if (this.#sumOfChunk(chunk, ranges, sumOf) !== expected) return false
    }
    return true
  }

  #sumOfChunk(
    chunk: number,
    ranges: readonly ReadRange[],
    sumOf: (chunk: number, from: number, to: number) => number,
  ): number {
    const end = chunkBytes(chunk, this.#size)
    let sum = 0
    let at = 0
    for (const range of [...ranges].sort((left, right) => left.from - right.from || left.to - right.to)) {
      // Two weights can be made from one tensor.
      if (range.to <= at) continue
      if (range.from < at) return sumOf(chunk, 0, end)
      if (range.from > at) sum = joinSums(sum, sumOf(chunk, at, range.from), range.from - at)
      sum = joinSums(sum, range.sum, range.to - range.from)
      at = range.to
    }
    return at < end ? joinSums(sum, sumOf(chunk, at, end), end - at) : sum
  }
}
