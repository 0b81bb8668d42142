// Writes protobuf messages. A field's bytes are copied once, when the message is finished.

const WIRE = { varint: 0, bytes: 2, fixed32: 5 } as const
const encoder = new TextEncoder()

export class ProtoWriter {
  readonly #pieces: Uint8Array[] = []
  #size = 0

  /** An integer; negative ones take ten bytes, as 64-bit varints. */
  whole(field: number, value: number): void {
    this.#tag(field, WIRE.varint)
    this.#varint(value)
  }

  float(field: number, value: number): void {
    this.#tag(field, WIRE.fixed32)
    this.#add(new Uint8Array(Float32Array.of(value).buffer))
  }

  text(field: number, value: string): void {
    this.bytes(field, encoder.encode(value))
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, WIRE.bytes)
    this.#varint(value.byteLength)
    this.#add(value)
  }

  message(field: number, write: (to: ProtoWriter) => void): void {
    const inner = new ProtoWriter()
    write(inner)
    this.#tag(field, WIRE.bytes)
    this.#varint(inner.#size)
    for (const piece of inner.#pieces) this.#add(piece)
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#size)
    let at = 0
    for (const piece of this.#pieces) {
      whole.set(piece, at)
      at += piece.byteLength
    }
    return whole
  }

  #tag(field: number, wire: number): void {
    this.#varint(field * 8 + wire)
  }

  #varint(value: number): void {
    const bytes: number[] = []
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
    this.#add(Uint8Array.of(...bytes, Number(rest)))
  }

  #add(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.#size += piece.byteLength
  }
}
