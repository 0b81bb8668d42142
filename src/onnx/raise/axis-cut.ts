// Cuts. In: a Slice of constant bounds over one axis, with step 1. Out: where it begins and ends.
import { axisOf } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import { hasInput, type Node } from '../ir/graph.ts'
import type { Translator } from './translator.ts'

export interface AxisCut {
  readonly axis: number
  /** 0 <= from, to <= size. */
  readonly from: number
  readonly to: number
  readonly size: number
}

/** Undefined for a Slice of another kind, and along an axis whose size is not known. */
export function axisCut(
  t: Translator,
  node: Node,
  rank: number,
  sizeOf: (axis: number) => Dim | undefined,
): AxisCut | undefined {
  const [starts, ends] = [t.known(node, 1), t.known(node, 2)]
  const axes = hasInput(node, 3) ? t.known(node, 3) : [0]
  const steps = hasInput(node, 4) ? t.known(node, 4) : [1]
  if (starts?.length !== 1 || ends?.length !== 1 || axes?.length !== 1 || steps?.[0] !== 1) return undefined
  const axis = axisOf(node, axes[0]!, rank)
  const size = sizeOf(axis)
  if (typeof size !== 'number') return undefined
  const within = (at: number) => Math.min(size, Math.max(0, at < 0 ? at + size : at))
  return { axis, from: within(starts[0]!), to: within(ends[0]!), size }
}
