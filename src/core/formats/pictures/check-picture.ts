// Detects an image's file type and checks its header against the limits, before a browser decodes it.
import { checkSides } from '../pixels.ts'
import { readJpeg } from './jpeg.ts'
import { readPng } from './png.ts'

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
const GIF = [0x47, 0x49, 0x46, 0x38]

const startsWith = (bytes: Uint8Array, head: readonly number[]) =>
  head.every((byte, at) => bytes[at] === byte)

/** Undefined for any other type. */
export function kindOf(bytes: Uint8Array): 'png' | 'jpeg' | 'gif' | 'webp' | undefined {
  if (startsWith(bytes, PNG)) return 'png'
  if (startsWith(bytes, JPEG)) return 'jpeg'
  if (startsWith(bytes, GIF)) return 'gif'
  const text = (from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to))
  return text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP' ? 'webp' : undefined
}

/**
 * Throws `unsupported` for a PNG, JPEG, GIF or WebP whose header exceeds the limits, and an `Error` with the
 * reason for a damaged one. Other types pass.
 */
export function checkPicture(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (kindOf(bytes)) {
    case 'png':
      readPng(bytes)
      return
    case 'jpeg':
      readJpeg(bytes)
      return
    case 'gif':
      if (bytes.length < 10) throw new Error('it ends early')
      checkSides(view.getUint16(6, true), view.getUint16(8, true))
      return
    case 'webp':
      checkWebp(view)
      return
    default:
  }
}

/** Google, "WebP Container Specification" and "WebP Lossless Bitstream Specification"; RFC 6386, 9.1. */
function checkWebp(view: DataView): void {
  if (view.byteLength < 30) throw new Error('it ends early')
  const three = (at: number) => view.getUint16(at, true) + 65_536 * view.getUint8(at + 2)
  const chunk = view.getUint32(12)
  if (chunk === 0x56503858) checkSides(three(24) + 1, three(27) + 1)
  else if (chunk === 0x56503820)
    checkSides(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff)
  else if (chunk === 0x5650384c) {
    const bits = view.getUint32(21, true)
    checkSides(1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff))
  } else throw new Error('it has no frame')
}
