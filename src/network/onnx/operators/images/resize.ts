// Operators that resize images, or move channels to positions and back.

import { axisOf } from '../../ir/broadcast.ts'
import { divideExactly, multiplyDims } from '../../ir/dims.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import {
  define,
  flagOf,
  floatOf,
  type Inference,
  intOf,
  intsOf,
  type Operator,
  stringOf,
  unclaimed,
  unfit,
} from '../../ir/operator.ts'
import { FLOATS, NUMBERS, numbersOf, type Tensor } from '../../ir/tensor.ts'

/** The size of one axis before and after, and the scale between them. */
export interface Scaling {
  readonly from: number
  readonly to: number
  readonly scale: number
  /** The part of the axis that is resized, relative to its first and last position. Default: all of it. */
  readonly crop?: readonly [start: number, end: number]
}

export const isResized = ({ from, to, scale, crop }: Scaling): boolean =>
  from !== to || scale !== 1 || crop !== undefined

/** Whether the node resizes only a part of its input, which input 1 gives. */
export const isCropped = (node: Node): boolean =>
  stringOf(node, 'coordinate_transformation_mode', 'half_pixel') === 'tf_crop_and_resize'

/** Scales or sizes, and the part to resize, for the axes that the node names. */
export function scalingsOf(
  node: Node,
  dims: readonly number[],
  scales: readonly number[] | undefined,
  sizes: readonly number[] | undefined,
  parts?: readonly number[],
): Scaling[] {
  const rank = dims.length
  const named = intsOf(node, 'axes', undefined)?.map((axis) => axisOf(node, axis, rank)) ?? [...dims.keys()]
  const given = sizes ?? scales
  if (given?.length !== named.length || given.some((each) => !(each > 0)))
    throw unfit(node, `it resizes ${named.length} axes by [${given ?? ''}]`)
  const made = dims.map((size): Scaling => ({ from: size, to: size, scale: 1 }))
  const policy = stringOf(node, 'keep_aspect_ratio_policy', 'stretch')
  const each = sizes?.map((size, at) => size / dims[named[at]!]!)
  const common = policy === 'stretch' || each === undefined ? undefined : aspect(node, policy, each)
  for (const [at, axis] of named.entries()) {
    const from = dims[axis]!
    const scale = common ?? each?.[at] ?? scales![at]!
    const to = common === undefined ? (sizes?.[at] ?? Math.floor(from * scale)) : Math.round(from * scale)
    made[axis] = { from, to, scale, ...(isCropped(node) && { crop: cropOf(node, parts, at, named.length) }) }
  }
  return made
}

/** The starts of all axes, then the ends. */
function cropOf(
  node: Node,
  parts: readonly number[] | undefined,
  at: number,
  axes: number,
): readonly [number, number] {
  if (parts?.length === 2 * axes) return [parts[at]!, parts[at + axes]!]
  throw unfit(node, `its region of ${parts?.length ?? 0} numbers does not fit ${axes} axes`)
}

function aspect(node: Node, policy: string, scales: readonly number[]): number {
  if (policy === 'not_larger') return scales.reduce((a, b) => Math.min(a, b))
  if (policy === 'not_smaller') return scales.reduce((a, b) => Math.max(a, b))
  throw unfit(node, `its keep_aspect_ratio_policy is ${policy}, which does not exist`)
}

/** The input coordinate of an output position. */
export function originOf(node: Node, { from, to, scale, crop }: Scaling): (place: number) => number {
  const mode = stringOf(node, 'coordinate_transformation_mode', 'half_pixel')
  // In f32, as in other runtimes, so that positions halfway between two others round the same way.
  const scaled = (place: number) => Math.fround(place / scale)
  switch (mode) {
    case 'half_pixel':
      return (place) => scaled(place + 0.5) - 0.5
    case 'half_pixel_symmetric': {
      const offset = (from / 2) * (1 - to / (scale * from))
      return (place) => offset + scaled(place + 0.5) - 0.5
    }
    case 'pytorch_half_pixel':
      return (place) => (to > 1 ? scaled(place + 0.5) - 0.5 : 0)
    case 'align_corners':
      // In this case, runtimes disagree about the last corner.
      if (!Number.isInteger(Math.fround(scale * from)) && Math.abs(scale * from - to) > 1e-3)
        throw unclaimed(node, `corners cannot be aligned by a scale of ${scale} for an axis of ${from}`)
      return (place) => (to === 1 ? 0 : (place * (from - 1)) / (to - 1))
    case 'tf_crop_and_resize': {
      const [start, end] = crop!
      const step = to > 1 ? ((end - start) * (from - 1)) / (to - 1) : 0
      return (place) => (to > 1 ? start : (start + end) / 2) * (from - 1) + place * step
    }
    case 'asymmetric':
      return scaled
    default:
      throw unclaimed(node, `its coordinate_transformation_mode is ${mode}`)
  }
}

const NEAREST: ReadonlyMap<string, (at: number) => number> = new Map([
  ['round_prefer_floor', (at: number) => Math.ceil(at - 0.5)],
  ['round_prefer_ceil', (at: number) => Math.floor(at + 0.5)],
  ['floor', Math.floor],
  ['ceil', Math.ceil],
])

/** Cubic convolution (Keys 1981, eq. 4); `a` is the slope at 1. */
export function cubic(x: number, a: number): number {
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0
}

/**
 * Along one axis, each output position is a weighted sum of input positions, given by `index[tap][position]`
 * and `weight[tap][position]`.
 */
interface Taps {
  readonly index: readonly Int32Array[]
  readonly weight: readonly Float64Array[]
}

/** Work units per entry (a weight and its index), and the fixed cost of a tap in entries. */
const TAP_UNITS = 4
const TAP_ENTRIES = 128

/** `spend` charges for all taps before any is computed. */
export function tapsOf(node: Node, scaling: Scaling, spend: (units: number) => void): Taps {
  const { from, to } = scaling
  const mode = stringOf(node, 'mode', 'nearest')
  const origin = originOf(node, scaling)
  const clamp = (at: number) => Math.min(from - 1, Math.max(0, at))
  if (mode === 'nearest') {
    const name = stringOf(node, 'nearest_mode', 'round_prefer_floor')
    const round = NEAREST.get(name)
    if (round === undefined) throw unfit(node, `its nearest_mode is ${name}, which does not exist`)
    spend(TAP_UNITS * to)
    return {
      index: [Int32Array.from({ length: to }, (_, place) => clamp(round(origin(place))))],
      weight: [new Float64Array(to).fill(1)],
    }
  }
  if (mode !== 'linear' && mode !== 'cubic') throw unfit(node, `its mode is ${mode}, which does not exist`)
  const a = floatOf(node, 'cubic_coeff_a', -0.75)
  const shape = mode === 'linear' ? (x: number) => Math.max(0, 1 - x) : (x: number) => cubic(x, a)
  // Downscaling uses wider windows so that no position is skipped.
  const shrink = flagOf(node, 'antialias') ? Math.min(1, scaling.scale) : 1
  const half = Math.ceil((mode === 'linear' ? 1 : 2) / shrink)
  const isInside = flagOf(node, 'exclude_outside')
  spend(TAP_UNITS * 2 * half * (to + TAP_ENTRIES))
  const index = Array.from({ length: 2 * half }, () => new Int32Array(to))
  const weight = Array.from({ length: 2 * half }, () => new Float64Array(to))
  for (let place = 0; place < to; place++) {
    const at = origin(place)
    const first = Math.floor(at) - half + 1
    let total = 0
    for (let tap = 0; tap < 2 * half; tap++) {
      const near = first + tap
      const own = isInside && (near < 0 || near >= from) ? 0 : shape(Math.abs(near - at) * shrink)
      index[tap]![place] = clamp(near)
      weight[tap]![place] = own
      total += own
    }
    if (isInside || shrink < 1) for (const taps of weight) taps[place]! /= total
  }
  return { index, weight }
}

/** Inputs: the image, a region of interest, which only tf_crop_and_resize reads, and scales or sizes. */
const resize: Operator = define({
  name: 'Resize',
  since: 11,
  inputs: [2, 4],
  attributes: {
    antialias: 'int',
    axes: 'ints',
    coordinate_transformation_mode: 'string',
    cubic_coeff_a: 'float',
    exclude_outside: 'int',
    extrapolation_value: 'float',
    keep_aspect_ratio_policy: 'string',
    mode: 'string',
    nearest_mode: 'string',
  },
  dtypes: [FLOATS, FLOATS, ['f32'], ['i64']],
  infer: inferResize,
})

/** An omitted input may also be given as an empty list. */
export const listed = (tensor: Tensor | undefined): number[] | undefined =>
  tensor === undefined || tensor.data.length === 0 ? undefined : numbersOf(tensor)

function inferResize({ node, inputs: [x, , , sizes], constant }: Inference) {
  if (x === undefined) return [undefined]
  const dims = x.dims
  const scales = listed(constant(2))
  const isStretched = stringOf(node, 'keep_aspect_ratio_policy', 'stretch') === 'stretch'
  const unknown = [{ dtype: x.dtype }]
  if (dims === undefined) return unknown
  if (dims.every((size) => typeof size === 'number')) {
    const wanted = sizes?.elements?.length === 0 ? undefined : sizes?.elements
    if (wanted?.some((size) => typeof size !== 'number')) return unknown
    if (wanted === undefined && scales === undefined) return unknown
    // The region does not change the sizes.
    const parts = Array<number>(2 * (wanted ?? scales)!.length).fill(0)
    const made = scalingsOf(node, dims as number[], scales, wanted as number[] | undefined, parts)
    return [{ dtype: x.dtype, dims: made.map(({ to }) => to) }]
  }
  const axes = intsOf(node, 'axes', undefined)?.map((axis) => axisOf(node, axis, dims.length))
  const named = axes ?? [...dims.keys()]
  if (hasInput(node, 3) && isStretched && sizes?.elements?.length === named.length) {
    const { elements } = sizes
    return [{ dtype: x.dtype, dims: dims.map((size, axis) => elements[named.indexOf(axis)] ?? size) }]
  }
  if (scales?.length !== named.length || !scales.every(Number.isInteger)) return unknown
  return [
    { dtype: x.dtype, dims: dims.map((size, axis) => multiplyDims(size, scales[named.indexOf(axis)] ?? 1)) },
  ]
}

/**
 * How the axes of an image [n, channels, height, width] are split and reordered when blocks of pixels become
 * channels or the reverse.
 */
export function blocksOf(node: Node, dims: readonly number[]) {
  const size = intOf(node, 'blocksize', 0)
  const [n, channels, height, width] = dims as [number, number, number, number]
  const isDeep = node.op === 'DepthToSpace'
  const isFit =
    dims.length === 4 &&
    size >= 1 &&
    (isDeep ? channels % size ** 2 === 0 : height % size === 0 && width % size === 0)
  if (!isFit) throw unfit(node, `blocks of ${size} do not fit an image of shape [${dims}]`)
  const mode = stringOf(node, 'mode', 'DCR')
  if (mode !== 'DCR' && mode !== 'CRD') throw unfit(node, `its mode is ${mode}, which does not exist`)
  if (!isDeep) {
    const down = height / size
    const across = width / size
    return {
      split: [n, channels, down, size, across, size],
      perm: mode === 'DCR' ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4],
      dims: [n, channels * size ** 2, down, across],
    }
  }
  const each = channels / size ** 2
  return {
    split: mode === 'DCR' ? [n, size, size, each, height, width] : [n, each, size, size, height, width],
    perm: mode === 'DCR' ? [0, 3, 4, 1, 5, 2] : [0, 1, 4, 2, 5, 3],
    dims: [n, each, height * size, width * size],
  }
}

function blocked(name: string): Operator {
  const isDeep = name === 'DepthToSpace'
  return define({
    name,
    since: 1,
    attributes: { blocksize: 'int', mode: 'string' },
    dtypes: [NUMBERS],
    infer({ node, inputs: [x] }) {
      if (x?.dims?.length !== 4) return [x && { dtype: x.dtype }]
      const size = intOf(node, 'blocksize', 0)
      const [n, channels, height, width] = x.dims
      const dims = isDeep
        ? [n, divideExactly(channels!, size ** 2), multiplyDims(height!, size), multiplyDims(width!, size)]
        : [n, multiplyDims(channels!, size ** 2), divideExactly(height!, size), divideExactly(width!, size)]
      return [{ dtype: x.dtype, dims: dims.every((each) => each !== undefined) ? dims : undefined }]
    },
  })
}

export const IMAGES: readonly Operator[] = [resize, blocked('DepthToSpace'), blocked('SpaceToDepth')]
