// Handlers of reductions, and of operators built from them along the same axes.

import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { flagOf, intOf, intsOf, unclaimed } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type Reduction, type Ref } from '../loops/loops.ts'
import { add, apply, arg, div, mul, number, select, sub, type Tree } from '../loops/tree.ts'
import { first, type Handler, output, type SomeHandlers } from './handler.ts'
import { reshape } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { reduce } from './lowering/sums.ts'

/** The number of reduced elements. */
export const COUNTED = { kind: 'f32', size: 0 } as const

/** A reduction with one tree applied to each element before it and one to its result. */
interface ReducedBy {
  readonly how: Reduction
  readonly before?: ((x: Tree) => Tree) | undefined
  readonly after?: ((x: Tree, count: Tree) => Tree) | undefined
}

function reducing(how: Reduction, before?: ReducedBy['before'], after?: ReducedBy['after']): Handler {
  return (lowering, node) => {
    const ref = first(lowering, node)
    reduced(lowering, node, ref, { axes: axesOf(lowering, node, dimsOf(ref).length), how, before, after })
  }
}

/** The axes of a reduction, each once and in order. */
function axesOf(lowering: Lowering, node: Node, rank: number): readonly number[] {
  const named =
    intsOf(node, 'axes', undefined) ?? (hasInput(node, 1) ? lowering.values.list(node, 1) : undefined)
  const all = Array.from({ length: rank }, (_, axis) => axis)
  if (named === undefined || named.length === 0) return flagOf(node, 'noop_with_empty_axes') ? [] : all
  return [...new Set(named.map((axis) => axisOf(node, axis, rank)))].sort((a, b) => a - b)
}

/** Subtracts the maximum first, so that no exponential is infinite. */
const logSumExp: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  if (ref.value.kind === 'i32') throw unclaimed(node, 'it reduces integers')
  const dims = dimsOf(ref)
  const axes = axesOf(lowering, node, dims.length)
  const most = reduce(lowering, node, ref, axes, 'max')
  const kept = withAxes(lowering, node, most, dims, axes)
  const shares = map(lowering, node, [ref, kept], exp(sub(arg(0), arg(1))))
  const total = reduce(lowering, node, shares, axes, 'sum')
  const isNumber = apply('lt', apply('abs', arg(1)), number(Infinity))
  const tree = select(isNumber, add(arg(1), apply('log', arg(0))), arg(1))
  const made = map(lowering, node, [total, most], tree)
  lowering.values.name(output(node), reshape(lowering, node, made, lowering.values.dims(node, output(node))))
}

function reduced(
  lowering: Lowering,
  node: Node,
  ref: Ref,
  { axes, how, before, after }: ReducedBy & { readonly axes: readonly number[] },
): void {
  if (ref.value.kind === 'i32' && (before || after)) throw unclaimed(node, 'it reduces integers')
  const mapped = before === undefined ? ref : map(lowering, node, [ref], before(arg(0)))
  const count = countOf(axes.map((axis) => dimsOf(ref)[axis]!))
  if (count === 0 && (how === 'min' || how === 'max') && lowering.values.dtype(node, output(node)) === 'i64')
    throw unclaimed(node, 'its extreme of no numbers does not fit into 32 bits')
  const total = reduce(lowering, node, mapped, axes, exactly(lowering, node, how))
  const made = after === undefined ? total : map(lowering, node, [total], after(arg(0), COUNTED), '', [count])
  lowering.values.name(output(node), reshape(lowering, node, made, lowering.values.dims(node, output(node))))
}

function exactly(lowering: Lowering, node: Node, how: Reduction): Reduction {
  if (lowering.values.dtype(node, node.outputs[0]!) !== 'i64') return how
  return how === 'sum' || how === 'product' ? `${how} checked` : how
}

/** The reduction over all positions of each channel. */
const globalPool =
  (by: ReducedBy): Handler =>
  (lowering, node) => {
    const ref = first(lowering, node)
    reduced(lowering, node, ref, { ...by, axes: [...dimsOf(ref).keys()].slice(2) })
  }

export const squared = (x: Tree): Tree => mul(x, x)
const exp = (x: Tree): Tree => apply('exp', x)

/** Softmax along one axis, or, before opset 13, along all axes from a given one. */
function softmaxOf(isLog: boolean): Handler {
  return (lowering, node) => {
    const ref = first(lowering, node)
    const dims = dimsOf(ref)
    const isFlat = node.version < 13
    const axis = axisOf(node, intOf(node, 'axis', isFlat ? 1 : -1), dims.length)
    const axes = dims.map((_, at) => at).filter((at) => (isFlat ? at >= axis : at === axis))
    const keep = (row: Ref): Ref => withAxes(lowering, node, row, dims, axes)
    const most = keep(reduce(lowering, node, ref, axes, 'max'))
    const shares = map(lowering, node, [ref, most], exp(sub(arg(0), arg(1))))
    const total = keep(reduce(lowering, node, shares, axes, 'sum'))
    const made = isLog
      ? map(lowering, node, [ref, most, total], sub(sub(arg(0), arg(1)), apply('log', arg(2))), output(node))
      : map(lowering, node, [shares, total], div(arg(0), arg(1)), output(node))
    lowering.values.name(output(node), made)
  }
}

/** A reduced value that keeps the reduced axes, at size one. */
export const withAxes = (
  lowering: Lowering,
  node: Node,
  row: Ref,
  dims: readonly number[],
  axes: readonly number[],
): Ref =>
  reshape(
    lowering,
    node,
    row,
    dims.map((size, at) => (axes.includes(at) ? 1 : size)),
  )

export const REDUCTION_HANDLERS = {
  ReduceSum: reducing('sum'),
  ReduceMax: reducing('max'),
  ReduceMin: reducing('min'),
  ReduceProd: reducing('product'),
  ReduceMean: reducing('sum', undefined, div),
  GlobalMaxPool: globalPool({ how: 'max' }),
  GlobalAveragePool: globalPool({ how: 'sum', after: div }),
  ReduceSumSquare: reducing('sum', squared),
  ReduceL1: reducing('sum', (x) => apply('abs', x)),
  ReduceL2: reducing('sum', squared, (total) => apply('sqrt', total)),
  ReduceLogSumExp: logSumExp,
  ReduceLogSum: reducing('sum', undefined, (total) => apply('log', total)),
  Softmax: softmaxOf(false),
  LogSoftmax: softmaxOf(true),
} satisfies SomeHandlers
