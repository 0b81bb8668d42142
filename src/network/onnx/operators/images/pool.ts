// Pooling: the largest number, or the mean, of a window, at each position and in each channel.

import { addDims, type Dim, divideDims } from '../../ir/dims.ts'
import type { Node, Type } from '../../ir/graph.ts'
import { define, flagOf, type Inference, intsOf, type Operator, unfit } from '../../ir/operator.ts'
import { FLOATS } from '../../ir/tensor.ts'
import { type Axis, axesOf, lengthOf, WINDOW } from './conv.ts'

/** How a window moves along an axis. `over`: how far the last window reaches beyond the padding. */
export interface PoolAxis extends Axis {
  readonly over: number
}

/**
 * The axes of a pool, and how many positions it outputs along each. With `ceil_mode`, the last window may
 * reach beyond the padding but not begin there. Undefined if that depends on unknown sizes.
 */
export function poolOf(
  node: Node,
  sizes: readonly Dim[],
): { readonly axes: readonly PoolAxis[]; readonly places: readonly Dim[] } | undefined {
  const kernel = intsOf(node, 'kernel_shape', undefined)
  if (kernel === undefined) throw unfit(node, 'it has no kernel_shape')
  const axes = axesOf(node, sizes, kernel)
  if (axes === undefined) return undefined
  if (
    axes.some(({ kernel: taps, dilation, before, after }) => Math.max(before, after) > (taps - 1) * dilation)
  )
    throw unfit(node, `its padding is wider than a window of [${kernel}]`)
  if (!flagOf(node, 'ceil_mode'))
    return {
      axes: axes.map((axis) => ({ ...axis, over: 0 })),
      places: axes.map((axis, at) => lengthOf(axis, sizes[at]!)),
    }
  const found = axes.map((axis, at) => ceiled(axis, sizes[at]!))
  if (found.includes(undefined)) return undefined
  return {
    axes: found.map((each, at) => ({ ...axes[at]!, over: each!.over })),
    places: found.map((each) => each!.places),
  }
}

function ceiled(axis: Axis, size: Dim): { places: number; over: number } | undefined {
  const { kernel, stride, dilation, before, after } = axis
  const reach = (kernel - 1) * dilation + 1
  const rest = addDims(size, before + after - reach + stride - 1)
  const most = addDims(divideDims(rest, stride), 1)
  if (typeof size !== 'number' || typeof most !== 'number') return undefined
  const places = (most - 1) * stride >= size + before ? most - 1 : most
  return { places, over: Math.max(0, (places - 1) * stride + reach - size - before - after) }
}

/**
 * How many taps of the window count towards a mean at each position along one axis: those inside the input
 * and, optionally, its padding. `spend` charges for them.
 */
export function countedTaps(
  { kernel, stride, dilation, before, after }: Axis,
  { size, places, isBorderCounted }: { size: number; places: number; isBorderCounted: boolean },
  spend: (units: number) => void,
): number[] {
  spend(places)
  const [first, end] = isBorderCounted ? [-before, size + after] : [0, size]
  const tapsBefore = (place: number, limit: number): number =>
    Math.min(kernel, Math.max(0, Math.ceil((limit - place * stride + before) / dilation)))
  return Array.from({ length: places }, (_, place) =>
    Math.max(0, tapsBefore(place, end) - tapsBefore(place, first)),
  )
}

function inferPool({ node, inputs: [x] }: Inference): [Type | undefined] {
  if (x?.dims === undefined) return [x && { dtype: x.dtype }]
  const found = poolOf(node, x.dims.slice(2))
  return [{ dtype: x.dtype, dims: found && [...x.dims.slice(0, 2), ...found.places] }]
}

const POOL = { since: 1, dtypes: [FLOATS] } as const

/** The second output has the position of each maximum in the flattened input. */
const maxPool: Operator = define({
  since: 1,
  dtypes: [[...FLOATS, 'i8', 'u8']],
  name: 'MaxPool',
  outputs: [1, 2],
  attributes: { ...WINDOW, ceil_mode: 'int', storage_order: 'int' },
  infer(context) {
    const [type] = inferPool(context)
    return [type, { dtype: 'i64', dims: type?.dims }]
  },
})

const averagePool: Operator = define({
  ...POOL,
  name: 'AveragePool',
  attributes: { ...WINDOW, ceil_mode: 'int', count_include_pad: 'int' },
  infer: inferPool,
})

const globalPool = (name: string): Operator =>
  define({
    ...POOL,
    name,
    infer: ({ inputs: [x] }) => [
      x && { dtype: x.dtype, dims: x.dims?.map((size, axis) => (axis < 2 ? size : 1)) },
    ],
  })

export const POOLS: readonly Operator[] = [
  maxPool,
  averagePool,
  globalPool('GlobalMaxPool'),
  globalPool('GlobalAveragePool'),
]
