// Handlers of linear layers: products of rows and a constant matrix, in floats or 8-bit codes, and their
// biases.
import type { Value, WeightRef } from '../../../../core/graph/ir.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { EITHER_ORDER, floatOf, intOf, intsOf, unclaimed, unfit } from '../../ir/operator.ts'
import { countOf, numbersOf, type Tensor, tensorOf } from '../../ir/tensor.ts'
import { levelForm } from '../../operators/contrib/products.ts'
import { limitsOf } from '../../operators/quantise.ts'
import type { Matrix, Meaning, Quantised, WholeProduct } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { blockOrder } from '../weights/block-weights.ts'
import type { CodeMatrix } from '../weights/code-matrix.ts'
import { embedCodes } from './embed.ts'
import { limited } from './limits.ts'

const DEFAULT_AXIS = 1

/** Codes, scale and zero point of rows. */
export const quantizeRows: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const of = t.meanings.rows(node, 0)
  for (const [index, part] of (['codes', 'scale', 'zero'] as const).entries())
    t.meanings.set(node, index, { is: 'quantised', part, of })
  return true
}

/**
 * Values with one constant scale, clamped to the range of their codes. The plan quantises rows with scales of
 * its own.
 */
export const quantize: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input === undefined || input.is === 'constant' || input.is === 'control') return false
  const { scale, zero } = oneScale(t, node)
  if (!(scale > 0 && Number.isFinite(scale))) throw unclaimed(node, `its scale is ${scale}`)
  const [least, most] = limitsOf(t.types.get(node.outputs[0]!)?.dtype ?? 'u8').map(
    (code) => (code - zero) * scale,
  ) as [number, number]
  t.meanings.set(node, 0, { is: 'rounded', of: limited(t, node, input, { least, most }, scale), scale, zero })
  return true
}

/** Undoes `quantize`, or reads a constant matrix or rows of a table of codes. */
export const dequantize: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is === 'rounded') {
    const { scale, zero } = oneScale(t, node)
    if (scale !== input.scale || zero !== input.zero)
      throw unclaimed(node, `it reads codes with scale ${input.scale} as if their scale were ${scale}`)
    t.meanings.set(node, 0, input.of)
    return true
  }
  const name = input?.is === 'codes' ? input.name : input?.is === 'constant' ? node.inputs[0] : undefined
  const view = input?.is === 'constant' ? t.weights.viewed(node, 0) : undefined
  const codes = view?.constant ?? t.graph.constants.get(name ?? '')
  if (name === undefined || codes?.dims.length !== 2) return false
  const scales = t.weights.constant(node, 1)
  const zeros = hasInput(node, 2) ? t.weights.constant(node, 2) : undefined
  const isOne = countOf(scales.dims) === 1
  if (input?.is === 'codes') {
    if (!isOne) throw unclaimed(node, 'it has more than one scale for rows of a table')
    t.meanings.setRows(node, 0, embedCodes(t, { name, codes, scales, zeros }, input.from))
    return true
  }
  const isTransposed = view?.isTransposed === true
  const stated = intOf(node, 'axis', DEFAULT_AXIS)
  const isFirst = stated === 0 || stated === -2
  const axis = isFirst === isTransposed ? 1 : 0
  const block = isOne ? 0 : intOf(node, 'block_size', 0)
  if (isTransposed && block > 0) throw unclaimed(node, 'its codes are transposed but its scales are not')
  const outputs = isOne ? undefined : block > 0 ? ((1 - axis) as 0 | 1) : axis
  t.meanings.set(node, 0, {
    is: 'matrix',
    parts: { name, codes, scales, zeros, block },
    isTransposed,
    outputs,
  })
  return true
}

/** A transposed matrix. */
export const transposeMatrix: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const perm = intsOf(node, 'perm', undefined) ?? [1, 0]
  if (input?.is !== 'matrix' || `${perm}` !== '1,0') return false
  t.meanings.set(node, 0, { ...input, isTransposed: !input.isTransposed })
  return true
}

export const multiplyCodes: Handler = async (t, node) => {
  const left = t.meanings.read(node, 0)
  const right = t.meanings.read(node, 1)
  if (left?.is === 'codes' && right?.is === 'constant') return multiplyTable(t, node)
  if (left?.is !== 'quantised' || left.part !== 'codes' || right?.is !== 'constant') return false
  checkZero(t, node, 2, left)
  t.meanings.set(node, 0, { is: 'product', of: left.of, node, isScaled: false })
  return true
}

/**
 * Rows of a table of codes, which a model without a norm before its first layer (OLMo 2) multiplies
 * directly. The rows come from the node that reads the same codes as floats.
 */
async function multiplyTable(t: Translator, node: Node): Promise<boolean> {
  const reader = t.readersOf(node.inputs[0]!).find(({ op }) => op === 'DequantizeLinear')
  if (reader === undefined) return false
  await t.ahead(reader)
  const rows = t.meanings.of(reader.outputs[0]!)
  const rowScale = t.types.scalar(reader, 1)
  if (rows?.is !== 'rows' || !rowScale || zeroOf(t, reader, 2) !== zeroOf(t, node, 2)) return false
  t.meanings.set(node, 0, { is: 'product', of: rows.value, node, isScaled: false, rowScale })
  return true
}

/** The zero point; undefined if it is not a single constant. */
const zeroOf = (t: Translator, node: Node, index: number): number | undefined =>
  hasInput(node, index) ? t.types.scalar(node, index) : 0

/** A product times its two scales, separately or at once; or the codes of a table times their scales. */
export const multiplyScales: Handler = (t, node) => {
  for (const [one, other] of EITHER_ORDER) {
    if (scale(t, node, t.meanings.read(node, one), t.meanings.read(node, other), other)) return true
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
    t.meanings.set(node, 0, { ...left, by: { node, index: other } })
    return true
  }
  if (left?.is === 'codes' && right?.is === 'scales') {
    const [codes, scales] = [left, right].map(({ name }) => t.graph.constants.get(name)!)
    t.meanings.setRows(node, 0, embedCodes(t, { name: left.name, codes: codes!, scales: scales! }, left.from))
    return true
  }
  if (left?.is !== 'product') return false
  if (right?.is === 'constant' && (left.isScaled || left.rowScale !== undefined)) {
    finish(t, node, left, { node, index: other })
    return true
  }
  if (right?.is !== 'quantised' || right.part !== 'scale' || right.of !== left.of || left.isScaled)
    return false
  if (right.by === undefined) t.meanings.set(node, 0, { ...left, isScaled: true })
  else finish(t, node, left, right.by)
  return true
}

/** Makes the product of rows and the matrix once its last scale is multiplied in. */
function finish(
  t: Translator,
  node: Node,
  { of, node: made, rowScale }: WholeProduct,
  by: NonNullable<Quantised['by']>,
): void {
  const zeros = hasInput(made, 3) ? t.weights.constant(made, 3) : undefined
  const scales =
    rowScale === undefined
      ? t.weights.constant(by.node, by.index)
      : dividedBy(t.weights.small(by.node, by.index), rowScale)
  const matrix = bytesOf(t, made, scales, zeros)
  product(t, node, of, t.weights.codes(matrix, nameFor(t, node)))
}

/**
 * DynamicQuantizeMatMul: the node quantises rows itself; inputs are B's scales, its zero points and a bias.
 */
export const multiplyDynamic: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const zeros = hasInput(node, 3) ? t.weights.constant(node, 3) : undefined
  const matrix = bytesOf(t, node, t.weights.constant(node, 2), zeros)
  product(t, node, t.meanings.rows(node, 0), t.weights.codes(matrix, nameFor(t, node)), 4)
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
  return { name: node.inputs[1]!, codes, isTransposed: false, scales, zeros, block: 0 }
}

const dividedBy = (tensor: Tensor, divisor: number): Tensor =>
  tensorOf(
    tensor.dtype,
    tensor.dims,
    numbersOf(tensor).map((each) => each / divisor),
  )

function checkZero(t: Translator, node: Node, index: number, codes: Quantised): void {
  const zero = t.meanings.read(node, index)
  if (zero?.is !== 'quantised' || zero.part !== 'zero' || zero.of !== codes.of)
    throw unclaimed(node, `its input ${index} is not the zero point of the codes that it reads`)
}

function oneScale(t: Translator, node: Node): { readonly scale: number; readonly zero: number } {
  const scale = t.types.scalar(node, 1)
  const zero = zeroOf(t, node, 2)
  if (scale !== undefined && zero !== undefined) return { scale, zero }
  throw unclaimed(node, 'its scale is not a single constant')
}

const OUTPUT = 'output.weight'
/** Operators that first add a bias to the product, with the index of that input. */
const JOINED: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'com.microsoft:FastGelu': 1,
    'com.microsoft:SkipLayerNormalization': 4,
    'com.microsoft:SkipSimplifiedLayerNormalization': 3,
  }),
)

const nameFor = (t: Translator, node: Node): string | undefined =>
  t.tail.isLogits(node) ? OUTPUT : undefined

/** The constant on the right: [k, n], or [n, k] if `isTransposed`; undefined if it is not a constant. */
function rightOf(t: Translator, node: Node, isTransposed: boolean): Matrix | undefined {
  const right = t.meanings.read(node, 1)
  if (right?.is === 'constant') return t.weights.float(node, 1, isTransposed, nameFor(t, node))
  return right?.is === 'matrix' ? t.weights.stored(node, right, isTransposed, nameFor(t, node)) : undefined
}

/** A product with a constant on the right. */
export const matMul: Handler = (t, node) => {
  const weight = t.meanings.isRows(node, 0) ? rightOf(t, node, false) : undefined
  if (weight === undefined) return false
  product(t, node, t.meanings.rows(node, 0), weight)
  return true
}

/** alpha A B + beta C; A holds rows. */
export const gemm: Handler = (t, node) => {
  const is = t.meanings.read(node, 1)?.is
  if (!t.meanings.isRows(node, 0) || (is !== 'constant' && is !== 'matrix')) return false
  if (floatOf(node, 'alpha', 1) !== 1 || floatOf(node, 'beta', 1) !== 1 || intOf(node, 'transA', 0) !== 0)
    throw unclaimed(node, 'its alpha, beta or transA are not the defaults')
  const weight = rightOf(t, node, intOf(node, 'transB', 0) !== 0)
  if (weight === undefined) return false
  product(t, node, t.meanings.rows(node, 0), weight, 2)
  return true
}

/** Blocks of 2, 4 or 8 bits. `accuracy_level` only affects the precision of the original runtime. */
export const matMulBlocks: Handler = async (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const n = intOf(node, 'N', 0)
  const k = intOf(node, 'K', 0)
  const bits = intOf(node, 'bits', 4)
  const block = intOf(node, 'block_size', 32)
  if (intOf(node, 'weight_prepacked', 0) !== 0)
    throw unclaimed(node, 'its weights are packed for a specific machine')
  const codes = t.weights.constant(node, 1)
  const scales = t.weights.constant(node, 2)
  const zeros = hasInput(node, 3) ? t.weights.constant(node, 3) : undefined
  const list = hasInput(node, 4) ? t.weights.constant(node, 4) : undefined
  if (list !== undefined && countOf(list.dims) !== k)
    throw unfit(node, `its input order (g_idx) has ${countOf(list.dims)} entries for ${k} inputs`)
  const order = list && (await blockOrder(list, block, t.signal))
  const parts = { n, k, bits, block, codes, scales, zeros, order }
  product(t, node, t.meanings.rows(node, 0), t.weights.blocks(parts, node.inputs[1]!, nameFor(t, node)), 5)
  return true
}

/** 4-bit codes that stand for levels. */
export const matMulLevels: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const parts = {
    ...levelForm(node),
    codes: t.weights.constant(node, 1),
    scales: t.weights.constant(node, 2),
  }
  product(t, node, t.meanings.rows(node, 0), t.weights.levels(parts, node.inputs[1]!, nameFor(t, node)))
  return true
}

/** The product with its bias, which is an input of the node or is added by the product's only reader. */
export function product(
  t: Translator,
  node: Node,
  input: Value,
  { weight, n }: Matrix,
  biasInput?: number,
): void {
  const label = node.outputs[0] ?? node.name
  if (biasInput !== undefined && hasInput(node, biasInput)) {
    t.meanings.setRows(
      node,
      0,
      t.products.linear(label, input, weight, biasOf(t, node, biasInput, n, weight)),
    )
    return
  }
  const sum = t.onlyReader(node)
  const index = sum?.inputs.findIndex((name) => t.weights.has(name)) ?? -1
  const inner = sum === undefined ? -1 : (JOINED.get(`${sum.domain}:${sum.op}`) ?? -1)
  if (sum !== undefined && t.weights.has(sum.inputs[inner]) && !t.facts.biased.has(sum)) {
    t.meanings.setRows(node, 0, t.products.linear(label, input, weight, biasOf(t, sum, inner, n, weight)))
    t.facts.biased.add(sum)
    return
  }
  const isBias = sum?.op === 'Add' && sum.domain === '' && index >= 0 && hasWidth(t, sum, index, n)
  if (!isBias) {
    t.meanings.setRows(node, 0, t.products.linear(label, input, weight))
    return
  }
  t.take(sum)
  t.meanings.setRows(sum, 0, t.products.linear(label, input, weight, biasOf(t, sum, index, n, weight)))
}

const hasWidth = (t: Translator, node: Node, index: number, n: number): boolean => {
  const { dims } = t.weights.constant(node, index)
  // [n, 1] would be one number per token.
  return dims.at(-1) === n && dims.reduce((product, size) => product * size, 1) === n
}

function biasOf(t: Translator, node: Node, index: number, n: number, { parts }: WeightRef): WeightRef {
  const bias = t.weights.vector(node, index, n, 'bias')
  if (parts.length === 1) return bias
  throw unclaimed(node, 'its bias is added to a product of several matrices')
}
