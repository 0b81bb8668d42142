// sv32. In: a dense strip. Out: the same without the inputs that are zero in all 32 rows, as wasm/sparse_sv32.c draws it.
import type { SparseBase } from '../../formats/tensors.ts'
import type { StripReader, StripWriter } from './format.ts'
import {
  blockAt,
  columnMasks,
  countBits,
  type DenseStrip,
  emptyStrip,
  forGroups,
  SCALE_WORDS,
  STRIP_PANELS,
  valueWords,
} from './panels.ts'

const BLOCK_GROUPS = 4
const HEAD_WORDS = 4

const quadWords = (base: SparseBase): number => STRIP_PANELS * valueWords(base)
const scaleWords = (groups: number): number => groups * STRIP_PANELS * SCALE_WORDS

function bytesOf(base: SparseBase, masks: Uint32Array): number {
  let words = 0
  forGroups(masks.length, BLOCK_GROUPS, (first, count) => {
    const end = first + count
    const kept = masks.subarray(first, end).reduce((sum, mask) => sum + countBits(mask), 0)
    words += HEAD_WORDS + scaleWords(end - first) + Math.ceil(kept / 4) * quadWords(base)
  })
  return 4 * words
}

/** Calls `each` with the group, the input in it and the number in its block of every kept input of a block. */
function forKept(
  masks: Uint32Array,
  first: number,
  end: number,
  each: (group: number, input: number, index: number) => void,
): number {
  let index = 0
  for (let g = first; g < end; g++) {
    for (let input = 0; input < 32; input++) {
      if (((masks[g]! >>> input) & 1) === 1) each(g, input, index++)
    }
  }
  return index
}

export const sv32Writer: StripWriter = {
  unit: 'inputs of 32 outputs',

  measure(strip) {
    const masks = columnMasks(strip)
    const kept = masks.reduce((sum, mask) => sum + countBits(mask), 0)
    return { kept, units: 32 * strip.groups, bytes: bytesOf(strip.base, masks) }
  },

  encode(strip) {
    const { base, groups, words } = strip
    const masks = columnMasks(strip)
    const out = new Int32Array(bytesOf(base, masks) / 4)
    let at = 0
    forGroups(groups, BLOCK_GROUPS, (first, count) => {
      const end = first + count
      out.set(masks.subarray(first, end), at)
      let to = at + HEAD_WORDS
      for (let g = first; g < end; g++) {
        for (let panel = 0; panel < STRIP_PANELS; panel++, to += SCALE_WORDS) {
          const from = blockAt(strip, panel, g)
          out.set(words.subarray(from, from + SCALE_WORDS), to)
        }
      }
      const kept = forKept(masks, first, end, () => {})
      const zeros = emptyStrip(base, 1).words[SCALE_WORDS]!
      out.fill(zeros, to, to + Math.ceil(kept / 4) * quadWords(base))
      forKept(masks, first, end, (g, input, index) => moveColumn(strip, g, input, out, to, index, false))
      at = to + Math.ceil(kept / 4) * quadWords(base)
    })
    return new Uint8Array(out.buffer)
  },
}

export const sv32Reader: StripReader = {
  decode(encoded, strip) {
    const { base, groups, words } = strip
    const from = new Int32Array(encoded.buffer, encoded.byteOffset, encoded.byteLength / 4)
    const masks = new Uint32Array(groups)
    let at = 0
    forGroups(groups, BLOCK_GROUPS, (first, count) => {
      const end = first + count
      masks.set(from.subarray(at, at + end - first), first)
      let read = at + HEAD_WORDS
      for (let g = first; g < end; g++) {
        for (let panel = 0; panel < STRIP_PANELS; panel++, read += SCALE_WORDS)
          words.set(from.subarray(read, read + SCALE_WORDS), blockAt(strip, panel, g))
      }
      const kept = forKept(masks, first, end, (g, input, index) =>
        moveColumn(strip, g, input, from, read, index, true),
      )
      at = read + Math.ceil(kept / 4) * quadWords(base)
    })
  },

  isWhole(encoded, base, groups) {
    const words = new Uint32Array(encoded.buffer, encoded.byteOffset, encoded.byteLength / 4)
    let at = 0
    let isGood = true
    forGroups(groups, BLOCK_GROUPS, (_, count) => {
      const masks = words.subarray(at, at + HEAD_WORDS)
      isGood &&= masks.length === HEAD_WORDS && masks.subarray(count).every((mask) => mask === 0)
      if (!isGood) return
      const kept = masks.reduce((sum, mask) => sum + countBits(mask), 0)
      at += HEAD_WORDS + scaleWords(count) + Math.ceil(kept / 4) * quadWords(base)
      isGood = at <= words.length
    })
    return isGood && at === words.length
  },
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
