// Combines the taps of windows along one axis: each result reads as many views of the input as there are
// taps.
import type { Node } from '../../../onnx/ir/graph.ts'
import type { Axis } from '../../../onnx/operators/images/conv.ts'
import type { Reduction, Ref } from '../../loops/loops.ts'
import { arg, type Tree } from '../../loops/tree.ts'
import { sliced } from '../../loops/view.ts'
import { map } from './loops.ts'
import type { Lowering } from './lowering.ts'
import { reduce } from './sums.ts'

/** Maximum number of views that one loop reads, because more would not fit into registers. */
const MAX_TAPS = 8

/**
 * Windows with at least this many taps are reduced as rows: a loop for every few taps would make a long
 * program.
 */
const LONG_WINDOW = 64

type Combine = (a: Tree, b: Tree) => Tree

/** How taps are combined. */
export interface Combined {
  readonly combine: Combine
  readonly how: Reduction
}

/** Windows along an axis of the input. */
interface AlongAxis {
  readonly axis: number
  readonly window: Pick<Axis, 'kernel' | 'stride' | 'dilation'>
  readonly places: number
  readonly by: Combined
}

/** The taps of a window along one axis, combined. */
export function along(lowering: Lowering, node: Node, x: Ref, { axis, window, places, by }: AlongAxis): Ref {
  const { kernel, stride, dilation } = window
  if (kernel >= LONG_WINDOW) {
    const { offset, dims, strides } = x.view
    const step = strides[axis]!
    const view = {
      offset,
      dims: [...dims.with(axis, places), kernel],
      strides: [...strides.with(axis, stride * step), dilation * step],
    }
    return reduce(lowering, node, { ...x, view }, [dims.length], by.how)
  }
  const taps = Array.from(
    { length: kernel },
    (_, tap): Ref => ({ ...x, view: sliced(x.view, axis, tap * dilation, places, stride) }),
  )
  let made: Ref | undefined
  while (taps.length > 0) {
    const some = taps.splice(0, made === undefined ? MAX_TAPS : MAX_TAPS - 1)
    if (made !== undefined) some.unshift(made)
    const [first, ...rest] = some.map((_, index): Tree => arg(index, x.value.kind))
    made = rest.length === 0 ? some[0]! : map(lowering, node, some, rest.reduce(by.combine, first!))
  }
  return made!
}
