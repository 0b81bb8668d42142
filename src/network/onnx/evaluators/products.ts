// Evaluators of products of codes, and of products with transposed operands.
import type { Evaluators } from '../evaluate.ts'
import { walk } from '../ir/broadcast.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, floatOf, given, unclaimed, unfit } from '../ir/operator.ts'
import { reader, stridesOf, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { dimsTransposed, transposes } from '../operators/contrib/products.ts'
import { pick } from '../operators/layout.ts'
import { product } from '../operators/products.ts'
import { limitsOf } from '../operators/quantise.ts'
import { roundEven } from '../operators/unary.ts'
import { biased } from './activations.ts'

/**
 * One scale for the whole tensor, chosen so that 0 is exactly a u8 code. Ties round to even. A tensor of
 * zeros has the scale of a range of 1.
 */
function quantisedBytes(x: Tensor): { y: Tensor; scale: number; zero: number } {
  const read = reader(x)
  let low = 0
  let high = 0
  for (let at = 0; at < x.data.length; at++) {
    low = Math.min(low, read(at))
    high = Math.max(high, read(at))
  }
  const scale = Math.fround((high === low ? 1 : Math.fround(high - low)) / 255)
  const zero = clampByte(roundEven(Math.fround(-low / scale)))
  const y = zeros('u8', x.dims)
  for (let at = 0; at < x.data.length; at++)
    y.data[at] = clampByte(roundEven(Math.fround(read(at) / scale)) + zero)
  return { y, scale, zero }
}

const clampByte = (value: number): number => Math.min(255, Math.max(0, value))

function evaluateDynamicQuantizeLinear(context: Evaluation): Tensor[] {
  const { y, scale, zero } = quantisedBytes(given(context, 0))
  return [y, tensorOf('f32', [], [scale]), tensorOf('u8', [], [zero])]
}

/** The tensor as integers minus its zero points: a single one, one per row of A, or one per column of B. */
export function centred(
  node: Node,
  tensor: Tensor,
  zero: Tensor | undefined,
  side: 'row' | 'column',
): Tensor {
  const made = zeros('i32', tensor.dims)
  const [columns = 1, rows = 1] = tensor.dims.toReversed()
  const own = zero?.data.length ?? 1
  const count = side === 'row' ? rows : columns
  if (zero !== undefined && (zero.dtype !== tensor.dtype || (own !== 1 && own !== count)))
    throw unfit(node, `${own} zero points of ${zero.dtype} do not fit ${tensor.dtype} [${tensor.dims}]`)
  const read = reader(tensor)
  const offset = zero ? reader(zero) : () => 0
  for (let at = 0; at < made.data.length; at++) {
    const line = side === 'row' ? Math.floor(at / columns) % rows : at % columns
    made.data[at] = read(at) - offset(own === 1 ? 0 : line)
  }
  return made
}

function evaluateMatMulInteger(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const left = centred(node, given(context, 0), inputs[2], 'row')
  return [product(context, left, centred(node, given(context, 1), inputs[3], 'column'))]
}

function evaluateQLinear(context: Evaluation): Tensor {
  const { node } = context
  const one = (index: number): number => {
    const tensor = given(context, index)
    if (tensor.data.length === 1) return reader(tensor)(0)
    throw unclaimed(node, `its input ${index} has ${tensor.data.length} elements`)
  }
  const left = centred(node, given(context, 0), given(context, 2), 'row')
  const total = product(context, left, centred(node, given(context, 3), given(context, 5), 'column'))
  const scale = (one(1) * one(4)) / one(6)
  const made = zeros(given(context, 7).dtype, total.dims)
  const [low, high] = limitsOf(made.dtype)
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = Math.min(high, Math.max(low, roundEven(Number(total.data[at]) * scale) + one(7)))
  return made
}

/** `total` times the scales: a single one, or one per column. */
function scaled(node: Node, total: Tensor, a: number, scales: Tensor, bias: Tensor | undefined): Tensor {
  const columns = total.dims.at(-1) ?? 1
  const count = scales.data.length
  if (count !== 1 && count !== columns) throw unfit(node, `it has ${count} scales for ${columns} columns`)
  const made = zeros('f32', total.dims)
  const read = reader(total)
  const scale = reader(scales)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++)
    write(at, read(at) * a * scale(count === 1 ? 0 : at % columns))
  return biased(node, made, bias)
}

function evaluateDynamicQuantizeMatMul(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const { y, scale, zero } = quantisedBytes(given(context, 0))
  const left = centred(node, y, tensorOf('u8', [], [zero]), 'row')
  const right = centred(node, given(context, 1), inputs[3], 'column')
  return [scaled(node, product(context, left, right), scale, given(context, 2), inputs[4])]
}

function evaluateMatMulIntegerToFloat(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const own = given(context, 2)
  if (own.data.length !== 1) throw unclaimed(node, 'its left side has a scale for each row')
  const left = centred(node, given(context, 0), inputs[4], 'row')
  const right = centred(node, given(context, 1), inputs[5], 'column')
  return [scaled(node, product(context, left, right), reader(own)(0), given(context, 3), inputs[6])]
}

function evaluateFusedMatMul(context: Evaluation): Tensor[] {
  const { node } = context
  const a = given(context, 0)
  const b = given(context, 1)
  const made = product(
    context,
    transposedIf(a, transposes(node, 'A')),
    transposedIf(b, transposes(node, 'B')),
    'f64',
  )
  const alpha = floatOf(node, 'alpha', 1)
  return [
    tensorOf(
      a.dtype,
      made.dims,
      (made.data as Float64Array).map((each) => alpha * each),
    ),
  ]
}

function transposedIf(tensor: Tensor, isTransposed: boolean): Tensor {
  if (!isTransposed) return tensor
  const dims = dimsTransposed(tensor.dims)
  return pick(tensor, dims, walk(dims, dimsTransposed(stridesOf(tensor.dims))))
}

export const PRODUCTS: Evaluators = new Map([
  ['DynamicQuantizeLinear', evaluateDynamicQuantizeLinear],
  ['MatMulInteger', evaluateMatMulInteger],
  ['QLinearMatMul', (context) => [evaluateQLinear(context)]],
  ['com.microsoft:DynamicQuantizeMatMul', evaluateDynamicQuantizeMatMul],
  ['com.microsoft:MatMulIntegerToFloat', evaluateMatMulIntegerToFloat],
  ['com.microsoft:FusedMatMul', evaluateFusedMatMul],
])
