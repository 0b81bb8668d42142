// Handlers of convolutions. A convolution is a product: each position's window, a view of the input, is a row
// of A, and each filter is a column of B. Channels become the output's last axis.
import type { Node } from '../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../onnx/ir/operator.ts'
import { countOf, numbersOf, stridesOf } from '../../onnx/ir/tensor.ts'
import { type Axis, axesOf, type SpreadAxis, spreadAxes } from '../../onnx/operators/images/conv.ts'
import { dimsOf, type Ref, refTo } from '../loops/loops.ts'
import { add, arg, mul, number, type Tree } from '../loops/tree.ts'
import { reshaped, sliced, spread, transposed, type View, whole } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { padded, reshape } from './lowering/layouts.ts'
import { copy, filled, map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { multiply } from './lowering/sums.ts'
import { productSides } from './window-sides.ts'

function sidesOf(lowering: Lowering, node: Node) {
  const [name = '', filterName = '', biasName = ''] = node.inputs
  const x = lowering.values.ref(node, name)
  const filters = lowering.values.ref(node, filterName)
  if (x.value.kind !== 'f32') throw unclaimed(node, 'its input does not hold floats')
  const bias = biasName === '' ? undefined : lowering.values.ref(node, biasName)
  return { x, filters, bias, group: intOf(node, 'group', 1) }
}

const conv: Handler = (lowering, node) => convolve(lowering, node, sidesOf(lowering, node))

/** Throws `format` if the filters do not fit the input. */
export function convolve(
  lowering: Lowering,
  node: Node,
  { x, filters, bias, group }: Pick<Convolution, 'x' | 'filters' | 'bias' | 'group'>,
): void {
  const [count, perGroup] = dimsOf(filters) as [number, number]
  const channels = dimsOf(x)[1]!
  if (dimsOf(x).length < 3 || channels !== perGroup * group || count % group !== 0)
    throw unfit(node, `filters [${dimsOf(filters)}] in ${group} groups do not fit its input [${dimsOf(x)}]`)
  const axes = axesOf(node, dimsOf(x).slice(2), dimsOf(filters).slice(2))!
  const [, , ...places] = lowering.values.dims(node, node.outputs[0]!)
  lowering.values.name(node.outputs[0]!, convolved(lowering, node, { x, filters, bias, axes, places, group }))
}

interface Convolution {
  readonly x: Ref
  /** [count, channels of a group, ...taps]. */
  readonly filters: Ref
  /** [count]. */
  readonly bias?: Ref | undefined
  readonly axes: readonly Axis[]
  readonly places: readonly number[]
  readonly group: number
}

/** [batch, count, ...places], with channels last in memory. */
function convolved(
  lowering: Lowering,
  node: Node,
  { x, filters, bias, axes, places, group }: Convolution,
): Ref {
  const [batch] = dimsOf(x) as [number]
  const [count, perGroup] = dimsOf(filters) as [number, number]
  if (perGroup === 1 && count === group && group > 1)
    return channelwise(lowering, node, { x, filters, bias, axes, places, group })
  const m = countOf(places)
  const each = count / group
  const sides = productSides(lowering, node, rowsOf(lowering, node, x, { axes, places, group }), filters)
  // Channels come last, so that rows are written as vectors.
  const dims = group === 1 ? [batch, ...places, count] : [batch, ...places, group, each]
  const out = lowering.values.make(node.outputs[0]!, 'f32', dims)
  const at = productView(dims, { batch, m, group, each })
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, ...sides, at })
  let made = refTo(out)
  if (bias !== undefined) {
    const own = group === 1 ? [count] : [group, each]
    made = map(lowering, node, [made, reshape(lowering, node, bias, own)], add(arg(0), arg(1)))
  }
  const last = reshape(lowering, node, made, [batch, ...places, count])
  const order = [0, places.length + 1, ...places.map((_, axis) => axis + 1)]
  return { ...last, view: transposed(last.view, order) }
}

/** Number of taps that one loop sums. */
const MAX_TAPS = 4

/** One filter per channel: each output is a sum of views of the input times numbers per channel. */
function channelwise(lowering: Lowering, node: Node, { x, filters, bias, axes, places }: Convolution): Ref {
  const channels = dimsOf(filters)[0]!
  const taps = countOf(axes.map(({ kernel }) => kernel))
  const padded = bordered(lowering, node, x, axes)
  const flat = reshape(lowering, node, filters, [channels, taps])
  const columns = copy(lowering, node, { ...flat, view: transposed(flat.view, [1, 0]) })
  const ofChannels = (ref: Ref): Ref => reshape(lowering, node, ref, [channels, ...places.map(() => 1)])
  let made: Ref | undefined = bias && ofChannels(bias)
  let args: Ref[] = []
  let terms: Tree[] = []
  for (let tap = 0; tap < taps; tap++) {
    let { view } = padded
    let rest = tap
    for (const [at, { kernel, stride, dilation }] of [...axes.entries()].reverse()) {
      view = sliced(view, at + 2, (rest % kernel) * dilation, places[at]!, stride)
      rest = Math.floor(rest / kernel)
    }
    const weight = ofChannels({ ...columns, view: sliced(columns.view, 0, tap, 1) })
    args.push({ ...padded, view }, weight)
    terms.push(mul(arg(args.length - 2), arg(args.length - 1)))
    if (terms.length < MAX_TAPS && tap < taps - 1) continue
    if (made !== undefined) terms.unshift(arg(args.push(made) - 1))
    made = map(lowering, node, args, terms.reduce(add))
    args = []
    terms = []
  }
  return made!
}

/** [batch, group, m, each] for a value whose groups come after its positions. */
function productView(
  dims: readonly number[],
  { batch, m, group, each }: { batch: number; m: number; group: number; each: number },
): View {
  const rows = reshaped(whole(dims), [batch, m, group, each])!
  return transposed(rows, [0, 2, 1, 3])
}

/** The input with the padding that the windows reach. */
function bordered(lowering: Lowering, node: Node, x: Ref, axes: readonly Axis[]): Ref {
  if (axes.every(({ before, after }) => before + after === 0)) return x
  const none = [0, 0] as const
  return padded(
    lowering,
    node,
    x,
    [none, none, ...axes.map(({ before, after }) => [before, after] as const)],
    0,
  )
}

/** The windows, [batch, group, ...places, channels of a group, ...taps]. */
function rowsOf(
  lowering: Lowering,
  node: Node,
  x: Ref,
  { axes, places, group }: { axes: readonly Axis[]; places: readonly number[]; group: number },
): Ref {
  const padded = bordered(lowering, node, x, axes)
  const { value, view } = padded
  const [batch, channels, ...steps] = view.strides as [number, number, ...number[]]
  const perGroup = view.dims[1]! / group
  const windows: View = {
    offset: view.offset,
    dims: [view.dims[0]!, group, ...places, perGroup, ...axes.map(({ kernel }) => kernel)],
    strides: [
      batch,
      channels * perGroup,
      ...axes.map(({ stride }, axis) => stride * steps[axis]!),
      channels,
      ...axes.map(({ dilation }, axis) => dilation * steps[axis]!),
    ],
  }
  return { value, view: windows }
}

/**
 * The input's positions are spread by the stride, and the mirrored filters slide over them. If windows
 * neither overlap nor leave gaps, each position is a separate product.
 */
const convTranspose: Handler = (lowering, node) => {
  const { x, filters, bias, group } = sidesOf(lowering, node)
  const [count, each, ...kernel] = dimsOf(filters) as [number, number, ...number[]]
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  if (kernel.length === 0 || channels !== count || channels % group !== 0)
    throw unfit(node, `filters [${dimsOf(filters)}] in ${group} groups do not fit its input [${dimsOf(x)}]`)
  const axes = spreadAxes(node, sizes, kernel)!
  const places = axes.map(({ made }) => made as number)
  const isTiled =
    group === 1 &&
    axes.every(
      ({ kernel, stride, dilation, before, made }, at) =>
        kernel === stride && dilation === 1 && before === 0 && made === sizes[at]! * stride,
    )
  const perGroup = channels / group
  let made: Ref
  if (isTiled) made = tiles(lowering, node, x, filters)
  else if (!areFinite(lowering, node)) made = tapByTap(lowering, node, { x, filters, axes, group })
  else {
    const apart = spreadPlaces(
      lowering,
      node,
      x,
      axes.map(({ stride, made, kernel, dilation, before }) => {
        const reach = (kernel - 1) * dilation
        return { stride, front: reach - before, count: (made as number) + reach }
      }),
    )
    // Turns filters [in, out of a group, ...taps] into [out, in of a group, ...reversed taps].
    const split = reshape(lowering, node, filters, [group, perGroup, each, ...kernel])
    const rest = kernel.map((_, at) => at + 3)
    let view = transposed(split.view, [0, 2, 1, ...rest])
    for (const [at, size] of kernel.entries()) view = sliced(view, at + 3, size - 1, size, -1)
    const turned = reshape(lowering, node, { ...split, view }, [group * each, perGroup, ...kernel])
    const windows = axes.map((axis) => ({ ...axis, stride: 1, before: 0, after: 0 }))
    made = convolved(lowering, node, { x: apart, filters: turned, axes: windows, places, group })
  }
  if (bias !== undefined) {
    const ofChannels = reshape(lowering, node, bias, [each * group, ...kernel.map(() => 1)])
    made = map(lowering, node, [made, ofChannels], add(arg(0), arg(1)))
  }
  lowering.values.name(node.outputs[0]!, reshape(lowering, node, made, [batch, each * group, ...places]))
}

/** Whether the filters are finite. Filters that remain in the file are assumed to be finite. */
function areFinite(lowering: Lowering, node: Node): boolean {
  const name = node.inputs[1]!
  const known = lowering.values.known(name)
  return known === undefined ? lowering.graph.constants.has(name) : numbersOf(known).every(Number.isFinite)
}

/** Number of values that one loop sums. */
const MAX_SUMMED = 8

/**
 * Spreads each tap's product by the stride and sums all of them. This is slower than a convolution, but no
 * filter is multiplied by the zeros between positions, where an infinite weight would give NaN.
 */
function tapByTap(
  lowering: Lowering,
  node: Node,
  {
    x,
    filters,
    axes,
    group,
  }: { readonly x: Ref; readonly filters: Ref; readonly axes: readonly SpreadAxis[]; readonly group: number },
): Ref {
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  const [, each, ...kernel] = dimsOf(filters) as [number, number, ...number[]]
  const perGroup = channels / group
  const taps = countOf(kernel)
  const m = countOf(sizes)
  // [batch, group, m, in] times [group, in, out x taps].
  const split = reshape(lowering, node, x, [batch, group, perGroup, m])
  const rows = { ...split, view: transposed(split.view, [0, 1, 3, 2]) }
  const flat = reshape(lowering, node, filters, [1, group, perGroup, each * taps])
  const b = { ...flat, view: spread(flat.view, [batch, group, perGroup, each * taps]) }
  const products = reshape(lowering, node, multiply(lowering, node, rows, b), [
    batch,
    group,
    ...sizes,
    each,
    taps,
  ])
  const rank = sizes.length
  const order = [rank + 3, 0, 1, rank + 2, ...sizes.map((_, at) => at + 2)]
  const byTap = { ...products, view: transposed(products.view, order) }
  const parts = bordersOfTaps(axes, kernel).flatMap((borders, tap): Ref[] => {
    const isOutside = borders.some(
      ({ front, stride, count }, at) => front >= count || front + (sizes[at]! - 1) * stride < 0,
    )
    if (isOutside) return []
    const part = { ...byTap, view: sliced(byTap.view, 0, tap, 1) }
    const channelsFirst = reshape(lowering, node, part, [batch, group * each, ...sizes])
    return [spreadPlaces(lowering, node, channelsFirst, borders)]
  })
  const dims = [batch, group * each, ...axes.map(({ made }) => made as number)]
  let made = parts.shift() ?? filled(lowering, node, number(0), dims)
  while (parts.length > 0) {
    const args = [made, ...parts.splice(0, MAX_SUMMED - 1)]
    made = map(lowering, node, args, args.map((_, at): Tree => arg(at)).reduce(add))
  }
  return made
}

/** The positions that each tap's products go to. */
function bordersOfTaps(axes: readonly SpreadAxis[], kernel: readonly number[]): Apart[][] {
  const steps = stridesOf(kernel)
  return Array.from({ length: countOf(kernel) }, (_, tap) =>
    axes.map(({ stride, kernel: size, dilation, before, made }, at) => {
      const place = Math.floor(tap / steps[at]!) % size
      return { stride, front: place * dilation - before, count: made as number }
    }),
  )
}

/** Adjacent windows: [batch, ...places, channels] times [channels, out x taps]. */
function tiles(lowering: Lowering, node: Node, x: Ref, filters: Ref): Ref {
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  const [, each, ...kernel] = dimsOf(filters) as [number, number, ...number[]]
  const m = countOf(sizes)
  const n = each * countOf(kernel)
  const perm = [0, ...sizes.map((_, axis) => axis + 2), 1]
  const rows = reshape(lowering, node, { ...x, view: transposed(x.view, perm) }, [batch, m, channels])
  const columns = reshape(lowering, node, filters, [1, channels, n])
  const b = { ...columns, view: spread(columns.view, [batch, channels, n]) }
  // [batch, ...places, out, ...taps]: each position is followed by its taps.
  const apart = reshape(lowering, node, multiply(lowering, node, rows, b), [batch, ...sizes, each, ...kernel])
  const rank = sizes.length
  const order = [0, rank + 1, ...sizes.flatMap((_, axis) => [axis + 1, rank + 2 + axis])]
  const view = transposed(apart.view, order)
  return reshape(lowering, node, { ...apart, view }, [
    batch,
    each,
    ...sizes.map((size, axis) => size * kernel[axis]!),
  ])
}

/**
 * An axis whose positions are spread apart: the index of the first one, and the number of positions that
 * result.
 */
interface Apart {
  readonly stride: number
  readonly front: number
  readonly count: number
}

/**
 * The input with `stride - 1` zeros between its positions, and zeros around it. Anything beyond that is
 * cropped.
 */
function spreadPlaces(lowering: Lowering, node: Node, x: Ref, axes: readonly Apart[]): Ref {
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  const inner = sizes.map((size, at) => (size - 1) * axes[at]!.stride + 1)
  const isApart = axes.some(({ stride }) => stride > 1)
  let made = x
  if (isApart) {
    // Separate loops write zeros and input positions. Each output position belongs to one of them.
    const dims = [batch, channels, ...sizes.flatMap((size, at) => [size, axes[at]!.stride])]
    const around = dims.map((size, at): readonly [number, number] =>
      at >= 2 && at % 2 === 1 ? [0, size - 1] : [0, 0],
    )
    const ones = reshape(lowering, node, x, [batch, channels, ...sizes.flatMap((size) => [size, 1])])
    const wide = padded(lowering, node, ones, around, 0)
    const whole = reshape(lowering, node, wide, [
      batch,
      channels,
      ...sizes.map((size, at) => size * axes[at]!.stride),
    ])
    let { view } = whole
    for (const [at, size] of inner.entries()) view = sliced(view, at + 2, 0, size)
    made = { ...whole, view }
  }
  let { view } = made
  const around = [[0, 0] as const, [0, 0] as const] as (readonly [number, number])[]
  for (const [at, { front, count }] of axes.entries()) {
    const back = count - front - inner[at]!
    const cut = Math.max(0, -front)
    const left = inner[at]! - cut - Math.max(0, -back)
    if (left < 0) throw unclaimed(node, `its padding leaves nothing of axis ${at + 2}`)
    view = sliced(view, at + 2, cut, left)
    around.push([Math.max(0, front), Math.max(0, back)])
  }
  return padded(lowering, node, { ...made, view }, around, 0)
}

export const CONV_HANDLERS = { Conv: conv, ConvTranspose: convTranspose } satisfies SomeHandlers
