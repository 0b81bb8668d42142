// Group readers. In: stored rows, a group's index. Out: its 32 elements as codes and scales, without
// rounding.
import { halfTable } from '../../base/half.ts'
import type { StoredRows } from '../stored-rows.ts'
import type { CodedDType } from '../tensors.ts'
import type { CodedGroup, GroupReader } from './coded-group.ts'
import { readIQ2S, readIQ2XS, readIQ2XXS, readIQ3S, readIQ3XXS } from './iq-quants.ts'
import { readQ2K, readQ3K, readQ4K, readQ5K, readQ6K } from './k-quants.ts'
import { readTQ1, readTQ2 } from './ternary.ts'

export const GROUP_READERS: Readonly<Record<CodedDType, GroupReader>> = {
  Q5_0: readQ5_0,
  Q5_1: readQ5_1,
  Q2_K: readQ2K,
  Q3_K: readQ3K,
  Q4_K: readQ4K,
  Q5_K: readQ5K,
  Q6_K: readQ6K,
  IQ2_XXS: readIQ2XXS,
  IQ2_XS: readIQ2XS,
  IQ2_S: readIQ2S,
  IQ3_XXS: readIQ3XXS,
  IQ3_S: readIQ3S,
  IQ4_NL: readIQ4NL,
  IQ4_XS: readIQ4XS,
  TQ1_0: readTQ1,
  TQ2_0: readTQ2,
  MXFP4: readMXFP4,
}

/** Dtypes whose elements have minimums. */
export const HAS_MINIMUM: ReadonlySet<CodedDType> = new Set<CodedDType>([
  'Q5_1',
  'Q2_K',
  'Q4_K',
  'Q5_K',
  'IQ3_S',
])

/** ggml's `kvalues_iq4nl`: levels that are denser around zero. */
const IQ4_LEVELS = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
/** E2M1 values times two, which makes them whole numbers. */
const FP4_LEVELS = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)

function readQ5_0({ u8, u16 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 22
  scales.fill(halfTable()[u16[at / 2]!]!)
  readFives(u8, at + 2, codes, -16)
}

function readQ5_1({ u8, u16 }: StoredRows, index: number, { codes, scales, minimums }: CodedGroup): void {
  const at = index * 24
  scales.fill(halfTable()[u16[at / 2]!]!)
  minimums.fill(halfTable()[u16[at / 2 + 1]!]!)
  readFives(u8, at + 4, codes, 0)
}

/** Reads four bytes that hold the fifth bit of each element, then the nibbles as in Q4_0. */
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

function readIQ4NL({ u8, u16 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  readLevels(u8, at + 2, IQ4_LEVELS, codes)
}

/** f16 d | u16 high bits of scales | 4 bytes of their low bits | 128 bytes of codes; 8 groups a block. */
function readIQ4XS({ u8, u16 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 136
  const group = index & 7
  const high = (u16[at / 2 + 1]! >>> (2 * group)) & 3
  const low = (u8[at + 4 + (group >>> 1)]! >>> (4 * (group & 1))) & 15
  scales.fill(halfTable()[u16[at / 2]!]! * ((low | (high << 4)) - 32))
  readLevels(u8, at + 8 + 16 * group, IQ4_LEVELS, codes)
}

/** An exponent of 8 bits and 32 codes of 4 bits (OCP Microscaling Formats, MXFP4). */
function readMXFP4({ u8 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
  const at = index * 17
  // Half of 2^(e - 127), because the levels are doubled.
  scales.fill(2 ** (u8[at]! - 128))
  readLevels(u8, at + 1, FP4_LEVELS, codes)
}
