// Matrix products, with sums in f64.

import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  floatOf,
  given,
  type Inference,
  type Operator,
  unfit,
} from '../ir/operator.ts'
import { type DType, FLOATS, reader, stridesOf, type Tensor, writer, zeros } from '../ir/tensor.ts'

export const matMul: Operator = define({
  name: 'MatMul',
  since: 1,
  inputs: [2, 2],
  dtypes: [[...FLOATS, 'i32', 'u32']],
  infer: ({ node, inputs: [left, right] }) => [inferProduct(node, left, right)],
  evaluate: (context) => [product(context, given(context, 0), given(context, 1))],
})

/** Both operands, with at least two axes. A vector is a row on the left and a column on the right. */
function matrices<D extends Dim>(node: Node, left: readonly D[], right: readonly D[]) {
  if (left.length === 0 || right.length === 0) throw unfit(node, 'one of its inputs is a single number')
  const one = 1 as D
  const a = left.length === 1 ? [one, ...left] : left
  const b = right.length === 1 ? [...right, one] : right
  const k = a.at(-1)!
  const other = b.at(-2)!
  if (k !== other && typeof k === 'number' && typeof other === 'number')
    throw unfit(node, `its inputs have ${k} and ${other} numbers along the summed axis`)
  const drop = (dims: readonly D[]): D[] => [
    ...dims.slice(0, -2),
    ...(left.length === 1 ? [] : [dims.at(-2)!]),
    ...(right.length === 1 ? [] : [dims.at(-1)!]),
  ]
  return { a, b, drop }
}

/** The type of a product, with the left operand's dtype unless another is given. */
export function inferProduct(
  node: Node,
  left: Type | undefined,
  right: Type | undefined,
  dtype: DType | undefined = left?.dtype,
): Type | undefined {
  if (dtype === undefined) return undefined
  if (left?.dims === undefined || right?.dims === undefined) return { dtype }
  const { a, b, drop } = matrices(node, left.dims, right.dims)
  const batch = broadcastDims(node, [a.slice(0, -2), b.slice(0, -2)])
  return { dtype, dims: batch && drop([...batch, a.at(-2)!, b.at(-1)!]) }
}

/** The product, in the left operand's dtype unless another is given. */
export function product(
  { node, spend }: Pick<Evaluation, 'node' | 'spend'>,
  left: Tensor,
  right: Tensor,
  dtype = left.dtype,
): Tensor {
  const { a, b, drop } = matrices(node, left.dims, right.dims)
  const batch = broadcast(node, [a.slice(0, -2), b.slice(0, -2)])
  const rows = a.at(-2)!
  const k = a.at(-1)!
  const columns = b.at(-1)!
  const made = zeros(dtype, drop([...batch, rows, columns]))
  spend(made.data.length * k)
  const from = broadcastIndices(a.slice(0, -2), batch)
  const to = broadcastIndices(b.slice(0, -2), batch)
  // None of its dtypes has 64 bits.
  const x = left.data as Float32Array
  const y = right.data as Float32Array
  const write = writer(made)
  let next = 0
  for (let index = 0; index < from.length; index++) {
    const first = from[index]! * rows * k
    const second = to[index]! * k * columns
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        let total = 0
        for (let at = 0; at < k; at++) total += x[first + row * k + at]! * y[second + at * columns + column]!
        write(next++, total)
      }
    }
  }
  return made
}

const gemm: Operator = define({
  name: 'Gemm',
  since: 7,
  inputs: [2, 3],
  attributes: { alpha: 'float', beta: 'float', transA: 'int', transB: 'int' },
  dtypes: [[...FLOATS, 'i32', 'u32']],
  infer({ node, inputs: [a, b] }: Inference) {
    if (a?.dims === undefined || b?.dims === undefined) return [a && { dtype: a.dtype }]
    if (a.dims.length !== 2 || b.dims.length !== 2) throw unfit(node, 'one of its inputs is not a matrix')
    const rows = a.dims[flagOf(node, 'transA') ? 1 : 0]!
    return [{ dtype: a.dtype, dims: [rows, b.dims[flagOf(node, 'transB') ? 0 : 1]!] }]
  },
  evaluate: (context) => [evaluateGemm(context)],
})

/** alpha A B + beta C. */
function evaluateGemm(context: Evaluation): Tensor {
  const { node, inputs } = context
  const a = given(context, 0)
  const b = given(context, 1)
  const c = inputs[2]
  if (a.dims.length !== 2 || b.dims.length !== 2) throw unfit(node, 'one of its inputs is not a matrix')
  const atA = flagOf(node, 'transA')
  const atB = flagOf(node, 'transB')
  const dimsA = reversedIf(a.dims, atA)
  const dimsB = reversedIf(b.dims, atB)
  const rows = dimsA[0]!
  const k = dimsA[1]!
  const columns = dimsB[1]!
  if (dimsB[0] !== k) throw unfit(node, `it multiplies shapes [${dimsA}] and [${dimsB}]`)
  const stepsA = reversedIf(stridesOf(a.dims), atA)
  const stepsB = reversedIf(stridesOf(b.dims), atB)
  const alpha = floatOf(node, 'alpha', 1)
  const beta = floatOf(node, 'beta', 1)
  const made = zeros(a.dtype, [rows, columns])
  context.spend(rows * k * columns)
  if (c !== undefined && `${broadcast(node, [c.dims, made.dims])}` !== `${made.dims}`)
    throw unfit(node, `it adds a tensor of shape [${c.dims}] to one of shape [${made.dims}]`)
  const bias = c && broadcastIndices(c.dims, made.dims)
  const x = reader(a)
  const y = reader(b)
  const z = c && reader(c)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) {
    const row = Math.floor(at / columns)
    const column = at % columns
    let total = 0
    for (let inner = 0; inner < k; inner++)
      total += x(row * stepsA[0]! + inner * stepsA[1]!) * y(inner * stepsB[0]! + column * stepsB[1]!)
    write(at, alpha * total + (bias && z ? beta * z(bias[at]!) : 0))
  }
  return made
}

const reversedIf = (pair: readonly number[], isTransposed: boolean): readonly number[] =>
  isTransposed ? pair.toReversed() : pair

export const PRODUCTS: readonly Operator[] = [matMul, gemm]
