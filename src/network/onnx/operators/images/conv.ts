// Convolution: sums over a window of places, at each place.

import { addDims, type Dim, divideDims, multiplyDims } from '../../ir/dims.ts'
import type { Node, Type } from '../../ir/graph.ts'
import {
  define,
  type Evaluation,
  given,
  intOf,
  intsOf,
  type Operator,
  stringOf,
  unfit,
} from '../../ir/operator.ts'
import { countOf, FLOATS, reader, stridesOf, type Tensor, writer, zeros } from '../../ir/tensor.ts'

/** How the window moves along one axis of the input. */
export interface Axis {
  readonly kernel: number
  readonly stride: number
  readonly dilation: number
  readonly before: number
  readonly after: number
}

/** The position and stride of an operator's window. */
export const WINDOW = {
  auto_pad: 'string',
  dilations: 'ints',
  kernel_shape: 'ints',
  pads: 'ints',
  strides: 'ints',
} as const

const FILTERED = {
  since: 1,
  inputs: [2, 3],
  dtypes: [FLOATS],
  mapping: 'many-to-many',
  layout: 'ILD variable',
} as const

/** Undefined where a size is not known. */
function kernelOf(filters: Type | undefined): readonly number[] | undefined {
  const kernel = filters?.dims?.slice(2)
  return kernel?.every((size) => typeof size === 'number') ? (kernel as number[]) : undefined
}

const conv: Operator = define({
  ...FILTERED,
  name: 'Conv',
  attributes: { ...WINDOW, group: 'int' },
  infer({ node, inputs: [x, filters] }) {
    if (x === undefined) return [undefined]
    const kernel = kernelOf(filters)
    if (x.dims === undefined || filters?.dims === undefined || kernel === undefined)
      return [{ dtype: x.dtype }]
    const axes = axesOf(node, x.dims.slice(2), kernel)
    const places = axes?.map((axis, at) => lengthOf(axis, x.dims![at + 2]!))
    return [{ dtype: x.dtype, dims: places && [x.dims[0]!, filters.dims[0]!, ...places] }]
  },
  evaluate: (context) => [evaluateConv(context)],
})

/** Undefined if the border depends on an unknown size. */
export function axesOf(node: Node, sizes: readonly Dim[], kernel: readonly number[]): Axis[] | undefined {
  const rank = sizes.length
  const ones = sizes.map(() => 1)
  const strides = intsOf(node, 'strides', ones)
  const dilations = intsOf(node, 'dilations', ones)
  const pads = intsOf(node, 'pads', [...ones, ...ones].fill(0))
  const stated = intsOf(node, 'kernel_shape', kernel)
  const isFit =
    rank > 0 &&
    [kernel, strides, dilations].every((list) => list.length === rank && list.every((each) => each >= 1)) &&
    pads.length === 2 * rank &&
    pads.every((each) => each >= 0) &&
    `${stated}` === `${kernel}`
  if (!isFit) throw unfit(node, `a window of [${kernel}] does not fit ${rank} axes with borders of [${pads}]`)
  const mode = stringOf(node, 'auto_pad', 'NOTSET')
  if (!['NOTSET', 'VALID', 'SAME_UPPER', 'SAME_LOWER'].includes(mode))
    throw unfit(node, `its auto_pad is ${mode}, which does not exist`)
  const axes = sizes.map((size, at): Axis | undefined => {
    const own = { kernel: kernel[at]!, stride: strides[at]!, dilation: dilations[at]! }
    if (mode === 'NOTSET') return { ...own, before: pads[at]!, after: pads[at + rank]! }
    if (mode === 'VALID') return { ...own, before: 0, after: 0 }
    if (typeof size !== 'number') return undefined
    const reach = (Math.ceil(size / own.stride) - 1) * own.stride + (own.kernel - 1) * own.dilation + 1
    const total = Math.max(0, reach - size)
    const half = mode === 'SAME_UPPER' ? Math.floor(total / 2) : Math.ceil(total / 2)
    return { ...own, before: half, after: total - half }
  })
  return axes.every((axis) => axis !== undefined) ? axes : undefined
}

export function lengthOf({ kernel, stride, dilation, before, after }: Axis, size: Dim): Dim {
  const reach = addDims(size, before + after - (kernel - 1) * dilation - 1)
  return addDims(divideDims(reach, stride), 1)
}

function evaluateConv(context: Evaluation): Tensor {
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
  const weight = reader(filters)
  const shift = bias && reader(bias)
  const write = writer(made)
  let next = 0
  for (let b = 0; b < batch!; b++) {
    for (let filter = 0; filter < count!; filter++) {
      const first = Math.floor(filter / (count! / group)) * perGroup!
      for (let place = 0; place < countOf(places); place++) {
        let total = shift?.(filter) ?? 0
        for (let tap = 0; tap < taps; tap++) {
          const offset = offsets[place * taps + tap]!
          if (offset < 0) continue
          for (let channel = 0; channel < perGroup!; channel++)
            total +=
              read((b * channels! + first + channel) * area + offset) *
              weight((filter * perGroup! + channel) * taps + tap)
        }
        write(next++, total)
      }
    }
  }
  return made
}

/** For each place and tap of the window, the place in the input; -1 in the border. */
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

/** Each place of the input is spread over a window of places of the output. */
const convTranspose: Operator = define({
  ...FILTERED,
  name: 'ConvTranspose',
  attributes: { ...WINDOW, group: 'int', output_padding: 'ints', output_shape: 'ints' },
  infer({ node, inputs: [x, filters] }) {
    if (x === undefined) return [undefined]
    const kernel = kernelOf(filters)
    const each = filters?.dims?.[1]
    if (x.dims === undefined || typeof each !== 'number' || kernel === undefined) return [{ dtype: x.dtype }]
    const axes = spreadAxes(node, x.dims.slice(2), kernel)
    const dims = axes && [x.dims[0]!, each * intOf(node, 'group', 1), ...axes.map(({ made }) => made)]
    return [{ dtype: x.dtype, dims }]
  },
  evaluate: (context) => [evaluateConvTranspose(context)],
})

/** An axis of the output of ConvTranspose: `made` places, after `before` and `after` are removed. */
export interface SpreadAxis extends Axis {
  readonly made: Dim
}

/**
 * Undefined if the border depends on an unknown size. A border that the node does not state is the excess
 * over the size that it requests.
 */
export function spreadAxes(
  node: Node,
  sizes: readonly Dim[],
  kernel: readonly number[],
): SpreadAxis[] | undefined {
  const mode = stringOf(node, 'auto_pad', 'NOTSET')
  const asked = intsOf(node, 'output_shape', undefined)
  const more = intsOf(
    node,
    'output_padding',
    kernel.map(() => 0),
  )
  // Borders of SAME are those of an output that is as large as the input times the stride.
  const plain = axesOf({ ...node, attributes: without(node, 'auto_pad') }, sizes, kernel)!
  const isFit =
    (asked === undefined || asked.length === kernel.length) &&
    more.length === kernel.length &&
    more.every((size) => size >= 0)
  if (!isFit) throw unfit(node, `output sizes [${asked ?? more}] do not fit ${kernel.length} axes`)
  const made = plain.map((axis, at): SpreadAxis | undefined => {
    const { stride, dilation } = axis
    const size = sizes[at]!
    const reach = (axis.kernel - 1) * dilation + 1 + more[at]!
    const full = addDims(multiplyDims(addDims(size, -1), stride), reach)
    const isSame = mode.startsWith('SAME')
    if (asked === undefined && !isSame) {
      const [before, after] = mode === 'VALID' ? [0, 0] : [axis.before, axis.after]
      return { ...axis, before, after, made: addDims(full, -before - after) }
    }
    if (typeof full !== 'number' || typeof size !== 'number') return undefined
    const wanted = asked?.[at] ?? size * stride
    const total = Math.max(0, full - wanted)
    const half = mode === 'SAME_UPPER' ? Math.floor(total / 2) : Math.ceil(total / 2)
    const before = mode === 'SAME_UPPER' ? half : total - half
    return { ...axis, before, after: total - before, made: wanted }
  })
  return made.every((axis) => axis !== undefined) ? made : undefined
}

const without = (node: Node, name: string): Node['attributes'] =>
  new Map([...node.attributes].filter(([each]) => each !== name))

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
  if (places.some((size) => size < 0)) throw unfit(node, `its borders leave the shape [${places}]`)
  const made = zeros('f64', [batch, each * group, ...places])
  const taps = countOf(filters.dims.slice(2))
  const area = countOf(sizes)
  context.spend(x.data.length * each * taps)
  // The window of an input position covers the output as that of a convolution covers its input.
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

export const CONV: readonly Operator[] = [conv, convTranspose]
