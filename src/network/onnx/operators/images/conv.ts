// Convolution: sums over a window, at each position.

import { addDims, type Dim, divideDims, multiplyDims } from '../../ir/dims.ts'
import { type Node, type Type, withoutAttributes } from '../../ir/graph.ts'
import {
  define,
  type Inference,
  intOf,
  intsOf,
  type Operator,
  stringOf,
  unclaimed,
  unfit,
} from '../../ir/operator.ts'
import { type DType, FLOATS } from '../../ir/tensor.ts'

const BYTES: readonly DType[] = ['i8', 'u8']

/** How the window moves along one axis of the input. */
export interface Axis {
  readonly kernel: number
  readonly stride: number
  readonly dilation: number
  readonly before: number
  readonly after: number
}

/** Attributes that place an operator's window. */
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
} as const

/** Undefined if a size is unknown. */
function kernelOf(filters: Type | undefined): readonly number[] | undefined {
  const kernel = filters?.dims?.slice(2)
  return kernel?.every((size) => typeof size === 'number') ? (kernel as number[]) : undefined
}

const conv: Operator = define({
  ...FILTERED,
  name: 'Conv',
  attributes: { ...WINDOW, group: 'int' },
  infer: (context) => inferConv(context, context.inputs[0]?.dtype),
})

function inferConv(
  { node, inputs: [x, filters] }: Pick<Inference, 'node' | 'inputs'>,
  dtype: DType | undefined,
): [Type | undefined] {
  if (dtype === undefined) return [undefined]
  const kernel = kernelOf(filters)
  if (x?.dims === undefined || filters?.dims === undefined || kernel === undefined) return [{ dtype }]
  const axes = axesOf(node, x.dims.slice(2), kernel)
  const places = axes?.map((axis, at) => lengthOf(axis, x.dims![at + 2]!))
  return [{ dtype, dims: places && [x.dims[0]!, filters.dims[0]!, ...places] }]
}

/** Undefined if the padding depends on an unknown size. */
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
  if (!isFit) throw unfit(node, `a window of [${kernel}] does not fit ${rank} axes with padding of [${pads}]`)
  const mode = stringOf(node, 'auto_pad', 'NOTSET')
  if (!['NOTSET', 'VALID', 'SAME_UPPER', 'SAME_LOWER'].includes(mode))
    throw unfit(node, `its auto_pad is ${mode}, which does not exist`)
  const axes = sizes.map((size, at): Axis | undefined => {
    const own = { kernel: kernel[at]!, stride: strides[at]!, dilation: dilations[at]! }
    if (mode === 'NOTSET') return { ...own, before: pads[at]!, after: pads[at + rank]! }
    if (mode === 'VALID') return { ...own, before: 0, after: 0 }
    if (typeof size !== 'number') return undefined
    const reach = (Math.ceil(size / own.stride) - 1) * own.stride + (own.kernel - 1) * own.dilation + 1
    // A surplus of one position moves no window.
    if (reach - size < -1) throw skipping(node, mode)
    const total = Math.max(0, reach - size)
    const half = mode === 'SAME_UPPER' ? Math.floor(total / 2) : Math.ceil(total / 2)
    return { ...own, before: half, after: total - half }
  })
  return axes.every((axis) => axis !== undefined) ? axes : undefined
}

/** The padding would be negative, and runtimes disagree about it. */
const skipping = (node: Node, mode: string) =>
  unclaimed(node, `its windows skip positions between them, which its auto_pad ${mode} distributes`)

export function lengthOf({ kernel, stride, dilation, before, after }: Axis, size: Dim): Dim {
  const reach = addDims(size, before + after - (kernel - 1) * dilation - 1)
  return addDims(divideDims(reach, stride), 1)
}

const convInteger: Operator = define({
  ...FILTERED,
  name: 'ConvInteger',
  inputs: [2, 4],
  attributes: { ...WINDOW, group: 'int' },
  dtypes: [BYTES],
  infer: (context) => inferConv(context, 'i32'),
})

/**
 * Inputs: x with its scale and zero point, the filters with theirs, the output's scale and zero point, and an
 * i32 bias.
 */
const qLinearConv: Operator = define({
  ...FILTERED,
  name: 'QLinearConv',
  inputs: [8, 9],
  attributes: { ...WINDOW, group: 'int' },
  dtypes: [BYTES, ['f32'], BYTES, BYTES, ['f32'], BYTES, ['f32'], BYTES, ['i32']],
  infer(context) {
    const { inputs } = context
    return inferConv({ ...context, inputs: [inputs[0], inputs[3]] }, inputs[7]?.dtype)
  },
})

/** Each input position is spread over a window of output positions. */
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
})

/** An axis of the output of ConvTranspose: `made` positions, before `before` and `after` are removed. */
export interface SpreadAxis extends Axis {
  readonly made: Dim
}

/**
 * Undefined if the padding depends on an unknown size. If the node does not state the padding, it is what
 * exceeds the requested size.
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
  // SAME padding makes the output as large as the input times the stride.
  const plain = axesOf({ ...node, attributes: withoutAttributes(node, 'auto_pad') }, sizes, kernel)!
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
    if (asked === undefined && full < wanted) throw skipping(node, mode)
    const total = Math.max(0, full - wanted)
    // If the number is odd, one more is removed at the end, unless SAME_LOWER determines the size.
    const isLower = mode === 'SAME_LOWER' && asked === undefined
    const before = isLower ? Math.ceil(total / 2) : Math.floor(total / 2)
    return { ...axis, before, after: total - before, made: wanted }
  })
  return made.every((axis) => axis !== undefined) ? made : undefined
}

/**
 * A convolution whose window reads between positions. `x` [batch, channels, ...sizes], filters
 * [outputs, channels / group, ...kernel], offsets [batch, offset groups * taps * axes, ...places], a bias,
 * and factors [batch, offset groups * taps, ...places].
 */
const deformConv: Operator = define({
  name: 'DeformConv',
  since: 19,
  inputs: [3, 5],
  attributes: {
    dilations: 'ints',
    group: 'int',
    kernel_shape: 'ints',
    offset_group: 'int',
    pads: 'ints',
    strides: 'ints',
  },
  dtypes: [FLOATS],
  infer: (context) => inferConv(context, context.inputs[0]?.dtype),
})

export const CONV: readonly Operator[] = [conv, convInteger, convTranspose, deformConv, qLinearConv]
