// Pictures that a user attaches. In: files. Out: pictures that the browser can show and a vision model can
// read, or what is wrong with them. It loads with the first picture.
import { checkPicture } from '../../core/formats/pictures/check-picture.ts'
import { isPictureFile } from './picture-kind.ts'

/** A picture for a vision model: PNG, JPEG, WebP or anything else that the browser decodes. */
export interface Picture {
  readonly name: string
  readonly file: Blob
}

/** Why a file cannot be attached as a picture. Sizes are bytes. */
export type PictureFault =
  | { readonly reason: 'many'; readonly count: number; readonly most: number }
  | { readonly reason: 'large'; readonly name: string; readonly size: number; readonly most: number }
  | { readonly reason: 'other' | 'broken'; readonly name: string; readonly cause?: unknown }

/** Maximum bytes of one picture, which is stored unchanged. */
const MAX_BYTES = 20e6
/** Maximum number of pictures in one message. */
const MAX_PICTURES = 8

/** Checks a file and copies it: it may change or disappear on the device. */
export async function pictureOf(file: File): Promise<Picture | PictureFault> {
  // On one line, so that a message can quote it.
  const name = file.name.replaceAll(/\s+/g, ' ')
  if (!isPictureFile(file)) return { reason: 'other', name }
  if (file.size > MAX_BYTES) return { reason: 'large', name, size: file.size, most: MAX_BYTES }
  try {
    const content = await file.arrayBuffer()
    const copy = new Blob([content], { type: file.type })
    checkPicture(new Uint8Array(content))
    const bitmap = await createImageBitmap(copy)
    bitmap.close()
    return { name, file: copy }
  } catch (cause) {
    return { reason: 'broken', name, cause }
  }
}

/** The pictures of `files`, in addition to the `taken` ones of the same message, or the first fault. */
export async function picturesOf(
  files: readonly File[],
  taken: number,
): Promise<readonly Picture[] | PictureFault> {
  const count = files.length + taken
  if (count > MAX_PICTURES) return { reason: 'many', count, most: MAX_PICTURES }
  const read = await Promise.all(files.map(pictureOf))
  return read.find((each) => 'reason' in each) ?? read.filter((each) => 'file' in each)
}
