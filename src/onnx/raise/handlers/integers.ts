// Products in 8 bits. In: rows that are quantised, constants in codes, and the scales that products are
// multiplied by. Out: linears of the plan, which quantises rows as it does for every format.
import { intOf, intsOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import { countOf } from '../../ir/tensor.ts'
import { limitsOf } from '../../operators/quantise.ts'
import type { Meaning, Quantised, WholeProduct } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import type { CodeMatrix } from '../weights/code-matrix.ts'
import { embedCodes } from './embed.ts'
import { nameFor, product } from './linear.ts'

const DEFAULT_AXIS = 1

/** Codes, scale and zero point of rows. */
export const quantizeRows: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  const of = t.rows(node, 0)
  for (const [index, part] of (['codes', 'scale', 'zero'] as const).entries())
    t.set(node, index, { is: 'quantised', part, of })
  return true
}

/** Values of one constant scale. What they stand for stays; the plan rounds rows by scales of their own. */
export const quantize: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input === undefined || input.is === 'constant' || input.is === 'control') return false
  const { scale, zero } = oneScale(t, node)
  checkRange(t, node, input, scale, zero)
  t.set(node, 0, { is: 'rounded', of: input, scale, zero })
  return true
}

/**
 * Tools leave a ReLU out where the codes that follow have no negative values. Plans keep what codes clip, so
 * codes have to have both signs, except for values that have one.
 */
function checkRange(t: Translator, node: Node, input: Meaning, scale: number, zero: number): void {
  if (!(scale > 0 && Number.isFinite(scale))) throw unclaimed(node, `its scale is ${scale}`)
  const [low, high] = limitsOf(t.types.get(node.outputs[0]!)?.dtype ?? 'u8').map(
    (code) => (code - zero) * scale,
  ) as [number, number]
  if (!(high > 0 && (low < 0 || (low === 0 && isNeverNegative(input)))))
    throw unclaimed(
      node,
      `its codes stand for ${low} to ${high}, which cuts values off at one side of 0, as ReLU does`,
    )
  // What rounds to the largest code is not cut off.
  if (isShare(input) && high + scale / 2 >= 1) return
  t.findings.ranges.push({ node: node.name, low, high })
}

/** From 0 to 1. */
const isShare = (input: Meaning): boolean => input.is === 'sigmoid' || (input.is === 'scores' && input.isSoft)

function isNeverNegative(input: Meaning): boolean {
  if (input.is === 'statistic') return input.step !== 'mean' && input.step !== 'centred'
  return isShare(input)
}

/** The way back from `quantize`; a constant matrix; or rows of a table of codes. */
export const dequantize: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input?.is === 'rounded') {
    const { scale, zero } = oneScale(t, node)
    if (scale !== input.scale || zero !== input.zero)
      throw unclaimed(node, `it reads codes of scale ${input.scale} as if their scale were ${scale}`)
    t.set(node, 0, input.of)
    return true
  }
  const name = input?.is === 'codes' ? input.name : input?.is === 'constant' ? node.inputs[0] : undefined
  const codes = t.graph.constants.get(name ?? '')
  if (name === undefined || codes?.dims.length !== 2) return false
  const scales = t.weights.constant(node, 1)
  const zeros = hasInput(node, 2) ? t.weights.constant(node, 2) : undefined
  const isOne = countOf(scales.dims) === 1
  if (input?.is === 'codes') {
    if (!isOne) throw unclaimed(node, 'it has more than one scale for rows of a table')
    t.setRows(node, 0, embedCodes(t, { name, codes, scales, zeros }))
    return true
  }
  const stated = intOf(node, 'axis', DEFAULT_AXIS)
  const axis = stated === 0 || stated === -2 ? 0 : 1
  const block = isOne ? 0 : intOf(node, 'block_size', 0)
  const outputs = isOne ? undefined : block > 0 ? ((1 - axis) as 0 | 1) : axis
  t.set(node, 0, { is: 'matrix', parts: { name, codes, scales, zeros, block }, isTransposed: false, outputs })
  return true
}

/** A matrix the other way round. */
export const transposeMatrix: Handler = (t, node) => {
  const input = t.read(node, 0)
  const perm = intsOf(node, 'perm', undefined) ?? [1, 0]
  if (input?.is !== 'matrix' || `${perm}` !== '1,0') return false
  t.set(node, 0, { ...input, isTransposed: !input.isTransposed })
  return true
}

export const multiplyCodes: Handler = (t, node) => {
  const [left, right] = [t.read(node, 0), t.read(node, 1)]
  if (left?.is !== 'quantised' || left.part !== 'codes' || right?.is !== 'constant') return false
  checkZero(t, node, 2, left)
  t.set(node, 0, { is: 'product', of: left.of, node, isScaled: false })
  return true
}

/** A product times its scales, one after the other or both at once; or codes of a table times theirs. */
export const multiplyScales: Handler = (t, node) => {
  for (const [one, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    if (scale(t, node, t.read(node, one), t.read(node, other), other)) return true
  }
  return false
}

function scale(
  t: Translator,
  node: Node,
  left: Meaning | undefined,
  right: Meaning | undefined,
  other: number,
): boolean {
  if (
    left?.is === 'quantised' &&
    left.part === 'scale' &&
    left.by === undefined &&
    right?.is === 'constant'
  ) {
    t.set(node, 0, { ...left, by: { node, index: other } })
    return true
  }
  if (left?.is === 'codes' && right?.is === 'scales') {
    const [codes, scales] = [left, right].map(({ name }) => t.graph.constants.get(name)!)
    t.setRows(node, 0, embedCodes(t, { name: left.name, codes: codes!, scales: scales! }))
    return true
  }
  if (left?.is !== 'product') return false
  if (right?.is === 'constant' && left.isScaled) {
    finish(t, node, left, { node, index: other })
    return true
  }
  if (right?.is !== 'quantised' || right.part !== 'scale' || right.of !== left.of || left.isScaled)
    return false
  if (right.by === undefined) t.set(node, 0, { ...left, isScaled: true })
  else finish(t, node, left, right.by)
  return true
}

/** The product of rows and the matrix, at the node that multiplies it by the last of its scales. */
function finish(
  t: Translator,
  node: Node,
  { of, node: made }: WholeProduct,
  by: NonNullable<Quantised['by']>,
): void {
  const zeros = hasInput(made, 3) ? t.weights.constant(made, 3) : undefined
  const matrix = bytesOf(t, made, t.weights.constant(by.node, by.index), zeros)
  product(t, node, of, t.weights.codes(matrix, nameFor(t, node)))
}

/** DynamicQuantizeMatMul: rows are quantised inside; the scales of B, its zero points, a bias. */
export const multiplyDynamic: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  const zeros = hasInput(node, 3) ? t.weights.constant(node, 3) : undefined
  const matrix = bytesOf(t, node, t.weights.constant(node, 2), zeros)
  product(t, node, t.rows(node, 0), t.weights.codes(matrix, nameFor(t, node)), 4)
  return true
}

/** B [k, n] of a product. */
function bytesOf(
  t: Translator,
  node: Node,
  scales: CodeMatrix['scales'],
  zeros: CodeMatrix['zeros'],
): CodeMatrix {
  const codes = t.weights.constant(node, 1)
  if (codes.dims.length !== 2) throw unclaimed(node, `it multiplies by codes of shape [${codes.dims}]`)
  return { name: node.inputs[1]!, codes, isTurned: false, scales, zeros, block: 0 }
}

function checkZero(t: Translator, node: Node, index: number, codes: Quantised): void {
  const zero = t.read(node, index)
  if (zero?.is !== 'quantised' || zero.part !== 'zero' || zero.of !== codes.of)
    throw unclaimed(node, `its input ${index} is not the zero point of the codes that it reads`)
}

function oneScale(t: Translator, node: Node): { readonly scale: number; readonly zero: number } {
  const [scale, zero] = [t.scalar(node, 1), hasInput(node, 2) ? t.scalar(node, 2) : 0]
  if (scale !== undefined && zero !== undefined) return { scale, zero }
  throw unclaimed(node, 'it has no constant scale, one for all values')
}
