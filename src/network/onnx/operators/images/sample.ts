// Operators that move elements of images: grid sampling, crops, overlapping blocks, and the inverse of
// pooling.
import type { Dim } from '../../ir/dims.ts'
import type { Type } from '../../ir/graph.ts'
import { define, type Inference, intsOf, type Operator, sameType } from '../../ir/operator.ts'
import { countOf, FLOATS, MOVED_DTYPES, NUMBERS } from '../../ir/tensor.ts'
import { WINDOW } from './conv.ts'
import { poolOf } from './pool.ts'

/** `x` [batch, channels, ...sizes], `grid` [batch, ...positions, axes] with coordinates from -1 to 1. */
const gridSample: Operator = define({
  name: 'GridSample',
  since: 16,
  inputs: [2, 2],
  attributes: { align_corners: 'int', mode: 'string', padding_mode: 'string' },
  dtypes: [NUMBERS, FLOATS],
  infer: ({ inputs: [x, grid] }) => {
    const isKnown = x?.dims !== undefined && grid?.dims !== undefined
    const dims = isKnown ? [...x.dims.slice(0, 2), ...grid.dims.slice(1, -1)] : undefined
    return [x && { dtype: x.dtype, dims }]
  },
})

/** The dims that a list of integers states. */
const stated = (dtype: Type['dtype'] | undefined, dims: readonly Dim[] | undefined): [Type | undefined] => [
  dtype && { dtype, dims },
]

const affineGrid: Operator = define({
  name: 'AffineGrid',
  since: 20,
  inputs: [2, 2],
  attributes: { align_corners: 'int' },
  dtypes: [FLOATS, ['i64']],
  infer: ({ inputs: [theta, size] }) => {
    const sizes = size?.elements
    return stated(theta?.dtype, sizes && [sizes[0]!, ...sizes.slice(2), sizes.length - 2])
  },
})

const centerCropPad: Operator = define({
  name: 'CenterCropPad',
  since: 18,
  inputs: [2, 2],
  attributes: { axes: 'ints' },
  dtypes: [MOVED_DTYPES, ['i32', 'i64']],
  infer: ({ node, inputs: [x, shape] }) => {
    const rank = x?.dims?.length ?? 0
    const axes = intsOf(node, 'axes', [...Array(rank).keys()]).map((axis) => (axis < 0 ? axis + rank : axis))
    const sizes = shape?.elements
    return stated(x?.dtype, sizes && x?.dims?.map((size, axis) => sizes[axes.indexOf(axis)] ?? size))
  },
})

/** Columns [batch, channels * block, positions] become an image in which overlapping blocks are added. */
const col2Im: Operator = define({
  name: 'Col2Im',
  since: 18,
  inputs: [3, 3],
  attributes: { dilations: 'ints', pads: 'ints', strides: 'ints' },
  dtypes: [NUMBERS, ['i64'], ['i64']],
  infer: ({ inputs: [x, image, block] }) => {
    const [batch, rows] = x?.dims ?? []
    const taps = block?.elements
    const isKnown = typeof rows === 'number' && taps?.every((size) => typeof size === 'number')
    const channels = isKnown ? rows / countOf(taps as readonly number[]) : undefined
    const dims = channels === undefined || image?.elements === undefined ? undefined : image.elements
    return stated(x?.dtype, dims && [batch!, channels!, ...dims])
  },
})

const maxUnpool: Operator = define({
  name: 'MaxUnpool',
  since: 9,
  inputs: [2, 3],
  attributes: { kernel_shape: 'ints', pads: 'ints', strides: 'ints' },
  dtypes: [FLOATS, ['i64'], ['i64']],
  infer: ({ inputs: [x, , shape] }) => stated(x?.dtype, shape?.elements),
})

const localResponse: Operator = define({
  name: 'LRN',
  since: 1,
  attributes: { alpha: 'float', beta: 'float', bias: 'float', size: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
})

const lpPool: Operator = define({
  name: 'LpPool',
  since: 2,
  attributes: { ...WINDOW, ceil_mode: 'int', p: 'int' },
  dtypes: [FLOATS],
  infer({ node, inputs: [x] }: Inference) {
    const found = x?.dims && poolOf(node, x.dims.slice(2))
    return stated(x?.dtype, found && [...x!.dims!.slice(0, 2), ...found.places])
  },
})

export const SAMPLED: readonly Operator[] = [
  affineGrid,
  centerCropPad,
  col2Im,
  gridSample,
  localResponse,
  lpPool,
  maxUnpool,
]
