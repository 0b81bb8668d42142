// Turns a picture into a network's input tensor.
import { checkKeys, readFrom, wrongOption } from '../../core/base/check-options.ts'
import { ANY, checkValues, choice, type OptionKind } from '../../core/base/options/option-kinds.ts'
import { isObject } from '../../core/base/values.ts'
import { checkPixels, checkSides, type Pixels } from '../../core/formats/pixels.ts'
import { opaque } from '../../core/vision/opaque.ts'
import { type Picture, resizeRows } from '../../core/vision/resize.ts'
import type { NetworkTensor } from './tensors.ts'

/**
 * A picture: a PNG, JPEG or WebP file (`Blob`, only in browsers), anything that a canvas draws
 * (`ImageBitmap`, a canvas, an `<img>` that has loaded, a `<video>`, also only in browsers), or pixels:
 * `ImageData`, or `{ width, height, data }` with four bytes per pixel (red, green, blue, opacity), row by row
 * from the top left.
 */
export type NetworkPicture = Blob | Exclude<CanvasImageSource, SVGImageElement> | ImageData | Pixels

/** Options of `pictureTensor`. */
export interface PictureOptions {
  /** Width and height of the tensor in pixels, or the side of a square. */
  readonly size: number | readonly [width: number, height: number]
  /**
   * Subtracted from each channel, in units of the full range (0 to 1); one number, or one per channel in the
   * tensor's order. Default: 0.
   */
  readonly mean?: number | readonly number[] | undefined
  /**
   * Divides each channel after `mean` is subtracted, in the same units: an element is (byte / 255 - mean) /
   * std. 1 / 255 keeps bytes from 0 to 255. Default: 1.
   */
  readonly std?: number | readonly number[] | undefined
  /** Order of the axes: [1, channels, height, width] or [1, height, width, channels]. Default: `nchw`. */
  readonly layout?: 'nchw' | 'nhwc' | undefined
  /**
   * How to fit a picture with a different aspect ratio. `stretch`: fills the tensor, distorting the picture.
   * `letterbox`: keeps the aspect ratio and adds bars on both sides. `crop`: keeps the aspect ratio and crops
   * to the center. Default: `stretch`.
   */
  readonly fit?: 'stretch' | 'letterbox' | 'crop' | undefined
  /** Order of the channels. Default: `rgb`. */
  readonly channels?: 'rgb' | 'bgr' | undefined
  /** Colour of the bars: a byte, or red, green and blue as bytes. Default: 0, black. */
  readonly pad?: number | readonly number[] | undefined
}

/** A tensor, and where the picture is in it. */
export interface PictureTensor {
  /** One picture in `f32`, with the dims of the layout. */
  readonly tensor: NetworkTensor & { readonly dtype: 'f32'; readonly data: Float32Array }
  /** Pixels of the tensor per pixel of the picture, horizontally and vertically. */
  readonly scale: readonly [x: number, y: number]
  /**
   * Pixels from the tensor's upper left corner to the picture's; negative if it was cropped. A point of the
   * tensor is at `(x - offset[0]) / scale[0], (y - offset[1]) / scale[1]` in the picture.
   */
  readonly offset: readonly [x: number, y: number]
  /** Size of the picture in pixels. */
  readonly width: number
  readonly height: number
}

const isNumbers = (value: unknown, fits: (each: number) => boolean): boolean => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value, value, value]
  return list.length === 3 && list.every((each) => typeof each === 'number' && fits(each))
}

const OPTIONS = {
  size: ANY,
  mean: { wanted: 'a number or three', fits: (value) => isNumbers(value, Number.isFinite) },
  std: {
    wanted: 'a number other than 0, or three',
    fits: (value) => isNumbers(value, (each) => Number.isFinite(each) && each !== 0),
  },
  layout: choice(['nchw', 'nhwc']),
  fit: choice(['stretch', 'letterbox', 'crop']),
  channels: choice(['rgb', 'bgr']),
  pad: {
    wanted: 'a byte from 0 to 255, or three',
    fits: (value) => isNumbers(value, (each) => each >= 0 && each <= 255),
  },
} satisfies Record<keyof PictureOptions, OptionKind>

/**
 * Resizes a picture, normalizes its channels and returns it as a tensor, with scale and offset to map boxes
 * back. Transparent pixels are blended with white. The filter is bilinear with antialiasing, as in Pillow and
 * torchvision; OpenCV's bilinear filter has no antialiasing.
 *
 * ```ts
 * const { tensor } = await pictureTensor(file, {
 *   size: 224, fit: 'crop', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225],
 * })
 * const { logits } = await network.run({ pixel_values: tensor })
 * ```
 *
 * Rejects with `unsupported` for a picture or a size that is empty or exceeds 16,384 pixels per side or 2^26
 * in total, for an option out of range, and for files outside of browsers; with `format` for a damaged file.
 */
export async function pictureTensor(
  picture: NetworkPicture,
  options: PictureOptions,
): Promise<PictureTensor> {
  const {
    size,
    mean = 0,
    std = 1,
    layout = 'nchw',
    fit = 'stretch',
    channels = 'rgb',
    pad = 0,
  } = checkedOptions(options)
  const [width, height] = sidesOf(size)
  const pixels = await pixelsOf(picture)
  const { inner, part, offset } = placeOf(pixels, width, height, fit)
  const resized = resizeRows(opaque(pixels), inner[0], inner[1], 'bilinear', { part })
  const order = channels === 'rgb' ? RGB : BGR
  const [means, stds, colour] = [three(mean), three(std), three(pad)]
  const bars = order.map((channel, at) => (colour[channel]! / 255 - means[at]!) / stds[at]!)
  const placed = { picture: resized, left: Math.max(0, offset[0]), top: Math.max(0, offset[1]) }
  const steps = layout === 'nchw' ? { pixel: 1, channel: width * height } : { pixel: 3, channel: 1 }
  const data = new Float32Array(width * height * 3)
  for (const [at, channel] of order.entries()) {
    const scaling = { from: channel, mean: means[at]!, std: stds[at]!, bar: bars[at]! }
    writeChannel(data, placed, { width, height, step: steps.pixel, first: at * steps.channel }, scaling)
  }
  const dims = layout === 'nchw' ? [1, 3, height, width] : [1, height, width, 3]
  return {
    tensor: { dtype: 'f32', dims, data },
    scale: [inner[0] / pixels.width, inner[1] / pixels.height],
    offset,
    width: pixels.width,
    height: pixels.height,
  }
}

const RGB = [0, 1, 2]
const BGR = [2, 1, 0]
const three = (value: number | readonly number[]): readonly number[] =>
  typeof value === 'number' ? [value, value, value] : value

function checkedOptions(options: PictureOptions): PictureOptions {
  return readFrom('the options', () => {
    checkKeys('the options', options, Object.keys(OPTIONS))
    checkValues(OPTIONS, options)
    return options
  })
}

function sidesOf(size: unknown): readonly [width: number, height: number] {
  const sides = Array.isArray(size) ? size : [size, size]
  if (sides.length !== 2 || !sides.every(Number.isInteger))
    throw wrongOption('size', size, 'a number of pixels, or [width, height]')
  const [width, height] = sides as [number, number]
  checkSides(width, height)
  return [width, height]
}

/** Reads the pixels. Pages decode files and draw images; elsewhere pixels are given. */
async function pixelsOf(picture: unknown): Promise<Pixels> {
  const isPicture = isObject(picture)
  if (isPicture && ArrayBuffer.isView(picture['data'])) {
    const pixels = picture as unknown as Pixels
    checkPixels(pixels)
    return pixels
  }
  if (!isPicture || (typeof OffscreenCanvas !== 'function' && !(picture instanceof Blob)))
    throw wrongOption('the picture', picture, 'pixels { width, height, data } with four bytes each')
  const { browserPixels, drawnPixels } = await import('../../engine/load/vision/browser-pixels.ts')
  if (picture instanceof Blob) return browserPixels(picture)
  const image = picture as unknown as ImageBitmap & HTMLImageElement & HTMLVideoElement & VideoFrame
  const width = image.videoWidth ?? image.naturalWidth ?? image.displayWidth ?? image.width
  const height = image.videoHeight ?? image.naturalHeight ?? image.displayHeight ?? image.height
  return readFrom('the picture', () => drawnPixels(image, { width, height }))
}

interface Placement {
  /** Size of the whole picture, resized. */
  readonly inner: readonly [width: number, height: number]
  /** The part of the resized picture that is in the tensor. */
  readonly part: {
    readonly left: number
    readonly top: number
    readonly width: number
    readonly height: number
  }
  readonly offset: readonly [x: number, y: number]
}

function placeOf(
  picture: Pick<Pixels, 'width' | 'height'>,
  width: number,
  height: number,
  fit: NonNullable<PictureOptions['fit']>,
): Placement {
  const [across, down] = [width / picture.width, height / picture.height]
  const either = fit === 'crop' ? Math.max(across, down) : Math.min(across, down)
  const inner = (side: number) => Math.max(1, Math.round(side * either))
  const own = fit === 'stretch' ? [width, height] : [inner(picture.width), inner(picture.height)]
  const [wide, high] = own as [number, number]
  const offset = [Math.trunc((width - wide) / 2), Math.trunc((height - high) / 2)] as const
  const part = {
    left: Math.max(0, -offset[0]),
    top: Math.max(0, -offset[1]),
    width: Math.min(width, wide),
    height: Math.min(height, high),
  }
  return { inner: [wide, high], part, offset }
}

/** Where a channel's elements are in the tensor. */
interface Plane {
  readonly width: number
  readonly height: number
  readonly step: number
  readonly first: number
}

/** The source's channel, and how its bytes become elements. `bar`: the byte outside the picture. */
interface Scaling {
  readonly from: number
  readonly mean: number
  readonly std: number
  readonly bar: number
}

// hot
function writeChannel(
  out: Float32Array,
  { picture, left, top }: { readonly picture: Picture; readonly left: number; readonly top: number },
  { width, height, step, first }: Plane,
  { from, mean, std, bar }: Scaling,
): void {
  const values = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / std)
  const { width: wide, height: high, data } = picture
  let to = first
  for (let y = 0; y < height; y++) {
    const row = y - top
    for (let x = 0; x < width; x++, to += step) {
      const column = x - left
      const isInside = row >= 0 && row < high && column >= 0 && column < wide
      out[to] = isInside ? values[data[(row * wide + column) * 3 + from]!]! : bar
    }
  }
}
