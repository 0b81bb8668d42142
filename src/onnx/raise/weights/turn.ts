// Turning. In: lines of a matrix. Out: the same as columns of another, tile by tile.

/** Lines of `width` elements, of which those from `first` on are read. */
export interface Lines {
  readonly bytes: Uint8Array
  readonly width: number
  readonly first: number
  readonly lines: number
}

/** Rows [n][k], of which the columns from `line` on are written. */
export interface Columns {
  readonly bytes: Uint8Array
  readonly k: number
  readonly line: number
  readonly n: number
}

/** Rows and columns that are turned together: both sides of a tile stay in the cache. */
const TILE = 64

/** The lines become columns. Elements have `size` bytes. */
export function turn(from: Lines, to: Columns, size: 1 | 2 | 4): void {
  const { n } = to
  const isFours = size === 1 && [from.width, from.first, from.lines, to.k, to.line, n].every(isFour)
  const turnTile = isFours ? fours(from, to) : singles(from, to, size)
  for (let top = 0; top < n; top += TILE) {
    for (let left = 0; left < from.lines; left += TILE)
      turnTile(top, Math.min(n, top + TILE), left, Math.min(from.lines, left + TILE))
  }
}

const isFour = (count: number): boolean => count % 4 === 0

type TurnTile = (top: number, bottom: number, left: number, right: number) => void

function singles(from: Lines, { bytes, k, line }: Columns, size: 1 | 2 | 4): TurnTile {
  const { width, first } = from
  const [source, target] = [elements(from.bytes, size), elements(bytes, size)]
  // hot
  return (top, bottom, left, right) => {
    for (let row = top; row < bottom; row++) {
      for (let at = left; at < right; at++) target[row * k + line + at] = source[at * width + first + row]!
    }
  }
}

/** Bytes in squares of four words, which is three times as fast. */
function fours(from: Lines, { bytes, k, line }: Columns): TurnTile {
  const [width, first, column, quarter] = [from.width / 4, from.first / 4, line / 4, k / 4]
  const [source, target] = [elements(from.bytes, 4), elements(bytes, 4)]
  // hot
  return (top, bottom, left, right) => {
    for (let row = top; row < bottom; row += 4) {
      for (let at = left; at < right; at += 4) {
        const word = at * width + first + row / 4
        const a = source[word]!
        const b = source[word + width]!
        const c = source[word + 2 * width]!
        const d = source[word + 3 * width]!
        // The even bytes of two words, and the odd ones.
        const ab = (a & EVEN) | ((b & EVEN) << 8)
        const cd = (c & EVEN) | ((d & EVEN) << 8)
        const odd = ((a >>> 8) & EVEN) | (b & ODD)
        const others = ((c >>> 8) & EVEN) | (d & ODD)
        const to = row * quarter + column + at / 4
        target[to] = (ab & 0xffff) | (cd << 16)
        target[to + quarter] = (odd & 0xffff) | (others << 16)
        target[to + 2 * quarter] = (ab >>> 16) | (cd & 0xffff0000)
        target[to + 3 * quarter] = (odd >>> 16) | (others & 0xffff0000)
      }
    }
  }
}
const EVEN = 0x00ff00ff
const ODD = 0xff00ff00

/** Bytes that do not begin at a multiple of their element's size are copied. */
function elements(bytes: Uint8Array, size: 1 | 2 | 4): Uint8Array | Uint16Array | Uint32Array {
  if (size === 1) return bytes
  const { buffer, byteOffset } = bytes.byteOffset % size === 0 ? bytes : bytes.slice()
  const count = bytes.byteLength / size
  return size === 2 ? new Uint16Array(buffer, byteOffset, count) : new Uint32Array(buffer, byteOffset, count)
}
