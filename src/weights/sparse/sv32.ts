// sv32. In: a dense strip. Out: the same without the inputs that are zero in all 32 rows, as wasm/sparse_sv32.c draws it.
import type { SparseBase } from '../../formats/tensors.ts'
import { roundUp } from '../encoding.ts'
import type { StripReader, StripWriter } from './format.ts'
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

const SEGMENT_GROUPS = 32
const HEAD_BYTES = 16
/** Quads of one group, at most. */
const MOST = 8

const quadWords = (base: SparseBase): number => STRIP_PANELS * valueWords(base)
const orderBytes = (groups: number): number => roundUp(groups, 16)
/** Of the indices of a group. */
const listBytes = (quads: number): number => (quads === MOST ? 0 : roundUp(4 * quads, 16))
const groupBytes = (base: SparseBase, quads: number): number =>
  4 * STRIP_PANELS * SCALE_WORDS + listBytes(quads) + 4 * quads * quadWords(base)
const quadsOf = (mask: number): number => Math.ceil(countBits(mask) / 4)

/** The inputs of a mask and, to fill the last quad, the first of those that are dropped; ascending. */
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
          moveColumn(strip, first + g, input, outWords, to, index, false)
        at += groupBytes(base, quads)
      }
    })
    return out
  },
}

/** How a list names an input. */
const indexOf = (input: number): number => (input & 15) | ((input & 16) << 3)
const inputAt = (index: number): number => (index & 15) | ((index >>> 3) & 16)

export const sv32Reader: StripReader = {
  decode(encoded, strip) {
    const { base, groups, words } = strip
    const from = new Int32Array(encoded.buffer, encoded.byteOffset, encoded.byteLength / 4)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      for (const { group, quads, list, end } of groupsOf(encoded, at, base, count)) {
        const to = first + group
        for (let panel = 0, read = list / 4 - STRIP_PANELS * SCALE_WORDS; panel < STRIP_PANELS; panel++) {
          words.set(from.subarray(read, read + SCALE_WORDS), blockAt(strip, panel, to))
          read += SCALE_WORDS
        }
        for (let i = 0; i < 4 * quads; i++) {
          const input = quads === MOST ? i : inputAt(encoded[list + i]!)
          moveColumn(strip, to, input, from, (list + listBytes(quads)) / 4, i, true)
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

/** The groups of a segment in their order: the quads of each, where its list begins and where it ends. */
function groupsOf(encoded: Uint8Array, at: number, base: SparseBase, count: number) {
  const each: { group: number; quads: number; list: number; end: number }[] = []
  let end = at + HEAD_BYTES + orderBytes(count)
  for (let quads = 0; quads <= MOST; quads++) {
    for (let left = encoded[at + quads]!; left > 0; left--) {
      const list = end + 4 * STRIP_PANELS * SCALE_WORDS
      end += groupBytes(base, quads)
      each.push({ group: encoded[at + HEAD_BYTES + each.length]!, quads, list, end })
    }
  }
  return each
}

/** Where a segment ends; undefined when it has not every group once, or a list that does not ascend. */
function segmentEnd(encoded: Uint8Array, at: number, base: SparseBase, groups: number): number | undefined {
  const each = groupsOf(encoded, at, base, groups)
  const end = each.at(-1)?.end ?? 0
  if (end > encoded.byteLength || each.length !== groups) return
  if (new Set(each.map(({ group }) => group)).size !== groups) return
  for (const { group, quads, list } of each) {
    if (group >= groups) return
    const indices = encoded.subarray(list, list + (quads === MOST ? 0 : 4 * quads))
    const isGood = (index: number, i: number) => (index & 0x70) === 0 && (i === 0 || index > indices[i - 1]!)
    if (!indices.every(isGood)) return
  }
  return end
}

/** The 32 codes of an input between its byte of the dense words and byte index % 4 of its quad. */
function moveColumn(
  strip: DenseStrip,
  group: number,
  input: number,
  quads: Int32Array,
  first: number,
  index: number,
  isBack: boolean,
): void {
  const { base, words } = strip
  const value = valueWords(base)
  const [denseShift, quadShift] = [8 * (input % 4), 8 * (index % 4)]
  for (let panel = 0; panel < STRIP_PANELS; panel++) {
    const dense = blockAt(strip, panel, group) + SCALE_WORDS + (input >>> 2) * value
    const quad = first + (index >>> 2) * quadWords(base) + panel * value
    for (let w = 0; w < value; w++) {
      if (isBack) {
        words[dense + w] = withByte(words[dense + w]!, denseShift, quads[quad + w]! >>> quadShift)
      } else quads[quad + w] = withByte(quads[quad + w]!, quadShift, words[dense + w]! >>> denseShift)
    }
  }
}

const withByte = (word: number, shift: number, byte: number): number =>
  (word & ~(255 << shift)) | ((byte & 255) << shift)
