// Handlers of norms.

import { axisOf } from '../../onnx/ir/broadcast.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { flagOf, floatOf, intOf, unclaimed, unfit, wants } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { hasGroupWeights } from '../../onnx/operators/norms.ts'
import { dimsOf, type Ref } from '../loops/loops.ts'
import { add, apply, arg, div, mul, number, sub, type Tree } from '../loops/tree.ts'
import { first, type Handler, optional, output, type SomeHandlers } from './handler.ts'
import { reshape } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { reduce } from './lowering/sums.ts'
import { COUNTED, squared, withAxes } from './reductions.ts'

interface NormParts {
  readonly x: Ref
  readonly axes: readonly number[]
  readonly scale?: Ref | undefined
  readonly bias?: Ref | undefined
}

/** (x - mean) / sqrt(variance + epsilon) * scale + bias, or the same without subtracting the mean. */
function norm(lowering: Lowering, node: Node, { x, axes, scale, bias }: NormParts, isCentred: boolean): Ref {
  const dims = dimsOf(x)
  const count = countOf(axes.map((axis) => dims[axis]!))
  const mean = (ref: Ref, tree: Tree): Ref => {
    const row = map(lowering, node, [reduce(lowering, node, ref, axes, 'sum')], tree, '', [count])
    return withAxes(lowering, node, row, dims, axes)
  }
  const size: Tree = COUNTED
  const centred = isCentred ? map(lowering, node, [x, mean(x, div(arg(0), size))], sub(arg(0), arg(1))) : x
  const squares = map(lowering, node, [centred], squared(arg(0)))
  const variance = add(div(arg(0), size), number(floatOf(node, 'epsilon', 1e-5)))
  const inverse = mean(squares, div(number(1), apply('sqrt', variance)))
  const args = [centred, inverse]
  let tree: Tree = mul(arg(0), arg(1))
  if (scale !== undefined) tree = mul(tree, arg(args.push(scale) - 1))
  if (bias !== undefined) tree = add(tree, arg(args.push(bias) - 1))
  return map(lowering, node, args, tree, output(node))
}

function normed(isCentred: boolean): Handler {
  return (lowering, node) => {
    if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are used as outputs')
    const x = first(lowering, node)
    const axis = axisOf(node, intOf(node, 'axis', -1), dimsOf(x).length)
    const axes = dimsOf(x)
      .map((_, at) => at)
      .filter((at) => at >= axis)
    const parts = { x, axes, scale: optional(lowering, node, 1), bias: optional(lowering, node, 2) }
    lowering.values.name(output(node), norm(lowering, node, parts, isCentred))
  }
}

/** x + skip + bias, then the norm. The sum may also be an output. */
function skipNormed(isCentred: boolean): Handler {
  return (lowering, node) => {
    if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are used as outputs')
    const args = [first(lowering, node), lowering.values.ref(node, node.inputs[1]!)]
    const bias = optional(lowering, node, isCentred ? 4 : 3)
    const sum = add(arg(0), arg(1))
    if (bias !== undefined) args.push(bias)
    const x = map(lowering, node, args, bias === undefined ? sum : add(sum, arg(2)))
    if (wants(node, 3)) lowering.values.name(node.outputs[3]!, x)
    const scale = lowering.values.ref(node, node.inputs[2]!)
    const shift = isCentred ? optional(lowering, node, 3) : undefined
    const parts = { x, axes: [dimsOf(x).length - 1], scale, bias: shift }
    lowering.values.name(output(node), norm(lowering, node, parts, isCentred))
  }
}

/**
 * Each group of channels in a sample is normalised. Scale and bias are per channel, or per group in early
 * opsets.
 */
function groupNormed(groupsOf: (node: Node, channels: number) => number): Handler {
  return (lowering, node) => {
    const x = first(lowering, node)
    const [batch, channels, ...places] = dimsOf(x) as [number, number, ...number[]]
    const groups = groupsOf(node, channels)
    if (groups < 1 || channels % groups !== 0)
      throw unfit(node, `it splits ${channels} channels into ${groups} groups`)
    const split = reshape(lowering, node, x, [batch, groups, channels / groups, ...places])
    const axes = dimsOf(split)
      .map((_, axis) => axis)
      .slice(2)
    const rows = norm(lowering, node, { x: split, axes }, true)
    const tree = add(mul(arg(0), arg(1)), arg(2))
    if (hasGroupWeights(node)) {
      const [scale, bias] = [1, 2].map((index) => ofGroups(lowering, node, index, axes.length)) as [Ref, Ref]
      const made = map(lowering, node, [rows, scale, bias], tree)
      lowering.values.name(output(node), reshape(lowering, node, made, dimsOf(x)))
      return
    }
    const [scale, bias] = [1, 2].map((index) => ofChannels(lowering, node, index)) as [Ref, Ref]
    const args = [reshape(lowering, node, rows, dimsOf(x)), scale, bias]
    lowering.values.name(output(node), map(lowering, node, args, tree, output(node)))
  }
}

/** An input with one number per group, whose elements have `axes` more axes. */
function ofGroups(lowering: Lowering, node: Node, index: number, axes: number): Ref {
  const ref = lowering.values.ref(node, node.inputs[index]!)
  return reshape(lowering, node, ref, [...dimsOf(ref), ...Array.from({ length: axes }, () => 1)])
}

/** An input with one number per channel of the first input. */
function ofChannels(lowering: Lowering, node: Node, index: number): Ref {
  const [, channels = 0, ...places] = dimsOf(first(lowering, node))
  return reshape(lowering, node, lowering.values.ref(node, node.inputs[index]!), [
    channels,
    ...places.map(() => 1),
  ])
}

/** Whatever depends only on the channel is computed once: a factor and an offset. */
const batchNormed: Handler = (lowering, node) => {
  if (flagOf(node, 'training_mode')) throw unclaimed(node, 'it trains')
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((index) => ofChannels(lowering, node, index)) as [
    Ref,
    Ref,
    Ref,
    Ref,
  ]
  const epsilon = number(floatOf(node, 'epsilon', 1e-5))
  const factor = map(lowering, node, [scale, variance], div(arg(0), apply('sqrt', add(arg(1), epsilon))))
  const shift = map(lowering, node, [bias, mean, factor], sub(arg(0), mul(arg(1), arg(2))))
  const tree = add(mul(arg(0), arg(1)), arg(2))
  const args = [first(lowering, node), factor, shift]
  lowering.values.name(output(node), map(lowering, node, args, tree, output(node)))
}

export const NORM_HANDLERS = {
  LayerNormalization: normed(true),
  RMSNormalization: normed(false),
  SimplifiedLayerNormalization: normed(false),
  GroupNormalization: groupNormed((node) => intOf(node, 'num_groups', 0)),
  InstanceNormalization: groupNormed((_, channels) => channels),
  BatchNormalization: batchNormed,
  'com.microsoft:SkipLayerNormalization': skipNormed(true),
  'com.microsoft:SkipSimplifiedLayerNormalization': skipNormed(false),
} satisfies SomeHandlers
