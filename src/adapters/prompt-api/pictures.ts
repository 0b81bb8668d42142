// Images in prompts of the Prompt API. In: the value of a part. Out: an image as in our own messages.
import { wrongOption } from '../../core/base/check-options.ts'
import { checkSides } from '../../core/formats/pixels.ts'
import type { PictureSource } from '../../engine/api/types.ts'

/** The size properties of images, videos, video frames and canvases; an image's natural size comes first. */
const SIDES = [
  ['naturalWidth', 'naturalHeight'],
  ['videoWidth', 'videoHeight'],
  ['displayWidth', 'displayHeight'],
  ['width', 'height'],
] as const

/**
 * The file, bytes or pixels of an image at the time of the prompt. Throws TypeError for other values,
 * `unsupported` for images above the limits, and `SecurityError` for images from another origin.
 */
export function pictureOf(value: unknown): PictureSource {
  if (value instanceof Blob || value instanceof ArrayBuffer) return value
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
  if (typeof ImageData === 'function' && value instanceof ImageData) return value
  if (typeof value === 'object' && value !== null) {
    const sizes = value as Readonly<Record<string, unknown>>
    const [width, height] = (SIDES.find(([side]) => side in sizes) ?? []).map((side) => sizes[side])
    if (isSide(width) && isSide(height) && typeof OffscreenCanvas === 'function')
      return drawn(value as CanvasImageSource, width, height)
  }
  throw wrongOption(
    'the value of a part of the type "image"',
    value,
    'a Blob, bytes, ImageData, or an image, canvas or video frame that has finished loading',
  )
}

const isSide = (side: unknown): side is number =>
  typeof side === 'number' && Number.isInteger(side) && side > 0

function drawn(source: CanvasImageSource, width: number, height: number): ImageData {
  checkSides(width, height)
  const context = new OffscreenCanvas(width, height).getContext('2d')
  if (context === null)
    throw new TypeError(`an image of ${width} x ${height} pixels cannot be drawn; pass a Blob`)
  context.drawImage(source, 0, 0)
  return context.getImageData(0, 0, width, height)
}
