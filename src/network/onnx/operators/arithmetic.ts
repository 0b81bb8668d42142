// Arithmetic operators: sums, differences, products, quotients, powers, remainders and extremes, broadcast.

import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import { addDims, type Dim, divideExactly, maxDims, minDims, multiplyDims, subtractDims } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  given,
  type Inference,
  intOf,
  LATEST_OPSET,
  type Operator,
  unfit,
} from '../ir/operator.ts'
import {
  type DType,
  FLOATS,
  INTEGERS,
  isFloat,
  NUMBERS,
  reader,
  type Tensor,
  writer,
  zeros,
} from '../ir/tensor.ts'

type Compare = (left: number | bigint, right: number | bigint) => boolean

function comparison(name: string, since: number, dtypes: readonly DType[], compare: Compare): Operator {
  return {
    name,
    domain: '',
    versions: [since, LATEST_OPSET],
    schema: { inputs: [2, 2], outputs: [1, 1], attributes: {}, dtypes: [dtypes] },
    infer: (context) => [inferComparison(context, compare)],
    evaluate: (context) => [evaluateComparison(context, compare)],
  }
}

/** If the elements of both sides are known, so is the result, as 0 and 1. */
function inferComparison({ node, inputs: [left, right] }: Inference, compare: Compare): Type | undefined {
  const dims = broadcastDims(node, [left?.dims, right?.dims])
  const a = left?.elements
  const b = right?.elements
  if (a === undefined || b === undefined || dims === undefined || dims.length > 1)
    return { dtype: 'bool', dims }
  const known = Array.from({ length: Math.max(a.length, b.length) }, (_, at): Dim | undefined => {
    const x = a[a.length === 1 ? 0 : at]!
    const y = b[b.length === 1 ? 0 : at]!
    if (typeof x === 'number' && typeof y === 'number') return Number(compare(x, y))
    // A symbol is a size, which is never negative.
    const [number] = [x, y].filter((each) => typeof each === 'number')
    return number !== undefined &&
      number < 0 &&
      !/-/.test(`${typeof x === 'string' ? x : y}`) &&
      compare === equal
      ? 0
      : undefined
  })
  return { dtype: 'bool', dims, elements: known.every((each) => each !== undefined) ? known : undefined }
}

function evaluateComparison(context: Evaluation, compare: Compare): Tensor {
  const left = given(context, 0)
  const right = given(context, 1)
  const made = zeros('bool', broadcast(context.node, [left.dims, right.dims]))
  const from = broadcastIndices(left.dims, made.dims)
  const to = broadcastIndices(right.dims, made.dims)
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = Number(compare(left.data[from[at]!]!, right.data[to[at]!]!))
  return made
}

const equal: Compare = (a, b) => a === b
const COMPARED: readonly DType[] = [...NUMBERS, 'bool', 'string']
const LOGIC: readonly DType[] = ['bool']

export const COMPARE: readonly Operator[] = [
  comparison('Equal', 7, COMPARED, equal),
  comparison('Less', 7, NUMBERS, (a, b) => a < b),
  comparison('LessOrEqual', 12, NUMBERS, (a, b) => a <= b),
  comparison('Greater', 7, NUMBERS, (a, b) => a > b),
  comparison('GreaterOrEqual', 12, NUMBERS, (a, b) => a >= b),
  comparison('And', 7, LOGIC, (a, b) => a !== 0 && b !== 0),
  comparison('Or', 7, LOGIC, (a, b) => a !== 0 || b !== 0),
  comparison('Xor', 7, LOGIC, (a, b) => a !== b),
]

type Binary<T> = (left: T, right: T) => T

interface Arithmetic {
  readonly number: Binary<number>
  /** For integers up to 32 bits, if f64 would lose digits of the result. Default: `number`. */
  readonly whole?: Binary<number>
  readonly big: Binary<bigint>
  /** Undefined if the result is uncertain. */
  readonly dim?: (left: Dim, right: Dim) => Dim | undefined
}

/** All inputs and the output have one dtype; integers wrap. */
function binary(name: string, since: number, dtypes: readonly DType[], arithmetic: Arithmetic): Operator {
  return define({
    name,
    since,
    inputs: [2, 2],
    dtypes: [dtypes],
    infer: ({ node, inputs: [left, right] }) => [inferPair(node, left, right, arithmetic)],
    evaluate: (context) => [evaluatePair(context.node, given(context, 0), given(context, 1), arithmetic)],
  })
}

/** Like `binary`, but folds any number of inputs from left to right; `last` computes the final result. */
function variadic(
  name: string,
  since: number,
  dtypes: readonly DType[],
  arithmetic: Arithmetic,
  last: (total: Tensor, count: number) => Tensor = (total) => total,
): Operator {
  return {
    ...binary(name, since, dtypes, arithmetic),
    schema: { inputs: [1, Infinity], outputs: [1, 1], attributes: {}, dtypes: [dtypes] },
    infer: ({ node, inputs }) => [
      inputs.slice(1).reduce((made, next) => inferPair(node, made, next, arithmetic), inputs[0]),
    ],
    evaluate(context) {
      const parts = context.inputs.map((_, index) => given(context, index))
      const total = parts.reduce((made, next) => evaluatePair(context.node, made, next, arithmetic))
      return [last(total, parts.length)]
    },
  }
}

function inferPair(
  node: Node,
  left: Type | undefined,
  right: Type | undefined,
  { dim }: Arithmetic,
): Type | undefined {
  if (left === undefined || right === undefined) return undefined
  const dims = broadcastDims(node, [left.dims, right.dims])
  const elements = dim === undefined || isFloat(left.dtype) ? undefined : elementsOf(left, right, dims, dim)
  return { dtype: left.dtype, dims, elements }
}

function elementsOf(
  left: Type,
  right: Type,
  dims: readonly Dim[] | undefined,
  dim: (left: Dim, right: Dim) => Dim | undefined,
): readonly Dim[] | undefined {
  const a = left.elements
  const b = right.elements
  if (a === undefined || b === undefined || dims === undefined || dims.length > 1) return undefined
  if (a.length === 0 || b.length === 0) return []
  // Numbers beyond 2^53 have lost digits.
  const exact = (each: Dim | undefined) =>
    typeof each === 'number' && !Number.isSafeInteger(each) ? undefined : each
  const made = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => {
    const left = exact(a[a.length === 1 ? 0 : index])
    const right = exact(b[b.length === 1 ? 0 : index])
    return left === undefined || right === undefined ? undefined : exact(dim(left, right))
  })
  return made.every((each) => each !== undefined) ? made : undefined
}

function evaluatePair(node: Node, left: Tensor, right: Tensor, arithmetic: Arithmetic): Tensor {
  if (left.dtype !== right.dtype) throw unfit(node, `it joins ${left.dtype} and ${right.dtype}`)
  const made = zeros(left.dtype, broadcast(node, [left.dims, right.dims]))
  const from = broadcastIndices(left.dims, made.dims)
  const to = broadcastIndices(right.dims, made.dims)
  if (made.data instanceof BigInt64Array || made.data instanceof BigUint64Array) {
    const a = left.data as BigInt64Array
    const b = right.data as BigInt64Array
    for (let at = 0; at < made.data.length; at++) made.data[at] = arithmetic.big(a[from[at]!]!, b[to[at]!]!)
    return made
  }
  const a = left.data as Float32Array
  const b = right.data as Float32Array
  const { number, whole = number } = arithmetic
  const compute = isFloat(made.dtype) ? number : whole
  const write = writer(made)
  // Storing a quotient of integers truncates the fraction; zero divided by zero gives 0.
  for (let at = 0; at < made.data.length; at++) write(at, compute(a[from[at]!]!, b[to[at]!]!))
  return made
}

const quotient = (left: Dim, right: Dim): Dim | undefined => {
  if (typeof left !== 'number' || typeof right !== 'number') return divideExactly(left, right)
  return right === 0 ? undefined : Math.trunc(left / right)
}

const ADD: Arithmetic = { number: (a, b) => a + b, big: (a, b) => a + b, dim: addDims }
const MIN: Arithmetic = { number: Math.min, big: (a, b) => (a < b ? a : b), dim: minDims }
const MAX: Arithmetic = { number: Math.max, big: (a, b) => (a > b ? a : b), dim: maxDims }

/** The remainder has the sign of the divisor, which may be infinite. */
const FLOOR_MOD: Arithmetic = {
  number: (a, b) =>
    Math.abs(b) === Infinity && Number.isFinite(a) ? (a * b < 0 ? b : a) : a - b * Math.floor(a / b),
  whole: (a, b) => (b === 0 ? 0 : a - b * Math.floor(a / b)),
  big: (a, b) => (b === 0n ? 0n : ((a % b) + b) % b),
  dim: (a, b) =>
    typeof a === 'number' && typeof b === 'number' && b !== 0 ? a - b * Math.floor(a / b) : undefined,
}
/** The remainder has the sign of the dividend, as in C. */
const C_MOD: Arithmetic = { number: (a, b) => a % b, big: (a, b) => (b === 0n ? 0n : a % b) }

const mod: Operator = {
  ...binary('Mod', 10, NUMBERS, FLOOR_MOD),
  schema: { inputs: [2, 2], outputs: [1, 1], attributes: { fmod: 'int' }, dtypes: [NUMBERS] },
  infer: ({ node, inputs: [left, right] }) => [inferPair(node, left, right, modOf(node))],
  evaluate: (context) => [
    evaluatePair(context.node, given(context, 0), given(context, 1), modOf(context.node)),
  ],
}

const modOf = (node: Node): Arithmetic => (intOf(node, 'fmod', 0) === 0 ? FLOOR_MOD : C_MOD)

/** The exponent may have a different dtype. */
const pow: Operator = define({
  name: 'Pow',
  since: 7,
  inputs: [2, 2],
  dtypes: [[...FLOATS, 'i32', 'i64'], NUMBERS],
  infer: ({ node, inputs: [base, exponent] }: Inference) => [
    base && { dtype: base.dtype, dims: broadcastDims(node, [base.dims, exponent?.dims]) },
  ],
  evaluate: (context) => [evaluatePow(context)],
})

function evaluatePow(context: Evaluation): Tensor {
  const base = given(context, 0)
  const exponent = given(context, 1)
  const made = zeros(base.dtype, broadcast(context.node, [base.dims, exponent.dims]))
  const from = broadcastIndices(base.dims, made.dims)
  const to = broadcastIndices(exponent.dims, made.dims)
  if (!isFloat(base.dtype) && !isFloat(exponent.dtype)) {
    const isLong = made.data instanceof BigInt64Array
    for (let at = 0; at < made.data.length; at++) {
      const exact = bigPower(BigInt(base.data[from[at]!]!), BigInt(exponent.data[to[at]!]!))
      made.data[at] = isLong ? exact : Number(BigInt.asIntN(32, exact))
    }
    return made
  }
  const a = reader(base)
  const b = reader(exponent)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) write(at, power(a(from[at]!), b(to[at]!)))
  return made
}

/** As in C, any power of 1 and any infinite power of -1 is 1. */
export const power = (x: number, y: number): number =>
  x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y

/** By repeated squaring that wraps at 2^64. With negative exponents, only powers of 1 and -1 are not 0. */
function bigPower(x: bigint, y: bigint): bigint {
  if (y < 0n) return x === 1n || x === -1n ? bigPower(x, -y) : 0n
  let made = 1n
  for (let [square, rest] = [x, y]; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) made = BigInt.asIntN(64, made * square)
    square = BigInt.asIntN(64, square * square)
  }
  return made
}

function divided(total: Tensor, count: number): Tensor {
  const read = reader(total)
  const write = writer(total)
  for (let at = 0; at < total.data.length; at++) write(at, read(at) / count)
  return total
}

const shift: Operator = {
  ...binary('BitShift', 11, INTEGERS, ADD),
  schema: { inputs: [2, 2], outputs: [1, 1], attributes: { direction: 'string' }, dtypes: [INTEGERS] },
  infer: ({ node, inputs: [left, right] }) => [inferPair(node, left, right, shiftOf(node))],
  evaluate: (context) => [
    evaluatePair(context.node, given(context, 0), given(context, 1), shiftOf(context.node)),
  ],
}

/**
 * Shifting by a negative number, or by the width or more, leaves only copies of the sign. Stored results
 * wrap, so only widths of 32 and 64 bits matter.
 */
function shiftOf(node: Node): Arithmetic {
  const direction = node.attributes.get('direction')?.value
  const fits = (b: number) => b >= 0 && b < 32
  const fitsBig = (b: bigint) => b >= 0n && b < 64n
  if (direction === 'LEFT')
    return { number: (a, b) => (fits(b) ? a << b : 0), big: (a, b) => (fitsBig(b) ? a << b : 0n) }
  if (direction === 'RIGHT')
    return {
      number: (a, b) => (fits(b) ? Math.floor(a / 2 ** b) : a < 0 ? -1 : 0),
      big: (a, b) => (fitsBig(b) ? a >> b : a < 0n ? -1n : 0n),
    }
  throw unfit(node, `its direction is ${direction} instead of LEFT or RIGHT`)
}

export const ARITHMETIC: readonly Operator[] = [
  binary('Add', 7, NUMBERS, ADD),
  binary('Sub', 7, NUMBERS, { number: (a, b) => a - b, big: (a, b) => a - b, dim: subtractDims }),
  binary('Mul', 7, NUMBERS, {
    number: (a, b) => a * b,
    whole: Math.imul,
    big: (a, b) => a * b,
    dim: multiplyDims,
  }),
  binary('Div', 7, NUMBERS, {
    number: (a, b) => a / b,
    big: (a, b) => (b === 0n ? 0n : a / b),
    dim: quotient,
  }),
  binary('PRelu', 9, FLOATS, { number: (x, slope) => (x < 0 ? slope * x : x), big: (a) => a }),
  binary('BitwiseAnd', 18, INTEGERS, { number: (a, b) => a & b, big: (a, b) => a & b }),
  binary('BitwiseOr', 18, INTEGERS, { number: (a, b) => a | b, big: (a, b) => a | b }),
  binary('BitwiseXor', 18, INTEGERS, { number: (a, b) => a ^ b, big: (a, b) => a ^ b }),
  shift,
  mod,
  pow,
  variadic('Sum', 8, FLOATS, ADD),
  variadic('Mean', 8, FLOATS, ADD, divided),
  variadic('Min', 8, NUMBERS, MIN),
  variadic('Max', 8, NUMBERS, MAX),
]
