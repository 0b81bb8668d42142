// Evaluators of operators that select elements, and of rare ones along an axis.
import type { Evaluators } from '../evaluate.ts'
import { axisOf, walk } from '../ir/broadcast.ts'
import {
  type Evaluation,
  flagOf,
  floatOf,
  given,
  intOf,
  statedDtype,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import { BITS, countOf, reader, stridesOf, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { SORT_UNITS } from '../operators/order.ts'
import { meanVarianceAxes } from '../operators/picks.ts'
import { tensorFromBytes } from '../proto/tensor-proto.ts'
import { tensorBytes } from '../proto/write-model.ts'

/** The slices of a tensor along an axis, in the given order. */
function slices({ dtype, dims, data }: Tensor, axis: number, order: readonly number[]): Tensor {
  const inner = countOf(dims.slice(axis + 1))
  const outer = countOf(dims.slice(0, axis))
  const made = zeros(dtype, dims.with(axis, order.length))
  for (let block = 0; block < outer; block++)
    for (const [to, from] of order.entries()) {
      const start = (block * dims[axis]! + from) * inner
      made.data.set(data.subarray(start, start + inner) as never, (block * order.length + to) * inner)
    }
  return made
}

const flat = ({ dtype, data }: Tensor): Tensor => ({ dtype, dims: [data.length], data })

/** The tensor and the axis that the node names; without one, its elements in a row. */
function along({ node, inputs }: Evaluation): { readonly x: Tensor; readonly axis: number } {
  const x = given({ node, inputs }, 0)
  const axis = intOf(node, 'axis', undefined)
  return axis === undefined ? { x: flat(x), axis: 0 } : { x, axis: axisOf(node, axis, x.dims.length) }
}

function evaluateCompress(context: Evaluation): Tensor {
  const { node } = context
  const { x, axis } = along(context)
  const condition = given(context, 1)
  if (condition.data.length > x.dims[axis]!)
    throw unfit(node, `it has ${condition.data.length} conditions for ${x.dims[axis]} slices`)
  return slices(
    x,
    axis,
    [...condition.data.keys()].filter((at) => condition.data[at] !== 0),
  )
}

type Scalar = number | bigint

/** Lexicographic order; NaN comes last. */
function compareSlices(a: ArrayLike<Scalar>, b: ArrayLike<Scalar>): number {
  for (let at = 0; at < a.length; at++) {
    const [left, right] = [a[at]!, b[at]!]
    if (Object.is(left, right) || left === right) continue
    if (Number.isNaN(left)) return 1
    return Number.isNaN(right) || left < right ? -1 : 1
  }
  return 0
}

function evaluateUnique(context: Evaluation): Tensor[] {
  const { node } = context
  const { x, axis } = along(context)
  const size = x.dims[axis]!
  context.spend(x.data.length * SORT_UNITS)
  const values = Array.from({ length: size }, (_, at) => slices(x, axis, [at]).data as ArrayLike<Scalar>)
  const order = [...values.keys()].sort((a, b) => compareSlices(values[a]!, values[b]!) || a - b)
  /** For each slice, the index of the first slice that equals it. */
  const first = new Int32Array(size)
  const firsts: number[] = []
  for (const [at, each] of order.entries()) {
    const last = at === 0 ? undefined : order[at - 1]!
    const isNew = last === undefined || compareSlices(values[last]!, values[each]!) !== 0
    first[each] = isNew ? each : first[last]!
    if (isNew) firsts.push(each)
  }
  const kept = flagOf(node, 'sorted', true) ? firsts : firsts.sort((a, b) => a - b)
  const places = new Map(kept.map((each, at) => [each, at]))
  const inverse = Array.from(first, (each) => places.get(each)!)
  const counts = kept.map(() => 0)
  for (const at of inverse) counts[at]!++
  return [
    slices(x, axis, kept),
    ...[kept, inverse, counts].map((list) => tensorOf('i64', [list.length], list)),
  ].slice(0, node.outputs.length)
}

function evaluateReverseSequence(context: Evaluation): Tensor {
  const { node } = context
  const [x, lengths] = [given(context, 0), given(context, 1)]
  const time = axisOf(node, intOf(node, 'time_axis', 0), x.dims.length)
  const batch = axisOf(node, intOf(node, 'batch_axis', 1), x.dims.length)
  if (time === batch || `${lengths.dims}` !== `${x.dims[batch]}`)
    throw unfit(node, `lengths of shape [${lengths.dims}] do not fit axis ${batch} of [${x.dims}]`)
  const strides = stridesOf(x.dims)
  const length = reader(lengths)
  const made = zeros(x.dtype, x.dims)
  for (let at = 0; at < x.data.length; at++) {
    const step = Math.floor(at / strides[time]!) % x.dims[time]!
    const own = length(Math.floor(at / strides[batch]!) % x.dims[batch]!)
    if (!(own >= 0 && own <= x.dims[time]!))
      throw unfit(node, `a sequence has ${own} of ${x.dims[time]} steps`)
    const from = step < own ? at + (own - 1 - 2 * step) * strides[time]! : at
    made.data[at] = x.data[from]!
  }
  return made
}

function evaluateEyeLike(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const [rows = 0, columns = 0] = x.dims
  if (x.dims.length !== 2) throw unfit(node, `its input has the shape [${x.dims}] instead of two axes`)
  const made = zeros(statedDtype(node, 'dtype') ?? x.dtype, x.dims)
  const write = writer(made)
  const offset = intOf(node, 'k', 0)
  for (let row = 0; row < rows; row++)
    if (row + offset >= 0 && row + offset < columns) write(row * columns + row + offset, 1)
  return made
}

function evaluateBitCast(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const dtype = statedDtype(node, 'to') ?? x.dtype
  if (BITS[dtype] !== BITS[x.dtype] || BITS[dtype] < 8)
    throw unclaimed(node, `it reads ${x.dtype} as ${dtype}, which has a different size`)
  return tensorFromBytes('a node', node.name, dtype, x.dims, tensorBytes(x))
}

/** The determinant by Gaussian elimination with partial pivoting. */
function determinantOf(matrix: Float64Array, size: number): number {
  let made = 1
  for (let column = 0; column < size; column++) {
    let pivot = column
    for (let row = column + 1; row < size; row++)
      if (Math.abs(matrix[row * size + column]!) > Math.abs(matrix[pivot * size + column]!)) pivot = row
    const own = matrix[pivot * size + column]!
    if (own === 0) return 0
    made *= pivot === column ? own : -own
    for (let each = 0; each < size; each++) {
      const held = matrix[column * size + each]!
      matrix[column * size + each] = matrix[pivot * size + each]!
      matrix[pivot * size + each] = held
    }
    for (let row = column + 1; row < size; row++) {
      const share = matrix[row * size + column]! / own
      for (let each = column; each < size; each++)
        matrix[row * size + each]! -= share * matrix[column * size + each]!
    }
  }
  return made
}

function evaluateDet(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const [size, rows] = [x.dims.at(-1) ?? 0, x.dims.at(-2)]
  if (size !== rows) throw unfit(node, `its input has the shape [${x.dims}], whose matrices are not square`)
  const count = countOf(x.dims.slice(0, -2))
  context.spend(count * size ** 3)
  const read = reader(x)
  const values = Array.from({ length: count }, (_, at) =>
    determinantOf(
      Float64Array.from({ length: size * size }, (_, each) => read(at * size * size + each)),
      size,
    ),
  )
  return tensorOf(x.dtype, x.dims.slice(0, -2), values)
}

function evaluateShrink(context: Evaluation): Tensor {
  const { node } = context
  const x = given(context, 0)
  const [limit, bias] = [floatOf(node, 'lambd', 0.5), floatOf(node, 'bias', 0)]
  const read = reader(x)
  const made = zeros(x.dtype, x.dims)
  const write = writer(made)
  for (let at = 0; at < x.data.length; at++) {
    const value = read(at)
    if (value < -limit) write(at, value + bias)
    else if (value > limit) write(at, value - bias)
  }
  return made
}

/** Replaces each group of elements whose indices differ only along the given axes. */
function inGroups(
  context: Evaluation,
  axes: readonly number[],
  replace: (group: Float64Array) => void,
): Tensor {
  const { node } = context
  const x = given(context, 0)
  const own = axes.map((axis) => axisOf(node, axis, x.dims.length))
  const strides = stridesOf(x.dims)
  const others = [...x.dims.keys()].filter((axis) => !own.includes(axis))
  const pick = (list: readonly number[], of: readonly number[]) => list.map((axis) => of[axis]!)
  const members = walk(pick(own, x.dims), pick(own, strides))
  const read = reader(x)
  const made = zeros(x.dtype, x.dims)
  const write = writer(made)
  for (const start of walk(pick(others, x.dims), pick(others, strides))) {
    const group = Float64Array.from(members, (offset) => read(start + offset))
    replace(group)
    for (const [at, offset] of members.entries()) write(start + offset, group[at]!)
  }
  return made
}

/** Rows of zeros stay zeros. */
function evaluateLpNormalization(context: Evaluation): Tensor {
  const { node } = context
  const p = intOf(node, 'p', 2)
  if (p !== 1 && p !== 2) throw unfit(node, `its p is ${p} instead of 1 or 2`)
  return inGroups(context, [intOf(node, 'axis', -1)], (group) => {
    const norm = group.reduce((sum, value) => sum + Math.abs(value) ** p, 0) ** (1 / p)
    if (norm !== 0) for (const [at, value] of group.entries()) group[at] = value / norm
  })
}

/** Added to the deviation, as in the standard's function body. */
const EPSILON = 1e-9

const evaluateMeanVariance = (context: Evaluation): Tensor =>
  inGroups(context, meanVarianceAxes(context.node), (group) => {
    const mean = group.reduce((sum, value) => sum + value, 0) / group.length
    // The standard's mean of squares minus the squared mean loses all digits if a group varies little.
    const variance = group.reduce((sum, value) => sum + (value - mean) ** 2, 0) / group.length
    const deviation = Math.sqrt(variance) + EPSILON
    for (const [at, value] of group.entries()) group[at] = (value - mean) / deviation
  })

export const PICKS: Evaluators = new Map([
  ['BitCast', (context) => [evaluateBitCast(context)]],
  ['Compress', (context) => [evaluateCompress(context)]],
  ['Det', (context) => [evaluateDet(context)]],
  ['EyeLike', (context) => [evaluateEyeLike(context)]],
  ['LpNormalization', (context) => [evaluateLpNormalization(context)]],
  ['MeanVarianceNormalization', (context) => [evaluateMeanVariance(context)]],
  ['ReverseSequence', (context) => [evaluateReverseSequence(context)]],
  ['Shrink', (context) => [evaluateShrink(context)]],
  ['Unique', (context) => evaluateUnique(context)],
])
