// Where, Clip, Cast and CastLike.

import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { isMiniFloat, toMiniFloat } from '../ir/mini-floats.ts'
import {
  define,
  type Evaluation,
  flagOf,
  given,
  type Inference,
  intOf,
  LATEST_OPSET,
  type Operator,
  sameType,
  stringOf,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import {
  ALL_DTYPES,
  BITS,
  DTYPES,
  type DType,
  isBig,
  isFloat,
  MOVED_DTYPES,
  NUMBERS,
  reader,
  type Tensor,
  writer,
  zeros,
} from '../ir/tensor.ts'

const where: Operator = {
  name: 'Where',
  domain: '',
  versions: [9, LATEST_OPSET],
  schema: { inputs: [3, 3], outputs: [1, 1], attributes: {}, dtypes: [['bool'], MOVED_DTYPES] },
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
  if (left.dtype !== right.dtype)
    throw unfit(context.node, `it chooses between ${left.dtype} and ${right.dtype}`)
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

function inferCast(dtype: DType, input: Type | undefined): Type {
  const keeps = dtype === 'i64' || dtype === 'i32'
  const isWhole = input !== undefined && !isFloat(input.dtype)
  return { dtype, dims: input?.dims, elements: keeps && isWhole ? input.elements : undefined }
}

/**
 * Fractions are truncated; numbers out of range wrap. In floats of 8 bits, they become the largest number
 * unless the node says otherwise.
 */
function evaluateCast(node: Node, input: Tensor, dtype: DType): Tensor {
  const made = zeros(dtype, input.dims)
  if (isMiniFloat(dtype)) {
    const saturates = flagOf(node, 'saturate', true)
    const mode = stringOf(node, 'round_mode', 'up')
    if (mode !== 'up') throw unclaimed(node, `its round_mode is ${mode}`)
    const read = reader(input)
    for (let at = 0; at < made.data.length; at++) made.data[at] = toMiniFloat(dtype, read(at), saturates)
    return made
  }
  if (isBig(dtype) && !isFloat(input.dtype)) {
    const data = made.data as BigInt64Array
    // The array wraps negative numbers at 2^64.
    for (let at = 0; at < data.length; at++) data[at] = BigInt(input.data[at]!)
    return made
  }
  // The low bits of a 64-bit integer, not all of which fit in a number.
  const isCut = isBig(input.dtype) && !isFloat(dtype) && dtype !== 'bool'
  const read = isCut
    ? (at: number) => Number(BigInt.asIntN(32, (input.data as BigInt64Array)[at]!))
    : reader(input)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) write(at, wrapped(dtype, read(at)))
  return made
}

const SATURATE = { saturate: 'int', round_mode: 'string' } as const

const cast: Operator = define({
  name: 'Cast',
  since: 9,
  attributes: { to: 'int', ...SATURATE },
  dtypes: [ALL_DTYPES],
  infer: ({ node, inputs: [input] }) => [inferCast(targetOf(node), input)],
  evaluate: (context) => [evaluateCast(context.node, given(context, 0), targetOf(context.node))],
})

const castLike: Operator = define({
  name: 'CastLike',
  since: 15,
  inputs: [2, 2],
  attributes: SATURATE,
  dtypes: [ALL_DTYPES],
  infer: ({ inputs: [input, like] }) => [like && inferCast(like.dtype, input)],
  evaluate: (context) => [evaluateCast(context.node, given(context, 0), given(context, 1).dtype)],
})

/** Integers below 8 bits are stored as bytes, which wrap only at 8 bits. */
function wrapped(dtype: DType, value: number): number {
  const bits = BITS[dtype]
  if (bits >= 8 || isFloat(dtype)) return value
  if (dtype.startsWith('u')) return Math.trunc(value) & (2 ** bits - 1)
  return (Math.trunc(value) << (32 - bits)) >> (32 - bits)
}

/** Limits are inputs from opset 11. The upper limit wins if they cross. */
const clip: Operator = define({
  name: 'Clip',
  since: 11,
  inputs: [1, 3],
  dtypes: [NUMBERS],
  infer: sameType,
  evaluate(context) {
    const input = given(context, 0)
    const limit = (index: number) => {
      const tensor = context.inputs[index]
      if (tensor !== undefined && (tensor.dtype !== input.dtype || tensor.data.length !== 1))
        throw unfit(context.node, `its limit ${index} is ${tensor.dtype} of shape [${tensor.dims}]`)
      return tensor?.data[0]
    }
    const low = limit(1)
    const high = limit(2)
    const made = zeros(input.dtype, input.dims)
    for (let at = 0; at < made.data.length; at++) {
      let value = input.data[at]!
      if (low !== undefined && value < low) value = low
      if (high !== undefined && value > high) value = high
      made.data[at] = value
    }
    return [made]
  },
})

export const CHOOSE: readonly Operator[] = [where, clip, cast, castLike]
