// Quantised matrices, as read by DequantizeLinear, MatMulInteger and DynamicQuantizeMatMul. Rows [n, k] of
// Q8_0, Q4_0, Q4_1 or F32 are computed while they are read.
//
//   W = scale * (code - zero point)
//   codes [k][n], or [n][k] if `isTransposed`; scales [1], [n], or [k / block][n], transposed like the codes
import { readInto, release } from '../../../../core/base/bytes.ts'
import { floatToHalf, halfTable } from '../../../../core/base/half.ts'
import type { DType as StoredDType, TensorInfo } from '../../../../core/formats/tensors.ts'
import { type Constant, isStored } from '../../ir/graph.ts'
import { BITS, bfloat16Of, countOf, type DType, numbersOf } from '../../ir/tensor.ts'
import { asHalvesAndFloats, computed, transposedRows, unread } from './matrices.ts'

interface LineShape {
  readonly n: number
  /** Number of elements per line. */
  readonly width: number
  /** Lines are contiguous: the constant is [n, width]. */
  readonly isTransposed: boolean
}

type Numbers = Int8Array | Uint8Array | Float32Array

/** Reads lines [first, end) as [end - first][width], in an array of its own. Request them in order. */
function lineReader(
  constant: Constant,
  { n, width, isTransposed }: LineShape,
): (first: number, end: number, signal?: AbortSignal) => Promise<Numbers> {
  if (!isStored(constant)) {
    const all = numbersOf(constant)
    return async (first, end) =>
      Float32Array.from({ length: (end - first) * width }, (_, at) => {
        const line = first + Math.floor(at / width)
        const place = at % width
        return all[isTransposed ? line * width + place : place * n + line]!
      })
  }
  const { dtype, source, offset } = constant
  if (BITS[dtype] === 4) return nibbleReader(constant, { n, width, isTransposed })
  const size = (BITS[dtype] / 8) as 1 | 2 | 4
  if (!isTransposed) {
    const rows = transposedRows({ source, offset, shape: [width, n] }, size)
    return async (...range) => numbersFrom(dtype, await rows(...range))
  }
  return async (first, end, signal) => {
    const bytes = new Uint8Array((end - first) * width * size)
    await readInto(source, bytes, offset + first * width * size, signal)
    return numbersFrom(dtype, bytes)
  }
}

/** The reader for 4 bits. Two codes share a byte, the first in the low half, regardless of where rows end. */
function nibbleReader(
  { dtype, source, offset }: Extract<Constant, { source: unknown }>,
  { n, width, isTransposed }: LineShape,
): ReturnType<typeof lineReader> {
  const numberOf = (byte: number, isHigh: number): number => {
    const nibble = (byte >> (4 * isHigh)) & 15
    return dtype === 'i4' && nibble > 7 ? nibble - 16 : nibble
  }
  if (!isTransposed && n % 2 === 0) {
    const pairs = transposedRows({ source, offset, shape: [width, n / 2] }, 1)
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
  const [perLine, perPlace] = isTransposed ? [width, 1] : [1, n]
  return async (first, end, signal) => {
    const [from, to] = isTransposed ? [first * width, end * width] : [0, n * width]
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

/** The bytes are an array of their own, whose memory is reused or released. */
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

interface Origin {
  readonly bits: number
  /** Inputs that share a scale; 0 if all inputs of an output, or the whole matrix, do. */
  readonly block: number
  /** Without blocks: whether each output has its own scale. */
  readonly isPerOutput?: boolean
  readonly hasZeros: boolean
  /** The scales' dtype in the file. */
  readonly scales: DType
  /** The type that the matrix is read as. */
  readonly form: StoredDType
}

/** The text that `halfbyte inspect` prints; docs/internals/onnx.md has the same as a table. */
export function originOf({ bits, block, isPerOutput, hasZeros, scales, form }: Origin): string {
  const shared = block > 0 ? `in blocks of ${block}` : isPerOutput ? 'by output' : 'by tensor'
  return `${bits} bits ${shared}${hasZeros ? ', zero points' : ''}: ${lossOf(scales, form)}`
}

function lossOf(scales: DType, form: StoredDType): string {
  // A group has one scale, and no zero point that could represent these.
  if (form === 'F32') return 'values are rounded again if they are stored in fewer bits'
  if (form === 'Q4_1') return 'scale and scale x zero are rounded to f16'
  return scales === 'f16' ? 'no loss' : 'scales are rounded to f16'
}

export interface CodeMatrix {
  readonly name: string
  readonly codes: Constant
  /** Codes are [n, k], one row per output. */
  readonly isTransposed: boolean
  readonly scales: Constant
  /** Default: 0. */
  readonly zeros?: Constant | undefined
  /** Number of inputs that share a scale. 0 if all inputs of an output, or the whole matrix, share one. */
  readonly block: number
}

const GROUP = 32
const MIDDLE = { i8: 0, u8: 128, i4: 0, u4: 8 } as const
type CodeType = keyof typeof MIDDLE

/** [n, k] */
export function sizesOf({ codes: { dims }, isTransposed }: CodeMatrix): readonly [number, number] {
  const [first = 0, second = 0] = dims
  return isTransposed ? [first, second] : [second, first]
}

/**
 * Codes are kept if 32 inputs share a scale: 8 bits around their midpoint as Q8_0, 4 bits as Q4_0 or, with
 * other zero points, Q4_1; scales are rounded to f16. Other matrices are read as f32 values, which `auto`
 * stores in 8 bits. Throws `unsupported` for other dtypes and other layouts of scales.
 */
export function codeTensor(file: string, name: string, matrix: CodeMatrix): TensorInfo {
  const { codes, scales, zeros, block, isTransposed } = matrix
  const [n, k] = sizesOf(matrix)
  if (!(codes.dtype in MIDDLE))
    throw unread(file, name, `has codes of ${codes.dtype}; only 4 and 8 bits are supported`)
  const dtype = codes.dtype as CodeType
  const parts = block === 0 ? 1 : Math.ceil(k / block)
  for (const [what, each] of [
    ['scales', scales],
    ['zero points', zeros],
  ] as const) {
    const count = each === undefined ? 1 : countOf(each.dims)
    if (count !== 1 && count !== n * parts)
      throw unread(file, name, `has ${count} ${what}, but ${n} outputs need ${n * parts}`)
  }
  const isMiddle = zeroIs(zeros, MIDDLE[dtype])
  const isFour = BITS[dtype] === 4
  const isWhole = k % GROUP === 0 && block % GROUP === 0
  const holds = isWhole && (isMiddle || (isFour && dtype === 'u4'))
  const form: StoredDType = !holds ? 'F32' : !isFour ? 'Q8_0' : isMiddle ? 'Q4_0' : 'Q4_1'
  const shape = { n, isTransposed }
  const readCodes = lineReader(codes, { ...shape, width: k })
  const readScales = spreadReader(scales, parts, shape)
  const readZeros = zeros && spreadReader(zeros, parts, shape)
  const made = computed(file, name, form, [n, k], async (first, end, out, signal) => {
    const read = {
      codes: await readCodes(first, end, signal),
      scales: await readScales(first, end, signal),
      zeros: await readZeros?.(first, end, signal),
    }
    const shift = isMiddle ? MIDDLE[dtype] : 0
    fill({ form, out, k, rows: end - first, parts, block: block === 0 ? k : block, shift, ...read })
    for (const each of [read.codes, read.scales, read.zeros]) if (each !== undefined) release(each)
  })
  const isLikeEight = !holds && k % GROUP === 0
  const bits = BITS[dtype]
  const origin = originOf({
    bits,
    block,
    form,
    hasZeros: !isMiddle,
    scales: scales.dtype,
    ...(block === 0 && { isPerOutput: countOf(scales.dims) > 1 }),
  })
  return { ...made, origin, ...(isLikeEight && { like: 'Q8_0' as const }) }
}

/** A single number is repeated for each output. */
function spreadReader(
  constant: Constant,
  parts: number,
  shape: { readonly n: number; readonly isTransposed: boolean },
): ReturnType<typeof lineReader> {
  if (countOf(constant.dims) > 1) return lineReader(constant, { ...shape, width: parts })
  const readOne = lineReader(constant, { ...shape, n: 1, width: 1 })
  return async (first, end, signal) => {
    const [one = 0] = Array.from(await readOne(0, 1, signal))
    return new Float32Array((end - first) * parts).fill(one)
  }
}

/** Whether all zero points are `value`. Long lists are not read for this. */
function zeroIs(zeros: Constant | undefined, value: number): boolean {
  if (zeros === undefined) return value === 0
  return !isStored(zeros) && numbersOf(zeros).every((each) => each === value)
}

interface Rows {
  readonly form: StoredDType
  readonly out: Uint8Array
  readonly rows: number
  readonly k: number
  /** The scales of a row, and how many inputs each covers. */
  readonly parts: number
  readonly block: number
  readonly codes: Numbers
  readonly scales: ArrayLike<number>
  readonly zeros: ArrayLike<number> | undefined
  /** The zero point, if all are the same. */
  readonly shift: number
}

function fill({ form, out, rows, k, parts, block, codes, scales, zeros, shift }: Rows): void {
  const [halves, floats] = asHalvesAndFloats(out)
  const words = form === 'Q8_0' ? signedWords(codes, shift) : new Uint32Array()
  // hot
  for (let r = 0, at = 0, last = 0, half = 0; r < rows; r++) {
    const row = r * k
    if (form === 'F32') {
      for (let i = 0; i < k; i++) {
        const part = r * parts + Math.floor(i / block)
        floats[row + i] = scales[part]! * (codes[row + i]! - (zeros?.[part] ?? shift))
      }
      continue
    }
    for (let i = row; i < row + k; i += GROUP) {
      const part = r * parts + Math.floor((i - row) / block)
      // Groups of a row often share a scale.
      const scale = scales[part]!
      if (scale !== last) half = floatToHalf(scale)
      last = scale
      halves[at++] = half
      if (form === 'Q4_1') halves[at++] = floatToHalf(-scale * (zeros?.[part] ?? 0))
      if (form === 'Q8_0') {
        for (let j = i / 4; j < i / 4 + 8; j++) {
          halves[at++] = words[j]!
          halves[at++] = words[j]! >>> 16
        }
        continue
      }
      // Q4_0's midpoint is 8.
      const up = form === 'Q4_0' ? 8 - shift : 0
      for (let j = i; j < i + 16; j += 2)
        halves[at++] =
          (codes[j]! + up) |
          ((codes[j + 16]! + up) << 4) |
          ((codes[j + 1]! + up) << 8) |
          ((codes[j + 17]! + up) << 12)
    }
  }
}

/** Makes 8-bit codes with midpoint `shift`, 0 or 128, signed; four per word. */
function signedWords(codes: Numbers, shift: number): Uint32Array {
  // Constants in memory are already floats.
  const bytes = codes instanceof Float32Array ? Uint8Array.from(codes, (code) => code & 255) : codes
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  if (shift !== 0) for (let at = 0; at < words.length; at++) words[at]! ^= 0x80808080
  return words
}
