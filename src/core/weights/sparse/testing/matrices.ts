// Sparse test matrices. In: dense panels, and which weights to keep. Out: the panels with the other weights
// zero.
import type { SparseBase, SparseFormat } from '../../../abi/encodings.ts'
import { PANEL_ROWS, panelBytes } from '../../../abi/encodings.ts'

/** The unit that each format keeps or drops: [outputs, inputs]. */
export const UNITS: Readonly<Record<SparseFormat, readonly [number, number]>> = {
  sb84: [8, 4],
  sv32: [32, 1],
  sp24: [1, 1],
}
const PAIRS = [
  [0, 1],
  [0, 2],
  [0, 3],
  [1, 2],
  [1, 3],
  [2, 3],
]

/** Sets the codes of [row][input] to zero wherever `keeps` is false. */
export function dropWeights(
  base: SparseBase,
  panels: Uint8Array,
  k: number,
  keeps: (row: number, input: number) => boolean,
): void {
  const size = panelBytes(base, k)
  const blockBytes = panelBytes(base, 32)
  for (let row = 0; row < (panels.length / size) * PANEL_ROWS; row++) {
    const lane = row % 4
    const isHigh = row % PANEL_ROWS >= 4
    for (let input = 0; input < Math.ceil(k / 32) * 32; input++) {
      if (input < k && keeps(row, input)) continue
      const block = Math.floor(row / PANEL_ROWS) * size + Math.floor(input / 32) * blockBytes + 16
      const j = Math.floor((input % 32) / 4)
      if (base === 'w8_g32') panels[block + 32 * j + 4 * (row % PANEL_ROWS) + (input % 4)] = 128
      else {
        const at = block + 16 * j + 4 * lane + (input % 4)
        panels[at] = isHigh ? (panels[at]! & 15) | 0x80 : (panels[at]! & 0xf0) | 8
      }
    }
  }
}

/**
 * Which weights to keep: about `share` of the format's units. sp24 can keep two of every four inputs, so for
 * it `share` refers to those two.
 */
export function keeper(
  format: SparseFormat,
  share: number,
  random: () => number,
): (row: number, input: number) => boolean {
  const [rows, inputs] = UNITS[format]
  const drawn = new Map<number, number>()
  const draw = (row: number, unit: number) => {
    const id = row * 65536 + unit
    const value = drawn.get(id) ?? random()
    drawn.set(id, value)
    return value
  }
  const keeps = (row: number, input: number) =>
    draw(Math.floor(row / rows), Math.floor(input / inputs)) < share
  if (format !== 'sp24') return keeps
  // Chooses two of four, and keeps `share` of these.
  return (row, input) => {
    const pair = PAIRS[Math.floor(draw(row, 32768 + (input >>> 2)) * PAIRS.length)]!
    return pair.includes(input % 4) && keeps(row, input)
  }
}
