// Handlers of operators that are more than a body: views, gathers, joins, reductions, norms.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { flagOf, floatOf, intOf, intsOf, unclaimed, unfit, wants } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type Reduction, type Ref, refTo } from '../loops/program.ts'
import { add, apply, arg, div, mul, number, select, sub, type Tree } from '../loops/tree.ts'
import { sliced, spread, transposed } from '../loops/view.ts'
import { checkSpread, type Lowering, misfit } from './lowering.ts'

/** Lowers a node, and names its outputs. */
export type Handler = (lowering: Lowering, node: Node) => void

const output = (node: Node): string => node.outputs[0]!
const first = (lowering: Lowering, node: Node): Ref => lowering.ref(node, node.inputs[0]!)

/** Every operator whose mapping is `reorganize`: the shape rule says the new dims. */
export const reorganise: Handler = (lowering, node) => {
  const ref = lowering.reshape(node, first(lowering, node), lowering.dims(node, output(node)))
  lowering.viewed(node, output(node), ref)
}

const expand: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const dims = lowering.dims(node, output(node))
  checkSpread(node, dimsOf(ref), dims)
  lowering.viewed(node, output(node), { ...ref, view: spread(ref.view, dims) })
}

const transpose: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const rank = dimsOf(ref).length
  const perm = intsOf(node, 'perm', undefined) ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis)
  lowering.viewed(node, output(node), { ...ref, view: transposed(ref.view, perm) })
}

const slice: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const starts = lowering.list(node, 1)
  const axes = hasInput(node, 3) ? lowering.list(node, 3) : starts.map((_, axis) => axis)
  const steps = hasInput(node, 4) ? lowering.list(node, 4) : starts.map(() => 1)
  const dims = lowering.dims(node, output(node))
  let { view } = ref
  for (const [index, axis] of axes.entries()) {
    const along = axisOf(node, axis, view.dims.length)
    const size = view.dims[along]!
    const step = steps[index]!
    const start = starts[index]!
    const from = Math.min(step > 0 ? size : size - 1, Math.max(0, start < 0 ? start + size : start))
    view = sliced(view, along, dims[along]! === 0 ? 0 : from, dims[along]!, step)
  }
  lowering.viewed(node, output(node), { ...ref, view })
}

const split: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  const axis = axisOf(node, intOf(node, 'axis', 0), dimsOf(ref).length)
  let from = 0
  for (const name of node.outputs) {
    if (name === '') throw unclaimed(node, 'one of its parts is left out')
    const count = lowering.dims(node, name)[axis]!
    lowering.viewed(node, name, { ...ref, view: sliced(ref.view, axis, from, count) })
    from += count
  }
}

/** Each part is written where it belongs, by the loops that make it if that is legal. */
const concat: Handler = (lowering, node) => {
  const dims = lowering.dims(node, output(node))
  const axis = axisOf(node, intOf(node, 'axis', 0), dims.length)
  const parts = node.inputs.map((name) => lowering.ref(node, name))
  const { kind } = parts[0]!.value
  // Exporters join an empty list of any rank.
  const full = parts.filter((part) => countOf(dimsOf(part)) > 0)
  for (const part of full) {
    const isFit = `${dimsOf(part)}` === `${dims.with(axis, dimsOf(part)[axis] ?? 0)}`
    if (!isFit || part.value.kind !== kind)
      throw misfit(node, `the part [${dimsOf(part).join(', ')}] is not part of [${dims.join(', ')}]`)
  }
  const made =
    full.length === 0
      ? refTo(lowering.value(output(node), kind, dims))
      : lowering.joined(node, output(node), full, axis)
  lowering.viewed(node, output(node), lowering.reshape(node, made, dims))
}

const COUNTED = { kind: 'f32', size: 0 } as const

/** A reduction of trees: `before` each element, `after` the sum. */
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
  const named = intsOf(node, 'axes', undefined) ?? (hasInput(node, 1) ? lowering.list(node, 1) : undefined)
  const all = Array.from({ length: rank }, (_, axis) => axis)
  if (named === undefined || named.length === 0) return flagOf(node, 'noop_with_empty_axes') ? [] : all
  return [...new Set(named.map((axis) => axisOf(node, axis, rank)))].sort((a, b) => a - b)
}

/** Of the differences to the largest number, so that no exponential is infinite. */
const logSumExp: Handler = (lowering, node) => {
  const ref = first(lowering, node)
  if (ref.value.kind === 'i32') throw unclaimed(node, 'it reduces whole numbers')
  const dims = dimsOf(ref)
  const axes = axesOf(lowering, node, dims.length)
  const most = lowering.reduce(node, ref, axes, 'max')
  const kept = lowering.reshape(
    node,
    most,
    dims.map((size, at) => (axes.includes(at) ? 1 : size)),
  )
  const shares = lowering.map(node, [ref, kept], exp(sub(arg(0), arg(1))))
  const total = lowering.reduce(node, shares, axes, 'sum')
  const isNumber = apply('lt', apply('abs', arg(1)), number(Infinity))
  const tree = select(isNumber, add(arg(1), apply('log', arg(0))), arg(1))
  const made = lowering.map(node, [total, most], tree)
  lowering.name(output(node), lowering.reshape(node, made, lowering.dims(node, output(node))))
}

function reduced(
  lowering: Lowering,
  node: Node,
  ref: Ref,
  { axes, how, before, after }: ReducedBy & { readonly axes: readonly number[] },
): void {
  if (ref.value.kind === 'i32' && (before || after)) throw unclaimed(node, 'it reduces whole numbers')
  const mapped = before === undefined ? ref : lowering.map(node, [ref], before(arg(0)))
  const total = lowering.reduce(node, mapped, axes, exactly(lowering, node, how))
  const count = countOf(axes.map((axis) => dimsOf(ref)[axis]!))
  const made = after === undefined ? total : lowering.map(node, [total], after(arg(0), COUNTED), '', [count])
  lowering.name(output(node), lowering.reshape(node, made, lowering.dims(node, output(node))))
}

function exactly(lowering: Lowering, node: Node, how: Reduction): Reduction {
  if (lowering.dtype(node, node.outputs[0]!) !== 'i64') return how
  return how === 'sum' || how === 'product' ? `${how} checked` : how
}

/** Over all places of each channel. */
const globalPool =
  (by: ReducedBy): Handler =>
  (lowering, node) => {
    const ref = first(lowering, node)
    reduced(lowering, node, ref, { ...by, axes: [...dimsOf(ref).keys()].slice(2) })
  }

const squared = (x: Tree): Tree => mul(x, x)
const exp = (x: Tree): Tree => apply('exp', x)

/** Softmax along one axis, or, before opset 13, along all axes from one on. */
function softmaxOf(isLog: boolean): Handler {
  return (lowering, node) => {
    const ref = first(lowering, node)
    const dims = dimsOf(ref)
    const isFlat = node.version < 13
    const axis = axisOf(node, intOf(node, 'axis', isFlat ? 1 : -1), dims.length)
    const axes = dims.map((_, at) => at).filter((at) => (isFlat ? at >= axis : at === axis))
    const keep = (row: Ref): Ref =>
      lowering.reshape(
        node,
        row,
        dims.map((size, at) => (axes.includes(at) ? 1 : size)),
      )
    const most = keep(lowering.reduce(node, ref, axes, 'max'))
    const shares = lowering.map(node, [ref, most], exp(sub(arg(0), arg(1))))
    const total = keep(lowering.reduce(node, shares, axes, 'sum'))
    const made = isLog
      ? lowering.map(node, [ref, most, total], sub(sub(arg(0), arg(1)), apply('log', arg(2))), output(node))
      : lowering.map(node, [shares, total], div(arg(0), arg(1)), output(node))
    lowering.name(output(node), made)
  }
}

interface NormParts {
  readonly x: Ref
  readonly axes: readonly number[]
  readonly scale?: Ref | undefined
  readonly bias?: Ref | undefined
}

/** (x - mean) / sqrt(variance + epsilon) * scale + bias, or the same without the mean. */
function norm(lowering: Lowering, node: Node, { x, axes, scale, bias }: NormParts, isCentred: boolean): Ref {
  const dims = dimsOf(x)
  const count = countOf(axes.map((axis) => dims[axis]!))
  const keep = (row: Ref): Ref =>
    lowering.reshape(
      node,
      row,
      dims.map((size, at) => (axes.includes(at) ? 1 : size)),
    )
  const mean = (ref: Ref, tree: Tree): Ref =>
    keep(lowering.map(node, [lowering.reduce(node, ref, axes, 'sum')], tree, '', [count]))
  const size: Tree = COUNTED
  const centred = isCentred ? lowering.map(node, [x, mean(x, div(arg(0), size))], sub(arg(0), arg(1))) : x
  const squares = lowering.map(node, [centred], squared(arg(0)))
  const variance = add(div(arg(0), size), number(floatOf(node, 'epsilon', 1e-5)))
  const inverse = mean(squares, div(number(1), apply('sqrt', variance)))
  const args = [centred, inverse]
  let tree: Tree = mul(arg(0), arg(1))
  if (scale !== undefined) tree = mul(tree, arg(args.push(scale) - 1))
  if (bias !== undefined) tree = add(tree, arg(args.push(bias) - 1))
  return lowering.map(node, args, tree, output(node))
}

/** An optional input. */
export const optional = (lowering: Lowering, node: Node, index: number): Ref | undefined =>
  hasInput(node, index) ? lowering.ref(node, node.inputs[index]!) : undefined

function normed(isCentred: boolean): Handler {
  return (lowering, node) => {
    if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are outputs')
    const x = first(lowering, node)
    const axis = axisOf(node, intOf(node, 'axis', -1), dimsOf(x).length)
    const axes = dimsOf(x)
      .map((_, at) => at)
      .filter((at) => at >= axis)
    const parts = { x, axes, scale: optional(lowering, node, 1), bias: optional(lowering, node, 2) }
    lowering.name(output(node), norm(lowering, node, parts, isCentred))
  }
}

/** x + skip + bias, then the norm. The sum may be an output. */
function skipNormed(isCentred: boolean): Handler {
  return (lowering, node) => {
    if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are outputs')
    const args = [first(lowering, node), lowering.ref(node, node.inputs[1]!)]
    const bias = optional(lowering, node, isCentred ? 4 : 3)
    const sum = add(arg(0), arg(1))
    if (bias !== undefined) args.push(bias)
    const x = lowering.map(node, args, bias === undefined ? sum : add(sum, arg(2)))
    if (wants(node, 3)) lowering.name(node.outputs[3]!, x)
    const scale = lowering.ref(node, node.inputs[2]!)
    const shift = isCentred ? optional(lowering, node, 3) : undefined
    const parts = { x, axes: [dimsOf(x).length - 1], scale, bias: shift }
    lowering.name(output(node), norm(lowering, node, parts, isCentred))
  }
}

/** Each group of channels of a sample has a norm; scale and bias are of channels. */
function groupNormed(groupsOf: (node: Node, channels: number) => number): Handler {
  return (lowering, node) => {
    const x = first(lowering, node)
    const [batch, channels, ...places] = dimsOf(x) as [number, number, ...number[]]
    const groups = groupsOf(node, channels)
    if (groups < 1 || channels % groups !== 0)
      throw unfit(node, `it makes ${groups} groups of ${channels} channels`)
    const split = lowering.reshape(node, x, [batch, groups, channels / groups, ...places])
    const axes = dimsOf(split)
      .map((_, axis) => axis)
      .slice(2)
    const rows = lowering.reshape(node, norm(lowering, node, { x: split, axes }, true), dimsOf(x))
    const [scale, bias] = [1, 2].map((index) => ofChannels(lowering, node, index)) as [Ref, Ref]
    const tree = add(mul(arg(0), arg(1)), arg(2))
    lowering.name(output(node), lowering.map(node, [rows, scale, bias], tree, output(node)))
  }
}

/** An input with a number for each channel of the first input. */
function ofChannels(lowering: Lowering, node: Node, index: number): Ref {
  const [, channels = 0, ...places] = dimsOf(first(lowering, node))
  return lowering.reshape(node, lowering.ref(node, node.inputs[index]!), [channels, ...places.map(() => 1)])
}

/** Terms that depend only on the channel are computed once: a factor and a bias. */
const batchNormed: Handler = (lowering, node) => {
  if (flagOf(node, 'training_mode')) throw unclaimed(node, 'it trains')
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((index) => ofChannels(lowering, node, index)) as [
    Ref,
    Ref,
    Ref,
    Ref,
  ]
  const epsilon = number(floatOf(node, 'epsilon', 1e-5))
  const factor = lowering.map(node, [scale, variance], div(arg(0), apply('sqrt', add(arg(1), epsilon))))
  const shift = lowering.map(node, [bias, mean, factor], sub(arg(0), mul(arg(1), arg(2))))
  const tree = add(mul(arg(0), arg(1)), arg(2))
  const args = [first(lowering, node), factor, shift]
  lowering.name(output(node), lowering.map(node, args, tree, output(node)))
}

/** By domain and name. Operators that are fully described by their mapping are not here. */
export const HANDLERS: Readonly<Record<string, Handler>> = {
  Expand: expand,
  Transpose: transpose,
  Slice: slice,
  Split: split,
  Concat: concat,
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
  LayerNormalization: normed(true),
  RMSNormalization: normed(false),
  SimplifiedLayerNormalization: normed(false),
  GroupNormalization: groupNormed((node) => intOf(node, 'num_groups', 0)),
  InstanceNormalization: groupNormed((_, channels) => channels),
  BatchNormalization: batchNormed,
  'com.microsoft SkipLayerNormalization': skipNormed(true),
  'com.microsoft SkipSimplifiedLayerNormalization': skipNormed(false),
}
