// Matrix products. In: two tensors. Out: their product over the last axis of one and the last but one of the
// other; sums in f64.
import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, LATEST_OPSET, type Operator, unfit } from '../ir/operator.ts'
import { FLOATS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

const matMul: Operator = {
  name: 'MatMul',
  domain: '',
  versions: [1, LATEST_OPSET],
  schema: {
    inputs: [2, 2],
    outputs: [1, 1],
    attributes: {},
    dtypes: [[...FLOATS, 'i32', 'u32']],
  },
  mapping: 'many-to-many',
  layout: 'ILD variable',
  infer: (context) => [inferProduct(context)],
  evaluate: (context) => [evaluateProduct(context)],
}

/** Both sides with at least two axes; a vector is a row on the left, a column on the right. */
function matrices<D extends Dim>(node: Node, left: readonly D[], right: readonly D[]) {
  if (left.length === 0 || right.length === 0) throw unfit(node, 'one of its inputs is a single number')
  const one = 1 as D
  const a = left.length === 1 ? [one, ...left] : left
  const b = right.length === 1 ? [...right, one] : right
  const [k, other] = [a.at(-1)!, b.at(-2)!]
  if (k !== other && typeof k === 'number' && typeof other === 'number')
    throw unfit(node, `its inputs have ${k} and ${other} numbers along the axis of the sum`)
  const drop = (dims: readonly D[]): D[] => [
    ...dims.slice(0, -2),
    ...(left.length === 1 ? [] : [dims.at(-2)!]),
    ...(right.length === 1 ? [] : [dims.at(-1)!]),
  ]
  return { a, b, drop }
}

function inferProduct({ node, inputs: [left, right] }: Inference): Type | undefined {
  const dtype = left?.dtype ?? right?.dtype
  if (dtype === undefined) return undefined
  if (left?.dims === undefined || right?.dims === undefined) return { dtype }
  const { a, b, drop } = matrices(node, left.dims, right.dims)
  const batch = broadcastDims(node, [a.slice(0, -2), b.slice(0, -2)])
  return { dtype, dims: batch && drop([...batch, a.at(-2)!, b.at(-1)!]) }
}

function evaluateProduct(context: Evaluation): Tensor {
  const [left, right] = [given(context, 0), given(context, 1)]
  const { a, b, drop } = matrices(context.node, left.dims, right.dims)
  const batch = broadcast(context.node, [a.slice(0, -2), b.slice(0, -2)])
  const [rows, k, columns] = [a.at(-2)!, a.at(-1)!, b.at(-1)!]
  const made = zeros(left.dtype, drop([...batch, rows, columns]))
  const [from, to] = [broadcastIndices(a.slice(0, -2), batch), broadcastIndices(b.slice(0, -2), batch)]
  const [x, y, write] = [reader(left), reader(right), writer(made)]
  let next = 0
  for (let index = 0; index < from.length; index++) {
    const [first, second] = [from[index]! * rows * k, to[index]! * k * columns]
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        let total = 0
        for (let at = 0; at < k; at++) total += x(first + row * k + at) * y(second + at * columns + column)
        write(next++, total)
      }
    }
  }
  return made
}

export const PRODUCTS: readonly Operator[] = [matMul]
