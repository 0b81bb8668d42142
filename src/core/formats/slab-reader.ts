// Reads little-endian numbers and strings from the start of a source, fetching a slab at a time.
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { decodeTexts } from './decode-texts.ts'
import { malformed } from './malformed.ts'

const SLAB_BYTES = 1 << 20
/** Headers of published models are less than a tenth of this size. */
const HEADER_LIMIT_BYTES = 256 << 20

/**
 * Reads numbers and strings without waiting, after `fill` has fetched their bytes:
 * `if (reader.available < 8) await reader.fill(8)`.
 */
export class SlabReader {
  /** The offset of the next byte in the source. */
  get position(): number {
    return this.#start + this.#next
  }
  /** Bytes that can be read without another `fill`. */
  get available(): number {
    return this.#bytes.length - this.#next
  }
  /** Bytes from here to the end of the file. */
  get remaining(): number {
    return this.#source.size - this.position
  }

  readonly #source: ByteSource
  readonly #signal: AbortSignal | undefined
  // A byte order mark belongs to the text, because vocabularies contain it.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #start = 0
  #next = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(source: ByteSource, signal?: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** Makes the next `count` bytes available. Throws `format` if the file ends first. */
  async fill(count: number): Promise<void> {
    if (count > this.remaining) {
      throw malformed(
        this.#source.name,
        `its header needs ${count} bytes at byte ${this.position} but the file has ${this.#source.size}`,
        { offset: this.position, size: this.#source.size },
      )
    }
    if (this.position + count > HEADER_LIMIT_BYTES) {
      throw new HalfbyteError(
        'format',
        `${this.#source.name}: its header exceeds ${HEADER_LIMIT_BYTES} bytes, more than any real model's; download it again`,
        { offset: this.position },
      )
    }
    if (count <= this.available) return
    const start = this.position
    const length = Math.min(Math.max(count, SLAB_BYTES), this.remaining)
    this.#bytes = await this.#source.read(start, length, this.#signal)
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength)
    this.#start = start
    this.#next = 0
  }

  /** Consumes the next `width` bytes; returns their offset in the view. */
  #take(width: number): number {
    const at = this.#next
    this.#next += width
    return at
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1))
  }
  i8(): number {
    return this.#view.getInt8(this.#take(1))
  }
  u16(): number {
    return this.#view.getUint16(this.#take(2), true)
  }
  i16(): number {
    return this.#view.getInt16(this.#take(2), true)
  }
  u32(): number {
    return this.#view.getUint32(this.#take(4), true)
  }
  i32(): number {
    return this.#view.getInt32(this.#take(4), true)
  }
  f32(): number {
    return this.#view.getFloat32(this.#take(4), true)
  }
  f64(): number {
    return this.#view.getFloat64(this.#take(8), true)
  }
  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true)
  }
  i64(): bigint {
    return this.#view.getBigInt64(this.#take(8), true)
  }
  /**
   * Reads strings, each after its u64 length: at most `most`, and only those that the slab holds as a whole.
   */
  prefixedTexts(most: number): string[] {
    const { texts, next } = decodeTexts(this.#bytes, this.#next, most, this.#decoder)
    this.#next = next
    return texts
  }
  text(byteLength: number): string {
    const at = this.#take(byteLength)
    return this.#decoder.decode(this.#bytes.subarray(at, at + byteLength))
  }
}
