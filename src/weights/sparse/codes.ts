// Single codes. In: a dense strip. Out: four codes of an output, minus the zero code; a code changed.
import { type DenseStrip, SCALE_WORDS } from './panels.ts'

/** Reads the four codes of a row that one integer dot takes, minus the zero code. */
export function readQuad(strip: DenseStrip, block: number, row: number, j: number, to: Int8Array): void {
  const { base, words } = strip
  if (base === 'w8_g32') {
    const word = words[block + SCALE_WORDS + 8 * j + row]! ^ 0x80808080
    for (let b = 0; b < 4; b++) to[b] = word >>> (8 * b)
  } else {
    const word = words[block + SCALE_WORDS + 4 * j + (row % 4)]! >>> (row < 4 ? 0 : 4)
    for (let b = 0; b < 4; b++) to[b] = ((word >>> (8 * b)) & 15) - 8
  }
}

/** Adds to the code of one weight. `input` counts within the block's group. */
export function addCode(strip: DenseStrip, block: number, row: number, input: number, code: number): void {
  const { base, words } = strip
  const isWide = base === 'w8_g32'
  const j = input >>> 2
  const at = block + SCALE_WORDS + (isWide ? 8 * j + row : 4 * j + (row % 4))
  const shift = 8 * (input % 4) + (!isWide && row >= 4 ? 4 : 0)
  const mask = isWide ? 255 : 15
  const sum = ((words[at]! >>> shift) + code) & mask
  words[at] = (words[at]! & ~(mask << shift)) | (sum << shift)
}
