// Reductions over some axes: means, sums, extremes; and softmax over one axis.

import { axisOf, walk } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  given,
  type Inference,
  intsOf,
  LATEST_OPSET,
  type Operator,
  sameType,
} from '../ir/operator.ts'
import {
  type DType,
  FLOATS,
  isBig,
  isFloat,
  NUMBERS,
  numbersOf,
  reader,
  stridesOf,
  type Tensor,
  writer,
  zeros,
} from '../ir/tensor.ts'
import { wholeNumbers } from './layout.ts'

type Fold = (values: Float64Array) => number
/** For integers with more digits than f64 holds. */
type BigFold = (values: BigInt64Array) => bigint

/**
 * Axes are an attribute in early opsets and an input later: from 13 on for ReduceSum, from 18 on for the
 * others.
 */
function reduction(name: string, fold: Fold, big?: BigFold, more: readonly DType[] = []): Operator {
  const dtypes = [...NUMBERS.filter((dtype) => dtype === 'i64' || !isBig(dtype)), ...more]
  return {
    name,
    domain: '',
    versions: [11, LATEST_OPSET],
    schema: {
      inputs: [1, 2],
      outputs: [1, 1],
      attributes: { axes: 'ints', keepdims: 'int', noop_with_empty_axes: 'int' },
      dtypes: [dtypes, ['i64']],
    },
    infer: (context) => [inferReduction(context)],
    evaluate: (context) => [evaluateReduction(context, fold, big)],
  }
}

/** Each axis once. If no axes are given: all of them, unless the node says that nothing is reduced then. */
function axesOf(node: Node, rank: number, named: readonly number[] | undefined): number[] {
  if (named !== undefined && named.length > 0)
    return [...new Set(named.map((axis) => axisOf(node, axis, rank)))]
  return flagOf(node, 'noop_with_empty_axes') ? [] : Array.from({ length: rank }, (_, axis) => axis)
}

function inferReduction({ node, inputs: [input, second] }: Inference): Type | undefined {
  if (input?.dims === undefined) return input && { dtype: input.dtype }
  const isGiven = hasInput(node, 1)
  const named = intsOf(node, 'axes', undefined) ?? wholeNumbers(second)
  if (isGiven && named === undefined) return { dtype: input.dtype }
  return { dtype: input.dtype, dims: reducedDims(node, input.dims, axesOf(node, input.dims.length, named)) }
}

function reducedDims<D extends Dim>(node: Node, dims: readonly D[], axes: readonly number[]): D[] {
  const keeps = flagOf(node, 'keepdims', true)
  return dims.flatMap((size, axis) => (axes.includes(axis) ? (keeps ? [1 as D] : []) : [size]))
}

function evaluateReduction(context: Evaluation, fold: Fold, big?: BigFold): Tensor {
  const { node, inputs } = context
  const input = given(context, 0)
  const named = intsOf(node, 'axes', undefined) ?? (inputs[1] && numbersOf(inputs[1]))
  const axes = axesOf(node, input.dims.length, named)
  const strides = stridesOf(input.dims)
  const made = zeros(input.dtype, reducedDims(node, input.dims, axes))
  const kept = input.dims.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]))
  const pick = (list: readonly number[], of: readonly number[]) => of.map((axis) => list[axis]!)
  const starts = walk(pick(input.dims, kept), pick(strides, kept))
  const steps = walk(pick(input.dims, axes), pick(strides, axes))
  const { data } = input
  if (big !== undefined && !isFloat(input.dtype)) {
    const longs = new BigInt64Array(steps.length)
    for (let at = 0; at < starts.length; at++) {
      for (let step = 0; step < steps.length; step++) longs[step] = BigInt(data[starts[at]! + steps[step]!]!)
      const folded = big(longs)
      if (made.dtype === 'bool') made.data[at] = Number(folded > 0n)
      else made.data[at] = made.data instanceof BigInt64Array ? folded : Number(BigInt.asIntN(32, folded))
    }
    return made
  }
  const values = new Float64Array(steps.length)
  const read = reader(input)
  const write = writer(made)
  for (let at = 0; at < starts.length; at++) {
    for (let step = 0; step < steps.length; step++) values[step] = read(starts[at]! + steps[step]!)
    write(at, fold(values))
  }
  return made
}

const sum: Fold = (values) => values.reduce((total, value) => total + value, 0)

const bigSum: BigFold = (values) => values.reduce((total, value) => total + value, 0n)

/** Numerically stable log-sum-exp. */
const logSumExp: Fold = (values) => {
  const most = largest(values)
  if (!Number.isFinite(most)) return most
  return most + Math.log(values.reduce((total, value) => total + Math.exp(value - most), 0))
}
export const largest: Fold = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity)
const squares: Fold = (values) => values.reduce((total, value) => total + value * value, 0)

/** Along an axis; before opset 13, along that axis and all later ones. Evaluated only by loops. */
const alongAxis = (name: string): Operator =>
  define({ name, since: 1, attributes: { axis: 'int' }, dtypes: [FLOATS], infer: sameType })

export const REDUCE: readonly Operator[] = [
  reduction('ReduceSum', sum, bigSum),
  reduction(
    'ReduceMean',
    (values) => sum(values) / values.length,
    (values) => (values.length === 0 ? 0n : bigSum(values) / BigInt(values.length)),
  ),
  reduction(
    'ReduceMax',
    largest,
    (values) => values.reduce((a, b) => (a > b ? a : b), values[0] ?? -(2n ** 63n)),
    ['bool'],
  ),
  reduction(
    'ReduceMin',
    (values) => values.reduce((a, b) => Math.min(a, b), Infinity),
    (values) => values.reduce((a, b) => (a < b ? a : b), values[0] ?? 2n ** 63n - 1n),
    ['bool'],
  ),
  reduction(
    'ReduceProd',
    (values) => values.reduce((total, value) => total * value, 1),
    (values) => values.reduce((total, value) => total * value, 1n),
  ),
  reduction(
    'ReduceL1',
    (values) => values.reduce((total, value) => total + Math.abs(value), 0),
    (values) => values.reduce((total, value) => total + (value < 0n ? -value : value), 0n),
  ),
  reduction('ReduceL2', (values) => Math.sqrt(squares(values))),
  reduction('ReduceSumSquare', squares, (values) =>
    values.reduce((total, value) => total + value * value, 0n),
  ),
  reduction('ReduceLogSum', (values) => Math.log(sum(values))),
  reduction('ReduceLogSumExp', logSumExp),
  alongAxis('Softmax'),
  alongAxis('LogSoftmax'),
  alongAxis('Hardmax'),
]
