// Operators that rearrange axes: all or some of the elements in another layout.

import { axisOf, broadcast, broadcastDims, broadcastIndices, walk } from '../ir/broadcast.ts'
import { type Dim, maxDims, minDims, subtractDims } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  type Evaluation,
  given,
  type Inference,
  intsOf,
  LATEST_OPSET,
  type Operator,
  unfit,
} from '../ir/operator.ts'
import { MOVED_DTYPES, numbersOf, stridesOf, type Tensor, zeros } from '../ir/tensor.ts'

export function pick(input: Tensor, dims: readonly number[], places: ArrayLike<number>): Tensor {
  const made = zeros(input.dtype, dims)
  for (let at = 0; at < places.length; at++) made.data[at] = input.data[places[at]!]!
  return made
}

const permOf = (node: Node, rank: number): readonly number[] => {
  const perm = intsOf(node, 'perm', undefined) ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis)
  if (perm.length !== rank || new Set(perm).size !== rank || perm.some((axis) => axis < 0 || axis >= rank))
    throw unfit(node, `perm [${perm}] is not a permutation of its input's ${rank} axes`)
  return perm
}

const transpose: Operator = {
  name: 'Transpose',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: { inputs: [1, 1], outputs: [1, 1], attributes: { perm: 'ints' }, dtypes: [MOVED_DTYPES] },
  infer({ node, inputs: [input] }) {
    const { dims } = input ?? {}
    if (input === undefined || dims === undefined) return [input && { dtype: input.dtype }]
    return [{ dtype: input.dtype, dims: permOf(node, dims.length).map((axis) => dims[axis]!) }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const perm = permOf(context.node, input.dims.length)
    const dims = perm.map((axis) => input.dims[axis]!)
    const strides = stridesOf(input.dims)
    return [
      pick(
        input,
        dims,
        walk(
          dims,
          perm.map((axis) => strides[axis]!),
        ),
      ),
    ]
  },
}

/** Axes are an attribute up to opset 12, and an input from 13 on. */
const axesSchema: Operator['schema'] = {
  inputs: [1, 2],
  outputs: [1, 1],
  attributes: { axes: 'ints' },
  dtypes: [MOVED_DTYPES, ['i64']],
}

function unsqueezed(node: Node, dims: readonly Dim[], axes: readonly number[]): Dim[] {
  const rank = dims.length + axes.length
  const at = new Set(axes.map((axis) => axisOf(node, axis, rank)))
  if (at.size !== axes.length) throw unfit(node, `its axes [${axes}] name one axis twice`)
  const rest = [...dims]
  return Array.from({ length: rank }, (_, axis) => (at.has(axis) ? 1 : rest.shift()!))
}

const unsqueeze: Operator = {
  name: 'Unsqueeze',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: axesSchema,
  infer({ node, inputs: [input, second] }) {
    const axes = intsOf(node, 'axes', undefined) ?? wholeNumbers(second)
    if (input === undefined) return [undefined]
    const dims = input.dims && axes && unsqueezed(node, input.dims, axes)
    return [{ dtype: input.dtype, dims, elements: input.elements }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const axes = intsOf(context.node, 'axes', undefined) ?? numbersOf(given(context, 1))
    return [{ ...input, dims: unsqueezed(context.node, input.dims, axes) as number[] }]
  },
}

/** If no axes are given: all axes of size one. A squeezed symbolic size must be one. */
function squeezed(node: Node, dims: readonly Dim[], axes: readonly number[] | undefined): Dim[] {
  const at = new Set(axes?.map((axis) => axisOf(node, axis, dims.length)))
  for (const axis of at) {
    const size = dims[axis]
    if (typeof size === 'number' && size !== 1)
      throw unfit(node, `axis ${axis}, which it removes, has the size ${size}`)
  }
  return dims.filter((size, axis) => (axes === undefined ? size !== 1 : !at.has(axis)))
}

const squeeze: Operator = {
  name: 'Squeeze',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: axesSchema,
  infer({ node, inputs: [input, second] }) {
    const isGiven = hasInput(node, 1)
    const axes = intsOf(node, 'axes', undefined) ?? wholeNumbers(second)
    if (input === undefined) return [undefined]
    const isKnown = axes !== undefined || (!isGiven && input.dims?.every((size) => typeof size === 'number'))
    const dims = isKnown ? input.dims && squeezed(node, input.dims, axes) : undefined
    return [{ dtype: input.dtype, dims, elements: input.elements }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const second = context.inputs[1]
    const axes = intsOf(context.node, 'axes', undefined) ?? (second && numbersOf(second))
    return [{ ...input, dims: squeezed(context.node, input.dims, axes) as number[] }]
  },
}

export function wholeNumbers(type: Type | undefined): number[] | undefined {
  const elements = type?.elements
  return elements?.every((each) => typeof each === 'number') ? (elements as number[]) : undefined
}

const expand: Operator = {
  name: 'Expand',
  domain: '',
  versions: [8, LATEST_OPSET],
  schema: { inputs: [2, 2], outputs: [1, 1], attributes: {}, dtypes: [MOVED_DTYPES, ['i64']] },
  infer({ node, inputs: [input, shape] }) {
    if (input === undefined) return [undefined]
    return [{ dtype: input.dtype, dims: broadcastDims(node, [input.dims, shape?.elements]) }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const shape = given(context, 1)
    const dims = broadcast(context.node, [input.dims, numbersOf(shape)])
    return [pick(input, dims, broadcastIndices(input.dims, dims))]
  },
}

const slice: Operator = {
  name: 'Slice',
  domain: '',
  versions: [10, LATEST_OPSET],
  schema: {
    inputs: [3, 5],
    outputs: [1, 1],
    attributes: {},
    dtypes: [MOVED_DTYPES, ['i32', 'i64']],
  },
  infer: (context) => [inferSlice(context)],
  evaluate: (context) => [evaluateSlice(context)],
}

function inferSlice({ node, inputs: [data, starts, ends, axes, steps] }: Inference): Type | undefined {
  if (data === undefined) return undefined
  const from = starts?.elements
  const to = ends?.elements
  if (data.dims === undefined || from === undefined || to === undefined) return { dtype: data.dtype }
  const rank = data.dims.length
  const at = hasInput(node, 3) ? wholeNumbers(axes) : from.map((_, axis) => axis)
  const by = hasInput(node, 4) ? wholeNumbers(steps) : from.map(() => 1)
  if (at === undefined || by === undefined) return { dtype: data.dtype }
  checkSlices(node, [from, to, at, by])
  let dims: readonly Dim[] = data.dims
  let elements = data.elements
  for (const [index, axis] of at.entries()) {
    const along = axisOf(node, axis, rank)
    const size = data.dims[along]!
    const length = sliceLength(size, from[index]!, to[index]!, by[index]!)
    if (length === undefined) return { dtype: data.dtype }
    dims = dims.with(along, length)
    const first = from[index]!
    const last = to[index]!
    const step = by[index]!
    const isKnown = rank === 1 && [first, last, size].every((each) => typeof each === 'number')
    elements = isKnown ? elements && sliced(elements, first as number, last as number, step) : undefined
  }
  return { dtype: data.dtype, dims, elements }
}

function sliced(elements: readonly Dim[], start: number, end: number, step: number): Dim[] {
  const { first, count } = range(elements.length, start, end, step)
  return Array.from({ length: count }, (_, at) => elements[first + at * step]!)
}

/** The size of a slice of an axis; undefined if it depends on which symbol is larger. */
function sliceLength(size: Dim, start: Dim, end: Dim, step: number): Dim | undefined {
  if (typeof size === 'number' && typeof start === 'number' && typeof end === 'number')
    return range(size, start, end, step).count
  if (step !== 1) return undefined
  const place = (at: Dim): Dim | undefined => {
    // Exporters write the largest integer to mean the end of the axis.
    if (typeof at === 'number') return at >= 2 ** 31 - 1 ? size : at < 0 ? addEnd(size, at) : minOf(at, size)
    return at.startsWith('-') ? undefined : minOf(at, size)
  }
  const first = place(start)
  const last = place(end)
  if (first === undefined || last === undefined) return undefined
  return maxDims(subtractDims(last, first), 0)
}

const addEnd = (size: Dim, back: number): Dim => maxDims(subtractDims(size, -back), 0)
const minOf = (at: Dim, size: Dim): Dim => (at === 0 ? 0 : minDims(at, size))

/** NumPy's rule for a slice of `size` elements. */
function range(size: number, start: number, end: number, step: number): { first: number; count: number } {
  const within = (at: number, low: number, high: number) =>
    Math.min(high, Math.max(low, at < 0 ? at + size : at))
  const first = step > 0 ? within(start, 0, size) : within(start, 0, size - 1)
  const last = step > 0 ? within(end, 0, size) : within(end, -1, size - 1)
  return { first, count: Math.max(0, Math.ceil((last - first) / step)) }
}

/** Starts, ends, axes and steps: equally many of each, no axis twice, and no step of 0. */
function checkSlices(node: Node, lists: readonly (readonly Dim[])[]): void {
  const [starts, , axes, steps] = lists
  const isFit = lists.every((list) => list.length === starts!.length) && new Set(axes).size === axes!.length
  if (!isFit || steps!.includes(0))
    throw unfit(node, `its starts, ends, axes and steps are [${lists.join('], [')}]`)
}

function evaluateSlice(context: Evaluation): Tensor {
  const { node, inputs } = context
  const data = given(context, 0)
  const starts = numbersOf(given(context, 1))
  const ends = numbersOf(given(context, 2))
  const axes = inputs[3] === undefined ? starts.map((_, axis) => axis) : numbersOf(inputs[3])
  const steps = inputs[4] === undefined ? starts.map(() => 1) : numbersOf(inputs[4])
  checkSlices(node, [starts, ends, axes, steps])
  const strides = stridesOf(data.dims)
  const dims = [...data.dims]
  let from = 0
  for (const [index, axis] of axes.entries()) {
    const along = axisOf(node, axis, data.dims.length)
    const step = steps[index] ?? 1
    const { first, count } = range(data.dims[along]!, starts[index]!, ends[index]!, step)
    from += first * strides[along]!
    strides[along]! *= step
    dims[along] = count
  }
  return pick(data, dims, walk(dims, strides, from))
}

export const LAYOUT: readonly Operator[] = [transpose, unsqueeze, squeeze, expand, slice]
