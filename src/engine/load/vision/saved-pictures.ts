// Images in the file of a saved session, with their bytes in base64.
import { fromBase64, toBase64 } from '../../../core/base/base64.ts'
import type { Message, PictureSource } from '../../types/conversation.ts'
import { fileOf } from './picture-file.ts'

/** A file with its media type, or pixels with their dimensions. */
interface SavedPicture {
  readonly base64: string
  readonly type?: string
  readonly width?: number
  readonly height?: number
}

/** The messages as JSON that `readMessages` reads. */
export const writtenMessages = (messages: readonly Message[]): Promise<readonly Message[]> =>
  Promise.all(
    messages.map(async (message) =>
      message.images === undefined
        ? message
        : { ...message, images: (await Promise.all(message.images.map(written))) as never },
    ),
  )

/** The messages of a saved session with their images. */
export const readMessages = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message) =>
    message.images === undefined
      ? message
      : { ...message, images: (message.images as readonly (PictureSource | SavedPicture)[]).map(read) },
  )

async function written(given: PictureSource): Promise<SavedPicture> {
  const picture = fileOf(given)
  if (picture instanceof Blob)
    return { type: picture.type, base64: toBase64(new Uint8Array(await picture.arrayBuffer())) }
  const { width, height, data } = picture
  return { width, height, base64: toBase64(data) }
}

function read(picture: PictureSource | SavedPicture): PictureSource {
  if (!('base64' in picture)) return picture
  const { base64, type = '', width, height } = picture
  const bytes = fromBase64(base64)
  if (width === undefined || height === undefined) return new Blob([bytes], { type })
  return { width, height, data: new Uint8ClampedArray(bytes.buffer) }
}
