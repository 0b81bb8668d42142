// Lines. In: a constant [width, n], or [n, width]. Out: numbers of some of its n lines, each line by itself,
// read from memory or from the file.
import { readInto } from '../../base/bytes.ts'
import { halfTable } from '../../base/half.ts'
import { type Constant, isStored } from '../ir/graph.ts'
import { BITS, bfloat16Of, type DType, numbersOf } from '../ir/tensor.ts'
import { readColumns, turnedRows } from './matrices.ts'

export interface LineShape {
  readonly n: number
  /** Numbers of a line. */
  readonly width: number
  /** Lines lie one after the other: the constant is [n, width]. */
  readonly isTurned: boolean
}

interface LineRange extends LineShape {
  readonly first: number
  readonly end: number
  readonly signal: AbortSignal | undefined
}

/** Reads lines [first, end) as [end - first][width]. Ask for them in order. */
export function lineReader(
  constant: Constant,
  { n, width, isTurned }: LineShape,
): (first: number, end: number, signal?: AbortSignal) => Promise<ArrayLike<number>> {
  if (!isStored(constant)) {
    const all = numbersOf(constant)
    return async (first, end) =>
      Float32Array.from({ length: (end - first) * width }, (_, at) => {
        const [line, place] = [first + Math.floor(at / width), at % width]
        return all[isTurned ? line * width + place : place * n + line]!
      })
  }
  const { dtype, source, offset } = constant
  if (BITS[dtype] === 4)
    return (first, end, signal) => readNibbles(constant, { n, width, isTurned, first, end, signal })
  const size = BITS[dtype] / 8
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

/** Two lie in a byte, the first one low, wherever rows of the constant end. */
async function readNibbles(
  { dtype, source, offset }: Extract<Constant, { source: unknown }>,
  { n, width, isTurned, first, end, signal }: LineRange,
): Promise<ArrayLike<number>> {
  const out = new Int8Array((end - first) * width)
  const isPaired = !isTurned && n % 2 === 0
  const [from, to] = isTurned ? [first * width, end * width] : isPaired ? [first, end] : [0, n * width]
  const [begin, stop] = [Math.floor(from / 2), Math.ceil(to / 2)]
  const bytes = isPaired
    ? await readColumns({ source, offset, shape: [width, n / 2] }, begin, stop, 1, signal)
    : await source.read(offset + begin, stop - begin, signal)
  const [perLine, perPlace] = isTurned ? [width, 1] : [1, isPaired ? 2 * (stop - begin) : n]
  const isSigned = dtype === 'i4'
  // hot
  for (let line = first, at = 0; line < end; line++) {
    for (let place = 0; place < width; place++, at++) {
      const element = line * perLine + place * perPlace - 2 * begin
      const nibble = (bytes[element >> 1]! >> (4 * (element & 1))) & 15
      out[at] = isSigned && nibble > 7 ? nibble - 16 : nibble
    }
  }
  return out
}

/** The bytes begin at a multiple of their element's size. */
function numbersFrom(dtype: DType, { buffer, byteOffset, byteLength }: Uint8Array): ArrayLike<number> {
  if (dtype === 'i8') return new Int8Array(buffer, byteOffset, byteLength)
  if (dtype === 'u8') return new Uint8Array(buffer, byteOffset, byteLength)
  if (dtype === 'f32') return new Float32Array(buffer, byteOffset, byteLength / 4)
  const table = halfTable()
  return Float32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), (half) =>
    dtype === 'bf16' ? bfloat16Of(half) : table[half]!,
  )
}
