// The format sb84: a strip without its zero blocks of 8 outputs x 4 inputs, as drawn in
// wasm/sparse/sparse-sb84.c.
import type { SparseBase } from '../../abi/encodings.ts'
import { roundUp } from '../../abi/encodings.ts'
import {
  areWhole,
  blockAt,
  blockMasks,
  countBits,
  forGroups,
  SCALE_WORDS,
  STRIP_PANELS,
  valueWords,
} from './panels.ts'
import type { StripReader, StripWriter } from './strip-format.ts'

const SEGMENT_GROUPS = 32
const HEAD_BYTES = 16
/** Maximum number of blocks per item. */
const MAX = 8

const listBytes = (groups: number): number => roundUp(2 * STRIP_PANELS * groups, 16)
const itemBytes = (base: SparseBase, blocks: number): number => 4 * (SCALE_WORDS + blocks * valueWords(base))

function bytesOf(base: SparseBase, groups: number, kept: number): number {
  let bytes = STRIP_PANELS * groups * itemBytes(base, 0) + 4 * valueWords(base) * kept
  forGroups(groups, SEGMENT_GROUPS, (_, count) => {
    bytes += HEAD_BYTES + listBytes(count)
  })
  return bytes
}

export const sb84Writer: StripWriter = {
  unit: 'blocks of 8 outputs x 4 inputs',

  measure(strip) {
    const masks = blockMasks(strip)
    const kept = masks.reduce((sum, mask) => sum + countBits(mask), 0)
    return { kept, units: masks.length * MAX, bytes: bytesOf(strip.base, strip.groups, kept) }
  },

  encode(strip) {
    const { base, groups, words } = strip
    const masks = blockMasks(strip)
    const kept = masks.reduce((sum, mask) => sum + countBits(mask), 0)
    const out = new Uint8Array(bytesOf(base, groups, kept))
    const outWords = new Int32Array(out.buffer)
    const value = valueWords(base)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      let list = at + HEAD_BYTES
      let to = (list + listBytes(count)) / 4
      for (let blocks = 0; blocks <= MAX; blocks++) {
        for (let item = 0; item < STRIP_PANELS * count; item++) {
          const mask = masks[first * STRIP_PANELS + item]!
          if (countBits(mask) !== blocks) continue
          out[at + blocks] = out[at + blocks]! + 1
          out[list] = mask
          out[list + 1] = item
          list += 2
          const from = blockAt(strip, item % STRIP_PANELS, first + Math.floor(item / STRIP_PANELS))
          outWords.set(words.subarray(from, from + SCALE_WORDS), to)
          to += SCALE_WORDS
          for (let j = 0; j < MAX; j++) {
            if (((mask >>> j) & 1) === 0) continue
            const vector = from + SCALE_WORDS + j * value
            outWords.set(words.subarray(vector, vector + value), to)
            to += value
          }
        }
      }
      at = to * 4
    })
    return out
  },
}

export const sb84Reader: StripReader = {
  decode(encoded, strip) {
    const { base, groups, words } = strip
    const from = new Int32Array(encoded.buffer, encoded.byteOffset, encoded.byteLength / 4)
    const value = valueWords(base)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      let list = at + HEAD_BYTES
      let read = (list + listBytes(count)) / 4
      for (let i = 0; i < STRIP_PANELS * count; i++, list += 2) {
        const mask = encoded[list]!
        const item = encoded[list + 1]!
        const block = blockAt(strip, item % STRIP_PANELS, first + Math.floor(item / STRIP_PANELS))
        words.set(from.subarray(read, read + SCALE_WORDS), block)
        read += SCALE_WORDS
        for (let j = 0; j < MAX; j++) {
          if (((mask >>> j) & 1) === 0) continue
          words.set(from.subarray(read, read + value), block + SCALE_WORDS + j * value)
          read += value
        }
      }
      at = read * 4
    })
  },

  isWhole(encoded, base, groups) {
    return areWhole(groups, SEGMENT_GROUPS, encoded.byteLength, (at, count) =>
      segmentEnd(encoded, at, base, count),
    )
  },
}

/**
 * The end of a segment. Undefined unless its list contains every item once, in the order and number that its
 * header states.
 */
function segmentEnd(encoded: Uint8Array, at: number, base: SparseBase, groups: number): number | undefined {
  const items = STRIP_PANELS * groups
  const list = at + HEAD_BYTES
  let end = list + listBytes(groups)
  if (end > encoded.byteLength) return
  const isListed = new Uint8Array(items)
  let index = 0
  for (let blocks = 0; blocks <= MAX; blocks++) {
    const count = encoded[at + blocks]!
    if (index + count > items) return
    for (const last = index + count; index < last; index++) {
      const mask = encoded[list + 2 * index]!
      const item = encoded[list + 2 * index + 1]!
      if (countBits(mask) !== blocks || item >= items || isListed[item] === 1) return
      isListed[item] = 1
    }
    end += count * itemBytes(base, blocks)
  }
  return index === items && end <= encoded.byteLength ? end : undefined
}
