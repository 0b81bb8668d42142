// The order in which a tower reads the patches of an image: those of a window lie together.
import type { Sides, Tower } from './tower.ts'

export interface RowOrder {
  /** Patches beside each other in the image. */
  readonly columns: number
  /** The patch that each row is, counted from the upper left, row by row of the image. */
  readonly patches: Uint32Array
  /** The row of each patch. */
  readonly rows: Uint32Array
  /** How many rows each window has, in their order. Without windows: all. */
  readonly windows: readonly number[]
}

/** `width`, `height`: of the image, in patches. Windows come row by row, and so do the patches in them. */
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
