// Operators that select elements by index, or replace them.

import { axisOf } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  given,
  type Inference,
  intOf,
  type Operator,
  sameType,
  scalarOf,
  stringOf,
  unfit,
} from '../ir/operator.ts'
import {
  ALL_DTYPES,
  countOf,
  MOVED_DTYPES,
  NUMBERS,
  reader,
  stridesOf,
  type Tensor,
  tensorOf,
  zeros,
} from '../ir/tensor.ts'

/** An index counted from the front. Throws `format` if it is outside the axis. */
export function within(node: Node, index: number, size: number): number {
  const at = index < 0 ? index + size : index
  if (at >= 0 && at < size) return at
  throw unfit(node, `index ${index} is outside an axis of ${size}`)
}

/**
 * For each element of `indices` in row-major order, the position in `data` with its coordinates, except that
 * the coordinate along `axis` is its value.
 */
function placesAlong(node: Node, data: Tensor, indices: Tensor, axis: number): number[] {
  const fits =
    indices.dims.length === data.dims.length &&
    indices.dims.every((size, at) => at === axis || size <= data.dims[at]!)
  if (!fits) throw unfit(node, `its indices of shape [${indices.dims}] do not fit [${data.dims}]`)
  const strides = stridesOf(data.dims)
  const own = stridesOf(indices.dims)
  const read = reader(indices)
  return Array.from({ length: indices.data.length }, (_, at) => {
    let place = within(node, read(at), data.dims[axis]!) * strides[axis]!
    for (const [each, size] of indices.dims.entries())
      if (each !== axis) place += (Math.floor(at / own[each]!) % size) * strides[each]!
    return place
  })
}

const gatherElements: Operator = define({
  name: 'GatherElements',
  since: 11,
  inputs: [2, 2],
  attributes: { axis: 'int' },
  dtypes: [MOVED_DTYPES, ['i32', 'i64']],
  infer: ({ inputs: [data, indices] }) => [data && { dtype: data.dtype, dims: indices?.dims }],
  evaluate(context) {
    const data = given(context, 0)
    const indices = given(context, 1)
    const axis = axisOf(context.node, intOf(context.node, 'axis', 0), data.dims.length)
    const made = zeros(data.dtype, indices.dims)
    const places = placesAlong(context.node, data, indices, axis)
    for (let at = 0; at < places.length; at++) made.data[at] = data.data[places[at]!]!
    return [made]
  },
})

type Combine = (old: number | bigint, update: number | bigint) => number | bigint

const COMBINE: ReadonlyMap<string, Combine> = new Map(
  Object.entries({
    none: (_, update) => update,
    add: (old, update) => (old as number) + (update as number),
    mul: (old, update) => (old as number) * (update as number),
    min: (old, update) => (update < old ? update : old),
    max: (old, update) => (update > old ? update : old),
  }),
)

/** ScatterND is defined to propagate NaN from either side; ScatterElements is defined by comparison. */
const WITH_NAN: ReadonlyMap<string, Combine> = new Map(
  Object.entries({
    min: (old, update) => (Number.isNaN(update) || update < old ? update : old),
    max: (old, update) => (Number.isNaN(update) || update > old ? update : old),
  } satisfies Record<string, Combine>),
)

function combineOf(node: Node): Combine {
  const name = stringOf(node, 'reduction', 'none')
  const combine = (node.op === 'ScatterND' ? WITH_NAN.get(name) : undefined) ?? COMBINE.get(name)
  if (combine !== undefined) return combine
  throw unfit(node, `its reduction is ${name}, which does not exist`)
}

const SCATTER = {
  inputs: [3, 3],
  infer: sameType,
} as const

const scatterElements: Operator = define({
  ...SCATTER,
  name: 'ScatterElements',
  since: 11,
  attributes: { axis: 'int', reduction: 'string' },
  dtypes: [ALL_DTYPES, ['i32', 'i64'], ALL_DTYPES],
  evaluate(context) {
    const { node } = context
    const data = given(context, 0)
    const indices = given(context, 1)
    const updates = given(context, 2)
    const axis = axisOf(node, intOf(node, 'axis', 0), data.dims.length)
    if (`${updates.dims}` !== `${indices.dims}` || updates.dtype !== data.dtype)
      throw unfit(node, `it writes ${updates.dtype} [${updates.dims}] at indices [${indices.dims}]`)
    const places = placesAlong(node, data, indices, axis)
    const combine = combineOf(node)
    const made = { ...data, data: data.data.slice() }
    for (let at = 0; at < places.length; at++)
      made.data[places[at]!] = combine(made.data[places[at]!]!, updates.data[at]!)
    return [made]
  },
})

/** The last axis of indices holds coordinates along the first axes of data after the batch axes. */
function blocks(node: Node, dims: readonly number[], indices: Tensor, batch: number) {
  const depth = indices.dims.at(-1)
  if (depth === undefined || depth + batch > dims.length || batch >= indices.dims.length)
    throw unfit(node, `its indices of shape [${indices.dims}] do not fit [${dims}] after ${batch} axes`)
  const strides = stridesOf(dims)
  const size = countOf(dims.slice(batch + depth))
  const perBatch = countOf(indices.dims.slice(batch, -1))
  const read = reader(indices)
  const starts = Array.from({ length: countOf(indices.dims.slice(0, -1)) }, (_, at) => {
    let start = batch === 0 ? 0 : Math.floor(at / perBatch) * countOf(dims.slice(batch))
    for (let axis = 0; axis < depth; axis++)
      start += within(node, read(at * depth + axis), dims[batch + axis]!) * strides[batch + axis]!
    return start
  })
  return { size, starts }
}

const gatherND: Operator = define({
  name: 'GatherND',
  since: 11,
  inputs: [2, 2],
  attributes: { batch_dims: 'int' },
  dtypes: [MOVED_DTYPES, ['i64']],
  infer({ node, inputs: [data, indices] }) {
    if (data === undefined) return [undefined]
    const depth = indices?.dims?.at(-1)
    if (data.dims === undefined || indices?.dims === undefined || typeof depth !== 'number')
      return [{ dtype: data.dtype }]
    return [{ dtype: data.dtype, dims: chosenDims(node, data.dims, indices.dims, depth) }]
  },
  evaluate(context) {
    const data = given(context, 0)
    const indices = given(context, 1)
    const batch = intOf(context.node, 'batch_dims', 0)
    const { size, starts } = blocks(context.node, data.dims, indices, batch)
    const made = zeros(data.dtype, chosenDims(context.node, data.dims, indices.dims, indices.dims.at(-1)!))
    for (const [at, start] of starts.entries())
      made.data.set(data.data.subarray(start, start + size) as never, at * size)
    return [made]
  },
})

const chosenDims = <D extends Dim>(
  node: Node,
  data: readonly D[],
  indices: readonly D[],
  depth: number,
): D[] => [...indices.slice(0, -1), ...data.slice(intOf(node, 'batch_dims', 0) + depth)]

const scatterND: Operator = define({
  ...SCATTER,
  name: 'ScatterND',
  since: 11,
  attributes: { reduction: 'string' },
  dtypes: [ALL_DTYPES, ['i64'], ALL_DTYPES],
  evaluate(context) {
    const { node } = context
    const data = given(context, 0)
    const indices = given(context, 1)
    const updates = given(context, 2)
    const { size, starts } = blocks(node, data.dims, indices, 0)
    if (updates.data.length !== size * starts.length || updates.dtype !== data.dtype)
      throw unfit(node, `it writes ${updates.dtype} [${updates.dims}] instead of ${starts.length}x${size}`)
    const combine = combineOf(node)
    const made = { ...data, data: data.data.slice() }
    for (const [at, start] of starts.entries())
      for (let next = 0; next < size; next++)
        made.data[start + next] = combine(made.data[start + next]!, updates.data[at * size + next]!)
    return [made]
  },
})

/** An index beyond the depth gives a row of off values. */
const oneHot: Operator = define({
  name: 'OneHot',
  since: 9,
  inputs: [3, 3],
  attributes: { axis: 'int' },
  dtypes: [NUMBERS, NUMBERS, ALL_DTYPES],
  infer: (context) => [inferOneHot(context)],
  evaluate: (context) => [evaluateOneHot(context)],
})

function inferOneHot({ node, inputs: [indices, depth, values] }: Inference): Type | undefined {
  if (values === undefined) return undefined
  const dims = indices?.dims
  const count = depth?.elements?.[0]
  if (dims === undefined || count === undefined) return { dtype: values.dtype }
  const axis = axisOf(node, intOf(node, 'axis', -1), dims.length + 1)
  return { dtype: values.dtype, dims: dims.toSpliced(axis, 0, count) }
}

function evaluateOneHot(context: Evaluation): Tensor {
  const { node } = context
  const indices = given(context, 0)
  const values = given(context, 2)
  const depth = Math.trunc(scalarOf(given(context, 1)) ?? -1)
  if (depth < 0 || values.data.length !== 2)
    throw unfit(node, `it has depth ${depth} and ${values.data.length} values`)
  const axis = axisOf(node, intOf(node, 'axis', -1), indices.dims.length + 1)
  const inner = countOf(indices.dims.slice(axis))
  const made = zeros(values.dtype, indices.dims.toSpliced(axis, 0, depth))
  made.data.fill(values.data[0] as never)
  const read = reader(indices)
  for (let at = 0; at < indices.data.length; at++) {
    const index = Math.trunc(read(at))
    const hot = index < 0 ? index + depth : index
    if (hot < 0 || hot >= depth) continue
    made.data[(Math.floor(at / inner) * depth + hot) * inner + (at % inner)] = values.data[1]!
  }
  return made
}

/** Coordinates of the nonzero elements, one row per axis. */
const nonZero: Operator = define({
  name: 'NonZero',
  since: 9,
  dtypes: [ALL_DTYPES],
  infer({ constant }) {
    const known = constant(0)
    return [{ dtype: 'i64', ...(known && { dims: [known.dims.length, placesOf(known).length] }) }]
  },
  evaluate(context) {
    const input = given(context, 0)
    const found = placesOf(input)
    const coordinates = stridesOf(input.dims).flatMap((stride, axis) =>
      found.map((at) => Math.floor(at / stride) % input.dims[axis]!),
    )
    return [tensorOf('i64', [input.dims.length, found.length], coordinates)]
  },
})

/** Positions of the nonzero elements. */
function placesOf({ data }: Tensor): number[] {
  const found: number[] = []
  for (let at = 0; at < data.length; at++) if (Number(data[at]) !== 0) found.push(at)
  return found
}

/** Writes a step's tokens into a cache, from a given position of each sequence. */
const tensorScatter: Operator = define({
  name: 'TensorScatter',
  since: 24,
  inputs: [2, 3],
  attributes: { axis: 'int', mode: 'string' },
  dtypes: [ALL_DTYPES, ALL_DTYPES, ['i64']],
  infer: sameType,
})

export const INDEXED: readonly Operator[] = [
  gatherElements,
  gatherND,
  scatterElements,
  scatterND,
  oneHot,
  nonZero,
  tensorScatter,
]
