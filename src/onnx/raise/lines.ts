// Lines. In: a constant [width, n], or [n, width]. Out: numbers of some of its n lines, each line by itself,
// read from memory or from the file.
import { readInto } from '../../base/bytes.ts'
import { halfTable } from '../../base/half.ts'
import { type Constant, isStored } from '../ir/graph.ts'
import { BITS, bfloat16Of, type DType, numbersOf } from '../ir/tensor.ts'
import { readColumns, turn } from './matrices.ts'

export interface LineRange {
  readonly n: number
  /** Numbers of a line. */
  readonly width: number
  /** Lines lie one after the other: the constant is [n, width]. */
  readonly isTurned: boolean
  readonly first: number
  readonly end: number
  readonly signal: AbortSignal | undefined
}

/** [end - first][width] */
export async function readLines(constant: Constant, range: LineRange): Promise<ArrayLike<number>> {
  const { n, width, isTurned, first, end, signal } = range
  if (!isStored(constant)) {
    const all = numbersOf(constant)
    return Float32Array.from({ length: (end - first) * width }, (_, at) => {
      const [line, place] = [first + Math.floor(at / width), at % width]
      return all[isTurned ? line * width + place : place * n + line]!
    })
  }
  const { dtype, source, offset } = constant
  if (BITS[dtype] === 4) return readNibbles(constant, range)
  const size = BITS[dtype] / 8
  const bytes = new Uint8Array((end - first) * width * size)
  if (isTurned) await readInto(source, bytes, offset + first * width * size, signal)
  else {
    const columns = await readColumns({ source, offset, shape: [width, n] }, first, end, size, signal)
    turn(columns, bytes, width, end - first, size)
  }
  return numbersFrom(dtype, bytes)
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

function numbersFrom(dtype: DType, { buffer }: Uint8Array): ArrayLike<number> {
  if (dtype === 'i8') return new Int8Array(buffer)
  if (dtype === 'u8') return new Uint8Array(buffer)
  if (dtype === 'f32') return new Float32Array(buffer)
  const table = halfTable()
  return Float32Array.from(new Uint16Array(buffer), (half) =>
    dtype === 'bf16' ? bfloat16Of(half) : table[half]!,
  )
}
