// Turns stored rows of any dtype into f32 values, by the definitions in dtypes.ts.
import { HalfbyteError } from '../base/errors.ts'
import { halfTable } from '../base/half.ts'
import { type Coding, codedGroup } from './coded-group.ts'
import { BLOCKS, elementCount, type StoredRows, storedRows } from './dtypes.ts'
import { malformed, shown } from './malformed.ts'
import type { TensorInfo, ValueChange } from './tensors.ts'

const word = new Uint32Array(1)
const wordAsFloat = new Float32Array(word.buffer)

/**
 * Writes elements [first, first + count), counted over all of `rows`, to `out`. Both numbers are multiples of
 * the block.
 */
export function dequantize(
  rows: StoredRows,
  first: number,
  count: number,
  out: Float32Array,
  at: number,
): void {
  const { dtype, u16, i8, u8 } = rows
  switch (dtype) {
    case 'F32':
      out.set(rows.f32.subarray(first, first + count), at)
      return
    case 'F16': {
      const half = halfTable()
      for (let i = 0; i < count; i++) out[at + i] = half[u16[first + i]!]!
      return
    }
    case 'BF16':
      for (let i = 0; i < count; i++) {
        word[0] = u16[first + i]! << 16
        out[at + i] = wordAsFloat[0]!
      }
      return
    case 'Q8_0': {
      const half = halfTable()
      for (let b = first / 32; b < (first + count) / 32; b++, at += 32) {
        const scale = half[u16[b * 17]!]!
        for (let i = 0; i < 32; i++) out[at + i] = scale * i8[b * 34 + 2 + i]!
      }
      return
    }
    case 'Q4_0': {
      const half = halfTable()
      for (let b = first / 32; b < (first + count) / 32; b++, at += 32) {
        const scale = half[u16[b * 9]!]!
        for (let i = 0; i < 16; i++) {
          const pair = u8[b * 18 + 2 + i]!
          out[at + i] = scale * ((pair & 15) - 8)
          out[at + 16 + i] = scale * ((pair >>> 4) - 8)
        }
      }
      return
    }
    case 'Q4_1': {
      const half = halfTable()
      for (let b = first / 32; b < (first + count) / 32; b++, at += 32) {
        const scale = half[u16[b * 10]!]!
        const minimum = half[u16[b * 10 + 1]!]!
        for (let i = 0; i < 16; i++) {
          const pair = u8[b * 20 + 4 + i]!
          out[at + i] = scale * (pair & 15) + minimum
          out[at + 16 + i] = scale * (pair >>> 4) + minimum
        }
      }
      return
    }
    default:
      dequantizeCoded(rows, first, count, out, at)
  }
}

/** Throws `internal` for rows of a coded dtype without a group reader. */
export function codingOf({ dtype, coding }: StoredRows): Coding {
  if (coding !== undefined) return coding
  throw new HalfbyteError('internal', `no group reader was passed for rows in ${dtype}`, { dtype })
}

const group = codedGroup()

function dequantizeCoded(
  rows: StoredRows,
  first: number,
  count: number,
  out: Float32Array,
  at: number,
): void {
  const { read, hasMinimum } = codingOf(rows)
  const { codes, scales, minimums } = group
  for (let index = first / 32; index < (first + count) / 32; index++, at += 32) {
    read(rows, index, group)
    for (let i = 0; i < 32; i++) {
      // The definitions round to f32 after the product and again after the sum.
      const product = Math.fround(scales[i >>> 4]! * codes[i]!)
      out[at + i] = hasMinimum ? product + minimums[i >>> 4]! : product
    }
  }
}

/** Largest vector that is read at once; matrices are streamed. */
const VECTOR_LIMIT_BYTES = 16 << 20

/**
 * Reads a whole vector (norm weight, bias, RoPE factors) as f32. Throws `architecture` if the tensor is not a
 * vector.
 */
export async function readVector(tensor: TensorInfo, signal?: AbortSignal): Promise<Float32Array> {
  const sizes = tensor.shape.filter((size) => size !== 1)
  const length = elementCount(tensor.shape) ?? 0
  if (
    sizes.length > 1 ||
    tensor.byteLength > VECTOR_LIMIT_BYTES ||
    length % BLOCKS[tensor.dtype].elements !== 0
  ) {
    throw new HalfbyteError(
      'architecture',
      `${shown(tensor.name)} has the shape [${tensor.shape}] but must be a vector; the file has a different architecture`,
      { tensor: tensor.name },
    )
  }
  if (tensor.packed !== undefined && tensor.packed !== 'f32') {
    throw malformed(
      tensor.source.name,
      `the vector ${shown(tensor.name)} is packed as ${tensor.packed}, not f32`,
    )
  }
  const bytes = await tensor.source.read(tensor.offset, tensor.byteLength, signal)
  const out = new Float32Array(length)
  dequantize(storedRows(tensor.dtype, bytes, tensor.coding), 0, length, out, 0)
  if (tensor.change !== undefined) changeValues(out, tensor.change)
  return out
}

/** Applies the change to each value, in f64 with a single rounding. */
export function changeValues(values: Float32Array, { scale, exp = false, offset = 0 }: ValueChange): void {
  for (let i = 0; i < values.length; i++)
    values[i] = scale * (exp ? Math.exp(values[i]!) : values[i]!) + offset
}
