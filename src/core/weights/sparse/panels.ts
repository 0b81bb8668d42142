// 32 rows as w4_g32 or w8_g32 panels: their blocks as words, and which of them are zero.
import type { SparseBase } from '../../abi/encodings.ts'

/** Reads the four codes of a row that one integer dot consumes, minus the zero code. */
export function readQuad(strip: DenseStrip, block: number, row: number, j: number, to: Int8Array): void {
  const { base, words } = strip
  if (base === 'w8_g32') {
    const word = words[block + SCALE_WORDS + 8 * j + row]! ^ 0x80808080
    for (let b = 0; b < 4; b++) to[b] = word >>> (8 * b)
  } else {
    const word = words[block + SCALE_WORDS + 4 * j + (row % 4)]! >>> (row < 4 ? 0 : 4)
    for (let b = 0; b < 4; b++) to[b] = ((word >>> (8 * b)) & 15) - 8
  }
}

/** Adds to the code of one weight. `input` is the index within the block's group. */
export function addCode(strip: DenseStrip, block: number, row: number, input: number, code: number): void {
  const { base, words } = strip
  const isWide = base === 'w8_g32'
  const j = input >>> 2
  const at = block + SCALE_WORDS + (isWide ? 8 * j + row : 4 * j + (row % 4))
  const shift = 8 * (input % 4) + (!isWide && row >= 4 ? 4 : 0)
  const mask = isWide ? 255 : 15
  const sum = ((words[at]! >>> shift) + code) & mask
  words[at] = (words[at]! & ~(mask << shift)) | (sum << shift)
}

/** Words of 4 bytes in one dense block: 4 of scales, then the vectors. */
export const BLOCK_WORDS: Readonly<Record<SparseBase, number>> = { w4_g32: 36, w8_g32: 68 }
export const SCALE_WORDS = 4
/** Panels per strip. */
export const STRIP_PANELS = 4

/** Four codes that represent zero. */
const ZERO: Readonly<Record<SparseBase, number>> = { w4_g32: 0x88888888 | 0, w8_g32: 0x80808080 | 0 }

/** Four panels of 8 rows, as in a dense matrix. */
export interface DenseStrip {
  readonly base: SparseBase
  readonly groups: number
  /** [panel][group][BLOCK_WORDS] */
  readonly words: Int32Array
}

/** Bytes of a dense strip. */
export const stripBytes = (base: SparseBase, groups: number): number =>
  STRIP_PANELS * groups * BLOCK_WORDS[base] * 4

/** A strip of zeros without scales, to be filled in. */
export function emptyStrip(base: SparseBase, groups: number): DenseStrip {
  const strip = { base, groups, words: new Int32Array(stripBytes(base, groups) / 4).fill(ZERO[base]) }
  for (let at = 0; at < strip.words.length; at += BLOCK_WORDS[base]) strip.words.fill(0, at, at + SCALE_WORDS)
  return strip
}

/** `bytes` must be aligned to 4. */
export function denseStrip(base: SparseBase, groups: number, bytes: Uint8Array): DenseStrip {
  return { base, groups, words: new Int32Array(bytes.buffer, bytes.byteOffset, stripBytes(base, groups) / 4) }
}

/**
 * Splits the groups into runs of at most `most`. Calls `each` with the first group and the length of each
 * run.
 */
export function forGroups(groups: number, most: number, each: (first: number, count: number) => void): void {
  for (let first = 0; first < groups; first += most) each(first, Math.min(most, groups - first))
}

/**
 * Whether runs of at most `most` groups, one after another from byte 0, end exactly at the last byte. `end`
 * returns where the run at `at` ends, or undefined if it is not valid.
 */
export function areWhole(
  groups: number,
  most: number,
  byteLength: number,
  end: (at: number, count: number) => number | undefined,
): boolean {
  let at: number | undefined = 0
  forGroups(groups, most, (_, count) => {
    if (at !== undefined) at = end(at, count)
  })
  return at === byteLength
}

/** First word of a block. */
export const blockAt = ({ base, groups }: DenseStrip, panel: number, group: number): number =>
  (panel * groups + group) * BLOCK_WORDS[base]

/** The words with inputs 4j..4j+3 in a block: one vector in w4, two in w8. */
export const valueWords = (base: SparseBase): number => (base === 'w4_g32' ? 4 : 8)

/** Bit j of [4 * group + panel] is set if any weight of inputs 4j..4j+3 is not zero. */
export function blockMasks(strip: DenseStrip): Uint8Array {
  const { base, groups, words } = strip
  const masks = new Uint8Array(STRIP_PANELS * groups)
  const value = valueWords(base)
  for (let panel = 0; panel < STRIP_PANELS; panel++) {
    for (let g = 0; g < groups; g++) {
      let at = blockAt(strip, panel, g) + SCALE_WORDS
      let mask = 0
      for (let j = 0; j < 8; j++, at += value) {
        let difference = 0
        for (let w = 0; w < value; w++) difference |= words[at + w]! ^ ZERO[base]
        if (difference !== 0) mask |= 1 << j
      }
      masks[g * STRIP_PANELS + panel] = mask
    }
  }
  return masks
}

/** Bit i of [group] is set if any weight of input i in the 32 rows is not zero. */
export function columnMasks(strip: DenseStrip): Uint32Array {
  const { base, groups, words } = strip
  const masks = new Uint32Array(groups)
  const value = valueWords(base)
  for (let g = 0; g < groups; g++) {
    for (let j = 0; j < 8; j++) {
      let difference = 0
      for (let panel = 0; panel < STRIP_PANELS; panel++) {
        const at = blockAt(strip, panel, g) + SCALE_WORDS + j * value
        for (let w = 0; w < value; w++) difference |= words[at + w]! ^ ZERO[base]
      }
      for (let i = 0; i < 4; i++) {
        if (((difference >>> (8 * i)) & 255) !== 0) masks[g] = masks[g]! | (1 << (4 * j + i))
      }
    }
  }
  return masks
}

/** Number of set bits in a 32-bit number. */
export function countBits(x: number): number {
  let bits = x - ((x >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
