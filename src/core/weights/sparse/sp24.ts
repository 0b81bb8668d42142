// The format sp24: at most 2 of 4 inputs of each output in 8 bits, with their positions, as drawn in
// wasm/sparse/sparse-sp24.c.
import {
  addCode,
  blockAt,
  countBits,
  type DenseStrip,
  readQuad,
  SCALE_WORDS,
  STRIP_PANELS,
  valueWords,
} from './panels.ts'
import type { StripReader, StripWriter } from './strip-format.ts'

const QUADS = 8
const SCALE_BYTES = 4 * SCALE_WORDS
const POSITION_BYTES = 32
const ROWS = 8

const SUM_BYTES = 2 * ROWS
const PANEL_BYTES = POSITION_BYTES + 2 * ROWS * QUADS
const GROUP_BYTES = STRIP_PANELS * (SCALE_BYTES + SUM_BYTES + PANEL_BYTES)

/** For each mask of nonzero inputs, at most two of four: those inputs first, then others to fill up. */
const KEPT = /* @__PURE__ */ Array.from({ length: 16 }, (_, mask) =>
  [0, 1, 2, 3].sort((a, b) => ((mask >>> b) & 1) - ((mask >>> a) & 1) || a - b).slice(0, 2),
)

/** Bit i is set if code i is not zero. */
function maskOf(quad: Int8Array): number {
  let mask = 0
  for (let i = 0; i < 4; i++) mask |= quad[i] === 0 ? 0 : 1 << i
  return mask
}

/**
 * For every panel of every group, calls `each` with the offsets of its four parts in the encoded bytes, and
 * its dense block.
 */
function forPanels(
  strip: DenseStrip,
  each: (at: { scales: number; sums: number; positions: number; values: number }, block: number) => void,
): void {
  for (let g = 0; g < strip.groups; g++) {
    for (let panel = 0; panel < STRIP_PANELS; panel++) {
      const first = g * GROUP_BYTES
      const sums = first + STRIP_PANELS * SCALE_BYTES + panel * SUM_BYTES
      const positions = first + STRIP_PANELS * (SCALE_BYTES + SUM_BYTES) + panel * PANEL_BYTES
      const at = { scales: first + panel * SCALE_BYTES, sums, positions, values: positions + POSITION_BYTES }
      each(at, blockAt(strip, panel, g))
    }
  }
}

/** Number of kept weights. Undefined if some output keeps more than 2 of 4 inputs. */
function countKept(strip: DenseStrip): number | undefined {
  const quad = new Int8Array(4)
  let kept = 0
  for (let block = 0; block < strip.words.length; block += SCALE_WORDS + QUADS * valueWords(strip.base)) {
    for (let row = 0; row < ROWS; row++) {
      for (let j = 0; j < QUADS; j++) {
        readQuad(strip, block, row, j, quad)
        const count = countBits(maskOf(quad))
        if (count > 2) return
        kept += count
      }
    }
  }
  return kept
}

export const sp24Writer: StripWriter = {
  unit: 'weights',

  measure(strip) {
    const kept = countKept(strip)
    const units = STRIP_PANELS * ROWS * 4 * QUADS * strip.groups
    if (kept === undefined) return { kept: units, units, bytes: Number.POSITIVE_INFINITY }
    return { kept, units, bytes: strip.groups * GROUP_BYTES }
  },

  encode(strip) {
    const { groups, words } = strip
    const out = new Uint8Array(groups * GROUP_BYTES)
    const view = new DataView(out.buffer)
    const quad = new Int8Array(4)
    forPanels(strip, (at, block) => {
      for (let w = 0; w < SCALE_WORDS; w++) view.setInt32(at.scales + 4 * w, words[block + w]!, true)
      for (let row = 0; row < ROWS; row++) {
        let sum = 0
        for (let j = 0; j < QUADS; j++) {
          readQuad(strip, block, row, j, quad)
          const kept = KEPT[maskOf(quad)]!
          for (let v = 0; v < 2; v++) {
            const position = kept[v]!
            const code = quad[position]!
            const to = 2 * row + v
            sum += code
            const positions = at.positions + 16 * (j >>> 2) + to
            out[positions] = out[positions]! | (position << (2 * (j % 4)))
            out[at.values + 16 * j + to] = code
          }
        }
        view.setInt16(at.sums + 2 * row, 8 * sum, true)
      }
    })
    return out
  },
}

export const sp24Reader: StripReader = {
  decode(encoded, strip) {
    const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength)
    forPanels(strip, (at, block) => {
      for (let w = 0; w < SCALE_WORDS; w++) strip.words[block + w] = view.getInt32(at.scales + 4 * w, true)
      for (let row = 0; row < ROWS; row++) {
        for (let j = 0; j < QUADS; j++) {
          for (let v = 0; v < 2; v++) {
            const from = 2 * row + v
            const position = (encoded[at.positions + 16 * (j >>> 2) + from]! >>> (2 * (j % 4))) & 3
            addCode(strip, block, row, 4 * j + position, view.getInt8(at.values + 16 * j + from))
          }
        }
      }
    })
  },

  // Any bytes of the right length are safe, because the kernels derive no offsets from them.
  isWhole: (encoded, base, groups) => base === 'w8_g32' && encoded.byteLength === groups * GROUP_BYTES,
}
