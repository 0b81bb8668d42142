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
const groupWords = (base: SparseBase, quads: number): number =>
  STRIP_PANELS * SCALE_WORDS + quads * quadWords(base)
/** Inputs that are listed. */
const listed = (quads: number): number => (quads === MOST ? 0 : 4 * quads)
const quadsOf = (mask: number): number => Math.ceil(countBits(mask) / 4)

/** The inputs of a mask and, to fill the last quad, the first of those that are dropped; ascending. */
function inputsOf(mask: number): number[] {
  let missing = 4 * quadsOf(mask) - countBits(mask)
  return Array.from({ length: 32 }, (_, i) => i).filter((i) => ((mask >>> i) & 1) === 1 || missing-- > 0)
}

function bytesOf(base: SparseBase, masks: Uint32Array): number {
  let bytes = 0
  forGroups(masks.length, SEGMENT_GROUPS, (first, count) => {
    let lists = HEAD_BYTES + count
    for (const mask of masks.subarray(first, first + count)) {
      lists += listed(quadsOf(mask))
      bytes += 4 * groupWords(base, quadsOf(mask))
    }
    bytes += roundUp(lists, 16)
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
      at += HEAD_BYTES + count
      for (const g of order) {
        const quads = quadsOf(masks[first + g]!)
        out[head + quads] = out[head + quads]! + 1
        if (listed(quads) === 0) continue
        const inputs = inputsOf(masks[first + g]!)
        out.set(inputs.map(indexOf), at)
        at += inputs.length
      }
      at = roundUp(at, 16)
      for (const g of order) {
        let to = at / 4
        for (let panel = 0; panel < STRIP_PANELS; panel++, to += SCALE_WORDS) {
          const from = blockAt(strip, panel, first + g)
          outWords.set(words.subarray(from, from + SCALE_WORDS), to)
        }
        for (const [index, input] of inputsOf(masks[first + g]!).entries())
          moveColumn(strip, first + g, input, outWords, to, index, false)
        at += 4 * groupWords(base, quadsOf(masks[first + g]!))
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
      const { end, each } = listsOf(encoded, at, count)
      let read = end / 4
      for (const { group, quads, list } of each) {
        for (let panel = 0; panel < STRIP_PANELS; panel++, read += SCALE_WORDS)
          words.set(from.subarray(read, read + SCALE_WORDS), blockAt(strip, panel, first + group))
        for (let i = 0; i < 4 * quads; i++) {
          const input = quads === MOST ? i : inputAt(encoded[list + i]!)
          moveColumn(strip, first + group, input, from, read, i, true)
        }
        read += quads * quadWords(base)
      }
      at = 4 * read
    })
  },

  isWhole(encoded, base, groups) {
    return areWhole(groups, SEGMENT_GROUPS, encoded.byteLength, (at, count) =>
      segmentEnd(encoded, at, base, count),
    )
  },
}

/** The groups of a segment in their order, the quads of each and where its list begins; `end` of all lists. */
function listsOf(encoded: Uint8Array, at: number, count: number) {
  const each: { group: number; quads: number; list: number }[] = []
  let list = at + HEAD_BYTES + count
  for (let quads = 0; quads <= MOST; quads++) {
    for (let left = encoded[at + quads]!; left > 0; left--, list += listed(quads))
      each.push({ group: encoded[at + HEAD_BYTES + each.length]!, quads, list })
  }
  return { each, end: roundUp(list, 16) }
}

/** Where a segment ends; undefined when it has not every group once, or a list that does not ascend. */
function segmentEnd(encoded: Uint8Array, at: number, base: SparseBase, groups: number): number | undefined {
  const { each, end } = listsOf(encoded, at, groups)
  if (end > encoded.byteLength || each.length !== groups) return
  if (new Set(each.map(({ group }) => group)).size !== groups) return
  let bytes = 0
  for (const { group, quads, list } of each) {
    if (group >= groups) return
    const indices = encoded.subarray(list, list + listed(quads))
    const isGood = (index: number, i: number) => (index & 0x70) === 0 && (i === 0 || index > indices[i - 1]!)
    if (!indices.every(isGood)) return
    bytes += 4 * groupWords(base, quads)
  }
  return end + bytes <= encoded.byteLength ? end + bytes : undefined
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
