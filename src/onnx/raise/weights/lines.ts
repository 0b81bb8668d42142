// Lines. In: a constant [width, n], or [n, width]. Out: numbers of some of its n lines, each line by itself,
// read from memory or from the file.
import { readInto, release } from '../../../base/bytes.ts'
import { halfTable } from '../../../base/half.ts'
import { type Constant, isStored } from '../../ir/graph.ts'
import { BITS, bfloat16Of, type DType, numbersOf } from '../../ir/tensor.ts'
import { turnedRows } from './matrices.ts'

export interface LineShape {
  readonly n: number
  /** Numbers of a line. */
  readonly width: number
  /** Lines lie one after the other: the constant is [n, width]. */
  readonly isTurned: boolean
}

export type Numbers = Int8Array | Uint8Array | Float32Array

/** Reads lines [first, end) as [end - first][width], an array of its own. Ask for them in order. */
export function lineReader(
  constant: Constant,
  { n, width, isTurned }: LineShape,
): (first: number, end: number, signal?: AbortSignal) => Promise<Numbers> {
  if (!isStored(constant)) {
    const all = numbersOf(constant)
    return async (first, end) =>
      Float32Array.from({ length: (end - first) * width }, (_, at) => {
        const [line, place] = [first + Math.floor(at / width), at % width]
        return all[isTurned ? line * width + place : place * n + line]!
      })
  }
  const { dtype, source, offset } = constant
  if (BITS[dtype] === 4) return nibbleReader(constant, { n, width, isTurned })
  const size = (BITS[dtype] / 8) as 1 | 2 | 4
  if (!isTurned) {
    const rows = turnedRows({ source, offset, shape: [width, n] }, size)
    return async (...range) => numbersFrom(dtype, await rows(...range))
  }
  return async (first, end, signal) => {
    const bytes = new Uint8Array((end - first) * width * size)
    await readInto(source, bytes, offset + first * width * size, signal)
    return numbersFrom(dtype, bytes)
  }
}

/** Of 4 bits. Two lie in a byte, the first one low, wherever rows of the constant end. */
function nibbleReader(
  { dtype, source, offset }: Extract<Constant, { source: unknown }>,
  { n, width, isTurned }: LineShape,
): ReturnType<typeof lineReader> {
  const numberOf = (byte: number, isHigh: number): number => {
    const nibble = (byte >> (4 * isHigh)) & 15
    return dtype === 'i4' && nibble > 7 ? nibble - 16 : nibble
  }
  if (!isTurned && n % 2 === 0) {
    const pairs = turnedRows({ source, offset, shape: [width, n / 2] }, 1)
    return async (first, end, signal) => {
      const begin = first >> 1
      const bytes = await pairs(begin, (end + 1) >> 1, signal)
      const out = new Int8Array((end - first) * width)
      // hot
      for (let line = first, at = 0; line < end; line++) {
        const row = ((line >> 1) - begin) * width
        for (let place = 0; place < width; place++) out[at++] = numberOf(bytes[row + place]!, line & 1)
      }
      release(bytes)
      return out
    }
  }
  const [perLine, perPlace] = isTurned ? [width, 1] : [1, n]
  return async (first, end, signal) => {
    const [from, to] = isTurned ? [first * width, end * width] : [0, n * width]
    const begin = from >> 1
    const bytes = await source.read(offset + begin, ((to + 1) >> 1) - begin, signal)
    const out = new Int8Array((end - first) * width)
    // hot
    for (let line = first, at = 0; line < end; line++) {
      for (let place = 0; place < width; place++) {
        const element = line * perLine + place * perPlace - 2 * begin
        out[at++] = numberOf(bytes[element >> 1]!, element & 1)
      }
    }
    return out
  }
}

/** The bytes are an array of their own, whose memory is taken or released. */
function numbersFrom(dtype: DType, bytes: Uint8Array): Numbers {
  const { buffer, byteOffset, byteLength } = bytes
  if (dtype === 'i8') return new Int8Array(buffer, byteOffset, byteLength)
  if (dtype === 'u8') return new Uint8Array(buffer, byteOffset, byteLength)
  if (dtype === 'f32') return new Float32Array(buffer, byteOffset, byteLength / 4)
  const table = halfTable()
  const halves = new Uint16Array(buffer, byteOffset, byteLength / 2)
  const numbers = Float32Array.from(halves, (half) => (dtype === 'bf16' ? bfloat16Of(half) : table[half]!))
  release(bytes)
  return numbers
}
