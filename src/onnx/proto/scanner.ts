// The scanner. In: a file that may be larger than memory. Out: protobuf fields at its top levels,
// whose long contents stay where they are.
import type { ByteSource } from '../../base/bytes.ts'
import { malformed } from '../../formats/malformed.ts'

const WINDOW = 2 ** 18

/** A field whose contents were not read. */
export interface FieldRange {
  readonly field: number
  /** Where its tag begins in the source. */
  readonly start: number
  /** Where its contents begin. */
  readonly offset: number
  readonly length: number
}

export class Scanner {
  readonly #source: ByteSource
  readonly #signal: AbortSignal | undefined
  #bytes = new Uint8Array(0)
  #start = 0

  constructor(source: ByteSource, signal?: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** Every field of the message at [offset, end); the contents of a number are its bytes. */
  async *fields(offset: number, end: number): AsyncGenerator<FieldRange> {
    let at = offset
    while (at < end) {
      const start = at
      const tag = await this.#varint(at, end)
      at = tag.next
      const field = Math.floor(tag.value / 8)
      const type = tag.value % 8
      if (field === 0) throw this.#wrong(`it has a field numbered 0 at byte ${at}`)
      let length: number
      if (type === 0) length = (await this.#varint(at, end)).next - at
      else if (type === 1) length = 8
      else if (type === 5) length = 4
      else if (type === 2) {
        const stated = await this.#varint(at, end)
        at = stated.next
        length = stated.value
      } else throw this.#wrong(`byte ${at} begins a field of wire type ${type}, which there is not`)
      if (length > end - at)
        throw this.#wrong(`a field of ${length} bytes at byte ${at} is longer than the message that holds it`)
      yield { field, start, offset: at, length }
      at += length
    }
  }

  /** Bytes of a range; the result is a view that later reads do not change. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const from = offset - this.#start
    if (from >= 0 && from + length <= this.#bytes.byteLength) return this.#bytes.subarray(from, from + length)
    if (length > WINDOW) return this.#source.read(offset, length, this.#signal)
    this.#bytes = new Uint8Array(
      await this.#source.read(offset, Math.min(WINDOW, this.#source.size - offset), this.#signal),
    )
    this.#start = offset
    return this.#bytes.subarray(0, length)
  }

  /** An unsigned number; beyond 2^53 it is only known to be large. */
  async #varint(offset: number, end: number): Promise<{ value: number; next: number }> {
    const bytes = await this.read(offset, Math.min(10, end - offset))
    let value = 0
    for (const [index, byte] of bytes.entries()) {
      value += (byte & 0x7f) * 2 ** (7 * index)
      if (byte < 0x80) return { value, next: offset + index + 1 }
    }
    throw this.#wrong(`the number at byte ${offset} does not end`)
  }

  #wrong(what: string) {
    return malformed(this.#source.name, what)
  }
}
