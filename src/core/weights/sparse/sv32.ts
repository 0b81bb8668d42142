// The format sv32: a strip without the inputs that are zero in all 32 rows, as drawn in
// wasm/sparse/sparse-sv32.c.
import type { SparseBase } from '../../abi/encodings.ts'
import { roundUp } from '../../abi/encodings.ts'
import {
  areWhole,
  blockAt,
  columnMasks,
  countBits,
  type DenseStrip,
  forGroups,
  SCALE_WORDS,
  STRIP_PANELS,
  valueWords,
} from './panels.ts'
import type { StripReader, StripWriter } from './strip-format.ts'

const SEGMENT_GROUPS = 32
const HEAD_BYTES = 16
/** Maximum number of quads per group. */
const MAX = 8

const quadWords = (base: SparseBase): number => STRIP_PANELS * valueWords(base)
const orderBytes = (groups: number): number => roundUp(groups, 16)
/** Bytes of a group's indices. */
const listBytes = (quads: number): number => roundUp(4 * (quads % MAX), 16)
const groupBytes = (base: SparseBase, quads: number): number =>
  4 * STRIP_PANELS * SCALE_WORDS + listBytes(quads) + 4 * quads * quadWords(base)
const quadsOf = (mask: number): number => Math.ceil(countBits(mask) / 4)

/** The inputs in a mask, in ascending order. The first dropped inputs are added to fill the last quad. */
function inputsOf(mask: number): number[] {
  let missing = 4 * quadsOf(mask) - countBits(mask)
  return Array.from({ length: 32 }, (_, i) => i).filter((i) => ((mask >>> i) & 1) === 1 || missing-- > 0)
}

function bytesOf(base: SparseBase, masks: Uint32Array): number {
  let bytes = 0
  forGroups(masks.length, SEGMENT_GROUPS, (first, count) => {
    bytes += HEAD_BYTES + orderBytes(count)
    for (const mask of masks.subarray(first, first + count)) bytes += groupBytes(base, quadsOf(mask))
  })
  return bytes
}

const keptOf = (masks: Uint32Array): number => masks.reduce((sum, mask) => sum + countBits(mask), 0)

export const sv32Writer: StripWriter = {
  unit: 'inputs of 32 outputs',

  measure(strip) {
    const masks = columnMasks(strip)
    return { kept: keptOf(masks), units: 32 * strip.groups, bytes: bytesOf(strip.base, masks) }
  },

  encode(strip) {
    const { base, groups, words } = strip
    const masks = columnMasks(strip)
    const out = new Uint8Array(bytesOf(base, masks))
    const outWords = new Int32Array(out.buffer)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      const order = Array.from({ length: count }, (_, g) => g)
      order.sort((a, b) => quadsOf(masks[first + a]!) - quadsOf(masks[first + b]!))
      const head = at
      out.set(order, at + HEAD_BYTES)
      at += HEAD_BYTES + orderBytes(count)
      for (const g of order) {
        const inputs = inputsOf(masks[first + g]!)
        const quads = inputs.length / 4
        out[head + quads] = out[head + quads]! + 1
        let to = at / 4
        for (let panel = 0; panel < STRIP_PANELS; panel++, to += SCALE_WORDS) {
          const from = blockAt(strip, panel, first + g)
          outWords.set(words.subarray(from, from + SCALE_WORDS), to)
        }
        if (listBytes(quads) > 0) out.set(inputs.map(indexOf), 4 * to)
        to += listBytes(quads) / 4
        for (const [index, input] of inputs.entries())
          forWords(strip, first + g, input, to, index, (dense, quad) => {
            outWords[quad] = withByte(outWords[quad]!, index, words[dense]!, input)
          })
        at += groupBytes(base, quads)
      }
    })
    return out
  },
}

/** The index of an input in a list. */
const indexOf = (input: number): number => (input & 15) | ((input & 16) << 3)

export const sv32Reader: StripReader = {
  decode(encoded, strip) {
    const { base, groups, words } = strip
    const from = new Int32Array(encoded.buffer, encoded.byteOffset, encoded.byteLength / 4)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      for (const { group, quads, list, end } of groupsOf(encoded, at, base, count)) {
        const to = first + group
        for (let panel = 0; panel < STRIP_PANELS; panel++) {
          const read = list / 4 - (STRIP_PANELS - panel) * SCALE_WORDS
          words.set(from.subarray(read, read + SCALE_WORDS), blockAt(strip, panel, to))
        }
        for (let i = 0; i < 4 * quads; i++) {
          const index = encoded[list + i]!
          const input = quads === MAX ? i : (index & 15) | ((index >>> 3) & 16)
          forWords(strip, to, input, (list + listBytes(quads)) / 4, i, (dense, quad) => {
            words[dense] = withByte(words[dense]!, input, from[quad]!, i)
          })
        }
        at = end
      }
    })
  },

  isWhole(encoded, base, groups) {
    return areWhole(groups, SEGMENT_GROUPS, encoded.byteLength, (at, count) =>
      segmentEnd(encoded, at, base, count),
    )
  },
}

/** The groups of a segment in order: the number of quads in each, and where its list begins and ends. */
function groupsOf(encoded: Uint8Array, at: number, base: SparseBase, count: number) {
  const each: { group: number; quads: number; list: number; end: number }[] = []
  let order = at + HEAD_BYTES
  let end = order + orderBytes(count)
  for (let quads = 0; quads <= MAX; quads++) {
    for (let left = encoded[at + quads]!; left > 0; left--) {
      const list = end + 4 * STRIP_PANELS * SCALE_WORDS
      end += groupBytes(base, quads)
      each.push({ group: encoded[order++]!, quads, list, end })
    }
  }
  return each
}

/** The end of a segment. Undefined unless it has every group once and every list ascends. */
function segmentEnd(encoded: Uint8Array, at: number, base: SparseBase, groups: number): number | undefined {
  const each = groupsOf(encoded, at, base, groups)
  const isGood = ({ group, quads, list, end }: (typeof each)[number]) =>
    end <= encoded.byteLength &&
    group < groups &&
    encoded
      .subarray(list, list + (quads % MAX) * 4)
      .every((index, i, all) => (index & 0x70) === 0 && !(index <= all[i - 1]!))
  const isWhole =
    each.length === groups && new Set(each.map(({ group }) => group)).size === groups && each.every(isGood)
  return isWhole ? each.at(-1)!.end : undefined
}

/** Calls `each` with the words that hold an input's 32 codes, in the dense strip and in its quad. */
function forWords(
  strip: DenseStrip,
  group: number,
  input: number,
  first: number,
  index: number,
  each: (dense: number, quad: number) => void,
): void {
  const value = valueWords(strip.base)
  for (let panel = 0; panel < STRIP_PANELS; panel++) {
    const dense = blockAt(strip, panel, group) + SCALE_WORDS + (input >>> 2) * value
    const quad = first + (index >>> 2) * STRIP_PANELS * value + panel * value
    for (let w = 0; w < value; w++) each(dense + w, quad + w)
  }
}

/** The word with its byte i % 4 replaced by byte j % 4 of `from`. */
const withByte = (word: number, i: number, from: number, j: number): number =>
  word ^ ((((word >>> (8 * i)) ^ (from >>> (8 * j))) & 255) << (8 * i))
