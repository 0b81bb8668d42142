// Resizes pictures as Pillow's `Image.resize` does, to the bit: filters that widen when a picture shrinks,
// two passes, weights and sums in whole numbers.
//
// Source: Pillow 12, `src/libImaging/Resample.c`. From version 13 on, Pillow may resize columns before
// rows, which changes some bytes by 1; the processors of today's models were used with earlier versions.

/** Three bytes a pixel: red, green, blue; row by row. */
export interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array | Uint8ClampedArray
}

export type Filter = 'bilinear' | 'bicubic' | 'lanczos'

/** Bits after the point in a weight: 32 without those of a channel and two to spare. */
const PRECISION = 22

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI))

/** Weight at distance `x`, and the distance from which it is 0. */
const FILTERS: Readonly<Record<Filter, readonly [weight: (x: number) => number, support: number]>> = {
  bilinear: [(x) => Math.max(0, 1 - Math.abs(x)), 1],
  bicubic: [cubic, 2],
  lanczos: [(x) => (x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0), 3],
}

/** R. Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, with a = -1/2. */
function cubic(distance: number): number {
  const a = -0.5
  const x = Math.abs(distance)
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0
}

/** For each output: its first input, the number of its inputs, and their weights in a row of `most`. */
interface Weights {
  readonly first: Int32Array
  readonly count: Int32Array
  readonly values: Int32Array
  readonly most: number
}

function weightsOf(from: number, to: number, filter: Filter): Weights {
  const [weight, support] = FILTERS[filter]
  const scale = from / to
  const stretch = Math.max(1, scale)
  const reach = support * stretch
  const most = Math.ceil(reach) * 2 + 1
  const first = new Int32Array(to)
  const count = new Int32Array(to)
  const values = new Int32Array(to * most)
  const found = new Float64Array(most)
  for (let out = 0; out < to; out++) {
    const centre = (out + 0.5) * scale
    const start = Math.max(0, Math.trunc(centre - reach + 0.5))
    const end = Math.min(from, Math.trunc(centre + reach + 0.5))
    let sum = 0
    for (let at = start; at < end; at++) {
      const value = weight((at - centre + 0.5) * (1 / stretch))
      found[at - start] = value
      sum += value
    }
    first[out] = start
    count[out] = end - start
    for (let at = 0; at < end - start; at++) {
      const value = sum === 0 ? found[at]! : found[at]! / sum
      values[out * most + at] = Math.trunc(value * 2 ** PRECISION + (value < 0 ? -0.5 : 0.5))
    }
  }
  return { first, count, values, most }
}

const HALF = 1 << (PRECISION - 1)

/** Sides are at least 1. The same object if the sides stay. */
export function resize(picture: Picture, width: number, height: number, filter: Filter): Picture {
  const wide =
    picture.width === width ? picture : resizeRows(picture, weightsOf(picture.width, width, filter))
  return wide.height === height ? wide : resizeColumns(wide, weightsOf(wide.height, height, filter))
}

// hot
function resizeRows({ width, height, data }: Picture, { first, count, values, most }: Weights): Picture {
  const to = first.length
  const out = new Uint8ClampedArray(to * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < to; x++) {
      let red = HALF
      let green = HALF
      let blue = HALF
      let at = (y * width + first[x]!) * 3
      const start = x * most
      for (let i = start; i < start + count[x]!; i++) {
        const value = values[i]!
        red += value * data[at]!
        green += value * data[at + 1]!
        blue += value * data[at + 2]!
        at += 3
      }
      const target = (y * to + x) * 3
      out[target] = red >> PRECISION
      out[target + 1] = green >> PRECISION
      out[target + 2] = blue >> PRECISION
    }
  }
  return { width: to, height, data: out }
}

// hot
function resizeColumns({ width, data }: Picture, { first, count, values, most }: Weights): Picture {
  const to = first.length
  const row = width * 3
  const out = new Uint8ClampedArray(row * to)
  const sums = new Int32Array(row)
  for (let y = 0; y < to; y++) {
    sums.fill(HALF)
    for (let i = 0; i < count[y]!; i++) {
      const value = values[y * most + i]!
      const from = (first[y]! + i) * row
      for (let x = 0; x < row; x++) sums[x] = sums[x]! + value * data[from + x]!
    }
    for (let x = 0; x < row; x++) out[y * row + x] = sums[x]! >> PRECISION
  }
  return { width, height: to, data: out }
}

/** The part [left, left + width) by [top, top + height). */
export function crop(picture: Picture, left: number, top: number, width: number, height: number): Picture {
  const data = new Uint8ClampedArray(width * height * 3)
  for (let y = 0; y < height; y++) {
    const from = ((top + y) * picture.width + left) * 3
    data.set(picture.data.subarray(from, from + width * 3), y * width * 3)
  }
  return { width, height, data }
}
