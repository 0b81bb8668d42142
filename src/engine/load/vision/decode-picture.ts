// Decodes PNG and JPEG files outside browsers: in Node, Bun and Deno.
import { kindOf } from '../../../core/formats/pictures/check-picture.ts'
import type { Pixels } from '../../../core/formats/pixels.ts'
import { jpegPixels } from './decode/jpeg-pixels.ts'
import { pngPixels } from './decode/png-pixels.ts'

/**
 * The pixels of a file, upright: a JPEG file's own orientation is applied, as in browsers. Uses at most four
 * times the memory of the pixels, plus the file and 64 MB. Throws `unsupported` for an image above the
 * limits of `core/formats/pixels.ts`, and an `Error` with the reason for other types and damaged files.
 */
export function decodePicture(bytes: Uint8Array): Pixels {
  switch (kindOf(bytes)) {
    case 'png':
      return pngPixels(bytes)
    case 'jpeg':
      return jpegPixels(bytes)
    default:
      throw new Error('outside a browser, only PNG and JPEG are supported')
  }
}
