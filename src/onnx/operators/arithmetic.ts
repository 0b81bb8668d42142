// Arithmetic of two inputs. In: two tensors. Out: their sums, differences, products or quotients, broadcast.
import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import { addDims, type Dim, divideExactly, multiplyDims, subtractDims } from '../ir/dims.ts'
import type { Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator, unfit } from '../ir/operator.ts'
import { NUMBERS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

type Binary<T> = (left: T, right: T) => T

interface Arithmetic {
  readonly number: Binary<number>
  readonly big: Binary<bigint>
  /** undefined where the result cannot be told. */
  readonly dim: (left: Dim, right: Dim) => Dim | undefined
}

/** Both inputs and the output have one dtype; integers wrap. */
function binary(name: string, { number, big, dim }: Arithmetic): Operator {
  return {
    name,
    domain: '',
    versions: [7, 26],
    schema: { inputs: [2, 2], outputs: [1, 1], attributes: {}, dtypes: [NUMBERS] },
    mapping: 'one-to-one',
    layout: 'ILI variable',
    infer: (context) => [inferBinary(context, dim)],
    evaluate: (context) => [evaluateBinary(context, number, big)],
  }
}

function inferBinary(context: Inference, dim: Arithmetic['dim']): Type | undefined {
  const [left, right] = [context.inputs[0], context.inputs[1]]
  if (left === undefined || right === undefined) return undefined
  const dims = broadcastDims(context.node, [left.dims, right.dims])
  return { dtype: left.dtype, dims, elements: elementsOf(left, right, dims, dim) }
}

function elementsOf(
  left: Type,
  right: Type,
  dims: readonly Dim[] | undefined,
  dim: Arithmetic['dim'],
): readonly Dim[] | undefined {
  const [a, b] = [left.elements, right.elements]
  if (a === undefined || b === undefined || dims === undefined || dims.length > 1) return undefined
  const made = Array.from({ length: Math.max(a.length, b.length) }, (_, index) =>
    dim(a[a.length === 1 ? 0 : index]!, b[b.length === 1 ? 0 : index]!),
  )
  return made.every((each) => each !== undefined) ? made : undefined
}

function evaluateBinary(context: Evaluation, number: Binary<number>, big: Binary<bigint>): Tensor {
  const [left, right] = [given(context, 0), given(context, 1)]
  if (left.dtype !== right.dtype) throw unfit(context.node, `it joins ${left.dtype} and ${right.dtype}`)
  const made = zeros(left.dtype, broadcast(context.node, [left.dims, right.dims]))
  const from = broadcastIndices(left.dims, made.dims)
  const to = broadcastIndices(right.dims, made.dims)
  if (made.data instanceof BigInt64Array || made.data instanceof BigUint64Array) {
    const [a, b] = [left.data as BigInt64Array, right.data as BigInt64Array]
    for (let at = 0; at < made.data.length; at++) made.data[at] = big(a[from[at]!]!, b[to[at]!]!)
    return made
  }
  const [a, b, write] = [reader(left), reader(right), writer(made)]
  // A quotient of integers is cut off by the store; one of zero by zero is 0.
  for (let at = 0; at < made.data.length; at++) write(at, number(a(from[at]!), b(to[at]!)))
  return made
}

const quotient = (left: Dim, right: Dim): Dim | undefined => {
  if (typeof left !== 'number' || typeof right !== 'number') return divideExactly(left, right)
  return right === 0 ? undefined : Math.trunc(left / right)
}

export const ARITHMETIC: readonly Operator[] = [
  binary('Add', { number: (a, b) => a + b, big: (a, b) => a + b, dim: addDims }),
  binary('Sub', { number: (a, b) => a - b, big: (a, b) => a - b, dim: subtractDims }),
  binary('Mul', { number: (a, b) => a * b, big: (a, b) => a * b, dim: multiplyDims }),
  binary('Div', { number: (a, b) => a / b, big: (a, b) => (b === 0n ? 0n : a / b), dim: quotient }),
]
