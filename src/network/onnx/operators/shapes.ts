// Shape, Gather, Concat and Reshape. Known elements are propagated, so that shapes computed from shapes stay
// known.
import { isCount } from '../../../core/base/values.ts'
import { axisOf, walk } from '../ir/broadcast.ts'
import { addDims, type Dim, divideExactly, productOf } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import {
  type Evaluation,
  given,
  type Inference,
  intOf,
  LATEST_OPSET,
  type Operator,
  unfit,
} from '../ir/operator.ts'
import { countOf, MOVED_DTYPES, numbersOf, stridesOf, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'

/** First and last axis of a Shape node, within the rank. */
function rangeOf(node: Node, rank: number): [number, number] {
  const within = (axis: number) => Math.min(rank, Math.max(0, axis < 0 ? axis + rank : axis))
  return [within(intOf(node, 'start', 0)), within(intOf(node, 'end', rank))]
}

const shape: Operator = {
  name: 'Shape',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: {
    inputs: [1, 1],
    outputs: [1, 1],
    attributes: { start: 'int', end: 'int' },
    dtypes: [MOVED_DTYPES],
  },
  infer({ node, inputs: [input] }) {
    if (input?.dims === undefined) return [{ dtype: 'i64' }]
    const elements = input.dims.slice(...rangeOf(node, input.dims.length))
    return [{ dtype: 'i64', dims: [elements.length], elements }]
  },
  evaluate(context) {
    const { dims } = given(context, 0)
    const sizes = dims.slice(...rangeOf(context.node, dims.length))
    return [tensorOf('i64', [sizes.length], sizes)]
  },
}

const gather: Operator = {
  name: 'Gather',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: {
    inputs: [2, 2],
    outputs: [1, 1],
    attributes: { axis: 'int' },
    dtypes: [MOVED_DTYPES, ['i32', 'i64']],
  },
  infer: (context) => [inferGather(context)],
  evaluate: (context) => [evaluateGather(context)],
}

function inferGather({ node, inputs: [data, indices] }: Inference): Type | undefined {
  if (data === undefined || indices === undefined) return undefined
  if (data.dims === undefined || indices.dims === undefined) return { dtype: data.dtype }
  const axis = axisOf(node, intOf(node, 'axis', 0), data.dims.length)
  const dims = [...data.dims.slice(0, axis), ...indices.dims, ...data.dims.slice(axis + 1)]
  const { elements } = data
  if (data.dims.length !== 1 || elements === undefined) return { dtype: data.dtype, dims }
  const chosen = indices.elements?.map((index) =>
    typeof index === 'number' ? elements.at(index) : undefined,
  )
  const known = chosen?.every((each) => each !== undefined) ? (chosen as Dim[]) : undefined
  return { dtype: data.dtype, dims, elements: known }
}

function evaluateGather(context: Evaluation): Tensor {
  const data = given(context, 0)
  const indices = given(context, 1)
  const axis = axisOf(context.node, intOf(context.node, 'axis', 0), data.dims.length)
  const size = data.dims[axis]!
  const inner = countOf(data.dims.slice(axis + 1))
  const outer = countOf(data.dims.slice(0, axis))
  const made = zeros(data.dtype, [...data.dims.slice(0, axis), ...indices.dims, ...data.dims.slice(axis + 1)])
  let to = 0
  for (let block = 0; block < outer; block++) {
    for (let at = 0; at < indices.data.length; at++) {
      const asked = Number(indices.data[at])
      const index = asked < 0 ? asked + size : asked
      if (index < 0 || index >= size)
        throw unfit(context.node, `index ${asked} is outside axis ${axis}, which has ${size} elements`)
      const from = (block * size + index) * inner
      made.data.set(data.data.subarray(from, from + inner) as never, to)
      to += inner
    }
  }
  return made
}

const concat: Operator = {
  name: 'Concat',
  domain: '',
  versions: [4, LATEST_OPSET],
  schema: { inputs: [1, Infinity], outputs: [1, 1], attributes: { axis: 'int' }, dtypes: [MOVED_DTYPES] },
  infer: (context) => [inferConcat(context)],
  evaluate: (context) => [evaluateConcat(context)],
}

function inferConcat({ node, inputs }: Inference): Type | undefined {
  const first = inputs.find((input) => input !== undefined)
  if (first === undefined) return undefined
  const shapes = inputs.map((input) => input?.dims)
  if (!shapes.every((dims) => dims !== undefined)) return { dtype: first.dtype }
  const [dims] = shapes
  const axis = axisOf(node, intOf(node, 'axis', 0), dims!.length)
  const sizes = shapes.map((each) => each[axis] ?? 0)
  const joined = dims!.with(axis, sizes.reduce(addDims, 0))
  const parts = inputs.map((input) => input?.elements)
  const known = joined.length === 1 && parts.every((part) => part !== undefined)
  return {
    dtype: first.dtype,
    dims: joined,
    elements: known ? parts.flatMap((part) => part ?? []) : undefined,
  }
}

export function evaluateConcat(context: Evaluation): Tensor {
  const parts = context.inputs.map((_, index) => given(context, index))
  const [first] = parts
  const axis = axisOf(context.node, intOf(context.node, 'axis', 0), first!.dims.length)
  const size = parts.reduce((sum, { dims }) => sum + (dims[axis] ?? 0), 0)
  const made = zeros(first!.dtype, first!.dims.with(axis, size))
  const strides = stridesOf(made.dims)
  let from = 0
  for (const part of parts) {
    if (part.dtype !== made.dtype) throw unfit(context.node, `it joins ${made.dtype} and ${part.dtype}`)
    const fits = part.dims.every((own, at) => at === axis || own === made.dims[at])
    if (!fits || part.dims.length !== made.dims.length)
      throw unfit(context.node, `it joins shapes [${first!.dims}] and [${part.dims}] along axis ${axis}`)
    const places = walk(part.dims, strides, from * strides[axis]!)
    for (let at = 0; at < places.length; at++) made.data[places[at]!] = part.data[at]!
    from += part.dims[axis]!
  }
  return made
}

const reshape: Operator = {
  name: 'Reshape',
  domain: '',
  versions: [5, LATEST_OPSET],
  schema: {
    inputs: [2, 2],
    outputs: [1, 1],
    attributes: { allowzero: 'int' },
    dtypes: [MOVED_DTYPES, ['i64']],
  },
  infer: (context) => [inferReshape(context)],
  evaluate: (context) => [evaluateReshape(context)],
}

function inferReshape({ node, inputs: [data, target] }: Inference): Type | undefined {
  if (data === undefined) return undefined
  const keepsZero = intOf(node, 'allowzero', 0) !== 0
  const asked = target?.elements?.map((size, axis) => (size === 0 && !keepsZero ? data.dims?.[axis] : size))
  if (asked === undefined || !asked.every((size) => size !== undefined))
    return { dtype: data.dtype, elements: data.elements }
  const open = asked.indexOf(-1)
  if (open < 0) return { dtype: data.dtype, dims: asked, elements: data.elements }
  const size = data.dims && quotientOf(data.dims, asked.toSpliced(open, 1))
  return {
    dtype: data.dtype,
    dims: size === undefined ? undefined : asked.with(open, size),
    elements: data.elements,
  }
}

/** The product of `over` divided by that of `under`. Common sizes cancel first. */
function quotientOf(over: readonly Dim[], under: readonly Dim[]): Dim | undefined {
  const rest = [...over]
  const left = under.filter((size) => {
    const at = rest.indexOf(size)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
  return divideExactly(productOf(rest), productOf(left))
}

function evaluateReshape(context: Evaluation): Tensor {
  const data = given(context, 0)
  const target = given(context, 1)
  const keepsZero = intOf(context.node, 'allowzero', 0) !== 0
  const asked = numbersOf(target).map((size, axis) =>
    size === 0 && !keepsZero ? (data.dims[axis] ?? 0) : size,
  )
  const open = asked.indexOf(-1)
  const dims = open < 0 ? asked : asked.with(open, countOf(data.dims) / countOf(asked.toSpliced(open, 1)))
  if (dims.some((size) => !isCount(size)) || countOf(dims) !== countOf(data.dims))
    throw unfit(context.node, `shape [${data.dims}] cannot become [${numbersOf(target)}]`)
  return { ...data, dims }
}

export const SHAPES: readonly Operator[] = [shape, gather, concat, reshape]
