// Evaluators of image operators: convolutions, pooling, resizing, and moving channels to positions.
import type { Evaluators } from '../evaluate.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, flagOf, floatOf, given, intOf, unfit, wants } from '../ir/operator.ts'
import { countOf, reader, stridesOf, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { type Axis, axesOf, lengthOf, spreadAxes } from '../operators/images/conv.ts'
import { countedTaps, type PoolAxis, poolOf } from '../operators/images/pool.ts'
import {
  blocksOf,
  isCropped,
  isResized,
  listed,
  originOf,
  type Scaling,
  scalingsOf,
  tapsOf,
} from '../operators/images/resize.ts'

export function evaluateConv(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = given(context, 0)
  const filters = given(context, 1)
  const bias = inputs[2]
  const group = intOf(node, 'group', 1)
  const [batch, channels] = x.dims
  const [count, perGroup] = filters.dims
  const isFit =
    filters.dims.length === x.dims.length &&
    x.dims.length > 2 &&
    group >= 1 &&
    channels === perGroup! * group &&
    count! % group === 0 &&
    (bias === undefined || `${bias.dims}` === `${count}`)
  if (!isFit)
    throw unfit(
      node,
      `filters of shape [${filters.dims}] in ${group} groups do not fit its input [${x.dims}]`,
    )
  const axes = axesOf(node, x.dims.slice(2), filters.dims.slice(2))!
  const places = axes.map((axis, at) => lengthOf(axis, x.dims[at + 2]!) as number)
  if (places.some((size) => size < 0)) throw unfit(node, `its window is larger than its input [${x.dims}]`)
  const made = zeros(x.dtype, [batch!, count!, ...places])
  context.spend(made.data.length * countOf(filters.dims.slice(1)))
  const offsets = windows(axes, x.dims.slice(2), places)
  const taps = countOf(filters.dims.slice(2))
  const area = countOf(x.dims.slice(2))
  const read = reader(x)
  const weights = Float64Array.from(filters.data as ArrayLike<number>)
  const shift = bias && reader(bias)
  const write = writer(made)
  const each = count! / group
  const positions = countOf(places)
  const depth = perGroup! * taps
  const patch = new Float64Array(depth)
  const inside = new Int32Array(depth)
  for (let block = 0; block < batch! * group; block++)
    for (let place = 0; place < positions; place++) {
      // The elements of this group's channels in the window. Padding is skipped, so its weights have no
      // effect.
      let filled = 0
      for (let channel = 0; channel < perGroup!; channel++)
        for (let tap = 0; tap < taps; tap++) {
          const offset = offsets[place * taps + tap]!
          if (offset < 0) continue
          patch[filled] = read((block * perGroup! + channel) * area + offset)
          inside[filled++] = channel * taps + tap
        }
      for (let own = 0; own < each; own++) {
        const filter = (block % group) * each + own
        let total = shift?.(filter) ?? 0
        for (let at = 0; at < filled; at++) total += patch[at]! * weights[filter * depth + inside[at]!]!
        write((Math.floor(block / group) * count! + filter) * positions + place, total)
      }
    }
  return made
}

/** For each position and tap of the window, the position in the input; -1 in the padding. */
export function windows(
  axes: readonly Axis[],
  sizes: readonly number[],
  places: readonly number[],
): Int32Array {
  const kernel = axes.map((axis) => axis.kernel)
  const strides = stridesOf(sizes)
  const steps = stridesOf(places)
  const taps = stridesOf(kernel)
  const count = countOf(places)
  const perPlace = countOf(kernel)
  const found = zeros('i32', [count, perPlace]).data as Int32Array
  for (let at = 0; at < found.length; at++) {
    const place = Math.floor(at / perPlace)
    const tap = at % perPlace
    let offset = 0
    for (const [axis, { stride, dilation, before }] of axes.entries()) {
      const coordinate =
        (Math.floor(place / steps[axis]!) % places[axis]!) * stride +
        (Math.floor(tap / taps[axis]!) % kernel[axis]!) * dilation -
        before
      if (coordinate < 0 || coordinate >= sizes[axis]!) {
        offset = -1
        break
      }
      offset += coordinate * strides[axis]!
    }
    found[at] = offset
  }
  return found
}

function evaluateConvTranspose(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = given(context, 0)
  const filters = given(context, 1)
  const bias = inputs[2]
  const group = intOf(node, 'group', 1)
  const [batch, channels] = x.dims as [number, number]
  const [count, each] = filters.dims as [number, number]
  const isFit =
    filters.dims.length === x.dims.length &&
    x.dims.length > 2 &&
    group >= 1 &&
    channels === count &&
    channels % group === 0 &&
    (bias === undefined || `${bias.dims}` === `${each * group}`)
  if (!isFit)
    throw unfit(
      node,
      `filters of shape [${filters.dims}] in ${group} groups do not fit its input [${x.dims}]`,
    )
  const sizes = x.dims.slice(2)
  const axes = spreadAxes(node, sizes, filters.dims.slice(2))!
  const places = axes.map(({ made }) => made as number)
  if (places.some((size) => size < 0)) throw unfit(node, `its padding leaves the shape [${places}]`)
  const made = zeros('f64', [batch, each * group, ...places])
  const taps = countOf(filters.dims.slice(2))
  const area = countOf(sizes)
  context.spend(x.data.length * each * taps)
  // The window of an input position covers the output as a convolution's window covers its input.
  const offsets = windows(axes, places, sizes)
  const read = reader(x)
  const weight = reader(filters)
  const out = made.data as Float64Array
  const whole = countOf(places)
  const shift = bias && reader(bias)
  if (shift !== undefined)
    for (let at = 0; at < out.length; at++) out[at] = shift(Math.floor(at / whole) % (each * group))
  for (let b = 0; b < batch; b++)
    for (let channel = 0; channel < channels; channel++)
      for (let place = 0; place < area; place++) {
        const value = read((b * channels + channel) * area + place)
        const first = Math.floor(channel / (channels / group)) * each
        for (let filter = 0; filter < each; filter++)
          for (let tap = 0; tap < taps; tap++) {
            const offset = offsets[place * taps + tap]!
            if (offset >= 0)
              out[(b * each * group + first + filter) * whole + offset]! +=
                value * weight((channel * each + filter) * taps + tap)
          }
      }
  const result = zeros(x.dtype, made.dims)
  const write = writer(result)
  for (let at = 0; at < out.length; at++) write(at, out[at]!)
  return result
}

/** `combine` starts from `start`. For a mean, the sum is divided by the number of counted positions. */
interface Pooling {
  readonly start: number
  readonly combine: (a: number, b: number) => number
  readonly isMean: boolean
}
const LARGEST: Pooling = { start: -Infinity, combine: Math.max, isMean: false }
const MEAN: Pooling = { start: 0, combine: (a, b) => a + b, isMean: true }

function evaluatePool(context: Evaluation, { start, combine, isMean }: Pooling): Tensor {
  const { node } = context
  const x = given(context, 0)
  const sizes = x.dims.slice(2)
  const { axes, places } = poolOf(node, sizes) as { axes: readonly PoolAxis[]; places: readonly number[] }
  if (places.some((count) => count < 0)) throw unfit(node, `its window is larger than its input [${x.dims}]`)
  const made = zeros(x.dtype, [...x.dims.slice(0, 2), ...places])
  const taps = countOf(axes.map(({ kernel }) => kernel))
  context.spend(made.data.length * taps)
  const offsets = windows(axes, sizes, places)
  const isBorderCounted = flagOf(node, 'count_include_pad')
  let counts = [1]
  for (const [at, axis] of axes.entries()) {
    const counted = { size: sizes[at]!, places: places[at]!, isBorderCounted }
    const own = countedTaps(axis, counted, context.spend)
    counts = counts.flatMap((count) => own.map((each) => count * each))
  }
  const read = reader(x)
  const write = writer(made)
  const area = countOf(sizes)
  const each = countOf(places)
  for (let at = 0; at < made.data.length; at++) {
    const plane = Math.floor(at / each)
    const place = at % each
    let total = start
    for (let tap = 0; tap < taps; tap++) {
      const offset = offsets[place * taps + tap]!
      if (offset >= 0) total = combine(total, read(plane * area + offset))
    }
    write(at, isMean ? total / counts[place]! : total)
  }
  return made
}

/**
 * The maxima and their positions in the flattened input. Of equal numbers, the first one counts; NaN counts
 * as the largest.
 */
function evaluateMaxPool(context: Evaluation): Tensor[] {
  const { node } = context
  const y = evaluatePool(context, LARGEST)
  if (!wants(node, 1)) return [y]
  const x = given(context, 0)
  const sizes = x.dims.slice(2)
  const { axes, places } = poolOf(node, sizes) as { axes: readonly PoolAxis[]; places: readonly number[] }
  const taps = countOf(axes.map(({ kernel }) => kernel))
  context.spend(y.data.length * taps)
  const offsets = windows(axes, sizes, places)
  const area = countOf(sizes)
  const each = countOf(places)
  const placeOf = flagOf(node, 'storage_order') ? columnFirst(sizes) : (offset: number) => offset
  const read = reader(x)
  const found = Array.from({ length: y.data.length }, (_, at) => {
    const plane = Math.floor(at / each)
    let best = -1
    for (let tap = 0; tap < taps; tap++) {
      const offset = offsets[(at % each) * taps + tap]!
      if (offset < 0) continue
      const value = read(plane * area + offset)
      const most = best < 0 ? -Infinity : read(plane * area + best)
      if (best < 0 || value > most || (Number.isNaN(value) && !Number.isNaN(most))) best = offset
    }
    return plane * area + placeOf(Math.max(0, best))
  })
  return [y, tensorOf('i64', y.dims, found)]
}

/** Turns a row-major position into the one in which the first axis is contiguous. */
function columnFirst(sizes: readonly number[]): (offset: number) => number {
  const rows = stridesOf(sizes)
  const columns = stridesOf(sizes.toReversed()).toReversed()
  return (offset) =>
    rows.reduce((sum, stride, axis) => sum + (Math.floor(offset / stride) % sizes[axis]!) * columns[axis]!, 0)
}

/** Pools over all positions of each channel. */
function evaluateGlobalPool(context: Evaluation, { start, combine, isMean }: Pooling): Tensor {
  const x = given(context, 0)
  const made = zeros(
    x.dtype,
    x.dims.map((size, axis) => (axis < 2 ? size : 1)),
  )
  const area = countOf(x.dims.slice(2))
  const read = reader(x)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) {
    let total = start
    for (let place = 0; place < area; place++) total = combine(total, read(at * area + place))
    write(at, isMean ? total / area : total)
  }
  return made
}

/** Resizes one axis after another. */
function evaluateResize(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const x = given(context, 0)
  const scalings = scalingsOf(node, x.dims, listed(inputs[2]), listed(inputs[3]), listed(inputs[1]))
  let made = x
  for (const [axis, scaling] of scalings.entries()) {
    if (!isResized(scaling)) continue
    const { index, weight } = tapsOf(node, scaling, context.spend)
    const next = zeros('f64', made.dims.with(axis, scaling.to))
    context.spend(next.data.length * index.length)
    const inner = stridesOf(made.dims)[axis]!
    const read = reader(made)
    for (let at = 0; at < next.data.length; at++) {
      const place = Math.floor(at / inner) % scaling.to
      const start = Math.floor(at / (inner * scaling.to)) * scaling.from * inner + (at % inner)
      let total = 0
      for (let tap = 0; tap < index.length; tap++)
        total += weight[tap]![place]! * read(start + index[tap]![place]! * inner)
      next.data[at] = total
    }
    made = next
  }
  const result = zeros(x.dtype, made.dims)
  const read = reader(made)
  const write = writer(result)
  const isOutside = isCropped(node) ? outsideOf(node, scalings, result.dims) : () => false
  const outside = floatOf(node, 'extrapolation_value', 0)
  for (let at = 0; at < result.data.length; at++) write(at, isOutside(at) ? outside : read(at))
  return [result]
}

/** Whether an element comes from a position outside the input. */
function outsideOf(
  node: Node,
  scalings: readonly Scaling[],
  dims: readonly number[],
): (at: number) => boolean {
  const strides = stridesOf(dims)
  const outside = scalings.map((scaling) => {
    if (scaling.crop === undefined) return Array<boolean>(scaling.to).fill(false)
    const origin = originOf(node, scaling)
    return Array.from(
      { length: scaling.to },
      (_, place) => !(origin(place) >= 0 && origin(place) <= scaling.from - 1),
    )
  })
  return (at) => outside.some((places, axis) => places[Math.floor(at / strides[axis]!) % dims[axis]!]!)
}

/** Blocks of positions become channels, or the reverse. */
function evaluateBlocks(context: Evaluation): Tensor {
  const x = given(context, 0)
  const { split, perm, dims } = blocksOf(context.node, x.dims)
  const strides = stridesOf(split)
  const made = zeros(x.dtype, dims)
  const ordered = perm.map((axis) => split[axis]!)
  const steps = perm.map((axis) => strides[axis]!)
  const own = stridesOf(ordered)
  for (let at = 0; at < countOf(dims); at++) {
    const from = own.reduce(
      (sum, step, axis) => sum + (Math.floor(at / step) % ordered[axis]!) * steps[axis]!,
      0,
    )
    made.data[at] = x.data[from]!
  }
  return made
}

export const IMAGES: Evaluators = new Map([
  ['Conv', (context) => [evaluateConv(context)]],
  ['ConvTranspose', (context) => [evaluateConvTranspose(context)]],
  ['MaxPool', evaluateMaxPool],
  ['AveragePool', (context) => [evaluatePool(context, MEAN)]],
  ['GlobalMaxPool', (context) => [evaluateGlobalPool(context, LARGEST)]],
  ['GlobalAveragePool', (context) => [evaluateGlobalPool(context, MEAN)]],
  ['Resize', evaluateResize],
  ['DepthToSpace', (context) => [evaluateBlocks(context)]],
  ['SpaceToDepth', (context) => [evaluateBlocks(context)]],
])
