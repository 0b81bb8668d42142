// Evaluators of convolutions over 8-bit codes.
import type { Evaluators } from '../evaluate.ts'
import { type Evaluation, given, unfit } from '../ir/operator.ts'
import { countOf, reader, type Tensor, zeros } from '../ir/tensor.ts'
import { limitsOf } from '../operators/quantise.ts'
import { roundEven } from '../operators/unary.ts'
import { evaluateConv } from './images.ts'

/** Codes minus their zero point: a single one, or one per index of the first axis. */
function centred(context: Evaluation, index: number, zero: Tensor | undefined): Tensor {
  const codes = given(context, index)
  const made = zeros('i32', codes.dims)
  const [read, offset] = [reader(codes), zero === undefined ? () => 0 : reader(zero)]
  const count = zero?.data.length ?? 1
  if (count !== 1 && count !== codes.dims[0])
    throw unfit(context.node, `it has ${count} zero points for ${codes.dims[0]} filters`)
  const inner = countOf(codes.dims.slice(1))
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = read(at) - offset(count === 1 ? 0 : Math.floor(at / inner))
  return made
}

const evaluateConvInteger = (context: Evaluation): Tensor => {
  const [x, filters] = [centred(context, 0, context.inputs[2]), centred(context, 1, context.inputs[3])]
  return evaluateConv({ ...context, inputs: [x, filters] })
}

/** Rounds the sums, times their scales, to the codes of the output. */
function evaluateQLinearConv(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = centred(context, 0, given(context, 2))
  const filters = centred(context, 3, given(context, 5))
  const total = evaluateConv({ ...context, inputs: [x, filters, inputs[8]] })
  const [scaleX, scales, scaleY, zeroY] = [1, 4, 6, 7].map((index) => reader(given(context, index))) as [
    Read,
    Read,
    Read,
    Read,
  ]
  const count = given(context, 4).data.length
  const [, channels = 1, ...places] = total.dims
  if (count !== 1 && count !== channels) throw unfit(node, `it has ${count} scales for ${channels} filters`)
  const made = zeros(given(context, 7).dtype, total.dims)
  const [low, high] = limitsOf(made.dtype)
  const area = countOf(places)
  for (let at = 0; at < made.data.length; at++) {
    const scale = (scaleX(0) * scales(count === 1 ? 0 : Math.floor(at / area) % channels)) / scaleY(0)
    const code = roundEven(Number(total.data[at]) * scale) + zeroY(0)
    made.data[at] = Math.min(high, Math.max(low, code))
  }
  return made
}

type Read = (index: number) => number

export const CODE_CONVOLUTIONS: Evaluators = new Map([
  ['ConvInteger', (context) => [evaluateConvInteger(context)]],
  ['QLinearConv', (context) => [evaluateQLinearConv(context)]],
])
