// Quantisation: floats to integers with scales and zero points, the reverse, and products of integers.

import { axisOf } from '../ir/broadcast.ts'
import type { Node } from '../ir/graph.ts'
import { isMiniFloat, toMiniFloat } from '../ir/mini-floats.ts'
import { define, flagOf, given, intOf, type Operator, statedDtype, unclaimed, unfit } from '../ir/operator.ts'
import {
  BITS,
  countOf,
  type DType,
  FLOATS,
  reader,
  rounder,
  type Tensor,
  writer,
  zeros,
} from '../ir/tensor.ts'
import { inferProduct } from './products.ts'
import { roundEven } from './unary.ts'

const MINI_FLOATS: readonly DType[] = ['f8e4m3fn', 'f8e4m3fnuz', 'f8e5m2', 'f8e5m2fnuz', 'f4e2m1']
const QUANTISED: readonly DType[] = ['i8', 'u8', 'i16', 'u16', 'i4', 'u4', 'i2', 'u2', ...MINI_FLOATS]
const BYTES: readonly DType[] = ['i8', 'u8']

/** Smallest and largest number of an integer dtype. */
export function limitsOf(dtype: DType): [number, number] {
  const bits = BITS[dtype]
  return dtype.startsWith('u') ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
}

/**
 * The index of the scale for each element of a tensor of shape `dims`: one for all, one per index of the
 * axis, or one per block of `block_size` elements along it.
 */
function places(node: Node, dims: readonly number[], scale: Tensor, zero: Tensor | undefined) {
  if (zero !== undefined && zero.data.length !== scale.data.length)
    throw unfit(node, `it has ${scale.data.length} scales and ${zero.data.length} zero points`)
  if (scale.data.length === 1) return () => 0
  const axis = axisOf(node, intOf(node, 'axis', 1), dims.length)
  const size = dims[axis]!
  const inner = countOf(dims.slice(axis + 1))
  const block = intOf(node, 'block_size', 0)
  if (block === 0) {
    if (`${scale.dims}` === `${size}`) return (at: number) => Math.floor(at / inner) % size
    throw unfit(node, `scales of shape [${scale.dims}] do not fit axis ${axis} of ${size}`)
  }
  const blocks = Math.ceil(size / block)
  if (block < 0 || `${dims.with(axis, blocks)}` !== `${scale.dims}`)
    throw unfit(node, `scales of shape [${scale.dims}] do not fit [${dims}] in blocks of ${block}`)
  return (at: number) => {
    const line = Math.floor(at / inner)
    return (Math.floor(line / size) * blocks + Math.floor((line % size) / block)) * inner + (at % inner)
  }
}

function quantisedOf(node: Node, zero: DType | undefined): DType {
  const stated = statedDtype(node, 'output_dtype')
  if (zero !== undefined && stated !== undefined && zero !== stated)
    throw unfit(node, `its zero point is ${zero} but its output is ${stated}`)
  const dtype = zero ?? stated ?? 'u8'
  if (QUANTISED.includes(dtype)) return dtype
  throw unclaimed(node, `it produces ${dtype}`)
}

const quantizeLinear: Operator = define({
  name: 'QuantizeLinear',
  since: 10,
  inputs: [2, 3],
  attributes: { axis: 'int', saturate: 'int', block_size: 'int', output_dtype: 'int', precision: 'int' },
  dtypes: [[...FLOATS, 'i32'], [...FLOATS, 'i32'], QUANTISED],
  infer: ({ node, inputs: [x, , zero] }) => [{ dtype: quantisedOf(node, zero?.dtype), dims: x?.dims }],
  evaluate(context) {
    const { node, inputs } = context
    const x = given(context, 0)
    const scale = given(context, 1)
    const zero = inputs[2]
    const made = zeros(quantisedOf(node, zero?.dtype), x.dims)
    const place = places(node, x.dims, scale, zero)
    const divide = quotientIn(statedDtype(node, 'precision') ?? (x.dtype === 'i32' ? scale.dtype : x.dtype))
    const value = reader(x)
    const size = reader(scale)
    const offset = zero ? reader(zero) : () => 0
    const round = codeOf(node, made.dtype)
    for (let at = 0; at < made.data.length; at++)
      made.data[at] = round(divide(value(at), size(place(at))), offset(place(at)))
    return [made]
  },
})

/** Rounds a quotient to the dtype's codes, with their zero point. */
function codeOf(node: Node, dtype: DType): (quotient: number, zero: number) => number {
  if (isMiniFloat(dtype)) {
    const saturates = flagOf(node, 'saturate', true)
    return (quotient, zero) => toMiniFloat(dtype, quotient + zero, saturates)
  }
  const [low, high] = limitsOf(dtype)
  return (quotient, zero) => {
    const rounded = roundEven(quotient) + zero
    return Math.min(high, Math.max(low, Number.isNaN(rounded) ? 0 : rounded))
  }
}

/** The quotient, rounded and clamped to the dtype. */
function quotientIn(dtype: DType): (a: number, b: number) => number {
  if (dtype === 'f32') return (a, b) => Math.fround(a / b)
  const round = rounder(dtype)
  return (a, b) => round(a / b)
}

const dequantizeLinear: Operator = define({
  name: 'DequantizeLinear',
  since: 10,
  inputs: [2, 3],
  attributes: { axis: 'int', block_size: 'int', output_dtype: 'int' },
  dtypes: [[...QUANTISED, 'i32'], FLOATS, [...QUANTISED, 'i32']],
  infer({ node, inputs: [x, scale] }) {
    const dtype = statedDtype(node, 'output_dtype') ?? scale?.dtype
    return [dtype && { dtype, dims: x?.dims }]
  },
  evaluate(context) {
    const { node, inputs } = context
    const x = given(context, 0)
    const scale = given(context, 1)
    const zero = inputs[2]
    if (zero !== undefined && zero.dtype !== x.dtype)
      throw unfit(node, `its zero point is ${zero.dtype} but its input is ${x.dtype}`)
    const made = zeros(statedDtype(node, 'output_dtype') ?? scale.dtype, x.dims)
    const place = places(node, x.dims, scale, zero)
    const value = reader(x)
    const size = reader(scale)
    const offset = zero ? reader(zero) : () => 0
    const write = writer(made)
    for (let at = 0; at < made.data.length; at++) write(at, (value(at) - offset(place(at))) * size(place(at)))
    return [made]
  },
})

const dynamicQuantizeLinear: Operator = define({
  name: 'DynamicQuantizeLinear',
  since: 11,
  outputs: [3, 3],
  dtypes: [['f32']],
  infer: ({ inputs: [x] }) => [
    { dtype: 'u8', dims: x?.dims },
    { dtype: 'f32', dims: [] },
    { dtype: 'u8', dims: [] },
  ],
})

const matMulInteger: Operator = define({
  name: 'MatMulInteger',
  since: 10,
  inputs: [2, 4],
  dtypes: [BYTES],
  infer: ({ node, inputs: [a, b] }) => [inferProduct(node, a, b, 'i32')],
})

/** Scales and zero points are scalars. */
const qLinearMatMul: Operator = define({
  name: 'QLinearMatMul',
  since: 10,
  inputs: [8, 8],
  dtypes: [BYTES, FLOATS, BYTES, BYTES, FLOATS, BYTES, FLOATS, BYTES],
  infer: ({ node, inputs }) => [inferProduct(node, inputs[0], inputs[3], inputs[7]?.dtype)],
})

export const QUANTISE: readonly Operator[] = [
  quantizeLinear,
  dequantizeLinear,
  dynamicQuantizeLinear,
  matMulInteger,
  qLinearMatMul,
]
