// Taking up. In: a matrix in the kernels' layout. Out: its codes and scales, as they were before they were
// laid.
import { GROUP_SIZE, PANEL_ROWS, panelBytes } from '../../abi/encodings.ts'
import { type CodedMatrix, emptyMatrix, type Format, groupCount, groupSize } from './coded-matrix.ts'

/** The inverse of `layMatrix`: nothing is computed. */
export function unlayMatrix(bytes: Uint8Array, format: Format, n: number, k: number): CodedMatrix {
  const coded = emptyMatrix(format, n, k)
  const { codes, scales, minimums } = coded
  const patterns = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1)
  const isChannel = format === 'w4_channel'
  const blockBytes = panelBytes(format, GROUP_SIZE) - panelBytes(format, 0)
  const groups = groupCount(format, k)
  const size = groupSize(format, k)
  for (let row = 0; row < n; row++) {
    const panel = Math.floor(row / PANEL_ROWS) * panelBytes(format, k)
    const [lane, high] = [row & 3, (row % PANEL_ROWS) >> 2]
    for (let i = 0; i < k; i++) {
      const block = panel + Math.floor(i / GROUP_SIZE) * blockBytes
      const j = (i % GROUP_SIZE) >>> 2
      if (i % size === 0) {
        const group = row * groups + i / size
        const at = (isChannel ? panel : block) / 2 + lane * 2 + high
        scales[group] = patterns[at]!
        if (minimums !== undefined) minimums[group] = patterns[at + 8]!
      }
      if (format === 'w8_g32') {
        codes[row * k + i] = bytes[block + 16 + 32 * j + 4 * (row % PANEL_ROWS) + (i & 3)]!
        continue
      }
      const pair = bytes[block + (minimums === undefined ? 16 : 32) + 16 * j + 4 * lane + (i & 3)]!
      codes[row * k + i] = high === 1 ? pair >>> 4 : pair & 15
    }
  }
  return coded
}
