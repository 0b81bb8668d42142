// Pooling: the largest number, or the mean, of a window of places, at each place and channel by channel.

import { addDims, type Dim, divideDims } from '../../ir/dims.ts'
import type { Node } from '../../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  given,
  type Inference,
  intsOf,
  type Operator,
  unfit,
} from '../../ir/operator.ts'
import { countOf, FLOATS, reader, type Tensor, writer, zeros } from '../../ir/tensor.ts'
import { type Axis, axesOf, lengthOf, WINDOW, windows } from './conv.ts'

/** A window's way along an axis. `over`: places beyond the border that the last window reaches. */
export interface PoolAxis extends Axis {
  readonly over: number
}

/**
 * The axes of a pool, and how many places it makes along each. With `ceil_mode` the last window may reach
 * beyond the border, but not begin there. Undefined where that depends on unknown sizes.
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
    throw unfit(node, `borders are wider than a window of [${kernel}]`)
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
 * Taps of the window at each place along one axis that count for a mean: those inside of the input, or of
 * its border too. `spend` charges for them.
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

function inferPool({ node, inputs: [x] }: Inference) {
  if (x?.dims === undefined) return [x && { dtype: x.dtype }]
  const found = poolOf(node, x.dims.slice(2))
  return [{ dtype: x.dtype, dims: found && [...x.dims.slice(0, 2), ...found.places] }]
}

/** `combine` starts at `start`; a mean is divided by the number of places that count. */
function evaluatePool(
  context: Evaluation,
  { start, combine, isMean }: { start: number; combine: (a: number, b: number) => number; isMean: boolean },
): Tensor {
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

const POOL = { since: 1, dtypes: [FLOATS] } as const

/** Its second output, the places of the largest numbers, is not covered. */
const maxPool: Operator = define({
  ...POOL,
  name: 'MaxPool',
  attributes: { ...WINDOW, ceil_mode: 'int', storage_order: 'int' },
  infer: inferPool,
  evaluate: (context) => [evaluatePool(context, { start: -Infinity, combine: Math.max, isMean: false })],
})

const averagePool: Operator = define({
  ...POOL,
  name: 'AveragePool',
  attributes: { ...WINDOW, ceil_mode: 'int', count_include_pad: 'int' },
  infer: inferPool,
  evaluate: (context) => [evaluatePool(context, { start: 0, combine: (a, b) => a + b, isMean: true })],
})

function globalPool(name: string, start: number, combine: (a: number, b: number) => number, isMean: boolean) {
  return define({
    ...POOL,
    name,
    infer: ({ inputs: [x] }) => [
      x && { dtype: x.dtype, dims: x.dims?.map((size, axis) => (axis < 2 ? size : 1)) },
    ],
    evaluate(context) {
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
      return [made]
    },
  })
}

export const POOLS: readonly Operator[] = [
  maxPool,
  averagePool,
  globalPool('GlobalMaxPool', -Infinity, Math.max, false),
  globalPool('GlobalAveragePool', 0, (a, b) => a + b, true),
]
