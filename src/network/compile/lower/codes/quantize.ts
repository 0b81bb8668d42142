// Handlers of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Constant codes become floats as
// they are loaded.
import { axisOf } from '../../../onnx/ir/broadcast.ts'
import { hasInput, type Node, outputsOf, readersOf } from '../../../onnx/ir/graph.ts'
import { intOf, unclaimed } from '../../../onnx/ir/operator.ts'
import { countOf, numbersOf, tensorOf } from '../../../onnx/ir/tensor.ts'
import { limitsOf } from '../../../onnx/operators/quantise.ts'
import { roundEven } from '../../../onnx/operators/unary.ts'
import { type Codes, dimsOf, type Ref, turnedRef } from '../../loops/loops.ts'
import { apply, arg, div, mul, number, select, sub, type Tree } from '../../loops/tree.ts'
import { orderOf } from '../../loops/view.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { reshape } from '../lowering/layouts.ts'
import { map, mapToBytes } from '../lowering/loops.ts'
import type { CodeSums, DynamicScale, Lowering } from '../lowering/lowering.ts'
import { reduce } from '../lowering/sums.ts'
import { matrixSizes } from './code-matrix.ts'
import { areBytes, asFloat, codeWindow, limitedSums, perChannel } from './code-windows.ts'
import { constantOf } from './constants.ts'
import { meetOwnScale } from './own-scale.ts'
import { storedOffset } from './zero-points.ts'

/**
 * Constant codes become floats as they are loaded; computed ones, such as rows of a table, become floats in
 * a loop.
 */
const dequantize: Handler = (lowering, node) => {
  if (intOf(node, 'block_size', 0) !== 0) throw unclaimed(node, 'scales per block are not compiled')
  const [name = ''] = node.inputs
  if (!lowering.graph.constants.has(name)) {
    lowering.values.name(node.outputs[0]!, dequantized(lowering, node))
    return
  }
  const codes: Codes = {
    axis: 0,
    scale: constantOf(lowering, node, 1, []),
    zero: constantOf(lowering, node, 2, [0]),
  }
  const rank = lowering.values.dims(node, name).length
  const axis = intOf(node, 'axis', 1)
  const ref = lowering.values.decoded(node, name, { ...codes, axis: axis < 0 ? axis + rank : axis })
  lowering.values.name(node.outputs[0]!, ref)
}

/** Computed codes as floats. Their scales and zero points may be computed too. */
function dequantized(lowering: Lowering, node: Node): Ref {
  const [codes = '', scaleName = '', zeroName = ''] = node.inputs
  const [output = ''] = node.outputs
  const x = lowering.values.ref(node, codes)
  const stored = x.value.isByte === true ? storedOffset(lowering.values.dtype(node, codes)) : 0
  const [scale, zero] = [scaleName, zeroName].map((name) => lowering.values.known(name)?.data)
  if (scale?.length === 1 && (zeroName === '' || zero?.length === 1)) {
    const offset = number(Number(zero?.[0] ?? 0) + stored)
    const tree = mul(sub(asFloat(x), offset), number(Number(scale[0])))
    return map(lowering, node, [x], tree, output)
  }
  const own = dimsOf(x)
  const args = [x, alongAxis(lowering, node, lowering.values.ref(node, scaleName), own)]
  if (args[1]!.value.kind !== 'f32') throw unclaimed(node, 'its scale does not hold floats')
  let centred = sub(asFloat(x), number(stored))
  if (zeroName !== '') {
    const zeros = alongAxis(lowering, node, lowering.values.ref(node, zeroName), own)
    centred = sub(centred, apply('to f32', arg(args.push(zeros) - 1, 'i32')))
  }
  return map(lowering, node, args, mul(centred, arg(1)), output)
}

/** One number for all elements of a value of these dims, or one for each index of the node's axis. */
function alongAxis(lowering: Lowering, node: Node, ref: Ref, dims: readonly number[]): Ref {
  const count = countOf(dimsOf(ref))
  if (count === 1) return reshape(lowering, node, ref, [])
  const after = dims.length - 1 - axisOf(node, intOf(node, 'axis', 1), dims.length)
  return reshape(lowering, node, ref, [count, ...Array.from({ length: after }, () => 1)])
}

/** Rounded to the nearest code, with ties to even. */
const quantize: Handler = (lowering, node) => {
  const [x, scale] = [0, 1].map((index) => lowering.values.ref(node, node.inputs[index]!)) as [Ref, Ref]
  const [name = ''] = node.outputs
  if (lowering.values.dtype(node, node.inputs[0]!) !== 'f32' || scale.value.kind !== 'f32')
    throw unclaimed(node, 'it rounds numbers that are not f32')
  if (intOf(node, 'block_size', 0) !== 0) throw unclaimed(node, 'scales per block are not compiled')
  if (intOf(node, 'precision', 0) !== 0) throw unclaimed(node, 'an explicit precision is not compiled')
  const [low, high] = limitsOf(lowering.values.dtype(node, name))
  if (quantizeSums(lowering, node, [low, high])) return
  const along = (ref: Ref): Ref => alongAxis(lowering, node, ref, dimsOf(x))
  const args = [x, along(scale)]
  const code = apply('i.near', div(arg(0), arg(1)))
  const zero = hasInput(node, 2)
    ? arg(args.push(along(lowering.values.ref(node, node.inputs[2]!))) - 1, 'i32')
    : undefined
  const shifted = zero === undefined ? code : apply('i.add', code, zero)
  const tree = apply('i.max', number(low, 'i32'), apply('i.min', number(high, 'i32'), shifted))
  const dtype = lowering.values.dtype(node, name)
  if (areBytes(lowering.graph, name, dtype)) {
    const bytes = apply('i.add', tree, number(storedOffset(dtype), 'i32'))
    const made = mapToBytes(lowering, node, args, storedOffset(dtype) === 0 ? tree : bytes, name)
    lowering.values.name(name, reshape(lowering, node, made, dimsOf(x)))
    return
  }
  lowering.values.name(name, reshape(lowering, node, map(lowering, node, args, tree, name), dimsOf(x)))
}

/**
 * Quantises the sums of a convolution of codes, if that is what the input is, with one rounding instead of
 * two, as ONNX Runtime does.
 */
function quantizeSums(lowering: Lowering, node: Node, [low, high]: readonly [number, number]): boolean {
  const [from = '', scaleName = '', zeroName = ''] = node.inputs
  const [name = ''] = node.outputs
  const found = limitedSums(lowering, from)
  const scale = lowering.values.known(scaleName)
  const zero = hasInput(node, 2) ? lowering.values.known(zeroName) : tensorOf('u8', [], [0])
  if (found === undefined || scale?.data.length !== 1 || zero?.data.length !== 1) return false
  const [size] = numbersOf(scale) as [number]
  const [middle] = numbersOf(zero) as [number]
  const code = (value: number): number =>
    Number.isFinite(value) ? roundEven(Math.fround(value / size)) + middle : value
  const lowest = Math.max(low, Math.min(high, code(found.low)))
  const highest = Math.min(high, Math.max(lowest, code(found.high)))
  requantize(lowering, node, name, { ...found.sums, size, zero: middle, low: lowest, high: highest })
  return true
}

interface Requantisation extends CodeSums {
  /** The scale and the zero point of the codes, and their limits. */
  readonly size: number
  readonly zero: number
  readonly low: number
  readonly high: number
}

/** Names the sums, multiplied by the quotient of the scales and rounded, as codes. */
export function requantize(
  lowering: Lowering,
  node: Node,
  name: string,
  { ref, scale, size, zero, low, high, after }: Requantisation,
): void {
  const dtype = lowering.values.dtype(node, name)
  const isByte = areBytes(lowering.graph, name, dtype)
  const offset = isByte ? storedOffset(dtype) : 0
  const factors = scale.map((each) => Math.fround(each / size))
  const args = [ref, perChannel(lowering, factors, after)]
  const near = apply('i.near', mul(asFloat(ref), arg(1)))
  const code = apply('i.add', near, number(zero + offset, 'i32'))
  const limited = apply('i.min', number(high + offset, 'i32'), code)
  const tree = apply('i.max', number(low + offset, 'i32'), limited)
  lowering.values.name(name, (isByte ? mapToBytes : map)(lowering, node, args, tree, name))
}

/** Rows of at most about this many elements are reduced first, so that threads share the work. */
const RANGE_ROW = 4096

/** A key for what is computed from a value. */
export const keyOf = ({ value, view }: Ref): string => `${value.id} ${JSON.stringify(view)}`

/** The scale and the zero point of all elements of a value, or of each of its rows. */
export function dynamicScale(lowering: Lowering, node: Node, x: Ref, of: 'all' | 'rows'): DynamicScale {
  const key = `${of} ${keyOf(x)}`
  const [high, low] = (['max', 'min'] as const).map((how) =>
    lowering.once(`${how} of ${key}`, () => (of === 'all' ? extreme : rowExtremes)(lowering, node, x, how)),
  ) as [Ref, Ref]
  // 0 has a code.
  const [most, least] = [apply('max', arg(0), number(0)), apply('min', arg(1), number(0))]
  const range = div(sub(most, least), number(STEPS))
  const whole = select(apply('eq', most, least), number(Math.fround(1 / STEPS)), range)
  const scale = lowering.once(`range of ${key}`, () => map(lowering, node, [high, low], whole))
  const code = apply('i.near', div(apply('neg', apply('min', arg(0), number(0))), arg(1)))
  const zero = lowering.once(`zero of ${key}`, () => map(lowering, node, [low, scale], asCode(code)))
  return { scale, zero }
}

/** The largest or smallest element of each row, [..., 1]. */
function rowExtremes(lowering: Lowering, node: Node, x: Ref, how: 'max' | 'min'): Ref {
  const rank = dimsOf(x).length
  return reshape(lowering, node, reduce(lowering, node, x, [rank - 1], how), dimsOf(x).with(-1, 1))
}

/** The largest or smallest element of a value. */
function extreme(lowering: Lowering, node: Node, x: Ref, how: 'max' | 'min'): Ref {
  const inMemory = turnedRef(x, orderOf(x.view))
  const dims = dimsOf(inMemory)
  const split = dims.findIndex((_, axis) => countOf(dims.slice(axis)) <= RANGE_ROW)
  const rows = dims.map((_, axis) => axis).slice(Math.max(0, split))
  const each = reduce(lowering, node, inMemory, rows, how)
  return reduce(lowering, node, each, [...dimsOf(each).keys()], how)
}

/** Codes of u8 divide a range into this many steps. */
const STEPS = 255

const asCode = (tree: Tree): Tree =>
  apply('i.max', number(0, 'i32'), apply('i.min', number(STEPS, 'i32'), tree))

/** The codes of a value. `isByte`: whether they are stored as bytes. */
export function dynamicCodes(
  lowering: Lowering,
  node: Node,
  x: Ref,
  { scale, zero }: DynamicScale,
  { name, isByte }: { readonly name: string; readonly isByte: boolean },
): Ref {
  const tree = asCode(apply('i.add', apply('i.near', div(arg(0), arg(1))), arg(2, 'i32')))
  return (isByte ? mapToBytes : map)(lowering, node, [x, scale, zero], tree, name)
}

/**
 * Codes, unless products of floats take their place: with `weights: 'f32'`, which rounds nothing, or if a
 * product cannot multiply codes. Where only matrices are multiplied by the codes, each row has a scale of its
 * own. In both cases the outputs are x or its codes, 1 and 0, because products have the floats' scale.
 */
const dynamicQuantize: Handler = (lowering, node) => {
  const { graph, values } = lowering
  const [codes = '', scaleName = '', zeroName = ''] = node.outputs
  const x = values.ref(node, node.inputs[0]!)
  lowering.spend(graph.nodes.length)
  const isFloats = lowering.weights === 'f32' || !areMultiplied(lowering, codes)
  const isByte = areBytes(graph, codes, 'u8')
  if ((isFloats || areRows(lowering, codes)) && meetOwnScale(graph, node)) {
    values.setConstant(scaleName, tensorOf('f32', [], [1]))
    values.setConstant(zeroName, tensorOf('u8', [], [0]))
    if (isFloats) {
      values.name(codes, x)
      return
    }
    const made = dynamicScale(lowering, node, x, 'rows')
    lowering.rowScales.set(codes, made)
    values.name(codes, dynamicCodes(lowering, node, x, made, { name: codes, isByte }))
    return
  }
  const made = dynamicScale(lowering, node, x, 'all')
  values.name(codes, dynamicCodes(lowering, node, x, made, { name: codes, isByte }))
  values.name(scaleName, made.scale)
  values.name(zeroName, made.zero)
}

const MATRIX_PRODUCTS: ReadonlySet<string> = new Set(['MatMulInteger', 'MatMulIntegerToFloat'])

/** Whether the codes are rows that only matrices multiply. */
const areRows = ({ graph, readers }: Lowering, codes: string): boolean =>
  !outputsOf(graph).has(codes) && (readers.get(codes) ?? []).every(({ op }) => MATRIX_PRODUCTS.has(op))

/** Whether all products that read the codes are sums of integers. */
const areMultiplied = (lowering: Lowering, codes: string): boolean =>
  (readersOf(lowering.graph).get(codes) ?? []).every((reader) => {
    const [x = '', matrix = ''] = reader.inputs
    if (reader.op === 'ConvInteger') return codeWindow(lowering, reader, x, matrix) !== undefined
    if (MATRIX_PRODUCTS.has(reader.op))
      return matrixSizes(lowering, reader, lowering.values.dims(reader, x), matrix) !== undefined
    return true
  })

export const QUANTIZE_HANDLERS = {
  DequantizeLinear: dequantize,
  QuantizeLinear: quantize,
  DynamicQuantizeLinear: dynamicQuantize,
} satisfies SomeHandlers
