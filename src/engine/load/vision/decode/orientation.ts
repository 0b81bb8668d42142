// The orientation of a JPEG file (Exif 2.32, 4.6.4, tag 274), and rotating images accordingly.
import type { Pixels } from '../../../../core/formats/pixels.ts'

const ORIENTATION = 274
const SHORT = 3

/** The orientation of a JPEG file, 1 to 8; 1, upright, if it has none or a damaged one. */
export function orientationOf(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Segments before the scan: a marker, then a length that includes itself.
  for (let at = 2; at + 10 <= view.byteLength && view.getUint8(at) === 0xff; ) {
    const marker = view.getUint8(at + 1)
    const end = at + 2 + view.getUint16(at + 2)
    if (marker === 0xda || end > view.byteLength) return 1
    const isExif = marker === 0xe1 && view.getUint32(at + 4) === 0x45786966
    if (isExif && end >= at + 18)
      return exifOrientation(new DataView(view.buffer, view.byteOffset + at + 10, end - at - 10))
    at = end
  }
  return 1
}

/** `tiff`: the data from the byte order mark on. */
function exifOrientation(tiff: DataView): number {
  const little = tiff.getUint16(0) === 0x4949
  const start = tiff.getUint32(4, little)
  if (start + 2 > tiff.byteLength) return 1
  const count = tiff.getUint16(start, little)
  for (let entry = 0; entry < count; entry++) {
    const at = start + 2 + 12 * entry
    if (at + 12 > tiff.byteLength) return 1
    if (tiff.getUint16(at, little) !== ORIENTATION || tiff.getUint16(at + 2, little) !== SHORT) continue
    const orientation = tiff.getUint16(at + 8, little)
    return orientation >= 1 && orientation <= 8 ? orientation : 1
  }
  return 1
}

/** An upright copy of an image stored in this orientation, aligned to four bytes. */
export function uprightPixels({ width, height, data }: Pixels, orientation: number): Pixels {
  if (orientation === 1) return { width, height, data: data.slice() }
  const swaps = orientation >= 5
  const [wide, high] = swaps ? [height, width] : [width, height]
  // Upright rows and columns run along the stored ones, or against them.
  const isFromRight = orientation === 2 || orientation === 3 || orientation === 7 || orientation === 8
  const isFromBelow = orientation === 3 || orientation === 4 || orientation === 6 || orientation === 7
  const from = new Uint32Array(data.buffer, data.byteOffset, width * height)
  const to = new Uint32Array(wide * high)
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) {
      const [column, row] = swaps ? [y, x] : [x, y]
      const storedX = isFromRight ? width - 1 - column : column
      const storedY = isFromBelow ? height - 1 - row : row
      to[y * wide + x] = from[storedY * width + storedX]!
    }
  }
  return { width: wide, height: high, data: new Uint8ClampedArray(to.buffer) }
}
