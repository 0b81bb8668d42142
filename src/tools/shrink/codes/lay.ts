// Writes a coded matrix in the kernels' layout, as a pack stores it, and reads it back.

import { GROUP_SIZE, matrixBytes, PANEL_ROWS, panelBytes, roundUp } from '../../../core/abi/encodings.ts'
import { layBytes, layNibbles } from '../../../core/weights/pack/pack-panels.ts'
import { CODES, type CodedMatrix, emptyMatrix, type Format, groupCount, groupSize } from './coded-matrix.ts'

/** The inverse of `layMatrix`. Needs no arithmetic. */
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
    const lane = row & 3
    const high = (row % PANEL_ROWS) >> 2
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

/** Codes and scales are only rearranged. Padding rows and inputs get the code of zero. */
export function layMatrix(coded: CodedMatrix): Uint8Array {
  const { format, n, k } = coded
  const bytes = new Uint8Array(matrixBytes(format, n, k))
  const words = new Uint32Array(bytes.buffer)
  const size = groupSize(format, k)
  const groups = groupCount(format, k)
  const codes = new Uint8Array(PANEL_ROWS * size)
  const codeWords = new Uint32Array(codes.buffer)
  let at = 0
  for (let first = 0; first < roundUp(n, 32); first += PANEL_ROWS) {
    for (let g = 0; g < groups; g++) {
      at = layPatterns(coded.scales, coded, first, g, words, at)
      if (coded.minimums !== undefined) at = layPatterns(coded.minimums, coded, first, g, words, at)
      takeCodes(coded, first, g * size, size, codes)
      for (let i = 0; i < size / 4; i += 8) {
        if (format === 'w8_g32') layBytes(codeWords, words, at)
        else layNibbles(codeWords.subarray(i), words, at, size / 4)
        at += format === 'w8_g32' ? 64 : 32
      }
    }
  }
  return bytes
}

function layPatterns(
  patterns: Uint16Array,
  { n, format, k }: CodedMatrix,
  first: number,
  g: number,
  out: Uint32Array,
  at: number,
): number {
  const groups = groupCount(format, k)
  const of = (row: number) => (row < n ? patterns[row * groups + g]! : 0)
  for (let r = first; r < first + 4; r++) out[at + r - first] = of(r) | (of(r + 4) << 16)
  return at + 4
}

/** The codes of 8 rows and one group: [8][size]. */
function takeCodes(
  { codes, n, k, format }: CodedMatrix,
  first: number,
  from: number,
  size: number,
  out: Uint8Array,
): void {
  out.fill(CODES[format].zero)
  const count = Math.min(size, k - from)
  for (let row = first; row < Math.min(first + PANEL_ROWS, n); row++) {
    out.set(codes.subarray(row * k + from, row * k + from + count), (row - first) * size)
  }
}
