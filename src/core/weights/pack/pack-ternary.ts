// Packs rows of 2-bit elements, with one scale per 256, into the panels of `w2_g256`.

import { GROUP_SIZE, PANEL_ROWS, RUN_GROUPS } from '../../abi/encodings.ts'
import { codedGroup } from '../../formats/coded-group.ts'
import { codingOf } from '../../formats/dequantize.ts'
import type { StoredRows } from '../../formats/dtypes.ts'
import { shiftedFloat } from '../quantize-weights.ts'
import { layHalves } from './pack-panels.ts'

/**
 * Moves codes and f16 scales of TQ1_0 and TQ2_0 without rounding. `k` is a multiple of 256. Codes are -1, 0
 * and 1; a code of 2, which TQ2_0 can also contain, is kept. Throws `format` for scales that the kernels
 * cannot represent.
 */
export function packTernary(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const { read } = codingOf(rows)
  const group = codedGroup()
  const codes = new Uint8Array(PANEL_ROWS * GROUP_SIZE)
  const words = new Uint32Array(codes.buffer)
  const scales = new Uint16Array(PANEL_ROWS)
  const groups = k / GROUP_SIZE
  let at = 0
  for (let n = 0; n < count; n += PANEL_ROWS) {
    for (let g = 0; g < groups; g++) {
      for (let r = 0; r < PANEL_ROWS; r++) {
        read(rows, (n + r) * groups + g, group)
        scales[r] = shiftedFloat(group.scales[0]!)
        for (let i = 0; i < GROUP_SIZE; i++) codes[GROUP_SIZE * r + i] = group.codes[i]! + 1
      }
      if (g % RUN_GROUPS === 0) at = layHalves(scales, out, at)
      at = layCrumbs(words, out, at)
    }
  }
}

/** Each byte has 2 bits each of rows r and r + 4, for one of inputs 8j..8j+3 and for the input four later. */
function layCrumbs(words: Uint32Array, out: Uint32Array, at: number): number {
  for (let j = 0; j < GROUP_SIZE / 8; j++) {
    for (let r = 0; r < PANEL_ROWS / 2; r++, at++) {
      const low = 8 * r + 2 * j
      const high = low + 8 * (PANEL_ROWS / 2)
      out[at] = words[low]! | (words[high]! << 2) | (words[low + 1]! << 4) | (words[high + 1]! << 6)
    }
  }
  return at
}
