// Matrices. In: constants that products read. Out: the matrices [outputs, inputs] whose rows weights are
// streamed from; transposing and repacking happen while rows are read.
import { type ByteSource, filledSource, readInto } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { floatToHalf } from '../../base/half.ts'
import type { DType as StoredDType, TensorInfo } from '../../formats/tensors.ts'
import { type Constant, isStored } from '../ir/graph.ts'
import type { DType, Tensor } from '../ir/tensor.ts'

const FLOATS: Partial<Record<DType, StoredDType>> = { f32: 'F32', f16: 'F16', bf16: 'BF16' }

/** A float constant as a tensor of rows, whatever its rank: a vector, or [n, k]. */
export function floatTensor(
  file: string,
  name: string,
  constant: Constant,
  shape = constant.dims,
): TensorInfo {
  const dtype = FLOATS[constant.dtype]
  if (dtype === undefined) throw unread(file, name, `is ${constant.dtype} where a float weight is due`)
  if (isStored(constant)) {
    const { source, offset, byteLength } = constant
    return { name, dtype, shape, source, offset, byteLength }
  }
  const bytes = storedBytes(constant)
  const source = filledSource(file, bytes.byteLength, (target, offset) => {
    target.set(bytes.subarray(offset, offset + target.byteLength))
  })
  return { name, dtype, shape, source, offset: 0, byteLength: bytes.byteLength }
}

/** As files have it: in memory a half float is held as f32. */
function storedBytes({ dtype, data }: Tensor): Uint8Array {
  const values = Float32Array.from(data as Float32Array)
  if (dtype === 'f32') return new Uint8Array(values.buffer)
  const words = new Uint32Array(values.buffer)
  const pattern = (value: number, at: number) => (dtype === 'f16' ? floatToHalf(value) : words[at]! >>> 16)
  return new Uint8Array(Uint16Array.from(values, pattern).buffer)
}

/** What one read costs besides its bytes, in bytes: a third of a millisecond in a browser. */
const READ_COST = 262_144
const CHUNK_BYTES = 4 << 20
/** Lines that are turned at once and held: whatever part is asked for, a file is read that much less often. */
const HELD_BYTES = 64 << 20

/**
 * Reads rows [first, end) of the transpose of a matrix [k, n] of elements of `size` bytes: [end - first][k].
 * Ask for them in order: what was read ahead is held until the last row.
 */
export function turnedRows(
  matrix: Pick<TensorInfo, 'source' | 'offset' | 'shape'>,
  size: number,
): (first: number, end: number, signal?: AbortSignal) => Promise<Uint8Array> {
  const [k = 0, n = 0] = matrix.shape
  let held = { first: 0, end: 0, bytes: new Uint8Array() }
  return async (first, end, signal) => {
    let block = held
    if (first < block.first || end > block.end) {
      const most = Math.max(end - first, Math.floor(HELD_BYTES / (k * size)))
      const stop = Math.min(n, first + most)
      const columns = await readColumns(matrix, first, stop, size, signal)
      const bytes = new Uint8Array(columns.byteLength)
      turn(columns, bytes, k, stop - first, size)
      block = { first, end: stop, bytes }
    }
    held = end === n ? { first: 0, end: 0, bytes: new Uint8Array() } : block
    const from = (first - block.first) * k * size
    return block.bytes.subarray(from, from + (end - first) * k * size)
  }
}

/** The transpose [n, k] of a float tensor [k, n]. */
export function transposed(tensor: TensorInfo): TensorInfo {
  const [k = 0, n = 0] = tensor.shape
  const size = tensor.dtype === 'F32' ? 4 : 2
  const bytesOf = turnedRows(tensor, size)
  const source = filledSource(tensor.source.name, n * k * size, async (target, offset, signal) => {
    const [first, end] = [Math.floor(offset / size / k), Math.ceil((offset + target.byteLength) / size / k)]
    const rows = await bytesOf(first, end, signal)
    const from = offset - first * k * size
    target.set(rows.subarray(from, from + target.byteLength))
  })
  return { ...tensor, shape: [n, k], source, offset: 0, byteLength: n * k * size }
}

/** Columns of a matrix [k, n] of elements of `size` bytes, as [k][end - first]. */
export async function readColumns(
  { source, offset, shape: [k = 0, n = 0] }: Pick<TensorInfo, 'source' | 'offset' | 'shape'>,
  first: number,
  end: number,
  size: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const width = (end - first) * size
  const out = new Uint8Array(k * width)
  if (READ_COST + width < n * size) {
    for (let row = 0; row < k; row++) {
      const at = offset + (row * n + first) * size
      await readInto(source, out.subarray(row * width, (row + 1) * width), at, signal)
    }
    return out
  }
  const most = Math.max(1, Math.floor(CHUNK_BYTES / (n * size)))
  for (let row = 0; row < k; row += most) {
    const count = Math.min(most, k - row)
    const bytes = await source.read(offset + row * n * size, count * n * size, signal)
    for (let r = 0; r < count; r++) {
      const from = (r * n + first) * size
      out.set(bytes.subarray(from, from + width), (row + r) * width)
    }
  }
  return out
}

/** Rows and columns that are turned together: both sides of a tile stay in the cache. */
const TILE = 64

/** [k][n] to [n][k], of elements of 1, 2 or 4 bytes. */
function turn(from: Uint8Array, to: Uint8Array, k: number, n: number, size: number): void {
  const views = (bytes: Uint8Array) => {
    const aligned = bytes.byteOffset % size === 0 ? bytes : bytes.slice()
    const count = bytes.byteLength / size
    const Elements = size === 4 ? Uint32Array : size === 2 ? Uint16Array : Uint8Array
    return new Elements(aligned.buffer as ArrayBuffer, aligned.byteOffset, count)
  }
  const source = views(from)
  const isAligned = to.byteOffset % size === 0
  const own = isAligned ? to : new Uint8Array(to.byteLength)
  const target = views(own)
  // hot
  for (let top = 0; top < n; top += TILE) {
    for (let left = 0; left < k; left += TILE) {
      const [bottom, right] = [Math.min(n, top + TILE), Math.min(k, left + TILE)]
      for (let row = top; row < bottom; row++) {
        for (let column = left; column < right; column++) target[row * k + column] = source[column * n + row]!
      }
    }
  }
  if (!isAligned) to.set(own)
}

/** A tensor whose rows are computed when they are read. */
export function computed(
  name: string,
  dtype: StoredDType,
  shape: readonly number[],
  byteLength: number,
  file: string,
  read: ByteSource['read'],
): TensorInfo {
  return { name, dtype, shape, source: { name: file, size: byteLength, read }, offset: 0, byteLength }
}

export function unread(file: string, name: string, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the weight ${name} ${what}; export the model with another kind of weights, or as GGUF`,
    { file, weight: name },
  )
}
