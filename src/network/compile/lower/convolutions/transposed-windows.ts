// Handler of ConvTranspose. The output's positions are divided into phases, one for each remainder by the
// stride. The positions of a phase are a convolution of the input by a part of the mirrored filters, and are
// written to their places in the output. No zeros are inserted, and no tap is multiplied unnecessarily.
import type { Node } from '../../../onnx/ir/graph.ts'
import { unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { countOf, numbersOf, stridesOf } from '../../../onnx/ir/tensor.ts'
import { type SpreadAxis, spreadAxes } from '../../../onnx/operators/images/conv.ts'
import { dimsOf, type Ref, refTo, type Value } from '../../loops/loops.ts'
import { add, arg, number, type Tree } from '../../loops/tree.ts'
import { sliced, spread, transposed, type View, whole } from '../../loops/view.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { padded, placed, reshape } from '../lowering/layouts.ts'
import { filled, map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { multiply } from '../lowering/sums.ts'
import { bordered, channelsSecond } from './convolution.ts'
import { convolved, sidesOf } from './windows.ts'

interface Spreading {
  readonly x: Ref
  readonly filters: Ref
  readonly bias?: Ref | undefined
  readonly axes: readonly SpreadAxis[]
  readonly group: number
}

const convTranspose: Handler = (lowering, node) => {
  const { x, filters, bias, group } = sidesOf(lowering, node)
  const [count, each, ...kernel] = dimsOf(filters) as [number, number, ...number[]]
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  if (kernel.length === 0 || channels !== count || channels % group !== 0)
    throw unfit(node, `filters [${dimsOf(filters)}] in ${group} groups do not fit its input [${dimsOf(x)}]`)
  const axes = spreadAxes(node, sizes, kernel)!
  const spreading: Spreading = { x, filters, bias, axes, group }
  const made = (areFinite(lowering, node) ? byPhases : tapByTap)(lowering, node, spreading)
  const dims = [batch, each * group, ...axes.map(({ made: size }) => size as number)]
  lowering.values.name(node.outputs[0]!, reshape(lowering, node, made, dims))
}

/** Positions of an axis of the output that read the same taps, which are `tap`, `tap + step` and so on. */
interface Phase {
  /** The first of `count` positions in the output, which are a stride apart. */
  readonly at: number
  readonly count: number
  readonly tap: number
  readonly step: number
  readonly taps: number
  /** The first position in the input that the first window covers, and the distance from tap to tap. */
  readonly from: number
  readonly dilation: number
}

function phasesOf({ kernel, stride, dilation, before, made }: SpreadAxis): readonly Phase[] {
  const common = greatestDivisor(stride, dilation)
  const step = stride / common
  const phases: Phase[] = []
  for (let at = 0; at < Math.min(stride, made as number); at++) {
    const count = Math.ceil(((made as number) - at) / stride)
    const own = Array.from({ length: Math.min(step, kernel) }, (_, tap) => tap)
    const tap = own.find((each) => (at + before - each * dilation) % stride === 0)
    const taps = tap === undefined ? 0 : Math.ceil((kernel - tap) / step)
    const last = (tap ?? 0) + (taps - 1) * step
    const from = taps === 0 ? 0 : (at + before - last * dilation) / stride
    phases.push({ at, count, tap: tap ?? 0, step, taps, from, dilation: dilation / common })
  }
  return phases
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b))

/** Combinations of one phase per axis. */
const combined = (lists: readonly (readonly Phase[])[]): readonly (readonly Phase[])[] =>
  lists.reduce<readonly (readonly Phase[])[]>(
    (made, list) => made.flatMap((front) => list.map((phase) => [...front, phase])),
    [[]],
  )

function byPhases(lowering: Lowering, node: Node, { x, filters, bias, axes, group }: Spreading): Ref {
  const [batch, channels, ...sizes] = dimsOf(x) as [number, number, ...number[]]
  const [, each, ...kernel] = dimsOf(filters) as [number, number, ...number[]]
  const phases = axes.map(phasesOf)
  const reach = phases.map((list, axis) => {
    const used = list.filter(({ taps }) => taps > 0)
    const ends = used.map(({ from, count, taps, dilation }) => from + count + (taps - 1) * dilation)
    const before = Math.max(0, ...used.map(({ from }) => -from))
    return { before, after: Math.max(0, ...ends.map((end) => end - sizes[axis]!)) }
  })
  const input = bordered(lowering, node, x, reach, true)
  // Turns filters [in, out of a group, ...taps] into [out, in of a group, ...taps].
  const split = reshape(lowering, node, filters, [group, channels / group, each, ...kernel])
  const turned = transposed(split.view, [0, 2, 1, ...kernel.map((_, at) => at + 3)])
  const count = each * group
  const dims = [batch, ...axes.map(({ made }) => made as number), count]
  const out = lowering.values.make(node.outputs[0]!, 'f32', dims)
  for (const own of combined(phases)) {
    let at = whole(dims)
    let window = input.view
    let taps = turned
    for (const [axis, { at: first, count: size, tap, step, taps: most, from, dilation }] of own.entries()) {
      at = sliced(at, axis + 1, first, size, axes[axis]!.stride)
      if (most === 0) continue
      const covered = size + (most - 1) * dilation
      window = sliced(window, axis + 2, from + reach[axis]!.before, covered)
      // The window's first position is multiplied by the last tap.
      taps = sliced(taps, axis + 3, tap + (most - 1) * step, most, -step)
    }
    if (own.some((phase) => phase.taps === 0)) {
      withoutTaps(lowering, node, out, at, bias)
      continue
    }
    const shape = [count, channels / group, ...own.map((phase) => phase.taps)]
    const part = convolved(lowering, node, {
      x: { ...input, view: window },
      filters: reshape(lowering, node, { ...split, view: taps }, shape),
      bias,
      axes: own.map(({ taps: size, dilation }) => ({
        kernel: size,
        stride: 1,
        dilation,
        before: 0,
        after: 0,
      })),
      places: own.map((phase) => phase.count),
      group,
      isByRow: true,
    })
    placed(lowering, node, out, channelsLast(part), at)
  }
  return channelsSecond(refTo(out))
}

/** [batch, channels, ...places] as [batch, ...places, channels]. */
function channelsLast(ref: Ref): Ref {
  const rank = dimsOf(ref).length
  return {
    ...ref,
    view: transposed(ref.view, [0, ...Array.from({ length: rank - 2 }, (_, at) => at + 2), 1]),
  }
}

/** Positions that no window reaches. */
function withoutTaps(lowering: Lowering, node: Node, out: Value, at: View, bias: Ref | undefined): void {
  const zeros = filled(lowering, node, number(0), at.dims)
  placed(
    lowering,
    node,
    out,
    bias === undefined ? zeros : map(lowering, node, [zeros, bias], add(arg(0), arg(1))),
    at,
  )
}

/** Whether the filters are finite. Filters that stay in the file are assumed to be. */
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
function tapByTap(lowering: Lowering, node: Node, { x, filters, bias, axes, group }: Spreading): Ref {
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
  if (bias === undefined) return made
  const ofChannels = reshape(lowering, node, bias, [each * group, ...kernel.map(() => 1)])
  return map(lowering, node, [made, ofChannels], add(arg(0), arg(1)))
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

export const TRANSPOSED_HANDLERS = { ConvTranspose: convTranspose } satisfies SomeHandlers
