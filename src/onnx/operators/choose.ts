// Where, Cast and Pow. In: tensors. Out: elements of one or the other, in another dtype, or to a power.
import { intOf } from '../ir/attributes.ts'
import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator, unclaimed } from '../ir/operator.ts'
import {
  ALL_DTYPES,
  DTYPES,
  type DType,
  FLOATS,
  NUMBERS,
  reader,
  type Tensor,
  writer,
  zeros,
} from '../ir/tensor.ts'

const where: Operator = {
  name: 'Where',
  domain: '',
  versions: [9, 26],
  schema: { inputs: [3, 3], outputs: [1, 1], attributes: {}, dtypes: [['bool'], ALL_DTYPES] },
  mapping: 'one-to-one',
  layout: 'ILI variable',
  infer: (context) => [inferWhere(context)],
  evaluate: (context) => [evaluateWhere(context)],
}

function inferWhere({ node, inputs: [condition, left, right] }: Inference): Type | undefined {
  const dtype = left?.dtype ?? right?.dtype
  if (dtype === undefined) return undefined
  const dims = broadcastDims(node, [condition?.dims, left?.dims, right?.dims])
  const count = dims?.length === 1 ? dims[0] : dims?.length === 0 ? 1 : undefined
  const chosen = condition?.elements
  if (chosen === undefined || typeof count !== 'number') return { dtype, dims }
  const element = (elements: readonly Dim[] | undefined, at: number) =>
    elements?.[elements.length === 1 ? 0 : at]
  const known = Array.from({ length: count }, (_, at) => {
    const isLeft = element(chosen, at)
    if (typeof isLeft !== 'number') return undefined
    return element(isLeft === 0 ? right?.elements : left?.elements, at)
  })
  return { dtype, dims, elements: known.every((each) => each !== undefined) ? known : undefined }
}

function evaluateWhere(context: Evaluation): Tensor {
  const [condition, left, right] = [0, 1, 2].map((index) => given(context, index)) as [Tensor, Tensor, Tensor]
  const made = zeros(left.dtype, broadcast(context.node, [condition.dims, left.dims, right.dims]))
  const [c, a, b] = [condition, left, right].map(({ dims }) => broadcastIndices(dims, made.dims))
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = condition.data[c![at]!] === 0 ? right.data[b![at]!]! : left.data[a![at]!]!
  return made
}

function targetOf(node: Node): DType {
  const number = intOf(node, 'to', 0)
  const dtype = DTYPES.get(number)
  if (dtype !== undefined) return dtype
  throw unclaimed(node, `it casts to the ONNX data type ${number}`)
}

/** What is not a whole number is cut off; what does not fit wraps. */
const cast: Operator = {
  name: 'Cast',
  domain: '',
  versions: [9, 26],
  schema: {
    inputs: [1, 1],
    outputs: [1, 1],
    attributes: { to: 'int', saturate: 'int', round_mode: 'string' },
    dtypes: [ALL_DTYPES],
  },
  mapping: 'one-to-one',
  layout: 'ILI variable',
  infer({ node, inputs: [input] }) {
    const dtype = targetOf(node)
    const keeps = dtype === 'i64' || dtype === 'i32'
    return [{ dtype, dims: input?.dims, elements: keeps ? input?.elements : undefined }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const made = zeros(targetOf(context.node), input.dims)
    if (made.data instanceof BigInt64Array && input.data instanceof BigInt64Array) made.data.set(input.data)
    else {
      const [read, write] = [reader(input), writer(made)]
      for (let at = 0; at < made.data.length; at++) write(at, wrapped(made.dtype, read(at)))
    }
    return [made]
  },
}

/** Four-bit integers are bytes in memory, which do not wrap by themselves. */
function wrapped(dtype: DType, value: number): number {
  if (dtype === 'u4') return Math.trunc(value) & 15
  if (dtype === 'i4') return (Math.trunc(value) << 28) >> 28
  return value
}

const pow: Operator = {
  name: 'Pow',
  domain: '',
  versions: [7, 26],
  schema: { inputs: [2, 2], outputs: [1, 1], attributes: {}, dtypes: [[...FLOATS, 'i32', 'i64'], NUMBERS] },
  mapping: 'one-to-one',
  layout: 'ILI variable',
  infer({ node, inputs: [base, exponent] }) {
    return [base && { dtype: base.dtype, dims: broadcastDims(node, [base.dims, exponent?.dims]) }]
  },
  evaluate(context) {
    const [base, exponent] = [given(context, 0), given(context, 1)]
    const made = zeros(base.dtype, broadcast(context.node, [base.dims, exponent.dims]))
    const [from, to] = [broadcastIndices(base.dims, made.dims), broadcastIndices(exponent.dims, made.dims)]
    const [a, b, write] = [reader(base), reader(exponent), writer(made)]
    for (let at = 0; at < made.data.length; at++) write(at, a(from[at]!) ** b(to[at]!))
    return [made]
  },
}

export const CHOOSE: readonly Operator[] = [where, cast, pow]
