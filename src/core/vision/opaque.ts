// Places an image with opacity on a white background.
import type { Pixels } from '../formats/pixels.ts'
import type { Rows } from './resize.ts'

/** Transparent pixels show a white background. */
// hot
export function opaque({ width, height, data }: Pixels): Rows {
  const rgb = new Uint8ClampedArray(width * 3)
  return {
    width,
    height,
    row(y) {
      for (let from = 4 * y * width, to = 0; to < rgb.length; from += 4, to += 3) {
        const alpha = data[from + 3]!
        if (alpha === 255) {
          rgb[to] = data[from]!
          rgb[to + 1] = data[from + 1]!
          rgb[to + 2] = data[from + 2]!
        } else {
          for (let i = 0; i < 3; i++) rgb[to + i] = 255 + ((data[from + i]! - 255) * alpha) / 255
        }
      }
      return rgb
    },
  }
}
