// An image as pixels, and the limits on images: used by every decoder and wherever an image is passed in.
import { HalfbyteError } from '../base/errors.ts'

/** An image: four bytes per pixel (red, green, blue, opacity), row by row from the upper left. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly data: Uint8ClampedArray | Uint8Array
}

/** Maximum bytes of a file. */
export const MAX_FILE_BYTES = 1 << 28
/** Maximum pixels per side, and per image. */
const MAX_SIDE = 1 << 14
const MAX_PIXELS = 1 << 26
/** Maximum bytes of a PNG's inflated rows: four per pixel, plus a filter number for each row of each pass. */
export const MAX_ROW_BYTES = 4 * MAX_PIXELS + 2 * MAX_SIDE
/**
 * Maximum steps for a JPEG's scans: blocks visited and bytes read, as counted by
 * `core/formats/pictures/jpeg.ts`.
 */
export const MAX_SCAN_STEPS = 1 << 25

/** Throws `unsupported` for impossible dimensions. Called before memory for the pixels is allocated. */
export function checkSides(width: number, height: number): void {
  const isSide = (side: number) => Number.isInteger(side) && side >= 1 && side <= MAX_SIDE
  if (isSide(width) && isSide(height) && width * height <= MAX_PIXELS) return
  throw new HalfbyteError('unsupported', `an image has ${width} x ${height} pixels; ${SIDES}`, {
    width,
    height,
  })
}

const SIDES = `pass one of 1 to ${MAX_SIDE} pixels per side and at most ${MAX_PIXELS} in total`

/** Throws `unsupported` for impossible dimensions, and for data whose size does not match. */
export function checkPixels({ width, height, data }: Pixels): void {
  checkSides(width, height)
  if (data.length === width * height * 4) return
  throw new HalfbyteError(
    'unsupported',
    `an image has ${width} x ${height} pixels in ${data.length} bytes; ${SIDES}, with four bytes each`,
    { width, height },
  )
}

/** The error for an image that takes `amount` units of work when at most `most` are allowed. */
export const tooMuchWork = (what: string, amount: number, most: number): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `an image has ${amount} ${what}, but at most ${most} are supported; save it again or make it smaller`,
    { amount, most },
  )
