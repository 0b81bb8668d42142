// Decodes pictures in the engine's worker.
import { HalfbyteError, reasonOf } from '../../../base/errors.ts'
import type { Pixels } from '../../../formats/pixels.ts'
import type { Host } from '../../../runtime/host.ts'
import type { PictureSource } from '../../wire/protocol.ts'

/** Bytes that name the content: the file, or the sizes and pixels. */
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

/** Bytes as a file; the decoder finds out its type. */
export const fileOf = (source: PictureSource): Blob | Pixels =>
  source instanceof ArrayBuffer || source instanceof Uint8Array ? new Blob([source as BlobPart]) : source

const MOST_BYTES = 1 << 28

/**
 * The pixels of a picture; of an animated one, those of its first frame. `decode`: where no browser does it.
 * Throws `unsupported` where nothing decodes files, and `format` for a file that is damaged or not a
 * picture.
 */
export async function pixelsOf(given: PictureSource, decode: Host['decodePicture']): Promise<Pixels> {
  const source = fileOf(given)
  if (!(source instanceof Blob)) return source
  if (source.size > MOST_BYTES) throw notDecoded(source, `it has more than ${MOST_BYTES} bytes`)
  if (decode === undefined) return browserPixels(source)
  try {
    return await decode(await source.bytes())
  } catch (cause) {
    throw notDecoded(source, reasonOf(cause), { cause, give: 'PNG or JPEG' })
  }
}

async function browserPixels(source: Blob): Promise<Pixels> {
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
    throw new HalfbyteError(
      'unsupported',
      'this browser does not decode pictures in workers; update it, or pass { width, height, data }',
    )
  }
  const bitmap = await createImageBitmap(source).catch((cause: unknown) => {
    throw notDecoded(source, reasonOf(cause), { cause })
  })
  try {
    const { width, height } = bitmap
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })
    if (context === null) throw notDecoded(source, 'the browser gives no canvas to read it from')
    context.drawImage(bitmap, 0, 0)
    return { width, height, data: context.getImageData(0, 0, width, height).data }
  } finally {
    bitmap.close()
  }
}

/** `give`: what is decoded here. A library's reason may end in a colon. */
function notDecoded(
  { type, size }: Blob,
  reason: string,
  { cause, give = 'PNG, JPEG or WebP' }: { readonly cause?: unknown; readonly give?: string } = {},
): HalfbyteError {
  const kind = type === '' ? '' : ` (${type})`
  return new HalfbyteError(
    'format',
    `a picture of ${size} bytes${kind} cannot be decoded: ${reason.replace(/:\s*$/, '')}; give a ${give}`,
    { type, bytes: size },
    cause === undefined ? undefined : { cause },
  )
}
