// Operators that split a tensor, repeat it, pad it, or rearrange its elements.

import { axisOf, walk } from '../ir/broadcast.ts'
import { addDims, type Dim, divideExactly, multiplyDims, productOf } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  given,
  type Inference,
  intOf,
  intsOf,
  type Operator,
  sameType,
  stringOf,
  unclaimed,
  unfit,
  wants,
} from '../ir/operator.ts'
import {
  countOf,
  countToMake,
  FLOATS,
  MOVED_DTYPES,
  numbersOf,
  stridesOf,
  type Tensor,
  tensorOf,
  zeros,
} from '../ir/tensor.ts'
import { pick, wholeNumbers } from './layout.ts'

/** Sizes are an attribute up to opset 12, and an input from 13 on; without them the parts are equal. */
const split: Operator = define({
  name: 'Split',
  since: 2,
  inputs: [1, 2],
  outputs: [1, Infinity],
  attributes: { axis: 'int', split: 'ints', num_outputs: 'int' },
  dtypes: [MOVED_DTYPES, ['i64']],
  infer: inferSplit,
  evaluate: evaluateSplit,
})

/** The last part is smaller if the size is not divisible. */
function equalParts(node: Node, size: number): number[] {
  const count = intOf(node, 'num_outputs', node.outputs.length)
  if (count !== node.outputs.length)
    throw unfit(node, `its attribute num_outputs is ${count} but it has ${node.outputs.length} outputs`)
  const each = Math.ceil(size / count)
  return Array.from({ length: count }, (_, at) => Math.max(0, Math.min(each, size - at * each)))
}

function inferSplit({ node, inputs: [input, second] }: Inference): (Type | undefined)[] {
  const unknown = node.outputs.map(() => input && { dtype: input.dtype })
  if (input?.dims === undefined) return unknown
  const axis = axisOf(node, intOf(node, 'axis', 0), input.dims.length)
  const size = input.dims[axis]!
  let sizes: readonly (Dim | undefined)[] | undefined = intsOf(node, 'split', undefined) ?? second?.elements
  if (sizes === undefined && hasInput(node, 1)) return unknown
  if (sizes === undefined && typeof size === 'number') sizes = equalParts(node, size)
  sizes ??= node.outputs.map(() => divideExactly(size, node.outputs.length))
  const { dims, elements } = input
  let from = 0
  return node.outputs.map((_, at) => {
    const own = sizes[at]
    if (own === undefined) return { dtype: input.dtype }
    const isListed = dims.length === 1 && typeof own === 'number' && !Number.isNaN(from)
    const known = isListed ? elements?.slice(from, from + own) : undefined
    from = typeof own === 'number' ? from + own : Number.NaN
    return { dtype: input.dtype, dims: dims.with(axis, own), elements: known }
  })
}

function evaluateSplit(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const input = given(context, 0)
  const axis = axisOf(node, intOf(node, 'axis', 0), input.dims.length)
  const size = input.dims[axis]!
  const asked = intsOf(node, 'split', undefined) ?? (inputs[1] && numbersOf(inputs[1]))
  const sizes = asked ?? equalParts(node, size)
  const total = sizes.reduce((sum, each) => sum + each, 0)
  if (total !== size || sizes.length !== node.outputs.length || sizes.some((each) => each < 0))
    throw unfit(
      node,
      `parts of [${sizes}] for ${node.outputs.length} outputs do not add up to the size ${size}`,
    )
  const strides = stridesOf(input.dims)
  let from = 0
  return sizes.map((each) => {
    const dims = input.dims.with(axis, each)
    const part = pick(input, dims, walk(dims, strides, from * strides[axis]!))
    from += each
    return part
  })
}

const tile: Operator = define({
  name: 'Tile',
  since: 6,
  inputs: [2, 2],
  dtypes: [MOVED_DTYPES, ['i64']],
  infer({ node, inputs: [input, repeats] }) {
    if (input === undefined) return [undefined]
    const dims = input.dims
    const times = repeats?.elements
    if (dims === undefined || times === undefined) return [{ dtype: input.dtype }]
    checkRepeats(node, dims, times)
    return [{ dtype: input.dtype, dims: dims.map((size, axis) => multiplyDims(size, times[axis]!)) }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const times = numbersOf(given(context, 1))
    checkRepeats(context.node, input.dims, times)
    const dims = input.dims.map((size, axis) => size * times[axis]!)
    const strides = stridesOf(input.dims)
    return [
      pick(
        input,
        dims,
        gathered(dims, (axis, at) => (at % input.dims[axis]!) * strides[axis]!),
      ),
    ]
  },
})

function checkRepeats(node: Node, dims: readonly Dim[], times: readonly Dim[]): void {
  const isFit = times.length === dims.length && times.every((each) => typeof each === 'string' || each >= 0)
  if (!isFit) throw unfit(node, `[${times}] are not valid repeats for ${dims.length} dimensions`)
}

/**
 * For each element of `dims` in row-major order, the sum over the axes of `step` applied to its coordinate.
 */
function gathered(dims: readonly number[], step: (axis: number, at: number) => number): number[] {
  countToMake(dims)
  let places = [0]
  for (const [axis, size] of dims.entries()) {
    const steps = Array.from({ length: size }, (_, at) => step(axis, at))
    places = places.flatMap((from) => steps.map((each) => from + each))
  }
  return places
}

/** Padding before and after each axis; negative padding crops. It is an input since opset 11. */
const pad: Operator = define({
  name: 'Pad',
  since: 11,
  inputs: [2, 4],
  attributes: { mode: 'string' },
  dtypes: [MOVED_DTYPES, ['i64'], MOVED_DTYPES, ['i32', 'i64']],
  infer: (context) => [inferPad(context)],
  evaluate: (context) => [evaluatePad(context)],
})

function borders<D extends Dim>(node: Node, rank: number, pads: readonly D[], axes: readonly number[]) {
  if (pads.length !== 2 * axes.length) throw unfit(node, `it has ${pads.length} pads for ${axes.length} axes`)
  const made = Array.from({ length: rank }, (): [D, D] => [0 as D, 0 as D])
  for (const [index, axis] of axes.entries())
    made[axisOf(node, axis, rank)] = [pads[index]!, pads[index + axes.length]!]
  return made
}

function inferPad({ node, inputs: [input, pads, , axes] }: Inference): Type | undefined {
  if (input === undefined) return undefined
  const { dims, dtype } = input
  const at = hasInput(node, 3) ? wholeNumbers(axes) : dims?.map((_, axis) => axis)
  if (dims === undefined || pads?.elements === undefined || at === undefined) return { dtype }
  const around = borders(node, dims.length, pads.elements, at)
  return { dtype, dims: dims.map((size, axis) => around[axis]!.reduce(addDims, size)) }
}

function evaluatePad(context: Evaluation): Tensor {
  const { node, inputs } = context
  const input = given(context, 0)
  const pads = numbersOf(given(context, 1))
  const axes = inputs[3] === undefined ? input.dims.map((_, axis) => axis) : numbersOf(inputs[3])
  const around = borders(node, input.dims.length, pads, axes)
  const dims = input.dims.map((size, axis) => size + around[axis]![0] + around[axis]![1])
  if (dims.some((size) => size < 0)) throw unfit(node, `padding of [${pads}] results in the shape [${dims}]`)
  const place = sourceOf(node, stringOf(node, 'mode', 'constant'))
  const strides = stridesOf(input.dims)
  // NaN marks a position outside the input.
  const places = gathered(dims, (axis, at) => {
    const from = place(at - around[axis]![0], input.dims[axis]!)
    return from === undefined ? Number.NaN : from * strides[axis]!
  })
  const fill = inputs[2] ?? zeros(input.dtype, [1])
  if (fill.dtype !== input.dtype || fill.data.length !== 1)
    throw unfit(node, `its padding value is ${fill.dtype} of shape [${fill.dims}] around ${input.dtype}`)
  const made = zeros(input.dtype, dims)
  for (let at = 0; at < places.length; at++)
    made.data[at] = Number.isNaN(places[at]) ? fill.data[0]! : input.data[places[at]!]!
  return made
}

/** The position from which an element of the padding is copied; undefined if there is none. */
function sourceOf(node: Node, mode: string): (at: number, size: number) => number | undefined {
  const modulo = (at: number, size: number) => ((at % size) + size) % size
  switch (mode) {
    case 'constant':
      return (at, size) => (at >= 0 && at < size ? at : undefined)
    case 'edge':
      return (at, size) => (size === 0 ? undefined : Math.min(size - 1, Math.max(0, at)))
    case 'wrap':
      return (at, size) => (size === 0 ? undefined : modulo(at, size))
    case 'reflect':
      return (at, size) => {
        if (size < 2) return size === 1 ? 0 : undefined
        const within = modulo(at, 2 * size - 2)
        return within < size ? within : 2 * size - 2 - within
      }
    default:
      throw unfit(node, `its mode is ${mode}, which does not exist`)
  }
}

const flatten: Operator = define({
  name: 'Flatten',
  since: 1,
  attributes: { axis: 'int' },
  dtypes: [MOVED_DTYPES],
  infer({ node, inputs: [input] }) {
    if (input?.dims === undefined) return [input && { dtype: input.dtype }]
    const axis = cutOf(node, input.dims.length)
    const dims = [productOf(input.dims.slice(0, axis)), productOf(input.dims.slice(axis))]
    return [{ dtype: input.dtype, dims }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const axis = cutOf(context.node, input.dims.length)
    return [{ ...input, dims: [countOf(input.dims.slice(0, axis)), countOf(input.dims.slice(axis))] }]
  },
})

/** The split may come after the last axis. */
function cutOf(node: Node, rank: number): number {
  const axis = intOf(node, 'axis', 1)
  return axis === rank ? rank : axisOf(node, axis, rank)
}

const size: Operator = define({
  name: 'Size',
  since: 1,
  dtypes: [MOVED_DTYPES],
  infer({ inputs: [input] }) {
    const elements = input?.dims && [productOf(input.dims)]
    return [{ dtype: 'i64', dims: [], elements }]
  },
  evaluate: (context) => [tensorOf('i64', [], [given(context, 0).data.length])],
})

/** As in inference, nothing is dropped. */
const dropout: Operator = define({
  name: 'Dropout',
  since: 7,
  inputs: [1, 3],
  outputs: [1, 2],
  attributes: { ratio: 'float', seed: 'int' },
  dtypes: [FLOATS, FLOATS, ['bool']],
  infer: (context) => [sameType(context)[0], { dtype: 'bool', dims: context.inputs[0]?.dims }],
  evaluate(context) {
    const input = given(context, 0)
    const isTraining = context.inputs[2]?.data[0] === 1
    const ratio = context.inputs[1] === undefined ? 0.5 : Number(context.inputs[1].data[0])
    if (isTraining && ratio !== 0) throw unclaimed(context.node, 'it drops elements at random')
    const mask = zeros('bool', input.dims)
    mask.data.fill(1 as never)
    return [input, wants(context.node, 1) ? mask : undefined]
  },
})

export const PARTS: readonly Operator[] = [split, tile, pad, flatten, size, dropout]
