// Operators that create tensors: constants, filled tensors, ranges, triangles.

import { type Dim, divideDims, maxDims, subtractDims } from '../ir/dims.ts'
import { type Node, typeOf } from '../ir/graph.ts'
import {
  type Evaluation,
  given,
  intOf,
  LATEST_OPSET,
  type Operator,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import { ALL_DTYPES, isFloat, numbersOf, reader, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { stringTensor } from '../ir/values.ts'

/** The single attribute of a Constant node. */
function constantOf(node: Node): Tensor {
  for (const attribute of node.attributes.values()) {
    if (attribute.kind === 'tensor') return attribute.value
    if (attribute.kind === 'int') return tensorOf('i64', [], [attribute.value])
    if (attribute.kind === 'float') return tensorOf('f32', [], [attribute.value])
    if (attribute.kind === 'ints') return tensorOf('i64', [attribute.value.length], attribute.value)
    if (attribute.kind === 'floats') return tensorOf('f32', [attribute.value.length], attribute.value)
    if (attribute.kind === 'string') return stringTensor([], [attribute.value])
    if (attribute.kind === 'strings') return stringTensor([attribute.value.length], attribute.value)
  }
  throw unclaimed(node, 'its value is not a tensor')
}

const constant: Operator = {
  name: 'Constant',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: {
    inputs: [0, 0],
    outputs: [1, 1],
    attributes: {
      value: 'tensor',
      value_int: 'int',
      value_ints: 'ints',
      value_float: 'float',
      value_floats: 'floats',
      value_string: 'string',
      value_strings: 'strings',
    },
    dtypes: [],
  },
  infer: ({ node }) => [typeOf(constantOf(node))],
  evaluate: ({ node }) => [constantOf(node)],
}

/** The one-element tensor that fills the output; by default an f32 0. */
function fillOf(node: Node): Tensor {
  const attribute = node.attributes.get('value')
  if (attribute === undefined) return zeros('f32', [1])
  if (attribute.kind === 'tensor' && attribute.value.dtype === 'string')
    throw unclaimed(node, 'it makes strings')
  if (attribute.kind === 'tensor' && attribute.value.data.length === 1) return attribute.value
  throw unfit(node, 'its value is not a tensor of one element')
}

const constantOfShape: Operator = {
  name: 'ConstantOfShape',
  domain: '',
  versions: [9, LATEST_OPSET],
  schema: { inputs: [1, 1], outputs: [1, 1], attributes: { value: 'tensor' }, dtypes: [['i64']] },
  infer({ node, inputs: [shape] }) {
    const fill = fillOf(node)
    const dims = shape?.elements
    if (dims?.some((size) => typeof size === 'number' && size < 0))
      throw unfit(node, `its shape is [${dims}]`)
    const [count] = dims ?? []
    const isShort = dims?.length === 1 && typeof count === 'number' && count <= 1024
    const value = reader(fill)(0)
    const isIndex = fill.dtype === 'i64' || fill.dtype === 'i32'
    const elements = isShort && isIndex ? Array<Dim>(count).fill(value) : undefined
    return [{ dtype: fill.dtype, dims, elements }]
  },
  evaluate(context) {
    const fill = fillOf(context.node)
    const made = zeros(fill.dtype, numbersOf(given(context, 0)))
    ;(made.data as Float32Array).fill(fill.data[0] as number)
    return [made]
  },
}

const countBetween = (from: number, to: number, by: number): number =>
  Math.max(0, Math.ceil((to - from) / by))

const RANGED = ['f32', 'f64', 'f16', 'bf16', 'i16', 'i32', 'i64'] as const

const range: Operator = {
  name: 'Range',
  domain: '',
  versions: [11, LATEST_OPSET],
  schema: { inputs: [3, 3], outputs: [1, 1], attributes: {}, dtypes: [RANGED] },
  infer({ inputs: [start, limit, delta], constant }) {
    if (start === undefined) return [undefined]
    if (isFloat(start.dtype)) {
      const [from, to, by] = [0, 1, 2].map((index) => constant(index)?.data[0])
      const isKnown = typeof from === 'number' && typeof to === 'number' && typeof by === 'number'
      const count = isKnown ? countBetween(from, to, by) : Number.NaN
      return [{ dtype: start.dtype, ...(Number.isSafeInteger(count) && { dims: [count] }) }]
    }
    const from = start.elements?.[0]
    const to = limit?.elements?.[0]
    const by = delta?.elements?.[0]
    if (from === undefined || to === undefined || typeof by !== 'number' || by === 0)
      return [{ dtype: start.dtype }]
    const size = maxDims(
      by > 0 ? divideDims(subtractDims(to, from), by) : divideDims(subtractDims(from, to), -by),
      0,
    )
    // The count is rounded up, so it is certain only for steps of one.
    if (by !== 1 && by !== -1) return [{ dtype: start.dtype }]
    const isKnown = typeof size === 'number' && typeof from === 'number' && size <= 1024
    const elements = isKnown ? Array.from({ length: size }, (_, at) => from + at * by) : undefined
    return [{ dtype: start.dtype, dims: [size], elements }]
  },
  evaluate(context) {
    const [start, limit, delta] = [0, 1, 2].map((index) => given(context, index)) as [Tensor, Tensor, Tensor]
    const from = reader(start)(0)
    const to = reader(limit)(0)
    const by = reader(delta)(0)
    if (by === 0) throw unfit(context.node, 'its step is 0')
    const count = countBetween(from, to, by)
    const made = zeros(start.dtype, [count])
    const write = writer(made)
    for (let at = 0; at < count; at++) write(at, from + at * by)
    return [made]
  },
}

const trilu: Operator = {
  name: 'Trilu',
  domain: '',
  versions: [14, LATEST_OPSET],
  schema: { inputs: [1, 2], outputs: [1, 1], attributes: { upper: 'int' }, dtypes: [ALL_DTYPES, ['i64']] },
  infer: ({ inputs: [input] }) => [input && { dtype: input.dtype, dims: input.dims }],
  evaluate: (context) => [evaluateTrilu(context)],
}

/** The upper triangle is column - row >= k, the lower one column - row <= k. */
function evaluateTrilu(context: Evaluation): Tensor {
  const input = given(context, 0)
  const k = context.inputs[1] === undefined ? 0 : reader(context.inputs[1])(0)
  const isUpper = intOf(context.node, 'upper', 1) !== 0
  const [columns = 1, rows = 1] = input.dims.toReversed()
  const made = { ...input, data: input.data.slice() }
  for (let at = 0; at < made.data.length; at++) {
    const off = (at % columns) - (Math.floor(at / columns) % rows)
    if (isUpper ? off < k : off > k) made.data[at] = (typeof made.data[at] === 'bigint' ? 0n : 0) as never
  }
  return made
}

export const CREATE: readonly Operator[] = [constant, constantOfShape, range, trilu]
