// Shared by all ways to compute a convolution: its operands, the padded input, and the order of the result.
import type { Node } from '../../../onnx/ir/graph.ts'
import type { Axis } from '../../../onnx/operators/images/conv.ts'
import { dimsOf, type Ref, turnedRef, unturned } from '../../loops/loops.ts'
import { transposed } from '../../loops/view.ts'
import { padded } from '../lowering/layouts.ts'
import { moved } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'

export interface Convolution {
  readonly x: Ref
  /** [count, channels of a group, ...taps]. */
  readonly filters: Ref
  /** [count]. */
  readonly bias?: Ref | undefined
  readonly axes: readonly Axis[]
  readonly places: readonly number[]
  readonly group: number
  /**
   * Whether only positions along the last axis are rows, so that the result can be written to any strides.
   */
  readonly isByRow?: boolean
}

/** [batch, ...places, channels] as [batch, channels, ...places]. */
export function channelsSecond(ref: Ref): Ref {
  const rank = dimsOf(ref).length
  return {
    ...ref,
    view: transposed(ref.view, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, at) => at + 1)]),
  }
}

/**
 * The input with the padding that the windows reach. `isLast`: whether channels must be adjacent in memory,
 * so that a window has long runs. `fill`: the number in the padding, or a scalar with it. `more`: how many
 * channels are added.
 */
export function bordered(
  lowering: Lowering,
  node: Node,
  x: Ref,
  axes: readonly Pick<Axis, 'before' | 'after'>[],
  isLast: boolean,
  { fill, more }: { readonly fill: number | Ref; readonly more: number } = { fill: 0, more: 0 },
): Ref {
  const order = [0, ...axes.map((_, at) => at + 2), 1]
  const mustTurn = isLast && dimsOf(x)[1]! + more > 1
  if (more === 0 && axes.every(({ before, after }) => before + after === 0)) {
    if (!mustTurn || x.view.strides[1] === 1) return x
    return unturned(moved(lowering, node, turnedRef(x, order)), order)
  }
  const none = [0, 0] as const
  const around = [none, [0, more] as const, ...axes.map(({ before, after }) => [before, after] as const)]
  return padded(lowering, node, x, around, fill, mustTurn ? order : undefined)
}
