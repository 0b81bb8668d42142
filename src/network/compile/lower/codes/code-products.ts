// Handlers of products of 8-bit codes: convolutions and matrices. Sums are integers. Where floats took the
// place of codes that a network computes, products are those of floats.
import { hasInput, type Node, readersOf } from '../../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { countOf, numbersOf, type Tensor, tensorOf } from '../../../onnx/ir/tensor.ts'
import { limitsOf } from '../../../onnx/operators/quantise.ts'
import { dimsOf, type Ref } from '../../loops/loops.ts'
import { add, apply, arg, mul, type Tree } from '../../loops/tree.ts'
import { convolve } from '../convolutions/windows.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { operand } from '../lowering/operands.ts'
import { productOf } from '../products.ts'
import { matrixSizes, matrixSums } from './code-matrix.ts'
import { asFloat, codeSums } from './code-windows.ts'
import { constantOf } from './constants.ts'
import { dynamicCodes, dynamicScale, keyOf, requantize } from './quantize.ts'
import {
  bytesOf,
  type CodedFilters,
  type CodedInput,
  type StoredInput,
  stored,
  zeroOf,
} from './zero-points.ts'

/** The places of numbers in the inputs of a QLinear product. */
interface QLinearInputs {
  readonly scales: readonly [number, number, number]
  readonly zeros: readonly [number, number, number]
}

const QLINEAR: QLinearInputs = { scales: [1, 4, 6], zeros: [2, 5, 7] }

/** What a QLinear product multiplies, and how its sums become codes. All numbers must be constants. */
function qLinear(lowering: Lowering, node: Node) {
  const [x = '', , , filters = ''] = node.inputs
  const [[xScale = 1], scales, [size = 1]] = QLINEAR.scales.map((index) =>
    constantOf(lowering, node, index, []),
  ) as [number[], number[], number[]]
  const [xZeros, zeros, [zero = 0]] = QLINEAR.zeros.map((index) =>
    constantOf(lowering, node, index, [0]),
  ) as [number[], number[], number[]]
  if (xZeros.length !== 1) throw unclaimed(node, 'it has several zero points for its first input')
  const [low, high] = limitsOf(lowering.values.dtype(node, node.outputs[0]!))
  return {
    x: { codes: x, zero: xZeros[0]! } satisfies CodedInput,
    filters: { codes: filters, zero: zeros } satisfies CodedFilters,
    codes: { scale: scales.map((each) => Math.fround(xScale * each)), size, zero, low, high },
  }
}

/** A convolution of codes whose sums are rounded to codes. */
const qLinearConv: Handler = (lowering, node) => {
  const { codes, ...sides } = qLinear(lowering, node)
  const bias = hasInput(node, 8) ? { constant: node.inputs[8]!, scale: [1] } : undefined
  const ref = codeSums(lowering, node, { ...sides, bias })
  if (ref === undefined) throw unclaimed(node, 'its filters, groups or zero points are not compiled')
  requantize(lowering, node, node.outputs[0]!, { ...codes, ref, after: dimsOf(ref).length - 2 })
}

/** The same of a matrix, with one scale for all columns or one for each. */
const qLinearMatMul: Handler = (lowering, node) => {
  const { x, filters, codes } = qLinear(lowering, node)
  const ref = matrixSums(lowering, node, stored(lowering, node, x), { form: 'matrix', filters })
  if (ref === undefined) throw unclaimed(node, 'its matrices or zero points are not compiled')
  requantize(lowering, node, node.outputs[0]!, { ...codes, ref, after: 0 })
}

/**
 * The floats that DynamicQuantizeLinear would round, if input 0 holds them instead of codes. The product then
 * has the wrong scale for sums of integers, so it must become floats at once. Undefined for codes.
 */
function unrounded(lowering: Lowering, node: Node): Ref | undefined {
  const x = lowering.values.ref(node, node.inputs[0]!)
  if (x.value.kind !== 'f32') return undefined
  checkCast(lowering, node)
  const offset: Tensor | undefined = hasInput(node, 2)
    ? lowering.values.known(node.inputs[2]!)
    : tensorOf('u8', [], [0])
  if (offset === undefined || numbersOf(offset).some((each) => each !== 0))
    throw unclaimed(node, 'its codes have a zero point that does not come from DynamicQuantizeLinear')
  return x
}

/** Sums that have a scale already must become floats at once. */
function checkCast({ graph }: Lowering, node: Node): void {
  const readers = readersOf(graph).get(node.outputs[0]!) ?? []
  if (readers.some(({ op }) => op !== 'Cast')) throw unclaimed(node, 'its sums are used as integers')
}

/** The codes of input 0 and their scales, [..., 1], if each row has its own. */
function rowCodes(lowering: Lowering, node: Node): { input: StoredInput; scale: Ref } | undefined {
  const [name = ''] = node.inputs
  const made = lowering.rowScales.get(name)
  if (made === undefined) return undefined
  const zero = reshape(lowering, node, made.zero, [countOf(dimsOf(made.zero)), 1])
  return { input: { codes: bytesOf(lowering, node, name), zero }, scale: made.scale }
}

/** The codes of input 1 minus their zero points, input 3. */
const floatCodes = (lowering: Lowering, node: Node, axis: number): Ref =>
  lowering.values.decoded(node, node.inputs[1]!, {
    axis,
    scale: [1],
    zero: constantOf(lowering, node, 3, [0]),
  })

/** Both sides of a product of integers. Throws `unsupported` for several zero points of the first one. */
function integerSides(lowering: Lowering, node: Node): { x: CodedInput; filters: CodedFilters } {
  const zero = zeroOf(lowering, node, 2)
  if (zero === undefined) throw unclaimed(node, 'it has several zero points for its first input')
  const [codes = '', filters = ''] = node.inputs
  return { x: { codes, zero }, filters: { codes: filters, zero: constantOf(lowering, node, 3, [0]) } }
}

const matMulInteger: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const floats = unrounded(lowering, node)
  if (floats !== undefined) {
    const b = floatCodes(lowering, node, lowering.values.dims(node, node.inputs[1]!).length - 1)
    lowering.values.name(name, productOf(lowering, node, floats, b))
    return
  }
  const rows = rowCodes(lowering, node)
  const { x, filters } = integerSides(lowering, node)
  const input = rows?.input ?? stored(lowering, node, x)
  const sums = matrixSums(lowering, node, input, { form: 'matrix', filters })
  if (sums === undefined) throw unclaimed(node, 'its matrices or zero points are not compiled')
  if (rows === undefined) lowering.values.name(name, sums)
  else {
    checkCast(lowering, node)
    lowering.values.name(name, map(lowering, node, [sums, rows.scale], mul(asFloat(sums), arg(1)), name))
  }
}

const convInteger: Handler = (lowering, node) => {
  const floats = unrounded(lowering, node)
  if (floats !== undefined) {
    const filters = floatCodes(lowering, node, 0)
    convolve(lowering, node, { x: floats, filters, group: intOf(node, 'group', 1) })
    return
  }
  const sums = codeSums(lowering, node, integerSides(lowering, node))
  if (sums === undefined) throw unclaimed(node, 'its filters, groups or zero points are not compiled')
  const isWhole = sums.value.kind === 'i32'
  lowering.values.name(
    node.outputs[0]!,
    isWhole ? sums : map(lowering, node, [sums], apply('to i32', arg(0))),
  )
}

/** The places of a scaled product's inputs. */
interface ScaledInputs {
  readonly right: number
  readonly scale: number
  readonly zero: number
  readonly bias: number
}

/** One number for all columns, or one for each. */
function perColumn(lowering: Lowering, node: Node, index: number, fallback: number[]): number[] {
  const numbers = constantOf(lowering, node, index, fallback)
  const n = lowering.values.dims(node, node.outputs[0]!).at(-1)
  if (numbers.length !== 1 && numbers.length !== n)
    throw unfit(node, `it has ${numbers.length} scales or zero points for ${n} columns`)
  return numbers
}

/** Floats times codes with their scales, plus a bias. */
function scaledFloats(lowering: Lowering, node: Node, a: Ref, at: ScaledInputs): void {
  const right = node.inputs[at.right]!
  const scale = perColumn(lowering, node, at.scale, [])
  const zero = perColumn(lowering, node, at.zero, [0])
  const axis = lowering.values.dims(node, right).length - 1
  const b = lowering.values.decoded(node, right, { axis, scale, zero })
  nameBiased(lowering, node, at.bias, [productOf(lowering, node, a, b)], arg(0))
}

/** Sums of codes times the scales of both sides, plus a bias. */
function scaledSums(lowering: Lowering, node: Node, x: StoredInput, size: Ref, at: ScaledInputs): void {
  perColumn(lowering, node, at.scale, [])
  const filters = { codes: node.inputs[at.right]!, zero: perColumn(lowering, node, at.zero, [0]) }
  const sums = matrixSums(lowering, node, x, { form: 'matrix', filters })
  if (sums === undefined) throw unclaimed(node, 'its matrices or zero points are not compiled')
  const args = [sums, size]
  const scales = operand(lowering, node, node.inputs[at.scale]!, args)
  nameBiased(lowering, node, at.bias, args, mul(asFloat(sums), mul(arg(1), scales)))
}

/** Names the tree, plus the bias if the node has one. */
function nameBiased(lowering: Lowering, node: Node, bias: number, args: Ref[], tree: Tree): void {
  const [name = ''] = node.outputs
  const isPlain = !hasInput(node, bias)
  const whole = isPlain ? tree : add(tree, operand(lowering, node, node.inputs[bias]!, args))
  const isDone = isPlain && 'arg' in tree
  lowering.values.name(name, isDone ? args[0]! : map(lowering, node, args, whole, name))
}

const dynamicQuantizeMatMul: Handler = (lowering, node) => {
  const at = { right: 1, scale: 2, zero: 3, bias: 4 }
  const [name = '', matrix = ''] = node.inputs
  const x = lowering.values.ref(node, name)
  const sizes = lowering.weights === 'f32' ? undefined : matrixSizes(lowering, node, dimsOf(x), matrix)
  if (sizes === undefined) {
    scaledFloats(lowering, node, x, at)
    return
  }
  const { scale, zero } = dynamicScale(lowering, node, x, 'rows')
  const codes = lowering.once(`codes of 8 bits ${keyOf(x)}`, () =>
    dynamicCodes(lowering, node, x, { scale, zero }, { name: '', isByte: true }),
  )
  const zeros = reshape(lowering, node, zero, [sizes.m, 1])
  scaledSums(lowering, node, { codes, zero: zeros }, scale, at)
}

const matMulIntegerToFloat: Handler = (lowering, node) => {
  const at = { right: 1, scale: 3, zero: 5, bias: 6 }
  const x = lowering.values.ref(node, node.inputs[0]!)
  if (x.value.kind === 'f32') {
    scaledFloats(lowering, node, x, at)
    return
  }
  const rows = rowCodes(lowering, node)
  if (rows !== undefined) {
    scaledSums(lowering, node, rows.input, rows.scale, at)
    return
  }
  const zero = zeroOf(lowering, node, 4)
  const size = lowering.values.ref(node, node.inputs[2]!)
  if (zero === undefined || countOf(dimsOf(size)) !== 1)
    throw unclaimed(node, 'its first input has several scales or zero points')
  const codes = stored(lowering, node, { codes: node.inputs[0]!, zero })
  scaledSums(lowering, node, codes, reshape(lowering, node, size, []), at)
}

export const CODE_PRODUCT_HANDLERS = {
  ConvInteger: convInteger,
  QLinearConv: qLinearConv,
  MatMulInteger: matMulInteger,
  QLinearMatMul: qLinearMatMul,
  'com.microsoft:DynamicQuantizeMatMul': dynamicQuantizeMatMul,
  'com.microsoft:MatMulIntegerToFloat': matMulIntegerToFloat,
} satisfies SomeHandlers
