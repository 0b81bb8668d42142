// Order along an axis: the largest elements, the positions of extremes, cumulative sums and products.

import { axisOf } from '../ir/broadcast.ts'
import type { Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  given,
  type Inference,
  intOf,
  type Operator,
  sameType,
  scalarOf,
  unfit,
} from '../ir/operator.ts'
import { countOf, NUMBERS, type Tensor, zeros } from '../ir/tensor.ts'

type Scalar = number | bigint

/** Calls `visit` for each line along an axis, with the index of its first element and the line's number. */
export function lines(
  dims: readonly number[],
  axis: number,
  visit: (start: number, line: number) => void,
): void {
  const size = dims[axis]!
  const inner = countOf(dims.slice(axis + 1))
  let line = 0
  for (let outer = 0; outer < countOf(dims.slice(0, axis)); outer++)
    for (let at = 0; at < inner; at++) visit(outer * size * inner + at, line++)
}

/** Comparison for sorting; NaN is larger than every number. */
const compare = (a: Scalar, b: Scalar): number => {
  if (a === b) return 0
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1
  return a > b ? 1 : -1
}

const topK: Operator = define({
  name: 'TopK',
  since: 10,
  inputs: [2, 2],
  outputs: [2, 2],
  attributes: { axis: 'int', largest: 'int', sorted: 'int' },
  dtypes: [NUMBERS, ['i64']],
  infer: inferTopK,
  evaluate: evaluateTopK,
})

function inferTopK({ node, inputs: [input, k] }: Inference): (Type | undefined)[] {
  const count = k?.elements?.[0]
  const dims =
    input?.dims && count !== undefined
      ? input.dims.with(axisOf(node, intOf(node, 'axis', -1), input.dims.length), count)
      : undefined
  return [input && { dtype: input.dtype, dims }, { dtype: 'i64', dims }]
}

/** Work units per element in a sort. */
export const SORT_UNITS = 16

/** Equal elements keep their order. */
function evaluateTopK(context: Evaluation): Tensor[] {
  const { node } = context
  const input = given(context, 0)
  const k = scalarOf(given(context, 1)) ?? -1
  const axis = axisOf(node, intOf(node, 'axis', -1), input.dims.length)
  const size = input.dims[axis]!
  if (k < 0 || k > size) throw unfit(node, `it selects ${k} of ${size} elements`)
  const sign = flagOf(node, 'largest', true) ? -1 : 1
  const dims = input.dims.with(axis, k)
  const values = zeros(input.dtype, dims)
  const indices = zeros('i64', dims)
  const inner = countOf(dims.slice(axis + 1))
  context.spend(input.data.length * SORT_UNITS)
  lines(input.dims, axis, (start, line) => {
    const element = (at: number) => input.data[start + at * inner]!
    const order = Array.from({ length: size }, (_, at) => at).sort(
      (a, b) => sign * compare(element(a), element(b)) || a - b,
    )
    const to = Math.floor(line / inner) * k * inner + (line % inner)
    for (let at = 0; at < k; at++) {
      values.data[to + at * inner] = element(order[at]!)
      indices.data[to + at * inner] = BigInt(order[at]!)
    }
  })
  return [values, indices]
}

/** The first of equal extremes, or the last if the node requests it. NaN counts as the extreme. */
function extreme(name: string, sign: number): Operator {
  const reduced = <D>(node: Inference['node'], dims: readonly D[], axis: number): (D | number)[] =>
    flagOf(node, 'keepdims', true) ? dims.with(axis, 1 as D) : dims.toSpliced(axis, 1)
  return define({
    name,
    since: 1,
    attributes: { axis: 'int', keepdims: 'int', select_last_index: 'int' },
    dtypes: [NUMBERS],
    infer({ node, inputs: [input] }) {
      if (input?.dims === undefined) return [{ dtype: 'i64' }]
      const axis = axisOf(node, intOf(node, 'axis', 0), input.dims.length)
      return [{ dtype: 'i64', dims: reduced(node, input.dims, axis) }]
    },
    evaluate(context) {
      const { node } = context
      const input = given(context, 0)
      const axis = axisOf(node, intOf(node, 'axis', 0), input.dims.length)
      const size = input.dims[axis]!
      if (size === 0) throw unfit(node, `axis ${axis} has no elements`)
      const isLast = flagOf(node, 'select_last_index')
      const made = zeros('i64', reduced(node, input.dims, axis))
      const inner = countOf(input.dims.slice(axis + 1))
      lines(input.dims, axis, (start, line) => {
        let best = 0
        for (let at = 1; at < size; at++) {
          const value = input.data[start + at * inner]!
          const ordered = compare(value, input.data[start + best * inner]!)
          const isNan = Number.isNaN(value) || Number.isNaN(input.data[start + best * inner]!)
          const order = isNan ? ordered : sign * ordered
          if (order > 0 || (order === 0 && isLast)) best = at
        }
        made.data[line] = BigInt(best)
      })
      return [made]
    },
  })
}

/** `exclusive` excludes each element from its own result; `reverse` starts at the end. */
function running(
  name: string,
  since: number,
  neutral: number,
  join: (a: Scalar, b: Scalar) => Scalar,
): Operator {
  return define({
    name,
    since,
    inputs: [2, 2],
    attributes: { exclusive: 'int', reverse: 'int' },
    dtypes: [NUMBERS, ['i32', 'i64']],
    infer: sameType,
    evaluate(context) {
      const { node } = context
      const input = given(context, 0)
      const axis = axisOf(node, scalarOf(given(context, 1)) ?? 0, input.dims.length)
      const size = input.dims[axis]!
      const inner = countOf(input.dims.slice(axis + 1))
      const isReverse = flagOf(node, 'reverse')
      const isExclusive = flagOf(node, 'exclusive')
      const made = zeros(input.dtype, input.dims)
      lines(input.dims, axis, (start) => {
        let total: Scalar = typeof input.data[start] === 'bigint' ? BigInt(neutral) : neutral
        for (let next = 0; next < size; next++) {
          const place = start + (isReverse ? size - 1 - next : next) * inner
          const joined = join(total, input.data[place]!)
          made.data[place] = isExclusive ? total : joined
          total = joined
        }
      })
      return [made]
    },
  })
}

export const ORDER: readonly Operator[] = [
  topK,
  extreme('ArgMax', 1),
  extreme('ArgMin', -1),
  running('CumSum', 11, 0, (a, b) => (a as number) + (b as number)),
  running('CumProd', 26, 1, (a, b) => (a as number) * (b as number)),
]
