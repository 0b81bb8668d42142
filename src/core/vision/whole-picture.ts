// The sizes of images that a tower reads as a whole, whatever their shape, computed as in transformers'
// Qwen2VLImageProcessor.
import { HalfbyteError } from '../base/errors.ts'
import type { Sides, Tower } from './tower.ts'

/**
 * Rows of the language model per tile in the option `imageTiles`, and the maximum number of tiles per side.
 */
const TILE_ROWS = 256
const MAX_TILES = 2
/** Maximum ratio of the longer side to the shorter one. */
const MAX_RATIO = 200

/** Minimum and maximum pixels of an image, and the side of a square with the maximum. */
type PixelRange = Required<Pick<Tower, 'pixels' | 'imageSize'>>

/** The range that `stated` allows, limited to `tiles` tiles per side. */
export function pixelRange(
  { patchSize, merge }: Pick<Tower, 'patchSize' | 'merge'>,
  stated: readonly [least: number, most: number],
  tiles = MAX_TILES,
): PixelRange {
  const step = patchSize * merge
  const most = Math.min(stated[1], Math.min(tiles, MAX_TILES) ** 2 * TILE_ROWS * step ** 2)
  return { pixels: [Math.min(stated[0], most), most], imageSize: Math.ceil(Math.sqrt(most) / step) * step }
}

/**
 * Patches per side of a window with this many pixels: a whole number of merged squares, as in transformers.
 */
export const windowSide = (
  pixels: number,
  { patchSize, merge }: Pick<Tower, 'patchSize' | 'merge'>,
): number => Math.trunc(Math.trunc(pixels / merge) / patchSize) * merge

type PictureRules = Pick<Tower, 'patchSize' | 'merge' | 'pixels' | 'imageSize'>

/** Throws `unsupported` for an image that is too elongated. */
export function wholeSides({ patchSize, merge, pixels, imageSize }: PictureRules, given: Sides): Sides {
  const [least, most] = pixels ?? [0, imageSize ** 2]
  const step = patchSize * merge
  const { width, height } = given
  const area = width * height
  const sides = (side: (own: number) => number): Sides => ({ width: side(width), height: side(height) })
  let found = sides((own) => nearest(own / step) * step)
  // Each formula keeps Python's order of operations, because otherwise whole results may round to the next
  // step.
  if (found.width * found.height > most) {
    const factor = Math.sqrt(area / most)
    found = sides((own) => Math.max(step, Math.floor(own / factor / step) * step))
  } else if (found.width * found.height < least) {
    const factor = Math.sqrt(least / area)
    found = sides((own) => Math.ceil((own * factor) / step) * step)
  }
  const ratio = Math.max(width, height) / Math.min(width, height)
  const isLong = ratio > MAX_RATIO
  if (!isLong && found.width * found.height <= imageSize ** 2) return found
  const reason = isLong
    ? `its longer side is ${Math.ceil(ratio)} times the shorter one, and the limit is ${MAX_RATIO} times`
    : `it would be resized to ${found.width} x ${found.height}, but the limit is ${imageSize ** 2} pixels`
  throw new HalfbyteError(
    'unsupported',
    `an image of ${width} x ${height} pixels is too elongated: ${reason}; crop it`,
    { width, height },
  )
}

/** Rounds halves to even, as in Python. */
function nearest(value: number): number {
  const rounded = Math.round(value)
  return rounded - value === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded
}
