// Resizes images with the same bits as Pillow's `Image.resize`: filters that widen when an image shrinks, two
// passes, integer weights and sums.
//
// Source: Pillow 12, `src/libImaging/Resample.c`. From version 13 on, Pillow may resize columns before
// rows, which changes some bytes by 1; today's models were trained with earlier versions.

/** Three bytes per pixel: red, green, blue; row by row. */
export interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array | Uint8ClampedArray
}

export type Filter = 'bilinear' | 'bicubic' | 'lanczos'

/** Fractional bits of a weight: 32 minus those of a channel and two spare bits. */
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

/** An image whose rows are computed one after another, so that none has to be stored. */
export interface Rows {
  readonly width: number
  readonly height: number
  /** The bytes of a row, three per pixel; valid until the next call. */
  readonly row: (y: number) => Uint8Array | Uint8ClampedArray
}

/** A rectangle in pixels. */
interface Area {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** A larger image of one colour (red, green, blue) with the rows placed at `left` and `top`. */
export interface Frame extends Area {
  readonly colour: readonly number[]
}

interface ResizeOptions {
  /** The requested part of the result. Default: all of it. */
  readonly part?: Area | undefined
  /** A frame that is resized along with the rows. */
  readonly frame?: Frame | undefined
}

/**
 * For each output: its first input, the number of inputs, their weights in a row of `most`, and the sum of
 * the weights that fall on the frame.
 */
interface Weights {
  readonly first: Int32Array
  readonly count: Int32Array
  readonly values: Int32Array
  readonly framed: Int32Array
  readonly most: number
}

/** One dimension of an image: `own` inputs, starting at index `offset` of `from`. */
interface Side {
  readonly from: number
  readonly to: number
  readonly offset: number
  readonly own: number
  /** The first requested output, and the number of outputs. */
  readonly start: number
  readonly wanted: number
}

function weightsOf({ from, to, offset, own, start, wanted }: Side, filter: Filter): Weights {
  const [weight, support] = FILTERS[filter]
  const scale = from / to
  const stretch = Math.max(1, scale)
  const reach = support * stretch
  const most = Math.min(own, Math.ceil(reach) * 2 + 1)
  const first = new Int32Array(wanted)
  const count = new Int32Array(wanted)
  const framed = new Int32Array(wanted)
  const values = new Int32Array(wanted * most)
  const found = new Float64Array(Math.ceil(reach) * 2 + 1)
  for (let out = 0; out < wanted; out++) {
    const centre = (start + out + 0.5) * scale
    const begin = Math.max(0, Math.trunc(centre - reach + 0.5))
    const end = Math.min(from, Math.trunc(centre + reach + 0.5))
    let sum = 0
    for (let at = begin; at < end; at++) {
      const value = weight((at - centre + 0.5) * (1 / stretch))
      found[at - begin] = value
      sum += value
    }
    const inner = Math.min(Math.max(begin, offset), offset + own)
    first[out] = inner - offset
    for (let at = begin; at < end; at++) {
      const value = sum === 0 ? found[at - begin]! : found[at - begin]! / sum
      const whole = Math.trunc(value * 2 ** PRECISION + (value < 0 ? -0.5 : 0.5))
      if (at < inner || at >= offset + own) framed[out]! += whole
      else values[out * most + count[out]!++] = whole
    }
  }
  return { first, count, values, framed, most }
}

const HALF = 1 << (PRECISION - 1)

/** Dimensions are at least 1. Returns the same object if the dimensions do not change. */
export const resize = (picture: Picture, width: number, height: number, filter: Filter): Picture =>
  picture.width === width && picture.height === height
    ? picture
    : resizeRows(rowsOf(picture), width, height, filter)

const rowsOf = ({ width, height, data }: Picture): Rows => ({
  width,
  height,
  row: (y) => data.subarray(y * width * 3, (y + 1) * width * 3),
})

/**
 * Like `resize`, for rows. Needs memory for the part and, at the part's width, for the input rows that the
 * part depends on.
 */
export function resizeRows(
  rows: Rows,
  width: number,
  height: number,
  filter: Filter,
  { part, frame }: ResizeOptions = {},
): Picture {
  const { left, top, width: wide, height: high } = part ?? { left: 0, top: 0, width, height }
  const { colour, ...outer } = frame ?? { ...rows, left: 0, top: 0, colour: BLACK }
  const across = { from: outer.width, to: width, offset: outer.left, own: rows.width }
  const down = { from: outer.height, to: height, offset: outer.top, own: rows.height }
  const columns = weightsOf({ ...across, start: left, wanted: wide }, filter)
  const lines = weightsOf({ ...down, start: top, wanted: high }, filter)
  return resizeLines(resizeEach(rows, columns, lines, colour), lines, framedRow(columns, colour))
}

const BLACK: readonly number[] = [0, 0, 0]

/** Rows of the result's width, from row `start` of the image. */
interface Band extends Picture {
  readonly start: number
}

/** Computes the rows that `lines` needs. */
// hot
function resizeEach(rows: Rows, columns: Weights, lines: Weights, colour: readonly number[]): Band {
  const { first, count, values, framed, most } = columns
  const [start, end] = neededRows(lines)
  const [red0 = 0, green0 = 0, blue0 = 0] = colour
  const to = first.length
  const out = new Uint8ClampedArray(to * (end - start) * 3)
  for (let y = start, target = 0; y < end; y++) {
    const data = rows.row(y)
    for (let x = 0; x < to; x++, target += 3) {
      const outside = framed[x]!
      let red = HALF + outside * red0
      let green = HALF + outside * green0
      let blue = HALF + outside * blue0
      let at = first[x]! * 3
      const from = x * most
      const last = from + count[x]!
      for (let i = from; i < last; i++) {
        const value = values[i]!
        red += value * data[at]!
        green += value * data[at + 1]!
        blue += value * data[at + 2]!
        at += 3
      }
      out[target] = red >> PRECISION
      out[target + 1] = green >> PRECISION
      out[target + 2] = blue >> PRECISION
    }
  }
  return { width: to, height: end - start, data: out, start }
}

function neededRows({ first, count }: Weights): [start: number, end: number] {
  let start = Number.POSITIVE_INFINITY
  let end = 0
  for (const [at, row] of first.entries()) {
    if (count[at] === 0) continue
    start = Math.min(start, row)
    end = Math.max(end, row + count[at]!)
  }
  return [Math.min(start, end), end]
}

/** A row that consists only of the frame, in the width of the result. */
function framedRow({ first, count, values, framed, most }: Weights, colour: readonly number[]): Picture {
  const data = new Uint8ClampedArray(first.length * 3)
  for (let x = 0; x < first.length; x++) {
    let sum = framed[x]!
    for (let i = 0; i < count[x]!; i++) sum += values[x * most + i]!
    for (let channel = 0; channel < 3; channel++)
      data[x * 3 + channel] = (HALF + sum * colour[channel]!) >> PRECISION
  }
  return { width: first.length, height: 1, data }
}

// hot
function resizeLines({ width, data, start }: Band, lines: Weights, { data: outside }: Picture): Picture {
  const { first, count, values, framed, most } = lines
  const to = first.length
  const row = width * 3
  const out = new Uint8ClampedArray(row * to)
  const sums = new Int32Array(row)
  for (let y = 0; y < to; y++) {
    const share = framed[y]!
    for (let x = 0; x < row; x++) sums[x] = HALF + share * outside[x]!
    for (let i = 0; i < count[y]!; i++) {
      const value = values[y * most + i]!
      const from = (first[y]! - start + i) * row
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
