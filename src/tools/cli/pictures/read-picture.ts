// A picture for a message. In: a path. Out: the bytes of a PNG or JPEG, known to be readable.
import { readFile } from 'node:fs/promises'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { decodePicture } from '../../../engine/load/vision/decode-picture.ts'
import { systemError } from '../terminal/failure.ts'

/**
 * Throws `format` if the file is missing or isn't a PNG or JPEG, `unsupported` if it is too large.
 */
export async function readPicture(path: string): Promise<Uint8Array> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw systemError(cause, 'format', `the picture ${path} cannot be read`, 'check the path')
  })
  try {
    decodePicture(bytes)
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    const why = `the picture ${path} cannot be read: ${reasonOf(cause)}; give a PNG or JPEG`
    throw new HalfbyteError('format', why, { path }, { cause })
  }
  return bytes
}
