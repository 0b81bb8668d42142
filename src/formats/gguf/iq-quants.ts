// IQ quants. In: superblocks of 256 elements, whose runs of 4 or 8 are points of a grid. Out: groups, by
// ggml's definitions.
//
//   IQ1_S    f16 d | 32 low bytes of indices | u16 [8] 4 x 3 high bits, 3 bits of scale, shift         50 B
//   IQ1_M    32 low bytes of indices | 16 B of high bits and shifts | u16 [4] 4 scales, 4 bits of d   56 B
//   IQ2_XXS  f16 d | 8 x (4 indices | u32: 4 x 7 bits of signs, 4 bits of scale)                       66 B
//   IQ2_XS   f16 d | u16 [32] 9 bits of index, 7 of signs | u8 [8] two scales                         74 B
//   IQ2_S    f16 d | 32 low bytes of indices | 32 B of signs | 8 B of high bits | u8 [8] two scales    82 B
//   IQ3_XXS  f16 d | 64 indices | u32 [8] as in IQ2_XXS                                               98 B
//   IQ3_S    f16 d | 64 low bytes of indices | 8 B of high bits | 32 B of signs | 4 B of scales       110 B
import { halfTable } from '../../base/half.ts'
import type { CodedGroup, RowViews } from '../coded-group.ts'
import { iqGrid } from './iq-grids.ts'

/** hot: without a branch, since signs are as good as random. */
function signed(value: number, sign: number): number {
  const mask = -(sign & 1)
  return (value ^ mask) - mask
}

/** Writes the 8 elements from entry `from` of a grid; bit i of `signs` negates element i. */
function placeEight(grid: Int8Array, from: number, signs: number, codes: Int16Array, at: number): void {
  for (let i = 0; i < 8; i++) codes[at + i] = signed(grid[from + i]!, signs >>> i)
}

/** The same with two points of 4 elements. */
function placeFours(
  grid: Int8Array,
  first: number,
  second: number,
  signs: number,
  codes: Int16Array,
  at: number,
): void {
  for (let i = 0; i < 4; i++) {
    codes[at + i] = signed(grid[4 * first + i]!, signs >>> i)
    codes[at + 4 + i] = signed(grid[4 * second + i]!, signs >>> (i + 4))
  }
}

/** Seven signs and the eighth, which makes the number of minus signs even. */
function evenSigns(seven: number): number {
  // Bit n of 0x6996 is the parity of the number n.
  return seven | (((0x6996 >>> ((seven ^ (seven >>> 4)) & 15)) & 1) << 7)
}

export function readIQ2XXS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 66
  const from = at + 2 + 8 * (index & 7)
  const word = u16[from / 2 + 2]! | (u16[from / 2 + 3]! << 16)
  scales.fill(halfTable()[u16[at / 2]!]! * (0.5 + (word >>> 28)) * 0.25)
  const grid = iqGrid('IQ2_XXS')
  for (let l = 0; l < 4; l++)
    placeEight(grid, 8 * u8[from + l]!, evenSigns((word >>> (7 * l)) & 127), codes, 8 * l)
}

export function readIQ2XS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 74
  const group = index & 7
  readTwoScales(halfTable()[u16[at / 2]!]!, u8[at + 66 + group]!, scales)
  const grid = iqGrid('IQ2_XS')
  for (let l = 0; l < 4; l++) {
    const word = u16[at / 2 + 1 + 4 * group + l]!
    placeEight(grid, 8 * (word & 511), evenSigns(word >>> 9), codes, 8 * l)
  }
}

export function readIQ2S({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 82
  const group = index & 7
  readTwoScales(halfTable()[u16[at / 2]!]!, u8[at + 74 + group]!, scales)
  const high = u8[at + 66 + group]!
  const grid = iqGrid('IQ2_S')
  for (let l = 0; l < 4; l++) {
    const from = at + 2 + 4 * group + l
    placeEight(grid, 8 * (u8[from]! | (((high >>> (2 * l)) & 3) << 8)), u8[from + 32]!, codes, 8 * l)
  }
}

/** A nibble for each half of a group. */
function readTwoScales(d: number, pair: number, scales: Float32Array): void {
  scales[0] = d * (0.5 + (pair & 15)) * 0.25
  scales[1] = d * (0.5 + (pair >>> 4)) * 0.25
}

export function readIQ3XXS({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 98
  const group = index & 7
  const from = at + 2 + 8 * group
  const words = (at + 66) / 2 + 2 * group
  const word = u16[words]! | (u16[words + 1]! << 16)
  scales.fill(halfTable()[u16[at / 2]!]! * (0.5 + (word >>> 28)) * 0.5)
  const grid = iqGrid('IQ3_XXS')
  for (let l = 0; l < 4; l++) {
    const signs = evenSigns((word >>> (7 * l)) & 127)
    placeFours(grid, u8[from + 2 * l]!, u8[from + 2 * l + 1]!, signs, codes, 8 * l)
  }
}

/** Levels are odd from -15 to 15, so codes from 0 to 15 hold them: level = 2 * code - 15. */
export function readIQ3S({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 110
  const group = index & 7
  const scale = (u8[at + 106 + (group >>> 1)]! >>> (4 * (group & 1))) & 15
  const d = halfTable()[u16[at / 2]!]! * (2 * scale + 1)
  out.scales.fill(2 * d)
  out.minimums.fill(-15 * d)
  const grid = iqGrid('IQ3_S')
  const high = u8[at + 66 + group]!
  const from = at + 2 + 8 * group
  for (let l = 0; l < 4; l++) {
    const first = u8[from + 2 * l]! | (((high >>> (2 * l)) & 1) << 8)
    const second = u8[from + 2 * l + 1]! | (((high >>> (2 * l + 1)) & 1) << 8)
    placeFours(grid, first, second, u8[at + 74 + 4 * group + l]!, out.codes, 8 * l)
  }
  for (let i = 0; i < 32; i++) out.codes[i] = (out.codes[i]! + 15) >> 1
}

/** Elements -1, 0 and 1, moved by an eighth up or down. Codes are 1 more, which the minimum takes back. */
export function readIQ1S({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 50
  const group = index & 7
  const word = u16[at / 2 + 17 + group]!
  const d = halfTable()[u16[at / 2]!]! * (2 * ((word >>> 12) & 7) + 1)
  out.scales.fill(d)
  out.minimums.fill(d * (word & 0x8000 ? -1.125 : -0.875))
  const grid = iqGrid('IQ1_S')
  for (let l = 0; l < 4; l++) {
    const from = 8 * (u8[at + 2 + 4 * group + l]! | (((word >>> (3 * l)) & 7) << 8))
    for (let i = 0; i < 8; i++) out.codes[8 * l + i] = grid[from + i]! + 1
  }
}

/** The same, moved by an eighth in runs of 8: codes are eighths. */
export function readIQ1M({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 56
  const group = index & 7
  const words = at / 2 + 24
  let pattern = 0
  for (let i = 0; i < 4; i++) pattern |= (u16[words + i]! >>> 12) << (4 * i)
  const packed = u16[words + (group >>> 1)]! >>> (6 * (group & 1))
  const d = halfTable()[pattern]! / 8
  for (let h = 0; h < 2; h++) scales[h] = d * (2 * ((packed >>> (3 * h)) & 7) + 1)
  const grid = iqGrid('IQ1_S')
  for (let l = 0; l < 4; l++) {
    const high = u8[at + 32 + 2 * group + (l >>> 1)]! >>> (4 * (l & 1))
    const from = 8 * (u8[at + 4 * group + l]! | ((high & 7) << 8))
    const shift = high & 8 ? -1 : 1
    for (let i = 0; i < 8; i++) codes[8 * l + i] = 8 * grid[from + i]! + shift
  }
}
