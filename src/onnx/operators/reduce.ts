// Reductions. In: a tensor. Out: means, sums or extremes over some axes; softmax over one.
import { flagOf, intOf, intsOf } from '../ir/attributes.ts'
import { axisOf, walk } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator } from '../ir/operator.ts'
import {
  countOf,
  FLOATS,
  isBig,
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

/** Axes are an attribute first, an input later: of ReduceSum from 13, of the others from 18. */
function reduction(name: string, fold: Fold): Operator {
  const dtypes = NUMBERS.filter((dtype) => dtype === 'i64' || !isBig(dtype))
  return {
    name,
    domain: '',
    versions: [11, 26],
    schema: {
      inputs: [1, 2],
      outputs: [1, 1],
      attributes: { axes: 'ints', keepdims: 'int', noop_with_empty_axes: 'int' },
      dtypes: [dtypes, ['i64']],
    },
    mapping: 'many-to-many',
    layout: 'ILD fixed',
    infer: (context) => [inferReduction(context)],
    evaluate: (context) => [evaluateReduction(context, fold)],
  }
}

/** All axes where none are named, unless the node says that then nothing is reduced. */
function axesOf(node: Node, rank: number, named: readonly number[] | undefined): number[] {
  if (named !== undefined && named.length > 0) return named.map((axis) => axisOf(node, axis, rank))
  return flagOf(node, 'noop_with_empty_axes') ? [] : Array.from({ length: rank }, (_, axis) => axis)
}

function inferReduction({ node, inputs: [input, second] }: Inference): Type | undefined {
  if (input?.dims === undefined) return input && { dtype: input.dtype }
  const isGiven = (node.inputs[1] ?? '') !== ''
  const named = intsOf(node, 'axes', undefined) ?? wholeNumbers(second)
  if (isGiven && named === undefined) return { dtype: input.dtype }
  return { dtype: input.dtype, dims: reducedDims(node, input.dims, axesOf(node, input.dims.length, named)) }
}

function reducedDims<D extends Dim>(node: Node, dims: readonly D[], axes: readonly number[]): D[] {
  const keeps = flagOf(node, 'keepdims', true)
  return dims.flatMap((size, axis) => (axes.includes(axis) ? (keeps ? [1 as D] : []) : [size]))
}

function evaluateReduction(context: Evaluation, fold: Fold): Tensor {
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
  const values = new Float64Array(steps.length)
  const [read, write] = [reader(input), writer(made)]
  for (let at = 0; at < starts.length; at++) {
    for (let step = 0; step < steps.length; step++) values[step] = read(starts[at]! + steps[step]!)
    write(at, fold(values))
  }
  return made
}

const sum: Fold = (values) => values.reduce((total, value) => total + value, 0)

const softmax: Operator = {
  name: 'Softmax',
  domain: '',
  versions: [13, 26],
  schema: { inputs: [1, 1], outputs: [1, 1], attributes: { axis: 'int' }, dtypes: [FLOATS] },
  mapping: 'many-to-many',
  layout: 'ILD fixed',
  infer: ({ inputs: [input] }) => [input && { dtype: input.dtype, dims: input.dims }],
  evaluate(context) {
    const input = given(context, 0)
    const axis = axisOf(context.node, intOf(context.node, 'axis', -1), input.dims.length)
    const [size, inner] = [input.dims[axis]!, countOf(input.dims.slice(axis + 1))]
    const made = zeros(input.dtype, input.dims)
    const [read, write] = [reader(input), writer(made)]
    const values = new Float64Array(size)
    for (let start = 0; start < made.data.length; start++) {
      if (Math.floor(start / inner) % size !== 0) continue
      for (let at = 0; at < size; at++) values[at] = read(start + at * inner)
      const most = values.reduce((a, b) => Math.max(a, b), -Infinity)
      let total = 0
      for (let at = 0; at < size; at++) total += values[at] = Math.exp(values[at]! - most)
      for (let at = 0; at < size; at++) write(start + at * inner, values[at]! / total)
    }
    return [made]
  },
}

export const REDUCE: readonly Operator[] = [
  reduction('ReduceMean', (values) => sum(values) / values.length),
  reduction('ReduceSum', sum),
  reduction('ReduceMax', (values) => values.reduce((a, b) => Math.max(a, b), -Infinity)),
  reduction('ReduceMin', (values) => values.reduce((a, b) => Math.min(a, b), Infinity)),
  softmax,
]
