// Block-quantised weights, as stored by MatMulNBits and GatherBlockQuantized. They are read as rows of Q4_0,
// Q4_1, Q8_0 or F32.
//
//   codes [n][k / block][block * bits / 8]: with 4 bits, byte j = code 2j | code (2j + 1) << 4
//   scales [n][k / block]; zero points [n][ceil(k / block * bits / 8)], packed like codes
//   W = scale * (code - zero point); the zero point is 2^(bits - 1) by default
//   Q4_0, Q4_1: byte j of 32 inputs = code j | code (j + 16) << 4 (src/core/formats/dtypes.ts)
import { readInto, release } from '../../../../core/base/bytes.ts'
import { floatsToHalves, floatToHalf, halfTable } from '../../../../core/base/half.ts'
import type { DType as StoredDType, TensorInfo } from '../../../../core/formats/tensors.ts'
import { type Constant, isStored } from '../../ir/graph.ts'
import { BITS, bfloat16Of, countOf, isFloat, numbersOf, type Tensor } from '../../ir/tensor.ts'
import { originOf } from './code-matrix.ts'
import { asHalvesAndFloats, computed, unread } from './matrices.ts'

export interface BlockWeight {
  readonly file: string
  readonly name: string
  readonly n: number
  readonly k: number
  readonly bits: number
  readonly block: number
  readonly codes: Constant
  readonly scales: Constant
  /** Default: 2^(bits - 1) for all, or `zero` if given. */
  readonly zeros?: Constant | undefined
  /** The zero point of all weights, if there is no list. Default: 2^(bits - 1). */
  readonly zero?: number | undefined
  /** The block whose scale each input has, i32 [k]. Default: inputs are in block order. */
  readonly order?: Tensor | undefined
}

const GROUP = 32

/**
 * Blocks of a multiple of 32 keep their codes: 2 and 4 bits as Q4_0, or Q4_1 with zero points; 8 bits as
 * Q8_0. Scales are rounded to f16. Smaller blocks, reordered inputs, and 8 bits with zero points are read as
 * f32 values, which `auto` stores in 8 bits, or as f32 if a row is not a multiple of 32. Throws
 * `unsupported` for other widths.
 */
export function blockTensor(weight: BlockWeight): TensorInfo {
  const { file, name, n, k, bits, block, scales, order } = weight
  if (bits !== 2 && bits !== 4 && bits !== 8)
    throw unread(file, name, `has ${bits} bits; only 2, 4 and 8 are supported`)
  if (block < 16 || (block & (block - 1)) !== 0)
    throw unread(file, name, `has blocks of ${block} inputs; only powers of two from 16 on are supported`)
  const blocks = Math.ceil(k / block)
  checkBytes(weight, 'codes', weight.codes, n * blocks * ((block * bits) / 8))
  checkBytes(weight, 'scales', scales, n * blocks)
  const { zeros } = weight
  if (zeros !== undefined) {
    checkBytes(
      weight,
      'zero points',
      zeros,
      n * (isFloat(zeros.dtype) ? blocks : Math.ceil((blocks * bits) / 8)),
    )
  }
  if (zeros?.dtype === 'u4' && blocks % 2 === 1)
    throw unread(file, name, 'has rows of zero points that end in the middle of a byte')
  const middle = 2 ** (bits - 1)
  const isMiddle = zeros === undefined && (weight.zero ?? middle) === middle
  if (order !== undefined && numbersOf(order).some((each) => each < 0 || each >= blocks))
    throw unread(file, name, `has inputs assigned to blocks outside its ${blocks}`)
  const hasGroups = k % GROUP === 0
  const holds = hasGroups && order === undefined && block % GROUP === 0 && (bits < 8 || isMiddle)
  const form: StoredDType = !holds ? 'F32' : bits === 8 ? 'Q8_0' : isMiddle ? 'Q4_0' : 'Q4_1'
  const made = computed(file, name, form, [n, k], (...rows) => fill(weight, form, ...rows))
  const origin = originOf({ bits, block, form, hasZeros: !isMiddle, scales: scales.dtype })
  return { ...made, origin, ...(!holds && hasGroups && { like: 'Q8_0' as const }) }
}

/** `count`: how many floats, or bytes of codes. */
export function checkBytes(
  { file, name }: { file: string; name: string },
  what: string,
  constant: Constant,
  count: number,
): void {
  const size = isFloat(constant.dtype) ? BITS[constant.dtype] / 8 : 1
  const bytes = isStored(constant)
    ? constant.byteLength
    : Math.ceil((constant.data.length * BITS[constant.dtype]) / 8)
  if (bytes === count * size) return
  throw unread(file, name, `has ${bytes} bytes of ${what}, but its shape needs ${count * size}`)
}

/** Rows [first, end). */
async function fill(
  weight: BlockWeight,
  form: StoredDType,
  first: number,
  end: number,
  out: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const { k, bits, block, codes, scales, zeros, zero } = weight
  const blocks = Math.ceil(k / block)
  const codeBytes = (blocks * block * bits) / 8
  const [packed, scale, zeroPoint] = await Promise.all([
    bytesOf(codes, first * codeBytes, end * codeBytes, signal),
    floatsOf(scales, first * blocks, end * blocks, signal),
    zeros && zeroPoints(weight, zeros, blocks, first, end, signal),
  ])
  // Signed codes, plus 8.
  if (codes.dtype === 'i4') for (let at = 0; at < packed.length; at++) packed[at]! ^= 0x88
  const rows = {
    ...weight,
    blocks,
    rows: end - first,
    packed,
    scale,
    zeroPoint,
    middle: zero ?? 2 ** (bits - 1),
  }
  if (form === 'F32') fillFloats(rows, out)
  else if (bits === 2)
    fillGroups({ ...rows, bits: 4, packed: widened(packed, form === 'Q4_0' ? UP : 0) }, form, out)
  else fillGroups(rows, form, out)
  for (const each of [packed, scale, zeroPoint]) if (each !== undefined) release(each)
}

/** The data read for some rows. */
interface ReadRows extends Pick<BlockWeight, 'k' | 'bits' | 'block' | 'order'> {
  readonly rows: number
  /** Blocks per row. */
  readonly blocks: number
  readonly packed: Uint8Array
  readonly scale: Float32Array
  readonly zeroPoint: Uint8Array | Float32Array | undefined
  /** The common zero point if there is no list. */
  readonly middle: number
}

function fillFloats(
  { k, bits, block, blocks, rows, packed, scale, zeroPoint, middle, order }: ReadRows,
  out: Uint8Array,
) {
  const codeBytes = (blocks * block * bits) / 8
  const row = new Uint8Array(blocks * block)
  const own = order?.data as Int32Array | undefined
  const [, floats] = asHalvesAndFloats(out)
  // hot
  for (let r = 0; r < rows; r++) {
    unpack(packed, r * codeBytes, codeBytes, row, bits)
    for (let i = 0; i < k; i++) {
      const b = r * blocks + (own?.[i] ?? Math.floor(i / block))
      floats[r * k + i] = scale[b]! * (row[i]! - (zeroPoint?.[b] ?? middle))
    }
  }
}

function fillGroups(
  { k, bits, block, blocks, rows, packed, scale, zeroPoint, middle }: ReadRows,
  form: StoredDType,
  out: Uint8Array,
) {
  const [halves] = asHalvesAndFloats(out)
  const codes = new Uint32Array(packed.buffer)
  const scales = floatsToHalves(scale)
  const perBlock = block / GROUP
  // hot
  for (let r = 0, at = 0; r < rows; r++) {
    for (let g = 0; g < k / GROUP; g++) {
      const b = r * blocks + Math.floor(g / perBlock)
      const from = (r * blocks * perBlock + g) * bits
      halves[at++] = scales[b]!
      if (form === 'Q4_1') halves[at++] = floatToHalf(-scale[b]! * (zeroPoint?.[b] ?? middle))
      at = bits === 8 ? signed(codes, from, halves, at) : nibbles(codes, from, halves, at)
    }
  }
  release(scales)
}

/** Makes 32 8-bit codes with midpoint 128 signed. Returns the index for the next half. */
function signed(codes: Uint32Array, from: number, halves: Uint16Array, to: number): number {
  let at = to
  for (let i = from; i < from + 8; i++) {
    const word = codes[i]! ^ 0x80808080
    halves[at++] = word
    halves[at++] = word >>> 16
  }
  return at
}

/** Repacks 32 4-bit codes: adjacent codes that share a byte move 16 apart. */
function nibbles(codes: Uint32Array, from: number, halves: Uint16Array, to: number): number {
  let at = to
  for (let i = from; i < from + 2; i++) {
    const low = codes[i]!
    const high = codes[i + 2]!
    const front = apart(low & 0xffff) | (apart(high & 0xffff) << 4)
    const back = apart(low >>> 16) | (apart(high >>> 16) << 4)
    halves[at++] = front
    halves[at++] = front >>> 16
    halves[at++] = back
    halves[at++] = back >>> 16
  }
  return at
}

/** Spreads four codes in 16 bits to a byte each. */
function apart(codes: number): number {
  const pairs = (codes | (codes << 8)) & 0x00ff00ff
  return (pairs | (pairs << 4)) & 0x0f0f0f0f
}

/** 6 in each of eight nibbles: the midpoint of 2 bits is 2, and Q4_0's is 8. */
const UP = 0x66666666

/** Widens 2-bit codes to 4 bits and adds `up`, which has the same number in each of eight nibbles. */
function widened(packed: Uint8Array, up: number): Uint8Array {
  const halves = new Uint16Array(packed.buffer)
  const words = Uint32Array.from(halves, (half) => {
    const pairs = apart(half)
    return ((pairs | (pairs << 2)) & 0x33333333) + up
  })
  return new Uint8Array(words.buffer)
}

/** Unpacks a row of codes of `length` bytes. A view per row would create half a million arrays. */
function unpack(packed: Uint8Array, from: number, length: number, row: Uint8Array, bits: number): void {
  const mask = 2 ** bits - 1
  for (let j = 0, at = 0; j < length; j++) {
    for (let shift = 0; shift < 8; shift += bits) row[at++] = (packed[from + j]! >> shift) & mask
  }
}

/** Zero points are floats, or packed like codes, each row separately. */
async function zeroPoints(
  { bits }: BlockWeight,
  zeros: Constant,
  blocks: number,
  first: number,
  end: number,
  signal?: AbortSignal,
): Promise<Uint8Array | Float32Array> {
  if (zeros.dtype !== 'u8' && zeros.dtype !== 'u4')
    return floatsOf(zeros, first * blocks, end * blocks, signal)
  const rowLength = Math.ceil((blocks * bits) / 8)
  const packed = await bytesOf(zeros, first * rowLength, end * rowLength, signal)
  const out = new Uint8Array((end - first) * blocks)
  const row = new Uint8Array(rowLength * (8 / bits))
  for (let r = 0; r < end - first; r++) {
    unpack(packed, r * rowLength, rowLength, row, bits)
    out.set(row.subarray(0, blocks), r * blocks)
  }
  return out
}

/** Bytes [from, to) of a constant as stored in its file, in an array of its own. */
export async function bytesOf(
  constant: Constant,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (isStored(constant)) {
    const out = new Uint8Array(to - from)
    await readInto(constant.source, out, constant.offset + from, signal)
    return out
  }
  const { data, dtype } = constant
  if (BITS[dtype] === 4) {
    const all = data as Uint8Array
    return Uint8Array.from({ length: to - from }, (_, at) => {
      const element = 2 * (from + at)
      return (all[element]! & 15) | (((all[element + 1] ?? 0) & 15) << 4)
    })
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice(from, to)
}

/** The block of each of the inputs, from a list of them (`g_idx`). Undefined if they are in block order. */
export async function blockOrder(
  list: Constant,
  block: number,
  signal?: AbortSignal,
): Promise<Tensor | undefined> {
  const { buffer } = await bytesOf(list, 0, countOf(list.dims) * 4, signal)
  const data = new Int32Array(buffer)
  const isUsual = data.every((each, at) => each === Math.floor(at / block))
  return isUsual ? undefined : { dtype: 'i32', dims: [data.length], data }
}

/** Elements [from, to) of a float constant, in an array of its own. */
export async function floatsOf(
  constant: Constant,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<Float32Array> {
  if (!isStored(constant)) return Float32Array.from(numbersOf(constant).slice(from, to))
  const size = BITS[constant.dtype] / 8
  const bytes = await bytesOf(constant, from * size, to * size, signal)
  if (constant.dtype === 'f32') return new Float32Array(bytes.buffer)
  const halves = new Uint16Array(bytes.buffer)
  const table = halfTable()
  const isBrain = constant.dtype === 'bf16'
  const floats = Float32Array.from(halves, (half) => (isBrain ? bfloat16Of(half) : table[half]!))
  release(bytes)
  return floats
}
