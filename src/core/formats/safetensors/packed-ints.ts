// Reads a GPTQ, AWQ or compressed-tensors matrix as rows of blocks.
//
//   W[n][i] = scale[g][n] * (code[n][i] - zero[g][n]), g the group of input i; codes in 32-bit words
//
//              codes                      word of input i, output n      scales    zeros
//   gptq       [inputs/p, outputs]        [i/p][n], place i%p            [g][n]    [g][n/p], place n%p
//   awq        [inputs, outputs/8]        [i][n/8], place AWQ[n%8]       [g][n]    [g][n/8], place AWQ[n%8]
//   rows       [outputs, inputs/p]        [n][i/p], place i%p            [n][g]    [n/p][g], place n%p
//
// A word holds p = 32 / bits codes, the first in the lowest bits. compressed-tensors uses `rows`.
//
// Symmetric codes become Q4_0 (4 bits) or Q8_0 (8 bits). 4-bit codes with zero points become Q4_1; the
// minimum, -scale * zero, is rounded to f16, with an error of at most 2^-11 of itself or 1/128 of a step.
// Scales that are not f16 in the file are rounded to f16. Other matrices become F32, to be stored in 8 bits.
// When the inputs are not in the order of their groups (desc_act), the matrix has two forms: F32, and codes
// with sorted inputs.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { floatToHalf } from '../../base/half.ts'
import { dequantize } from '../dequantize.ts'
import { rowBytes, storedRows } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import type { DType, TensorInfo } from '../tensors.ts'
import { floatTensor, STORED_BYTES, type StoredTensor } from './safetensors.ts'

export interface PackedInts {
  /** Name of the matrix. */
  readonly name: string
  readonly order: 'gptq' | 'awq' | 'rows'
  readonly bits: number
  /** Inputs that share a scale. Below 1: all inputs share one scale. */
  readonly groupSize: number
  readonly isSymmetric: boolean
  /** Added to stored zero points. */
  readonly zeroOffset: number
  readonly codes: StoredTensor
  readonly scales: StoredTensor
  readonly zeros?: StoredTensor | undefined
  /** True if inputs are in the order of their groups. */
  readonly isOrdered: boolean
  /** The group of each input. */
  readonly groupOf?: StoredTensor | undefined
}

/** Position of output n % 8 in an AWQ word. */
const AWQ = [0, 4, 1, 5, 2, 6, 3, 7] as const
/** A matrix that is stored by inputs is read completely for each slab of outputs, in chunks of this size. */
const CHUNK_BYTES = 4 << 20

/**
 * The matrix [outputs, inputs]. Reads compute its data, whole rows at a time. Throws `format` or
 * `unsupported`.
 */
export function packedInts(packed: PackedInts): TensorInfo {
  const { name, order, bits, isSymmetric, isOrdered, codes, scales, zeros, groupOf } = packed
  const file = codes.source.name
  if (bits !== 4 && (bits !== 8 || order === 'awq')) {
    throw unread(
      file,
      `${shown(name)} has ${bits} bits per weight`,
      '4 bits, or 8 in GPTQ and compressed-tensors',
    )
  }
  const per = 32 / bits
  const [a = 0, b = 0] = codes.shape
  const [n, k] = { gptq: [b, a * per], awq: [b * per, a], rows: [a, b * per] }[order] as [number, number]
  const groupSize = packed.groupSize > 0 ? packed.groupSize : k
  if (groupSize % 32 !== 0 || k % 32 !== 0) {
    throw unread(file, `${shown(name)} has rows of ${k} in groups of ${groupSize}`, 'multiples of 32')
  }
  const groups = Math.ceil(k / groupSize)
  const due = (shape: readonly number[], of: StoredTensor | undefined, dtype?: string) => {
    const is = of && (dtype === undefined ? floatTensor(of).dtype : dtype)
    if (of === undefined || (`${of.shape}` === `${shape}` && of.dtype === is)) return
    throw malformed(
      file,
      `${shown(of.name)} is ${of.dtype} [${of.shape}] where ${shown(name)} [${n},${k}] in groups of ${groupSize} needs ${is} [${shape}]`,
    )
  }
  const isByRows = order === 'rows'
  const shapeOf = (outputs: number) => (isByRows ? [outputs, groups] : [groups, outputs])
  due(codes.shape.slice(0, 2), codes, 'I32')
  due(shapeOf(n), scales)
  due(shapeOf(Math.ceil(n / per)), zeros, 'I32')
  due([k], groupOf, 'I32')
  const coded: DType = bits === 4 ? (isSymmetric ? 'Q4_0' : 'Q4_1') : isSymmetric ? 'Q8_0' : 'F32'
  const wordsIn = (of: StoredTensor, signal?: AbortSignal) =>
    of.source.read(of.offset, of.byteLength, signal).then(wordsOf)
  const made = (form: DType, isSorted: boolean): TensorInfo => {
    const bytes = rowBytes(form, k)
    const read = async (offset: number, length: number, signal?: AbortSignal) => {
      const first = offset / bytes
      const end = first + length / bytes
      const from = Math.floor(first / per)
      const to = Math.ceil(end / per)
      const isWords = order === 'awq'
      const rows: Rows = {
        packed,
        k,
        groups,
        groupSize,
        first,
        end,
        form,
        file,
        isSorted,
        per,
        from,
        across: to - from,
        words: wordsOf(await part(codes, isByRows, isWords ? from : first, isWords ? to : end, signal)),
        scales: floatsOf(scales, await part(scales, isByRows, first, end, signal)),
        zeros: zeros && wordsOf(await part(zeros, isByRows, from, to, signal)),
        groupOf: groupOf && (await wordsIn(groupOf, signal)),
      }
      return blocksOf(rows, new Uint8Array(length))
    }
    const like = form === 'F32' ? 'Q8_0' : undefined
    return { ...virtual(file, name, form, [n, k], n * bytes, read), like }
  }
  if (isOrdered || groupOf === undefined) return made(coded, false)
  const readPlaces: ByteSource['read'] = async (_offset, _length, signal) =>
    new Uint8Array(Float32Array.from(sortedBy(await wordsIn(groupOf, signal))).buffer)
  const places = virtual(file, name.replace(/weight$/, 'order'), 'F32', [k], 4 * k, readPlaces)
  const sorted = coded === 'F32' ? undefined : { tensor: made(coded, true), order: places }
  return { ...made('F32', false), sorted }
}

/** A tensor whose bytes are computed as they are read. */
export function virtual(
  file: string,
  name: string,
  dtype: DType,
  shape: readonly number[],
  size: number,
  read: ByteSource['read'],
): TensorInfo {
  return { name, dtype, shape, source: { name: file, size, read }, offset: 0, byteLength: size }
}

/** The inputs in the order of their groups. */
const sortedBy = (groupOf: Uint32Array): Uint32Array =>
  Uint32Array.from(groupOf.keys()).sort((a, b) => groupOf[a]! - groupOf[b]! || a - b)

/** An unsupported form of quantised weights. `found` and `supported` complete the message. */
export const unread = (file: string, found: string, supported: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: ${found}, but Halfbyte supports ${supported}; use a GGUF of the model`,
    { file },
  )

/** Reads rows [from, to) of a matrix, or columns [from, to) of all its rows. */
async function part(
  { source, offset, shape: [rows = 1, columns = 1], dtype }: StoredTensor,
  isByRows: boolean,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const size = STORED_BYTES[dtype]
  const all = columns * size
  if (isByRows) return source.read(offset + from * all, (to - from) * all, signal)
  const width = (to - from) * size
  const out = new Uint8Array(rows * width)
  const most = Math.max(1, Math.floor(CHUNK_BYTES / all))
  for (let row = 0; row < rows; row += most) {
    const count = Math.min(most, rows - row)
    const bytes = await source.read(offset + row * all, count * all, signal)
    for (let r = 0, at = from * size; r < count; r++, at += all) {
      out.set(bytes.subarray(at, at + width), (row + r) * width)
    }
  }
  return out
}

const wordsOf = (bytes: Uint8Array): Uint32Array => storedRows('F32', bytes).u32

export function floatsOf(tensor: StoredTensor, bytes: Uint8Array): Float32Array {
  const { dtype } = floatTensor(tensor)
  const out = new Float32Array(bytes.length / STORED_BYTES[tensor.dtype])
  dequantize(storedRows(dtype, bytes), 0, out.length, out, 0)
  return out
}

/** The data read for the outputs [first, end) of a matrix. */
interface Rows {
  readonly packed: PackedInts
  readonly k: number
  readonly groups: number
  readonly groupSize: number
  readonly first: number
  readonly end: number
  readonly form: DType
  readonly file: string
  readonly words: Uint32Array
  readonly scales: Float32Array
  readonly zeros: Uint32Array | undefined
  readonly groupOf: Uint32Array | undefined
  readonly isSorted: boolean
  /** `per`: codes per word. `from`, `across`: the first word of zero points, and the number of words. */
  readonly per: number
  readonly from: number
  readonly across: number
}

function blocksOf(rows: Rows, out: Uint8Array): Uint8Array {
  const { packed, k, groups, first, end, form, words, per, from, across } = rows
  const { order, bits } = packed
  const mask = 2 ** bits - 1
  const count = end - first
  // For each input: its word, and how far to shift it.
  const { groupOf, inputs } = inputsOf(rows)
  const wordAt = Int32Array.from(inputs, (i) =>
    order === 'awq' ? i * across : Math.floor(i / per) * (order === 'rows' ? 1 : count),
  )
  const shiftOf = Uint8Array.from(inputs, (i) => (order === 'awq' ? 0 : (i % per) * bits))
  const scale = new Float32Array(groups)
  const zero = new Int16Array(groups)
  const codes = new Uint8Array(k)
  const halves = new Uint16Array(out.buffer)
  const floats = new Float32Array(out.buffer, 0, form === 'F32' ? out.length / 4 : 0)
  for (let n = first, at = 0; n < end; n++) {
    const row = n - first
    const word = order === 'awq' ? Math.floor(n / per) - from : order === 'rows' ? (row * k) / per : row
    const shift = order === 'awq' ? bits * AWQ[n % 8]! : 0
    readScales(rows, n, scale, zero)
    // hot
    for (let i = 0; i < k; i++) codes[i] = (words[wordAt[i]! + word]! >>> (shiftOf[i]! + shift)) & mask
    if (form === 'F32') {
      for (let i = 0; i < k; i++) {
        const g = groupOf[i]!
        floats[row * k + i] = scale[g]! * (codes[i]! - zero[g]!)
      }
      continue
    }
    for (let i = 0; i < k; i += 32) {
      const g = groupOf[inputs[i]!]!
      halves[at++] = floatToHalf(scale[g]!)
      if (form === 'Q4_1') halves[at++] = floatToHalf(-scale[g]! * zero[g]!)
      if (bits === 8) {
        for (let j = i; j < i + 32; j += 2) halves[at++] = (codes[j]! | (codes[j + 1]! << 8)) ^ 0x8080
      } else {
        for (let j = i; j < i + 16; j += 2) {
          halves[at++] = codes[j]! | (codes[j + 16]! << 4) | (codes[j + 1]! << 8) | (codes[j + 17]! << 12)
        }
      }
    }
  }
  return out
}

/**
 * Reads the scales and zero points of output n. Throws `format` for zero points that a symmetric matrix
 * cannot have.
 */
function readScales(rows: Rows, n: number, scale: Float32Array, zero: Int16Array): void {
  const { packed, groups, first, end, scales, zeros, file, per, from, across } = rows
  const { order, bits, isSymmetric, zeroOffset } = packed
  const middle = 2 ** (bits - 1)
  const word = Math.floor(n / per) - from
  const shift = bits * (order === 'awq' ? AWQ[n % 8]! : n % per)
  for (let g = 0; g < groups; g++) {
    const isByRows = order === 'rows'
    scale[g] = scales[isByRows ? (n - first) * groups + g : g * (end - first) + n - first]!
    const at = isByRows ? word * groups + g : g * across + word
    zero[g] = zeros === undefined ? middle : ((zeros[at]! >>> shift) & (2 ** bits - 1)) + zeroOffset
    if (!isSymmetric || zero[g] === middle) continue
    throw new HalfbyteError(
      'format',
      `${file}: ${shown(packed.name)} is declared symmetric but has the zero point ${zero[g]} instead of ${middle}; set sym to false in config.json`,
      { tensor: packed.name },
    )
  }
}

/**
 * The group of each input, and the order of the inputs in the result. Throws `format` for a missing or
 * misplaced group.
 */
function inputsOf({ k, groups, groupSize, groupOf, packed, file, isSorted }: Rows) {
  const inOrder = Uint32Array.from({ length: k }, (_, i) => Math.floor(i / groupSize))
  if (groupOf === undefined) return { groupOf: inOrder, inputs: Uint32Array.from(inOrder.keys()) }
  // Sorted inputs must fill whole groups in order; otherwise a block of 32 would span several groups.
  const inputs = isSorted ? sortedBy(groupOf) : Uint32Array.from(inOrder.keys())
  const found = inputs.map((i) => groupOf[i]!)
  const isFixed = isSorted || packed.isOrdered
  const wrong = found.findIndex((g, i) => g >= groups || (isFixed && g !== inOrder[i]))
  if (wrong < 0) return { groupOf, inputs }
  throw malformed(
    file,
    `${shown(packed.name)} has ${groups} groups of ${groupSize} but its input ${wrong} is in group ${found[wrong]! | 0}`,
  )
}
