// Handlers of quantised operators. Constant codes become floats, or matrices for the engine's kernels, as
// they are loaded. Only these kernels round activations: the codes of DynamicQuantizeLinear are the floats
// themselves, with scale 1 and zero point 0. Convolutions of codes with constant scales are sums of integers.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { hasInput, readersOf } from '../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../onnx/ir/operator.ts'
import { countOf, numbersOf, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { formOf, perElement } from '../../onnx/operators/contrib/products.ts'
import { limitsOf } from '../../onnx/operators/quantise.ts'
import { roundEven } from '../../onnx/operators/unary.ts'
import { type Codes, dimsOf, type Ref, SIGNED_MIDDLE } from '../loops/loops.ts'
import { add, apply, arg, div, mul, number, sub } from '../loops/tree.ts'
import { sliced, transposed } from '../loops/view.ts'
import {
  areBytes,
  asFloat,
  codeSums,
  limitedSums,
  perChannel,
  storedOffset,
} from './convolutions/code-windows.ts'
import { convolve } from './convolutions/windows.ts'
import { meetOwnScale } from './dynamic-codes.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { gatherAlong } from './indices.ts'
import { reshape } from './lowering/layouts.ts'
import { map, mapToBytes } from './lowering/loops.ts'
import type { CodeSums, Lowering } from './lowering/lowering.ts'
import { operand } from './lowering/operands.ts'
import { productOf } from './products.ts'

const constantOf = (lowering: Lowering, node: Node, index: number, fallback: number[]): number[] => {
  if (!hasInput(node, index)) return fallback
  const tensor = lowering.values.known(node.inputs[index]!)
  if (tensor === undefined) throw unclaimed(node, `its input ${index} is not a constant`)
  return numbersOf(tensor)
}

/**
 * Constant codes become floats as they are loaded; computed ones, such as rows of a table, become floats in
 * a loop.
 */
const dequantize: Handler = (lowering, node) => {
  if (intOf(node, 'block_size', 0) !== 0) throw unclaimed(node, 'scales per block are not compiled')
  const scale = constantOf(lowering, node, 1, [])
  const codes: Codes = { axis: 0, scale, zero: constantOf(lowering, node, 2, [0]) }
  const [name = ''] = node.inputs
  if (!lowering.graph.constants.has(name)) {
    const [size = 1, offset = 0] = [codes.scale[0], codes.zero[0]]
    if (scale.length > 1) throw unclaimed(node, 'computed codes with several scales are not compiled')
    const x = lowering.values.ref(node, name)
    const stored = x.value.isByte === true ? storedOffset(lowering.values.dtype(node, name)) : 0
    const float = x.value.kind === 'f32' ? arg(0) : apply('to f32', arg(0, 'i32'))
    const tree = mul(sub(float, number(offset + stored)), number(size))
    lowering.values.name(node.outputs[0]!, map(lowering, node, [x], tree, node.outputs[0]!))
    return
  }
  const rank = lowering.values.dims(node, name).length
  const axis = intOf(node, 'axis', 1)
  const ref = lowering.values.decoded(node, name, { ...codes, axis: axis < 0 ? axis + rank : axis })
  lowering.values.name(node.outputs[0]!, ref)
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
  const rank = dimsOf(x).length
  const after = countOf(dimsOf(scale)) === 1 ? 0 : rank - 1 - axisOf(node, intOf(node, 'axis', 1), rank)
  const along = (ref: Ref): Ref =>
    reshape(lowering, node, ref, [countOf(dimsOf(ref)), ...Array.from({ length: after }, () => 1)])
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
function requantize(
  lowering: Lowering,
  node: Node,
  name: string,
  { ref, scale, size, zero, low, high }: Requantisation,
): void {
  const dtype = lowering.values.dtype(node, name)
  const isByte = areBytes(lowering.graph, name, dtype)
  const offset = isByte ? storedOffset(dtype) : 0
  const factors = scale.map((each) => Math.fround(each / size))
  const args = [ref, perChannel(lowering, factors, dimsOf(ref).length)]
  const near = apply('i.near', mul(asFloat(ref), arg(1)))
  const code = apply('i.add', near, number(zero + offset, 'i32'))
  const limited = apply('i.min', number(high + offset, 'i32'), code)
  const tree = apply('i.max', number(low + offset, 'i32'), limited)
  lowering.values.name(name, (isByte ? mapToBytes : map)(lowering, node, args, tree, name))
}

/** A convolution of codes whose sums are rounded to codes. */
const qLinearConv: Handler = (lowering, node) => {
  const { values } = lowering
  const [x = '', , , filters = ''] = node.inputs
  const numbers = (index: number) => constantOf(lowering, node, index, [])
  const [xScale, xZero, ySize, yZero] = [1, 2, 6, 7].map((index) => numbers(index)[0]!) as [
    number,
    number,
    number,
    number,
  ]
  const scale = numbers(4).map((each) => Math.fround(xScale * each))
  const bias = hasInput(node, 8) ? { constant: node.inputs[8]!, scale: [1] } : undefined
  const ref = codeSums(lowering, node, {
    x: { codes: x, scale: xScale, zero: xZero },
    filters: { codes: filters, zero: numbers(5) },
    bias,
  })
  if (ref === undefined) throw unclaimed(node, 'its filters, groups or zero points are not compiled')
  const [name = ''] = node.outputs
  const [low, high] = limitsOf(values.dtype(node, name))
  requantize(lowering, node, name, { ref, scale, size: ySize, zero: yZero, low, high })
}

/** Outputs x, 1 and 0, so that a product that reads the three multiplies x itself. */
const dynamicQuantize: Handler = (lowering, node) => {
  lowering.spend(lowering.graph.nodes.length)
  if (!meetOwnScale(lowering.graph, node))
    throw unclaimed(node, 'its codes, scale or zero point are used outside of products')
  const [codes = '', scale = '', zero = ''] = node.outputs
  lowering.values.name(codes, lowering.values.ref(node, node.inputs[0]!))
  lowering.values.setConstant(scale, tensorOf('f32', [], [1]))
  lowering.values.setConstant(zero, tensorOf('u8', [], [0]))
}

/**
 * The floats that DynamicQuantizeLinear quantised, if input 0 holds its codes. The product then has the
 * wrong scale for sums of integers, so it must become floats at once.
 */
function unrounded(lowering: Lowering, node: Node): Ref {
  const readers = readersOf(lowering.graph).get(node.outputs[0]!) ?? []
  if (readers.some(({ op }) => op !== 'Cast')) throw unclaimed(node, 'its sums are used as integers')
  const x = lowering.values.ref(node, node.inputs[0]!)
  if (x.value.kind !== 'f32')
    throw unclaimed(node, 'codes that do not come from DynamicQuantizeLinear are not compiled')
  const offset: Tensor | undefined = hasInput(node, 2)
    ? lowering.values.known(node.inputs[2]!)
    : tensorOf('u8', [], [0])
  if (offset === undefined || numbersOf(offset).some((each) => each !== 0))
    throw unclaimed(node, 'its codes have a zero point that does not come from DynamicQuantizeLinear')
  return x
}

/** The codes of input 1 minus their zero points, input 3. */
const centredCodes = (lowering: Lowering, node: Node, axis: number): Ref =>
  lowering.values.decoded(node, node.inputs[1]!, {
    axis,
    scale: [1],
    zero: constantOf(lowering, node, 3, [0]),
  })

const matMulInteger: Handler = (lowering, node) => {
  const a = unrounded(lowering, node)
  const axis = lowering.values.dims(node, node.inputs[1]!).length - 1
  const b = centredCodes(lowering, node, axis)
  lowering.values.name(node.outputs[0]!, productOf(lowering, node, a, b))
}

const convInteger: Handler = (lowering, node) => {
  const x = unrounded(lowering, node)
  const filters = centredCodes(lowering, node, 0)
  convolve(lowering, node, { x, filters, group: intOf(node, 'group', 1) })
}

interface ScaledInputs {
  readonly right: number
  readonly scale: number
  readonly zero: number
  readonly bias: number
}

/** Unrounded rows times codes with their scales, plus a bias. */
function scaledProduct(lowering: Lowering, node: Node, at: ScaledInputs): void {
  const a = lowering.values.ref(node, node.inputs[0]!)
  const right = node.inputs[at.right]!
  const dims = lowering.values.dims(node, right)
  const scale = constantOf(lowering, node, at.scale, [])
  const zero = constantOf(lowering, node, at.zero, [0])
  for (const { length } of [scale, zero])
    if (length !== 1 && length !== dims.at(-1))
      throw unfit(node, `it has ${length} scales or zero points for ${dims.at(-1)} columns`)
  const b = lowering.values.decoded(node, right, { axis: dims.length - 1, scale, zero })
  const made = productOf(lowering, node, a, b)
  const [name = ''] = node.outputs
  if (!hasInput(node, at.bias)) {
    lowering.values.name(name, made)
    return
  }
  const args = [made]
  const sum = add(arg(0), operand(lowering, node, node.inputs[at.bias]!, args))
  lowering.values.name(name, map(lowering, node, args, sum, name))
}

const dynamicQuantizeMatMul: Handler = (lowering, node) =>
  scaledProduct(lowering, node, { right: 1, scale: 2, zero: 3, bias: 4 })

const matMulIntegerToFloat: Handler = (lowering, node) => {
  if (lowering.values.ref(node, node.inputs[0]!).value.kind !== 'f32')
    throw unclaimed(node, 'codes that do not come from DynamicQuantizeLinear are not compiled')
  scaledProduct(lowering, node, { right: 1, scale: 3, zero: 5, bias: 6 })
}

/** A times the transpose of a matrix whose rows have one scale per block of codes. */
const matMulNBits: Handler = (lowering, node) => {
  const [left = '', right = '', scales = '', zeros = '', order = '', bias = ''] = node.inputs
  const { n, k, bits, block } = formOf(node)
  if (bits !== 4 && bits !== 8) throw unclaimed(node, `${bits}-bit weights are not compiled`)
  if (k % block !== 0) throw unclaimed(node, `its rows of ${k} are not a multiple of the block size ${block}`)
  if (order !== '') throw unclaimed(node, 'reordered blocks are not compiled')
  const constants = [right, scales, ...(zeros === '' ? [] : [zeros])]
  if (constants.some((name) => !lowering.graph.constants.has(name)))
    throw unclaimed(node, 'its codes, scales or zero points are not constants')
  if (zeros !== '' && lowering.values.dtype(node, zeros) !== 'u8')
    throw unclaimed(node, 'zero points that are not codes are not compiled')
  const codes = { bits, block, k, scales, ...(zeros !== '' && { zeros }) } as const
  const rows = lowering.values.decoded(node, right, codes, [n, k])
  const b = { ...rows, view: transposed(rows.view, [1, 0]) }
  const made = productOf(lowering, node, lowering.values.ref(node, left), b)
  const args = [made]
  const whole = bias === '' ? undefined : add(arg(0), operand(lowering, node, bias, args))
  const [name = ''] = node.outputs
  lowering.values.name(name, whole === undefined ? made : map(lowering, node, args, whole, name))
}

/**
 * Gathers rows of words that have one scale per block. Each number in a word is shifted to the top, then
 * down.
 */
const gatherBlocks: Handler = (lowering, node) => {
  const [data = '', chosen = '', scales = '', zeros = ''] = node.inputs
  const dtype = lowering.values.dtype(node, data)
  const bits = 32 / (dtype === 'u8' ? 4 * perElement(node, dtype) : 8)
  const each = 32 / bits
  const dims = lowering.values.dims(node, data)
  const axis = (name: string, usual: number) => axisOf(node, intOf(node, name, usual), dims.length)
  if (dims.length !== 2 || axis('gather_axis', 0) !== 0 || axis('quantize_axis', 1) !== 1)
    throw unclaimed(node, 'it does not gather rows of blocks')
  const k = dims[1]! * perElement(node, dtype)
  const block = intOf(node, 'block_size', 128)
  const blocks = k / block
  if (block < 16 || !Number.isInteger(blocks))
    throw unclaimed(node, `its rows of ${k} are not a multiple of the block size ${block}`)
  const indices = lowering.values.ref(node, chosen)
  const rows = (table: Ref, ...tail: number[]): Ref => {
    const made = gatherAlong(lowering, node, { data: table, axis: 0, indices, name: node.name })
    return reshape(lowering, node, made, [...dimsOf(indices), blocks, ...tail, 1])
  }
  const words = rows(lowering.values.packed(node, data, 'words', [dims[0]!, k / each]), block / each)
  const toTop = lowering.once(`top ${bits}`, () =>
    lowering.values.table('i32', [each], (at) => 2 ** (32 - bits * (at + 1))),
  )
  const args = [words, toTop, rows(lowering.values.ref(node, scales), 1)]
  const moved = apply('i.mul', arg(0, 'i32'), arg(1, 'i32'))
  const code = apply('i.shr', moved, number(32 - bits, 'i32'))
  const middle = dtype === 'i4' ? SIGNED_MIDDLE : dtype === 'u8' && zeros === '' ? 2 ** (bits - 1) : 0
  let whole = apply('i.sub', code, number(middle, 'i32'))
  if (zeros !== '')
    whole = apply('i.sub', whole, arg(args.push(rows(zerosOf(lowering, node, blocks), 1)) - 1, 'i32'))
  const made = map(lowering, node, args, mul(apply('to f32', whole), arg(2)))
  const [name = ''] = node.outputs
  lowering.values.name(name, reshape(lowering, node, made, lowering.values.dims(node, name)))
}

/** Zero points [n, blocks]; two may share a byte. Each row begins at a byte boundary. */
function zerosOf(lowering: Lowering, node: Node, blocks: number): Ref {
  const name = node.inputs[3]!
  const dtype = lowering.values.dtype(node, name)
  const perByte = perElement(node, dtype)
  if (dtype === 'u8' && perByte === 1) return lowering.values.ref(node, name)
  const [n = 0, own = 0] = lowering.values.dims(node, name)
  const count = perByte * own
  if (count < blocks) throw unfit(node, `it has ${count} zero points for ${blocks} blocks`)
  const all = lowering.values.packed(node, name, 'nibbles', [n, count])
  return { ...all, view: sliced(all.view, 1, 0, blocks) }
}

export const CODE_HANDLERS = {
  DequantizeLinear: dequantize,
  QuantizeLinear: quantize,
  DynamicQuantizeLinear: dynamicQuantize,
  ConvInteger: convInteger,
  QLinearConv: qLinearConv,
  MatMulInteger: matMulInteger,
  'com.microsoft:DynamicQuantizeMatMul': dynamicQuantizeMatMul,
  'com.microsoft:MatMulIntegerToFloat': matMulIntegerToFloat,
  'com.microsoft:MatMulNBits': matMulNBits,
  'com.microsoft:GatherBlockQuantized': gatherBlocks,
} satisfies SomeHandlers
