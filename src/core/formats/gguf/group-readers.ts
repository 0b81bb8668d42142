// Reads 32 elements of a stored row as codes and scales, without rounding, by ggml's definitions.
import { halfTable } from '../../base/half.ts'
import type { CodedGroup, Coding, GroupReader, RowViews } from '../coded-group.ts'
import { codesShift, codesStart, groupMinimum, groupScale, Q4_K } from '../q4-k.ts'
import type { CodedDType, DType } from '../tensors.ts'
import { readTQ2 } from '../tq2.ts'
import { readIQ1M, readIQ1S, readIQ2S, readIQ2XS, readIQ2XXS, readIQ3S, readIQ3XXS } from './iq-quants.ts'

/**
 * Codes are stored in two runs of 128 elements; each byte holds the elements l, l + 32, l + 64 and l + 96 of
 * its run.
 */
function readTwoBits(u8: Uint8Array, at: number, group: number, codes: Int16Array): void {
  const from = at + 32 * (group >>> 2)
  const shift = 2 * (group & 3)
  for (let i = 0; i < 32; i++) codes[i] = (u8[from + i]! >>> shift) & 3
}

function readQ2K({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 84
  const group = index & 7
  const half = halfTable()
  const d = half[u16[at / 2 + 40]!]!
  const dmin = half[u16[at / 2 + 41]!]!
  for (let h = 0; h < 2; h++) {
    const packed = u8[at + 2 * group + h]!
    out.scales[h] = d * (packed & 15)
    out.minimums[h] = -dmin * (packed >>> 4)
  }
  readTwoBits(u8, at + 16, group, out.codes)
}

function readQ3K({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 110
  const group = index & 7
  const d = halfTable()[u16[at / 2 + 54]!]!
  for (let h = 0; h < 2; h++) scales[h] = d * (sixBits(u8, at + 96, 2 * group + h) - 32)
  readTwoBits(u8, at + 32, group, codes)
  // If the high bit is clear, the code is 4 less.
  for (let i = 0; i < 32; i++) codes[i]! -= (u8[at + i]! >>> group) & 1 ? 0 : 4
}

/** Scale j of 16: the low nibble is in the first 8 bytes, the two high bits are in the last 4. */
function sixBits(u8: Uint8Array, at: number, j: number): number {
  const low = (u8[at + (j & 7)]! >>> (j < 8 ? 0 : 4)) & 15
  const high = (u8[at + 8 + (j & 3)]! >>> (2 * (j >>> 2))) & 3
  return low | (high << 4)
}

function readQ4K(rows: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * Q4_K.bytes
  readNibbles(rows, at, at + Q4_K.codes, index & 7, out)
}

/** Like Q4_K, with 32 bytes before the codes: bit `group` of byte i is the fifth bit of code i. */
function readQ5K(rows: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 176
  const group = index & 7
  readNibbles(rows, at, at + 48, group, out)
  for (let i = 0; i < 32; i++) out.codes[i]! |= ((rows.u8[at + 16 + i]! >>> group) & 1) << 4
}

/** Scale, minimum and codes of a group in the block at `at`, whose codes begin at `codesAt`. */
function readNibbles(rows: RowViews, at: number, codesAt: number, group: number, out: CodedGroup): void {
  const half = halfTable()
  out.scales.fill(groupScale(half, rows, at, group))
  out.minimums.fill(groupMinimum(half, rows, at, group))
  const from = codesAt + codesStart(group)
  const shift = codesShift(group)
  for (let i = 0; i < 32; i++) out.codes[i] = (rows.u8[from + i]! >>> shift) & 15
}

function readQ6K({ u8, i8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 210
  const run = (index >>> 2) & 1
  const quarter = index & 3
  const d = halfTable()[u16[at / 2 + 104]!]!
  for (let h = 0; h < 2; h++) scales[h] = d * i8[at + 192 + 8 * run + 2 * quarter + h]!
  const low = at + 64 * run + 32 * (quarter & 1)
  const high = at + 128 + 32 * run
  for (let i = 0; i < 32; i++) {
    const nibble = (u8[low + i]! >>> (4 * (quarter >>> 1))) & 15
    codes[i] = (nibble | (((u8[high + i]! >>> (2 * quarter)) & 3) << 4)) - 32
  }
}

const POWERS_OF_3 = Uint8Array.of(1, 3, 9, 27, 81)

function readTQ1({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 54
  const group = index & 7
  scales.fill(halfTable()[u16[at / 2 + 26]!]!)
  for (let i = 0; i < 32; i++) codes[i] = trit(u8, at, 32 * group + i)
}

/**
 * Bytes 0..31 hold elements 0..159, bytes 32..47 the next 80 and bytes 48..51 the last 16. The first digits
 * of a run's bytes come first, then the second digits, and so on.
 */
function trit(u8: Uint8Array, at: number, element: number): number {
  const [start, byte, width] = element < 160 ? [0, 0, 32] : element < 240 ? [160, 32, 16] : [240, 48, 4]
  const inRun = element - start
  const digit = Math.floor(inRun / width)
  // The byte is a base-3 fraction, scaled to 256: multiplying by a power of 3 moves the wanted digit to the
  // front.
  const shifted = (u8[at + byte + (inRun % width)]! * POWERS_OF_3[digit]!) & 255
  return ((shifted * 3) >>> 8) - 1
}

function readQ1({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 2) * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  const from = at + 2 + 4 * (index & 3)
  for (let i = 0; i < 32; i++) codes[i] = (u8[from + (i >>> 3)]! >>> (i & 7)) & 1 ? 1 : -1
}

function readQ2({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 1) * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  const from = at + 2 + 8 * (index & 1)
  for (let i = 0; i < 32; i++) codes[i] = ((u8[from + (i >>> 2)]! >>> (2 * (i & 3))) & 3) - 1
}

const GROUP_READERS: Readonly<Record<CodedDType, GroupReader>> = {
  Q8_1: readQ8_1,
  Q5_0: readQ5_0,
  Q5_1: readQ5_1,
  Q2_K: readQ2K,
  Q3_K: readQ3K,
  Q4_K: readQ4K,
  Q5_K: readQ5K,
  Q6_K: readQ6K,
  IQ1_S: readIQ1S,
  IQ1_M: readIQ1M,
  IQ2_XXS: readIQ2XXS,
  IQ2_XS: readIQ2XS,
  IQ2_S: readIQ2S,
  IQ3_XXS: readIQ3XXS,
  IQ3_S: readIQ3S,
  IQ4_NL: readIQ4NL,
  IQ4_XS: readIQ4XS,
  Q1_0: readQ1,
  Q2_0: readQ2,
  TQ1_0: readTQ1,
  TQ2_0: readTQ2,
  MXFP4: readMXFP4,
  NVFP4: readNVFP4,
}

/** Dtypes whose elements have minimums. */
const HAS_MINIMUM: ReadonlySet<CodedDType> = new Set<CodedDType>([
  'Q5_1',
  'Q2_K',
  'Q4_K',
  'Q5_K',
  'IQ3_S',
  'IQ1_S',
])

/** Undefined for dtypes that are not read group by group. */
export function codingOf(dtype: DType): Coding | undefined {
  const read = (GROUP_READERS as Partial<Record<DType, GroupReader>>)[dtype]
  return read && { read, hasMinimum: HAS_MINIMUM.has(dtype as CodedDType) }
}

/** ggml's `kvalues_iq4nl`: levels that are denser around zero. */
const IQ4_LEVELS = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
/** E2M1 values times two, which makes them whole numbers. */
const FP4_LEVELS = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)

/** f16 scale | f16 scale times the sum of the codes, which only some kernels need | i8 [32]. */
function readQ8_1({ i8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 36
  scales.fill(halfTable()[u16[at / 2]!]!)
  for (let i = 0; i < 32; i++) codes[i] = i8[at + 4 + i]!
}

function readQ5_0({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 22
  scales.fill(halfTable()[u16[at / 2]!]!)
  readFives(u8, at + 2, codes, -16)
}

function readQ5_1({ u8, u16 }: RowViews, index: number, { codes, scales, minimums }: CodedGroup): void {
  const at = index * 24
  scales.fill(halfTable()[u16[at / 2]!]!)
  minimums.fill(halfTable()[u16[at / 2 + 1]!]!)
  readFives(u8, at + 4, codes, 0)
}

/** Reads four bytes with the fifth bit of each element, then nibbles as in Q4_0. */
function readFives(u8: Uint8Array, at: number, codes: Int16Array, offset: number): void {
  for (let i = 0; i < 16; i++) {
    const pair = u8[at + 4 + i]!
    const low = (u8[at + (i >>> 3)]! >>> (i & 7)) & 1
    const high = (u8[at + 2 + (i >>> 3)]! >>> (i & 7)) & 1
    codes[i] = ((pair & 15) | (low << 4)) + offset
    codes[i + 16] = ((pair >>> 4) | (high << 4)) + offset
  }
}

function readLevels(u8: Uint8Array, at: number, levels: Int8Array, codes: Int16Array): void {
  for (let i = 0; i < 16; i++) {
    const pair = u8[at + i]!
    codes[i] = levels[pair & 15]!
    codes[i + 16] = levels[pair >>> 4]!
  }
}

function readIQ4NL({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  readLevels(u8, at + 2, IQ4_LEVELS, codes)
}

/**
 * f16 d | u16 high bits of the scales | 4 bytes with their low bits | 128 bytes of codes; 8 groups per block.
 */
function readIQ4XS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 136
  const group = index & 7
  const high = (u16[at / 2 + 1]! >>> (2 * group)) & 3
  const low = (u8[at + 4 + (group >>> 1)]! >>> (4 * (group & 1))) & 15
  scales.fill(halfTable()[u16[at / 2]!]! * ((low | (high << 4)) - 32))
  readLevels(u8, at + 8 + 16 * group, IQ4_LEVELS, codes)
}

/** An exponent of 8 bits and 32 codes of 4 bits (OCP Microscaling Formats, MXFP4). */
function readMXFP4({ u8 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 17
  // Half of 2^(e - 127), because the levels are doubled.
  scales.fill(2 ** (u8[at]! - 128))
  readLevels(u8, at + 1, FP4_LEVELS, codes)
}

/**
 * Four E4M3 scales without a sign, then four runs of 16 codes of 4 bits; the low nibbles hold the first 8
 * codes of each.
 */
function readNVFP4({ u8 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 1) * 36
  for (let h = 0; h < 2; h++) {
    const run = 2 * (index & 1) + h
    const scale = u8[at + run]!
    const exponent = (scale >>> 3) & 15
    const mantissa = scale & 7
    // Half of the scale, because the levels are doubled. 0x7f is NaN, which ggml reads as zero.
    scales[h] =
      scale === 0x7f ? 0 : exponent === 0 ? mantissa * 2 ** -10 : (8 + mantissa) * 2 ** (exponent - 11)
    for (let i = 0; i < 8; i++) {
      const pair = u8[at + 4 + 8 * run + i]!
      codes[16 * h + i] = FP4_LEVELS[pair & 15]!
      codes[16 * h + 8 + i] = FP4_LEVELS[pair >>> 4]!
    }
  }
}
