// Turns constants that products read into matrices [outputs, inputs] with streamed rows. They are transposed
// and repacked while rows are read.
import { filledSource, readInto, release } from '../../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../../core/base/errors.ts'
import { floatToHalf } from '../../../../core/base/half.ts'
import { rowBytes } from '../../../../core/formats/dtypes.ts'
import type { DType as StoredDType, TensorInfo } from '../../../../core/formats/tensors.ts'
import { type Constant, isStored } from '../../ir/graph.ts'
import type { DType, Tensor } from '../../ir/tensor.ts'

/** Lines of `width` elements, read from line `first`. */
interface Lines {
  readonly bytes: Uint8Array
  readonly width: number
  readonly first: number
  readonly lines: number
}

/** Rows [n][k], written from column `line`. */
interface Columns {
  readonly bytes: Uint8Array
  readonly k: number
  readonly line: number
  readonly n: number
}

/** Tile side of the transpose: both sides of a tile stay in the cache. */
const TILE = 64

/** Lines become columns. Elements have `size` bytes. */
function turn(from: Lines, to: Columns, size: 1 | 2 | 4): void {
  const { n } = to
  const isFours = size === 1 && [from.width, from.first, from.lines, to.k, to.line, n].every(isFour)
  const turnTile = isFours ? fours(from, to) : singles(from, to, size)
  for (let top = 0; top < n; top += TILE) {
    for (let left = 0; left < from.lines; left += TILE)
      turnTile(top, Math.min(n, top + TILE), left, Math.min(from.lines, left + TILE))
  }
}

const isFour = (count: number): boolean => count % 4 === 0

type TurnTile = (top: number, bottom: number, left: number, right: number) => void

function singles(from: Lines, { bytes, k, line }: Columns, size: 1 | 2 | 4): TurnTile {
  const { width, first } = from
  const source = elements(from.bytes, size)
  const target = elements(bytes, size)
  // hot
  return (top, bottom, left, right) => {
    for (let row = top; row < bottom; row++) {
      for (let at = left; at < right; at++) target[row * k + line + at] = source[at * width + first + row]!
    }
  }
}

/** Transposes bytes in squares of four words, which is three times as fast. */
function fours(from: Lines, { bytes, k, line }: Columns): TurnTile {
  const width = from.width / 4
  const first = from.first / 4
  const column = line / 4
  const quarter = k / 4
  const source = elements(from.bytes, 4)
  const target = elements(bytes, 4)
  // hot
  return (top, bottom, left, right) => {
    for (let row = top; row < bottom; row += 4) {
      for (let at = left; at < right; at += 4) {
        const word = at * width + first + row / 4
        const a = source[word]!
        const b = source[word + width]!
        const c = source[word + 2 * width]!
        const d = source[word + 3 * width]!
        // The even bytes of two words, and their odd bytes.
        const ab = (a & EVEN) | ((b & EVEN) << 8)
        const cd = (c & EVEN) | ((d & EVEN) << 8)
        const odd = ((a >>> 8) & EVEN) | (b & ODD)
        const others = ((c >>> 8) & EVEN) | (d & ODD)
        const to = row * quarter + column + at / 4
        target[to] = (ab & 0xffff) | (cd << 16)
        target[to + quarter] = (odd & 0xffff) | (others << 16)
        target[to + 2 * quarter] = (ab >>> 16) | (cd & 0xffff0000)
        target[to + 3 * quarter] = (odd >>> 16) | (others & 0xffff0000)
      }
    }
  }
}
const EVEN = 0x00ff00ff
const ODD = 0xff00ff00

/** Bytes not aligned to their element's size are copied. */
function elements(bytes: Uint8Array, size: 1 | 2 | 4): Uint8Array | Uint16Array | Uint32Array {
  if (size === 1) return bytes
  const { buffer, byteOffset } = bytes.byteOffset % size === 0 ? bytes : bytes.slice()
  const count = bytes.byteLength / size
  return size === 2 ? new Uint16Array(buffer, byteOffset, count) : new Uint32Array(buffer, byteOffset, count)
}

const FLOATS: Partial<Record<DType, StoredDType>> = { f32: 'F32', f16: 'F16', bf16: 'BF16' }

/** A float constant as a tensor of rows, whatever its rank: a vector, or [n, k]. */
export function floatTensor(
  file: string,
  name: string,
  constant: Constant,
  shape = constant.dims,
): TensorInfo {
  const dtype = FLOATS[constant.dtype]
  if (dtype === undefined) throw unread(file, name, `is ${constant.dtype} instead of a float weight`)
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

/** A matrix, in the shortest form that holds its values. */
export function matrixTensor(file: string, name: string, constant: Constant): TensorInfo {
  const tensor = floatTensor(file, name, constant)
  if (!isStored(constant) || constant.bfloats === undefined) return tensor
  const source = constant.bfloats
  const origin = 'f32, all of them bf16: no loss'
  return { ...tensor, dtype: 'BF16', source, offset: 0, byteLength: source.size, origin }
}

/** Bytes as stored in files; in memory, half floats are held as f32. */
function storedBytes({ dtype, data }: Tensor): Uint8Array {
  const values = Float32Array.from(data as Float32Array)
  if (dtype === 'f32') return new Uint8Array(values.buffer)
  const words = new Uint32Array(values.buffer)
  const pattern = (value: number, at: number) => (dtype === 'f16' ? floatToHalf(value) : words[at]! >>> 16)
  return new Uint8Array(Uint16Array.from(values, pattern).buffer)
}

/** The fixed cost of a read, expressed in bytes: a third of a millisecond in a browser. */
const READ_COST = 262_144
const CHUNK_BYTES = 4 << 20
/**
 * Bytes that are transposed at once and cached, so that a file is read less often whatever part is
 * requested. A larger matrix is read in three passes: a third of it is small relative to a model of that
 * size.
 */
const HELD_BYTES = 32 << 20

type Stored = Pick<TensorInfo, 'source' | 'offset' | 'shape'>

/**
 * Reads rows [first, end) of the transpose of a matrix [k, n] with elements of `size` bytes: [end -
 * first][k], in an array of its own. Request them in order, because data that is read ahead is held until the
 * last row.
 */
export function transposedRows(
  matrix: Stored,
  size: 1 | 2 | 4,
): (first: number, end: number, signal?: AbortSignal) => Promise<Uint8Array> {
  const [k = 0, n = 0] = matrix.shape
  const usual = inFours(Math.floor(HELD_BYTES / (k * size)))
  let held: Block | undefined
  const leave = (block: Block) => {
    block.users -= 1
    if (block.users === 0) block.bytes.then(release, () => undefined)
  }
  return async (first, end, signal) => {
    let block = held
    if (block === undefined || first < block.first || end > block.end) {
      if (block !== undefined) leave(block)
      const stop = Math.min(n, first + Math.max(usual, inFours(Math.ceil(n / 3) + end - first + 3)))
      block = { first, end: stop, bytes: readTurned(matrix, first, stop, size, signal), users: 1 }
    }
    // The next slab may be requested before this one has arrived.
    held = block
    block.users += 1
    let isKept = false
    try {
      const bytes = await block.bytes
      isKept = end < n
      const from = (first - block.first) * k * size
      return bytes.slice(from, from + (end - first) * k * size)
    } finally {
      leave(block)
      if (held === block && !isKept) {
        held = undefined
        leave(block)
      }
    }
  }
}

interface Block {
  readonly first: number
  readonly end: number
  readonly bytes: Promise<Uint8Array>
  /** Reference count: calls that wait for it or copy from it, plus one while it is cached. */
  users: number
}

/** Rounded down to a multiple of four, which is transposed faster. */
const inFours = (count: number): number => count - (count % 4)

/** The transpose [n, k] of a float tensor [k, n]. */
export function transposed(tensor: TensorInfo): TensorInfo {
  const [k = 0, n = 0] = tensor.shape
  const size = tensor.dtype === 'F32' ? 4 : 2
  const bytesOf = transposedRows(tensor, size)
  const source = filledSource(tensor.source.name, n * k * size, async (target, offset, signal) => {
    const first = Math.floor(offset / size / k)
    const end = Math.ceil((offset + target.byteLength) / size / k)
    const rows = await bytesOf(first, end, signal)
    const from = offset - first * k * size
    target.set(rows.subarray(from, from + target.byteLength))
    release(rows)
  })
  return { ...tensor, shape: [n, k], source, offset: 0, byteLength: n * k * size }
}

/** Columns [first, end) of a matrix [k, n], as [end - first][k]. */
async function readTurned(
  matrix: Stored,
  first: number,
  end: number,
  size: 1 | 2 | 4,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const [k = 0, n = 0] = matrix.shape
  const out = new Uint8Array((end - first) * k * size)
  // A short piece of each line, or whole lines at once.
  const isNarrow = READ_COST + (end - first) * size < n * size
  const [width, from] = isNarrow ? [end - first, first] : [n, 0]
  const most = Math.max(1, inFours(Math.floor(CHUNK_BYTES / (width * size))))
  const chunk = new Uint8Array(Math.min(most, k) * width * size)
  for (let line = 0; line < k; line += most) {
    const lines = Math.min(most, k - line)
    const pieces = isNarrow ? lines : 1
    const bytes = chunk.subarray(0, lines * width * size)
    const pieceBytes = bytes.byteLength / pieces
    for (let piece = 0; piece < pieces; piece++) {
      const at = matrix.offset + ((line + piece) * n + from) * size
      await readInto(matrix.source, bytes.subarray(piece * pieceBytes, (piece + 1) * pieceBytes), at, signal)
    }
    turn({ bytes, width, first: first - from, lines }, { bytes: out, k, line, n: end - first }, size)
  }
  release(chunk)
  return out
}

/** Bytes of rows computed at a time. */
const PIECE_BYTES = 1 << 20

/**
 * A matrix [n, k] whose rows are computed as they are read: `fill` writes rows [first, end) to `out`, which
 * begins at a multiple of 4 bytes.
 */
export function computed(
  file: string,
  name: string,
  dtype: StoredDType,
  shape: readonly [number, number],
  fill: (first: number, end: number, out: Uint8Array, signal?: AbortSignal) => Promise<void>,
): TensorInfo {
  const [n, k] = shape
  const bytes = rowBytes(dtype, k)
  const rows = Math.max(1, Math.floor(PIECE_BYTES / bytes))
  const source = filledSource(file, n * bytes, async (target, offset, signal) => {
    const stop = Math.ceil((offset + target.byteLength) / bytes)
    for (let first = Math.floor(offset / bytes), end = first; first < stop; first = end) {
      end = Math.min(stop, first + rows)
      const from = first * bytes - offset
      const to = end * bytes - offset
      const isWhole = from >= 0 && to <= target.byteLength && (target.byteOffset + from) % 4 === 0
      const out = isWhole ? target.subarray(from, to) : new Uint8Array(to - from)
      await fill(first, end, out, signal)
      if (!isWhole) target.set(out.subarray(Math.max(0, -from), target.byteLength - from), Math.max(0, from))
    }
  })
  return { name, dtype, shape, source, offset: 0, byteLength: n * bytes }
}

/** The same 4-byte-aligned memory, viewed as numbers. */
export function asHalvesAndFloats({ buffer, byteOffset, byteLength }: Uint8Array) {
  return [
    new Uint16Array(buffer, byteOffset, byteLength >> 1),
    new Float32Array(buffer, byteOffset, byteLength >> 2),
  ] as const
}

export function unread(file: string, name: string, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the weight ${name} ${what}; export the model with another kind of weights, or as GGUF`,
    { file, weight: name },
  )
}
