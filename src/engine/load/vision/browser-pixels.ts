// Decodes image files with the browser, and reads the pixels of images that it draws.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { checkPicture } from '../../../core/formats/pictures/check-picture.ts'
import { checkSides, MAX_FILE_BYTES, type Pixels } from '../../../core/formats/pixels.ts'

type Sides = Pick<Pixels, 'width' | 'height'>

/**
 * Checks and decodes a PNG, JPEG or WebP file with the browser; of an animated image, the first frame. Throws
 * `unsupported` for an image above the limits and where nothing decodes files, `format` for a file that is
 * damaged or not an image, and the signal's reason.
 */
export async function browserPixels(source: Blob, signal?: AbortSignal): Promise<Pixels> {
  checkFileSize(source)
  try {
    checkPicture(await source.bytes())
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    signal?.throwIfAborted()
    throw notDecoded(source, reasonOf(cause), { cause })
  }
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
    throw new HalfbyteError(
      'unsupported',
      'image files cannot be decoded here; update the browser, or pass { width, height, data }',
    )
  }
  const bitmap = await createImageBitmap(source).catch((cause: unknown) => {
    throw notDecoded(source, reasonOf(cause), { cause })
  })
  try {
    return drawnPixels(bitmap, bitmap)
  } finally {
    bitmap.close()
  }
}

/** Reads the pixels of anything that a canvas can draw. Throws `unsupported` for impossible dimensions. */
export function drawnPixels(image: CanvasImageSource, { width, height }: Sides): Pixels {
  checkSides(width, height)
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })
  if (context === null)
    throw new HalfbyteError(
      'unsupported',
      'the browser provided no canvas to read the image from; close some tabs',
    )
  context.drawImage(image, 0, 0)
  return { width, height, data: context.getImageData(0, 0, width, height).data }
}

/** Throws `format` for a file above the limit. */
export function checkFileSize(source: Blob): void {
  if (source.size > MAX_FILE_BYTES) throw notDecoded(source, `it has more than ${MAX_FILE_BYTES} bytes`)
}

/** `give`: the supported formats. A library's reason may end in a colon. */
export function notDecoded(
  { type, size }: Blob,
  reason: string,
  { cause, give = 'PNG, JPEG or WebP' }: { readonly cause?: unknown; readonly give?: string } = {},
): HalfbyteError {
  const kind = type === '' ? '' : ` (${type})`
  return new HalfbyteError(
    'format',
    `an image of ${size} bytes${kind} cannot be decoded: ${reason.replace(/:\s*$/, '')}; give a ${give}`,
    { part: 'image', type, bytes: size },
    cause === undefined ? undefined : { cause },
  )
}
