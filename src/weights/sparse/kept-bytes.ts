// Sizes of masks. In: which weights of a matrix are kept, a sparse format. Out: the bytes it takes.
import { GROUP_SIZE, ROW_PADDING, type SparseBase, sparseTableBytes } from '../../abi/encodings.ts'
import type { CostFormat } from './cost-table.ts'
import { BLOCK_WORDS, denseStrip, SCALE_WORDS, stripBytes, valueWords } from './panels.ts'
import { STRIP_WRITERS } from './writers.ts'

/**
 * Bytes of an [n, k] matrix in a pack; less where all codes of a kept unit come out as zero. `kept`: 1 or 0,
 * [n][k].
 */
export function keptBytes(
  kept: Uint8Array,
  n: number,
  k: number,
  base: SparseBase,
  format: CostFormat,
): number {
  const groups = Math.ceil(k / GROUP_SIZE)
  const zero = base === 'w4_g32' ? 0x88 : 0x80
  const strip = new Uint8Array(stripBytes(base, groups))
  const block = BLOCK_WORDS[base] * 4
  const vector = valueWords(base) * 4
  let bytes = sparseTableBytes(n)
  for (let first = 0; first < n; first += ROW_PADDING) {
    strip.fill(zero)
    for (let row = first; row < Math.min(n, first + ROW_PADDING); row++) {
      const panel = ((row - first) >> 3) * groups
      for (let input = 0; input < k; input++) {
        if (kept[row * k + input] === 0) continue
        // Formats drop at least 8 outputs at once, so any of a panel's may stand for all.
        const quad = (input % GROUP_SIZE) >> 2
        strip[
          (panel + Math.floor(input / GROUP_SIZE)) * block + SCALE_WORDS * 4 + quad * vector + (input % 4)
        ] = 0
      }
    }
    bytes += STRIP_WRITERS[format].measure(denseStrip(base, groups, strip)).bytes
  }
  return bytes
}
