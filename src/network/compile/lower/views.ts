// Handlers of operators that only rearrange elements: views and concatenation.

import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput } from '../../onnx/ir/graph.ts'
import { intOf, intsOf, unclaimed } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, refTo } from '../loops/loops.ts'
import { sliced, spread, transposed } from '../loops/view.ts'
import { first, type Handler, output, type SomeHandlers } from './handler.ts'
import { joined, reshape, viewed } from './lowering/layouts.ts'
import { checkSpread, misfit } from './lowering/misfit.ts'

/** Handles every operator whose row in the table says `view`. The shape rule gives the new dims. */
export const reorganise: Handler = (lowering, node) => {
  const ref = reshape(lowering, node, first(lowering, node), lowering.values.dims(node, output(node)))
  viewed(lowering, node, output(node), ref)
}

const expand: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const dims = lowering.values.dims(node, output(node))
  checkSpread(node, dimsOf(ref), dims)
  viewed(lowering, node, output(node), { ...ref, view: spread(ref.view, dims) })
}

const transpose: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const rank = dimsOf(ref).length
  const perm = intsOf(node, 'perm', undefined) ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis)
  viewed(lowering, node, output(node), { ...ref, view: transposed(ref.view, perm) })
}

const slice: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const starts = lowering.values.list(node, 1)
  const axes = hasInput(node, 3) ? lowering.values.list(node, 3) : starts.map((_, axis) => axis)
  const steps = hasInput(node, 4) ? lowering.values.list(node, 4) : starts.map(() => 1)
  const dims = lowering.values.dims(node, output(node))
  let { view } = ref
  for (const [index, axis] of axes.entries()) {
    const along = axisOf(node, axis, view.dims.length)
    const size = view.dims[along]!
    const step = steps[index]!
    const start = starts[index]!
    const from = Math.min(step > 0 ? size : size - 1, Math.max(0, start < 0 ? start + size : start))
    view = sliced(view, along, dims[along]! === 0 ? 0 : from, dims[along]!, step)
  }
  viewed(lowering, node, output(node), { ...ref, view })
}

const split: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const axis = axisOf(node, intOf(node, 'axis', 0), dimsOf(ref).length)
  let from = 0
  for (const name of node.outputs) {
    if (name === '') throw unclaimed(node, 'one of its parts is omitted')
    const count = lowering.values.dims(node, name)[axis]!
    viewed(lowering, node, name, { ...ref, view: sliced(ref.view, axis, from, count) })
    from += count
  }
}

/** Each part is written directly to its place by the loop that computes it, if that is legal. */
const concat: Handler = (lowering, node) => {
  const dims = lowering.values.dims(node, output(node))
  const axis = axisOf(node, intOf(node, 'axis', 0), dims.length)
  const parts = node.inputs.map((name) => lowering.values.ref(node, name))
  const { kind } = parts[0]!.value
  // Exporters concatenate empty lists of any rank.
  const full = parts.filter((part) => countOf(dimsOf(part)) > 0)
  for (const part of full) {
    const isFit = `${dimsOf(part)}` === `${dims.with(axis, dimsOf(part)[axis] ?? 0)}`
    if (!isFit || part.value.kind !== kind)
      throw misfit(node, `the part [${dimsOf(part).join(', ')}] is not part of [${dims.join(', ')}]`)
  }
  const made =
    full.length === 0
      ? refTo(lowering.values.make(output(node), kind, dims))
      : joined(lowering, node, output(node), full, axis)
  viewed(lowering, node, output(node), reshape(lowering, node, made, dims))
}

export const VIEW_HANDLERS = {
  Expand: expand,
  Transpose: transpose,
  Slice: slice,
  Split: split,
  Concat: concat,
} satisfies SomeHandlers
