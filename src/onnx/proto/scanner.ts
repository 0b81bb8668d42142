// The scanner. In: a file that may be larger than memory. Out: protobuf fields at its top levels,
// whose long contents stay where they are.
import type { ByteSource } from '../../base/bytes.ts'
import { malformed } from '../../formats/malformed.ts'

const WINDOW = 2 ** 18
const MOST_VARINT = 10
/** A tag, and a length or a number. */
const MOST_HEAD = 2 * MOST_VARINT

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
    for (let at = offset; at < end; ) {
      const length = Math.min(MOST_HEAD, end - at)
      // A wait for each of a file's fields takes longer than to read them.
      const range = this.#fieldAt(this.#held(at, length) ?? (await this.read(at, length)), at, end)
      yield range
      at = range.offset + range.length
    }
  }

  /** Bytes of a range; the result is a view that later reads do not change. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const held = this.#held(offset, length)
    if (held !== undefined) return held
    if (length > WINDOW) return this.#source.read(offset, length, this.#signal)
    this.#bytes = new Uint8Array(
      await this.#source.read(offset, Math.min(WINDOW, this.#source.size - offset), this.#signal),
    )
    this.#start = offset
    return this.#bytes.subarray(0, length)
  }

  /** Undefined where the bytes are not in memory. */
  #held(offset: number, length: number): Uint8Array | undefined {
    const from = offset - this.#start
    const isHeld = from >= 0 && from + length <= this.#bytes.byteLength
    return isHeld ? this.#bytes.subarray(from, from + length) : undefined
  }

  /** `head`: the first bytes of the field. */
  #fieldAt(head: Uint8Array, start: number, end: number): FieldRange {
    const tag = this.#varint(head, 0, start)
    const at = start + tag.next
    const field = Math.floor(tag.value / 8)
    const type = tag.value % 8
    if (field === 0) throw this.#wrong(`it has a field numbered 0 at byte ${at}`)
    let offset = at
    let length: number
    if (type === 0) length = this.#varint(head, tag.next, start).next - tag.next
    else if (type === 1) length = 8
    else if (type === 5) length = 4
    else if (type === 2) {
      const stated = this.#varint(head, tag.next, start)
      offset = start + stated.next
      length = stated.value
    } else throw this.#wrong(`byte ${at} begins a field of wire type ${type}, which there is not`)
    if (length > end - offset)
      throw this.#wrong(
        `a field of ${length} bytes at byte ${offset} is longer than the message that holds it`,
      )
    return { field, start, offset, length }
  }

  /** An unsigned number; beyond 2^53 it is only known to be large. */
  #varint(head: Uint8Array, from: number, start: number): { value: number; next: number } {
    const most = Math.min(head.length, from + MOST_VARINT)
    let value = 0
    for (let at = from; at < most; at++) {
      const byte = head[at]!
      value += (byte & 0x7f) * 2 ** (7 * (at - from))
      if (byte < 0x80) return { value, next: at + 1 }
    }
    throw this.#wrong(`the number at byte ${start + from} does not end`)
  }

  #wrong(what: string) {
    return malformed(this.#source.name, what)
  }
}
