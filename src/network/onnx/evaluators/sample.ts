// Evaluators of operators that sample, crop or scatter images.
import type { Evaluators } from '../evaluate.ts'
import { axisOf, walk } from '../ir/broadcast.ts'
import { type Evaluation, flagOf, floatOf, given, intOf, intsOf, stringOf, unfit } from '../ir/operator.ts'
import { countOf, numbersOf, reader, stridesOf, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { axesOf, lengthOf } from '../operators/images/conv.ts'
import { poolOf } from '../operators/images/pool.ts'
import { cubic } from '../operators/images/resize.ts'
import { roundEven } from '../operators/unary.ts'
import { evaluateDeformConv } from './deformed.ts'
import { windows } from './images.ts'

/** Mirrors a coordinate at both ends of a range until it is inside. */
function reflected(x: number, low: number, high: number): number {
  const range = high - low
  if (range <= 0) return low
  const away = Math.abs(x - low) % (2 * range)
  return low + (away > range ? 2 * range - away : away)
}

/** How the coordinates of one axis are read. */
interface GridAxis {
  readonly size: number
  readonly low: number
  readonly high: number
  readonly padding: string
}

/** The coordinate, moved into the image if it is outside; unchanged if the padding is zeros. */
function inside(x: number, { size, low, high, padding }: GridAxis): number {
  if (x >= low && x <= high) return x
  if (padding === 'border') return Math.min(Math.max(x, 0), size - 1)
  return padding === 'reflection' ? reflected(x, low, high) : x
}

/** The position of a pixel; -1 if it is padding of zeros. */
function pixelOf(at: number, axis: GridAxis): number {
  if (at >= 0 && at < axis.size) return at
  if (axis.padding === 'border') return Math.min(Math.max(at, 0), axis.size - 1)
  return axis.padding === 'reflection' ? Math.trunc(reflected(at, axis.low, axis.high)) : -1
}

/** The slope of cubic convolution at 1. */
const SLOPE = -0.75

/** The pixels along one axis that a coordinate reads, with their weights. */
function tapsAt(x: number, mode: string, axis: GridAxis): (readonly [pixel: number, weight: number])[] {
  const taps = (first: number, weights: readonly number[]) =>
    weights.map((weight, at) => [pixelOf(first + at, axis), weight] as const)
  if (mode === 'nearest') return taps(inside(roundEven(x), axis), [1])
  if (mode === 'cubic') {
    // Only the pixels are moved inside, as in torch.
    const first = Math.floor(x)
    const t = x - first
    return taps(
      first - 1,
      [t + 1, t, 1 - t, 2 - t].map((distance) => cubic(distance, SLOPE)),
    )
  }
  const at = inside(x, axis)
  const floor = Math.floor(at)
  return taps(floor, [1 - (at - floor), at - floor])
}

const MODES = new Map([
  ['bilinear', 'linear'],
  ['bicubic', 'cubic'],
])

/** Jaderberg et al. 2015, eq. 3. Coordinates are in the order of the last axis first. */
function evaluateGridSample(context: Evaluation): Tensor {
  const { node } = context
  const [x, grid] = [given(context, 0), given(context, 1)]
  const [batch = 0, channels = 0, ...sizes] = x.dims
  const places = grid.dims.slice(1, -1)
  const isFit =
    sizes.length > 0 &&
    grid.dims[0] === batch &&
    grid.dims.at(-1) === sizes.length &&
    places.length === sizes.length
  if (!isFit) throw unfit(node, `a grid of shape [${grid.dims}] does not fit images of shape [${x.dims}]`)
  const asked = stringOf(node, 'mode', 'linear')
  const mode = MODES.get(asked) ?? asked
  const isAligned = flagOf(node, 'align_corners')
  const padding = stringOf(node, 'padding_mode', 'zeros')
  const axes = sizes.map(
    (size): GridAxis => ({
      size,
      padding,
      low: isAligned ? 0 : -0.5,
      high: isAligned ? size - 1 : size - 0.5,
    }),
  )
  const [read, coordinate] = [reader(x), reader(grid)]
  const made = zeros(x.dtype, [batch, channels, ...places])
  const write = writer(made)
  const [area, count] = [countOf(sizes), countOf(places)]
  const strides = stridesOf(sizes)
  context.spend(made.data.length * (mode === 'cubic' ? 4 : 2) ** sizes.length)
  for (let place = 0; place < batch * count; place++) {
    let taps: (readonly [offset: number, weight: number])[] = [[0, 1]]
    for (const [axis, size] of sizes.entries()) {
      const unit = coordinate((place + 1) * sizes.length - 1 - axis)
      const at = isAligned ? ((unit + 1) / 2) * (size - 1) : ((unit + 1) * size - 1) / 2
      const own = tapsAt(at, mode, axes[axis]!)
      taps = taps.flatMap(([offset, weight]) =>
        own.flatMap(([pixel, share]) =>
          pixel < 0 ? [] : [[offset + pixel * strides[axis]!, weight * share] as const],
        ),
      )
    }
    const image = Math.floor(place / count)
    for (let channel = 0; channel < channels; channel++) {
      const plane = (image * channels + channel) * area
      const total = taps.reduce((sum, [offset, weight]) => sum + weight * read(plane + offset), 0)
      write((image * channels + channel) * count + (place % count), total)
    }
  }
  return made
}

/** Each position's coordinates from -1 to 1, last axis first, times the matrix of its image. */
function evaluateAffineGrid(context: Evaluation): Tensor {
  const { node } = context
  const theta = given(context, 0)
  const [batch = 0, , ...sizes] = numbersOf(given(context, 1))
  const axes = sizes.length
  if (`${theta.dims}` !== `${[batch, axes, axes + 1]}`)
    throw unfit(node, `matrices of shape [${theta.dims}] do not fit a grid of ${batch} x [${sizes}]`)
  const isAligned = flagOf(node, 'align_corners')
  const read = reader(theta)
  const made = zeros(theta.dtype, [batch, ...sizes, axes])
  const write = writer(made)
  const count = countOf(sizes)
  const strides = stridesOf(sizes)
  context.spend(made.data.length * axes)
  const unit = (at: number, size: number) => {
    if (!isAligned) return (2 * at + 1) / size - 1
    return size === 1 ? -1 : (2 * at) / (size - 1) - 1
  }
  for (let place = 0; place < count; place++) {
    const point = sizes.map((size, axis) => unit(Math.floor(place / strides[axis]!) % size, size)).reverse()
    for (let image = 0; image < batch; image++)
      for (let row = 0; row < axes; row++) {
        const from = (image * axes + row) * (axes + 1)
        const total = point.reduce((sum, each, at) => sum + read(from + at) * each, read(from + axes))
        write((image * count + place) * axes + row, total)
      }
  }
  return made
}

function evaluateCenterCropPad(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const sizes = numbersOf(given(context, 1))
  const rank = x.dims.length
  const axes = intsOf(node, 'axes', [...x.dims.keys()]).map((axis) => axisOf(node, axis, rank))
  if (axes.length !== sizes.length) throw unfit(node, `it has ${sizes.length} sizes for ${axes.length} axes`)
  const dims = x.dims.map((size, axis) => sizes[axes.indexOf(axis)] ?? size)
  const made = zeros(x.dtype, dims)
  // The size of the part that both have in common, which is centred in each.
  const common = dims.map((size, axis) => Math.min(size, x.dims[axis]!))
  const startIn = (own: readonly number[]) => {
    const strides = stridesOf(own)
    return own.reduce((sum, size, axis) => sum + Math.floor((size - common[axis]!) / 2) * strides[axis]!, 0)
  }
  const from = walk(common, stridesOf(x.dims), startIn(x.dims))
  const to = walk(common, stridesOf(dims), startIn(dims))
  for (let at = 0; at < from.length; at++) made.data[to[at]!] = x.data[from[at]!]!
  return made
}

function evaluateCol2Im(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const [image, block] = [numbersOf(given(context, 1)), numbersOf(given(context, 2))]
  const axes = axesOf(node, image, block)!
  const places = axes.map((axis, at) => lengthOf(axis, image[at]!) as number)
  const [taps, count, area] = [countOf(block), countOf(places), countOf(image)]
  const [batch = 0, rows = 0, columns] = x.dims
  const channels = rows / taps
  if (x.dims.length !== 3 || !Number.isInteger(channels) || columns !== count)
    throw unfit(
      node,
      `columns of shape [${x.dims}] do not fit blocks of [${block}] in an image of [${image}]`,
    )
  context.spend(x.data.length)
  const offsets = windows(axes, image, places)
  const sums = new Float64Array(countOf([batch, channels, area]))
  const read = reader(x)
  for (let plane = 0; plane < batch * channels; plane++)
    for (let tap = 0; tap < taps; tap++)
      for (let place = 0; place < count; place++) {
        const offset = offsets[place * taps + tap]!
        if (offset >= 0) sums[plane * area + offset]! += read((plane * taps + tap) * count + place)
      }
  return tensorOf(x.dtype, [batch, channels, ...image], sums)
}

function evaluateMaxUnpool(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [x, indices] = [given(context, 0), given(context, 1)]
  const kernel = intsOf(node, 'kernel_shape', [])
  const axes = axesOf(node, x.dims.slice(2), kernel)!
  const sizes = axes.map(
    ({ kernel: taps, stride, before, after }, at) => (x.dims[at + 2]! - 1) * stride + taps - before - after,
  )
  const plain = zeros(x.dtype, [...x.dims.slice(0, 2), ...sizes])
  const read = reader(indices)
  for (let at = 0; at < x.data.length; at++) {
    const to = read(at)
    if (!(to >= 0 && to < plain.data.length))
      throw unfit(node, `index ${to} is outside of ${plain.data.length} elements`)
    plain.data[to] = x.data[at]!
  }
  if (inputs[2] === undefined) return plain
  const made = zeros(x.dtype, numbersOf(inputs[2]))
  if (made.dims.length !== plain.dims.length || made.dims.some((size, axis) => size < plain.dims[axis]!))
    throw unfit(node, `it makes [${plain.dims}], which does not fit in [${made.dims}]`)
  const to = walk(plain.dims, stridesOf(made.dims))
  for (let at = 0; at < to.length; at++) made.data[to[at]!] = plain.data[at]!
  return made
}

/** Krizhevsky et al. 2012, section 3.3, with the mean of the squares instead of their sum. */
function evaluateLocalResponse(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const size = intOf(node, 'size', 1)
  const [alpha, beta] = [floatOf(node, 'alpha', 1e-4), floatOf(node, 'beta', 0.75)]
  const bias = floatOf(node, 'bias', 1)
  const channels = x.dims[1] ?? 1
  const area = countOf(x.dims.slice(2))
  const read = reader(x)
  const made = zeros(x.dtype, x.dims)
  const write = writer(made)
  context.spend(x.data.length * size)
  for (let at = 0; at < x.data.length; at++) {
    const channel = Math.floor(at / area) % channels
    const first = Math.max(0, channel - Math.floor((size - 1) / 2))
    const last = Math.min(channels - 1, channel + Math.ceil((size - 1) / 2))
    let sum = 0
    for (let each = first; each <= last; each++) sum += read(at + (each - channel) * area) ** 2
    write(at, read(at) / (bias + (alpha / size) * sum) ** beta)
  }
  return made
}

function evaluateLpPool(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const found = poolOf(node, x.dims.slice(2))!
  const places = found.places as readonly number[]
  const p = intOf(node, 'p', 2)
  const offsets = windows(found.axes, x.dims.slice(2), places)
  const [count, area] = [countOf(places), countOf(x.dims.slice(2))]
  const taps = count === 0 ? 0 : offsets.length / count
  const read = reader(x)
  const made = zeros(x.dtype, [...x.dims.slice(0, 2), ...places])
  const write = writer(made)
  context.spend(made.data.length * taps)
  for (let at = 0; at < made.data.length; at++) {
    const plane = Math.floor(at / count) * area
    let sum = 0
    for (let tap = 0; tap < taps; tap++) {
      const offset = offsets[(at % count) * taps + tap]!
      if (offset >= 0) sum += Math.abs(read(plane + offset)) ** p
    }
    write(at, sum ** (1 / p))
  }
  return made
}

export const SAMPLED: Evaluators = new Map([
  ['AffineGrid', (context) => [evaluateAffineGrid(context)]],
  ['CenterCropPad', (context) => [evaluateCenterCropPad(context)]],
  ['DeformConv', (context) => [evaluateDeformConv(context)]],
  ['Col2Im', (context) => [evaluateCol2Im(context)]],
  ['GridSample', (context) => [evaluateGridSample(context)]],
  ['LRN', (context) => [evaluateLocalResponse(context)]],
  ['LpPool', (context) => [evaluateLpPool(context)]],
  ['MaxUnpool', (context) => [evaluateMaxUnpool(context)]],
])
