// Operators of one input, element by element. In: a tensor. Out: a tensor of the same shape.
import type { Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator } from '../ir/operator.ts'
import { ALL_DTYPES, type DType, FLOATS, NUMBERS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

type Function = (x: number) => number

/** The output has the input's dtype. */
function unary(name: string, since: number, dtypes: readonly DType[], compute: Function): Operator {
  return {
    name,
    domain: '',
    versions: [since, 26],
    schema: { inputs: [1, 1], outputs: [1, 1], attributes: {}, dtypes: [dtypes] },
    mapping: 'one-to-one',
    layout: 'ILI variable',
    infer: ({ inputs: [input] }) => [input && { dtype: input.dtype, dims: input.dims }],
    evaluate: (context) => [evaluateUnary(context, compute)],
  }
}

function evaluateUnary(context: Evaluation, compute: Function): Tensor {
  const input = given(context, 0)
  const made = zeros(input.dtype, input.dims)
  const [read, write] = [reader(input), writer(made)]
  for (let at = 0; at < made.data.length; at++) write(at, compute(read(at)))
  return made
}

/** The Taylor series near 0, the continued fraction of Laplace further out. */
export function erf(x: number): number {
  const size = Math.abs(x)
  if (Number.isNaN(x)) return x
  if (size > 6) return Math.sign(x)
  if (size < 2.5) {
    let [term, total] = [x, x]
    for (let n = 1; n < 60; n++) {
      term *= (-x * x) / n
      total += term / (2 * n + 1)
    }
    return (2 / Math.sqrt(Math.PI)) * total
  }
  let fraction = 0
  for (let n = 60; n > 0; n--) fraction = n / 2 / (size + fraction)
  return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (size + fraction))
}

/** To the nearest whole number, halves to the even one. */
function roundEven(x: number): number {
  const floor = Math.floor(x)
  const rest = x - floor
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1
  return floor % 2 === 0 ? floor : floor + 1
}

/** 64-bit integers would lose digits on the way through numbers. */
const EXACT = NUMBERS.filter((dtype) => dtype !== 'i64' && dtype !== 'u64')
const SIGNED = EXACT.filter((dtype) => !dtype.startsWith('u'))
const identity: Operator = {
  ...unary('Identity', 1, ALL_DTYPES, (x) => x),
  infer: ({ inputs: [input] }: Inference): [Type | undefined] => [input],
  evaluate: (context) => [given(context, 0)],
}

export const UNARY: readonly Operator[] = [
  identity,
  unary('Neg', 6, SIGNED, (x) => -x),
  unary('Abs', 6, EXACT, Math.abs),
  unary('Sqrt', 6, FLOATS, Math.sqrt),
  unary('Reciprocal', 6, FLOATS, (x) => 1 / x),
  unary('Exp', 6, FLOATS, Math.exp),
  unary('Log', 6, FLOATS, Math.log),
  unary('Sin', 7, FLOATS, Math.sin),
  unary('Cos', 7, FLOATS, Math.cos),
  unary('Tanh', 6, FLOATS, Math.tanh),
  unary('Sigmoid', 6, FLOATS, (x) => 1 / (1 + Math.exp(-x))),
  unary('Relu', 6, EXACT, (x) => (x < 0 ? 0 : x)),
  unary('Erf', 9, FLOATS, erf),
  unary('Floor', 6, FLOATS, Math.floor),
  unary('Ceil', 6, FLOATS, Math.ceil),
  unary('Round', 11, FLOATS, roundEven),
  unary('Not', 1, ['bool'], (x) => (x === 0 ? 1 : 0)),
]
