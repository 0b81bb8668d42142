// Decodes images and splits them into tiles: with the browser in a worker, otherwise with the host.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { checkPicture } from '../../../core/formats/pictures/check-picture.ts'
import { checkPixels, checkSides, MAX_FILE_BYTES, type Pixels } from '../../../core/formats/pixels.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { type CutPicture, type CutRules, cutPicture } from '../../../core/vision/cut-picture.ts'
import type { PictureSource } from '../../types/conversation.ts'

/** Bytes that identify the content: the file, or the dimensions and pixels. */
export async function pictureBytes(given: PictureSource): Promise<Uint8Array<ArrayBuffer>> {
  const source = fileOf(given)
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer())
  const { width, height, data } = source
  const head = new Uint8Array(Uint32Array.of(width, height).buffer)
  const bytes = new Uint8Array(head.length + data.length)
  bytes.set(head)
  bytes.set(data, head.length)
  return bytes
}

/** Bytes as a file; the decoder detects its type. */
export const fileOf = (source: PictureSource): Blob | Pixels =>
  source instanceof ArrayBuffer || source instanceof Uint8Array ? new Blob([source as BlobPart]) : source

/**
 * Decodes an image and splits it into tiles; of an animated image, the first frame. `elsewhere`: decodes
 * outside browsers. Throws `unsupported` for an image above the limits and if nothing can decode files,
 * `format` for a file that is damaged or not an image, and the signal's reason.
 */
export async function cutOf(
  given: PictureSource,
  rules: CutRules,
  elsewhere: Host['cutPicture'],
  signal?: AbortSignal,
): Promise<CutPicture> {
  const source = fileOf(given)
  if (!(source instanceof Blob)) {
    checkPixels(source)
    return elsewhere === undefined ? cutPicture(rules, source) : elsewhere(source, rules, signal)
  }
  if (source.size > MAX_FILE_BYTES) throw notDecoded(source, `it has more than ${MAX_FILE_BYTES} bytes`)
  try {
    if (elsewhere !== undefined) return await elsewhere(await source.bytes(), rules, signal)
    checkPicture(await source.bytes())
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    signal?.throwIfAborted()
    throw notDecoded(source, reasonOf(cause), { cause, ...(elsewhere && { give: 'PNG or JPEG' }) })
  }
  const pixels = await browserPixels(source)
  signal?.throwIfAborted()
  return cutPicture(rules, pixels)
}

async function browserPixels(source: Blob): Promise<Pixels> {
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
    throw new HalfbyteError(
      'unsupported',
      'this browser does not decode images in workers; update it, or pass { width, height, data }',
    )
  }
  const bitmap = await createImageBitmap(source).catch((cause: unknown) => {
    throw notDecoded(source, reasonOf(cause), { cause })
  })
  try {
    const { width, height } = bitmap
    checkSides(width, height)
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })
    if (context === null) throw notDecoded(source, 'the browser did not provide a canvas to read it from')
    context.drawImage(bitmap, 0, 0)
    return { width, height, data: context.getImageData(0, 0, width, height).data }
  } finally {
    bitmap.close()
  }
}

/** `give`: the supported formats. A library's reason may end in a colon. */
function notDecoded(
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
