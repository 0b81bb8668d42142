// The order in which a tower reads the patches of an image: patches of the same window are adjacent.
import type { Sides, Tower } from './tower.ts'

export interface RowOrder {
  /** Patches per row of the image. */
  readonly columns: number
  /** The patch of each row, numbered from the upper left, row by row. */
  readonly patches: Uint32Array
  /** The row of each patch. */
  readonly rows: Uint32Array
  /** How many rows each window has, in order. Without windows: all rows. */
  readonly windows: readonly number[]
}

/**
 * `width`, `height`: the image's, in patches. Windows are ordered row by row, and so are the patches in them.
 */
export function rowOrder({ windows: own }: Pick<Tower, 'windows'>, { width, height }: Sides): RowOrder {
  const count = width * height
  const patches = new Uint32Array(count)
  const rows = new Uint32Array(count)
  const windows: number[] = []
  const { wide, high } = own ? { wide: own.side, high: own.side } : { wide: width, high: height }
  let row = 0
  for (let top = 0; top < height; top += high) {
    for (let left = 0; left < width; left += wide) {
      const first = row
      for (let y = top; y < Math.min(top + high, height); y++) {
        for (let x = left; x < Math.min(left + wide, width); x++) {
          const patch = y * width + x
          rows[patch] = row
          patches[row++] = patch
        }
      }
      windows.push(row - first)
    }
  }
  return { columns: width, patches, rows, windows }
}
