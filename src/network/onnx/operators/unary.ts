// Elementwise operators with one input.

import { erf } from '../../../core/base/erf.ts'
import { subtractDims } from '../ir/dims.ts'
import type { AttributeKind, Node } from '../ir/graph.ts'
import { define, given, intOf, type Operator, sameType } from '../ir/operator.ts'
import {
  type DType,
  FLOATS,
  INTEGERS,
  NUMBERS,
  reader,
  type Tensor,
  VALUE_DTYPES,
  writer,
  zeros,
} from '../ir/tensor.ts'

type Compute = (x: number) => number

/** The output has the input's dtype. `big` computes 64-bit integers, which would lose digits as numbers. */
function unary(
  name: string,
  since: number,
  dtypes: readonly DType[],
  compute: Compute,
  big?: (x: bigint) => bigint,
): Operator {
  return define({
    name,
    since,
    dtypes: [big === undefined ? dtypes.filter((dtype) => dtype !== 'i64' && dtype !== 'u64') : dtypes],
    infer: sameType,
    evaluate: (context) => [map(given(context, 0), compute, big)],
  })
}

/** An activation, evaluated by loops only. */
const activation = (
  name: string,
  since: number,
  attributes: Readonly<Record<string, AttributeKind>> = {},
): Operator => define({ name, since, attributes, dtypes: [FLOATS], infer: sameType })

/** A boolean test of each number. */
function test(
  name: string,
  since: number,
  attributes: Readonly<Record<string, AttributeKind>>,
  testOf: (node: Node) => (x: number) => boolean,
): Operator {
  return {
    ...activation(name, since, attributes),
    infer: ({ inputs: [input] }) => [{ dtype: 'bool', dims: input?.dims }],
    evaluate(context) {
      const holds = testOf(context.node)
      return [map(given(context, 0), (x) => Number(holds(x)), undefined, 'bool')]
    },
  }
}

function map(input: Tensor, compute: Compute, big?: (x: bigint) => bigint, dtype = input.dtype): Tensor {
  const made = zeros(dtype, input.dims)
  if (made.data instanceof BigInt64Array || made.data instanceof BigUint64Array) {
    for (let at = 0; at < made.data.length; at++) made.data[at] = big!(input.data[at] as bigint)
    return made
  }
  const read = reader(input)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) write(at, compute(read(at)))
  return made
}

/** Rounds to the nearest integer, ties to even. */
export function roundEven(x: number): number {
  const floor = Math.floor(x)
  const rest = x - floor
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1
  return floor % 2 === 0 ? floor : floor + 1
}

const sigmoid: Compute = (x) => 1 / (1 + Math.exp(-x))

const SIGNED = NUMBERS.filter((dtype) => !dtype.startsWith('u'))

const identity: Operator = {
  ...unary(
    'Identity',
    1,
    VALUE_DTYPES,
    (x) => x,
    (x) => x,
  ),
  infer: ({ inputs: [input] }) => [input],
  evaluate: (context) => [given(context, 0)],
}

const neg: Operator = {
  ...unary(
    'Neg',
    6,
    SIGNED,
    (x) => -x,
    (x) => -x,
  ),
  infer: ({ inputs: [input] }) => [
    input && {
      dtype: input.dtype,
      dims: input.dims,
      elements: input.elements?.map((each) => subtractDims(0, each)),
    },
  ],
}

export const UNARY: readonly Operator[] = [
  identity,
  neg,
  unary('Abs', 6, NUMBERS, Math.abs, (x) => (x < 0n ? -x : x)),
  unary('Sign', 9, NUMBERS, Math.sign, (x) => (x < 0n ? -1n : x > 0n ? 1n : 0n)),
  unary(
    'Relu',
    6,
    SIGNED,
    (x) => (x < 0 ? 0 : x),
    (x) => (x < 0n ? 0n : x),
  ),
  unary(
    'BitwiseNot',
    18,
    INTEGERS,
    (x) => ~x,
    (x) => ~x,
  ),
  unary('Sqrt', 6, FLOATS, Math.sqrt),
  unary('Reciprocal', 6, FLOATS, (x) => 1 / x),
  unary('Exp', 6, FLOATS, Math.exp),
  unary('Log', 6, FLOATS, Math.log),
  unary('Sin', 7, FLOATS, Math.sin),
  unary('Cos', 7, FLOATS, Math.cos),
  unary('Tan', 7, FLOATS, Math.tan),
  unary('Asin', 7, FLOATS, Math.asin),
  unary('Acos', 7, FLOATS, Math.acos),
  unary('Atan', 7, FLOATS, Math.atan),
  unary('Sinh', 9, FLOATS, Math.sinh),
  unary('Cosh', 9, FLOATS, Math.cosh),
  unary('Asinh', 9, FLOATS, Math.asinh),
  unary('Acosh', 9, FLOATS, Math.acosh),
  unary('Atanh', 9, FLOATS, Math.atanh),
  unary('Tanh', 6, FLOATS, Math.tanh),
  unary('Sigmoid', 6, FLOATS, sigmoid),
  unary('Erf', 9, FLOATS, erf),
  unary('Floor', 6, FLOATS, Math.floor),
  unary('Ceil', 6, FLOATS, Math.ceil),
  unary('Round', 11, FLOATS, roundEven),
  activation('Softplus', 1),
  activation('Softsign', 1),
  activation('HardSwish', 14),
  activation('Mish', 18),
  unary('Not', 1, ['bool'], (x) => (x === 0 ? 1 : 0)),
  activation('Gelu', 20, { approximate: 'string' }),
  activation('Swish', 24, { alpha: 'float' }),
  define({
    name: 'SwiGLU',
    since: 28,
    inputs: [2, 2],
    attributes: { alpha: 'float' },
    dtypes: [FLOATS],
    infer: sameType,
  }),
  activation('LeakyRelu', 6, { alpha: 'float' }),
  activation('ThresholdedRelu', 10, { alpha: 'float' }),
  activation('Elu', 6, { alpha: 'float' }),
  activation('Celu', 12, { alpha: 'float' }),
  activation('Selu', 6, { alpha: 'float', gamma: 'float' }),
  activation('HardSigmoid', 6, { alpha: 'float', beta: 'float' }),
  test('IsNaN', 9, {}, () => Number.isNaN),
  test('IsInf', 10, { detect_negative: 'int', detect_positive: 'int' }, (node) => {
    const below = intOf(node, 'detect_negative', 1) !== 0
    const above = intOf(node, 'detect_positive', 1) !== 0
    return (x) => (above && x === Infinity) || (below && x === -Infinity)
  }),
]
