// Reads the fields of a protobuf message and checks each against the end of its message. pbf reads the wire
// format but trusts lengths, so they are checked here.
import { PbfReader } from 'pbf'
import type { HalfbyteError } from '../base/errors.ts'
import { malformed } from './malformed.ts'

/** Maximum depth of nested messages. A graph in an attribute adds three levels. */
const MAX_DEPTH = 48
/** Maximum length of a name or key. */
const MAX_TEXT = 4096
const decoder = new TextDecoder()

/** Varints of so many bytes are below 2^31. */
const SMALL_BYTES = 4

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

/** pbf throws RangeError for reads outside its buffer, and Error for bytes that no valid writer produces. */
const isPbfError = (cause: unknown): cause is Error =>
  cause instanceof RangeError ||
  (cause instanceof Error && /^(Unimplemented type|Expected varint)/.test(cause.message))

/** The current field. Each of its methods may be called once per field. */
export class Message {
  readonly file: string
  readonly #reader: PbfReader
  readonly #depth: number
  #end: number

  constructor(file: string, bytes: Uint8Array, depth = 0) {
    this.file = file
    this.#reader = new PbfReader(bytes)
    this.#depth = depth
    this.#end = bytes.byteLength
    if (depth > MAX_DEPTH) throw this.wrong(`it has messages nested deeper than ${MAX_DEPTH}`)
  }

  /** Calls `read` for each field. A field that `read` does not consume is skipped. */
  fields(read: (field: number, message: Message) => void): void {
    const reader = this.#reader
    try {
      for (let field = reader.nextField(this.#end); field !== 0; field = reader.nextField(this.#end)) {
        read(field, this)
        if (reader.pos > this.#end) throw this.wrong('a field is longer than the message that holds it')
      }
    } catch (cause) {
      if (isPbfError(cause)) throw this.wrong(`a field is not valid protobuf (${cause.message})`)
      throw cause
    }
    if (reader.pos !== this.#end) throw this.wrong('a message ends in the middle of a field')
  }

  bytes(): Uint8Array {
    this.#expect(WIRE.bytes)
    const length = this.#reader.readVarint()
    const start = this.#reader.pos
    if (length > this.#end - start)
      throw this.wrong(`a field of ${length} bytes is in a message with only ${this.#end - start} left`)
    this.#reader.pos = start + length
    return this.#reader.buf.subarray(start, start + length)
  }

  text(most = MAX_TEXT): string {
    const bytes = this.bytes()
    if (bytes.byteLength > most)
      throw this.wrong(`a name has ${bytes.byteLength} bytes, but at most ${most} are allowed`)
    return decoder.decode(bytes)
  }

  message(): Message {
    return new Message(this.file, this.bytes(), this.#depth + 1)
  }

  float(): number {
    this.#expect(WIRE.fixed32)
    return this.#reader.readFloat()
  }

  /** An int64; values beyond 2^53 are clamped to 2^53. */
  int(): number {
    this.#expect(WIRE.varint)
    return this.#cutVarint()
  }

  /** Appends the field's values, packed or not. */
  bigs(to: bigint[]): void {
    if (this.#reader.type === WIRE.varint) {
      to.push(this.#varint())
      return
    }
    const end = this.#packedEnd()
    while (this.#reader.pos < end) to.push(this.#varint())
  }

  ints(to: number[]): void {
    if (this.#reader.type === WIRE.varint) {
      to.push(this.#cutVarint())
      return
    }
    const end = this.#packedEnd()
    while (this.#reader.pos < end) to.push(this.#cutVarint())
  }

  /** Most numbers have few bytes, which need no bigint. */
  #cutVarint(): number {
    const { buf, pos } = this.#reader
    let value = 0
    for (let at = pos; at < Math.min(this.#end, pos + SMALL_BYTES); at++) {
      const byte = buf[at]!
      value |= (byte & 0x7f) << (7 * (at - pos))
      if (byte >= 0x80) continue
      this.#reader.pos = at + 1
      return value
    }
    return cut(this.#varint())
  }

  /** Whether the current field is bytes: a message, a text, or a list in one piece. */
  get isPacked(): boolean {
    return this.#reader.type === WIRE.bytes
  }

  floats(to: number[]): void {
    if (this.#reader.type === WIRE.fixed32) {
      to.push(this.#reader.readFloat())
      return
    }
    const end = this.#packedEnd()
    while (this.#reader.pos < end) to.push(this.#reader.readFloat())
  }

  doubles(to: number[]): void {
    if (this.#reader.type === WIRE.fixed64) {
      to.push(this.#reader.readDouble())
      return
    }
    const end = this.#packedEnd()
    while (this.#reader.pos < end) to.push(this.#reader.readDouble())
  }

  wrong(what: string): HalfbyteError {
    return malformed(this.file, what, { at: this.#reader.pos })
  }

  #packedEnd(): number {
    this.#expect(WIRE.bytes)
    const length = this.#reader.readVarint()
    const end = this.#reader.pos + length
    if (end > this.#end)
      throw this.wrong(`a list of ${length} bytes is longer than the message that holds it`)
    return end
  }

  #expect(type: number): void {
    if (this.#reader.type !== type)
      throw this.wrong(`a field has wire type ${this.#reader.type} instead of ${type}`)
  }

  /** pbf's own varints lose digits beyond 2^53. */
  #varint(): bigint {
    const { buf } = this.#reader
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buf[this.#reader.pos++]
      if (byte === undefined || this.#reader.pos > this.#end) break
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw this.wrong('a varint does not end')
  }
}

const MAX = BigInt(Number.MAX_SAFE_INTEGER) + 1n
const cut = (value: bigint): number => Number(value > MAX ? MAX : value < -MAX ? -MAX : value)
