// Decodes images and splits them into tiles: with the browser in a worker, otherwise with the host.
import { isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { checkPixels, type Pixels } from '../../../core/formats/pixels.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { type CutPicture, type CutRules, cutPicture } from '../../../core/vision/cut-picture.ts'
import type { PictureSource } from '../../types/conversation.ts'
import { browserPixels, checkFileSize, notDecoded } from './browser-pixels.ts'

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
  if (elsewhere === undefined) {
    const pixels = await browserPixels(source, signal)
    signal?.throwIfAborted()
    return cutPicture(rules, pixels)
  }
  checkFileSize(source)
  try {
    return await elsewhere(await source.bytes(), rules, signal)
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    signal?.throwIfAborted()
    throw notDecoded(source, reasonOf(cause), { cause, give: 'PNG or JPEG' })
  }
}
