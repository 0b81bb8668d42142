// Comparisons and logic of two inputs. In: two tensors. Out: bool, broadcast.
import { broadcast, broadcastDims, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, LATEST_OPSET, type Operator } from '../ir/operator.ts'
import { type DType, NUMBERS, type Tensor, zeros } from '../ir/tensor.ts'

type Compare = (left: number | bigint, right: number | bigint) => boolean

function comparison(name: string, since: number, dtypes: readonly DType[], compare: Compare): Operator {
  return {
    name,
    domain: '',
    versions: [since, LATEST_OPSET],
    schema: { inputs: [2, 2], outputs: [1, 1], attributes: {}, dtypes: [dtypes] },
    mapping: 'one-to-one',
    layout: 'ILI variable',
    infer: (context) => [inferComparison(context, compare)],
    evaluate: (context) => [evaluateComparison(context, compare)],
  }
}

/** Elements that are known on both sides are known of the result, as 0 and 1. */
function inferComparison({ node, inputs: [left, right] }: Inference, compare: Compare): Type | undefined {
  const dims = broadcastDims(node, [left?.dims, right?.dims])
  const [a, b] = [left?.elements, right?.elements]
  if (a === undefined || b === undefined || dims === undefined || dims.length > 1)
    return { dtype: 'bool', dims }
  const known = Array.from({ length: Math.max(a.length, b.length) }, (_, at): Dim | undefined => {
    const [x, y] = [a[a.length === 1 ? 0 : at]!, b[b.length === 1 ? 0 : at]!]
    if (typeof x === 'number' && typeof y === 'number') return Number(compare(x, y))
    // A symbol is a size, which is not negative.
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
  const [left, right] = [given(context, 0), given(context, 1)]
  const made = zeros('bool', broadcast(context.node, [left.dims, right.dims]))
  const from = broadcastIndices(left.dims, made.dims)
  const to = broadcastIndices(right.dims, made.dims)
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = Number(compare(left.data[from[at]!]!, right.data[to[at]!]!))
  return made
}

const equal: Compare = (a, b) => a === b
const COMPARED: readonly DType[] = [...NUMBERS, 'bool']
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
