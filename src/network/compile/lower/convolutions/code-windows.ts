// Convolutions of 8-bit codes: sums of integers, which are exact, and scaled afterwards.
import { type Graph, hasInput, type Node, outputsOf, producersOf, readersOf } from '../../../onnx/ir/graph.ts'
import { intOf } from '../../../onnx/ir/operator.ts'
import { countOf, type DType, numbersOf } from '../../../onnx/ir/tensor.ts'
import { type Axis, axesOf } from '../../../onnx/operators/images/conv.ts'
import { STEP_CODES } from '../../emit/kernel.ts'
import { type CodeMatrix, dimsOf, type Ref, refTo } from '../../loops/loops.ts'
import { add, apply, arg, div, mul, number, sub, type Tree } from '../../loops/tree.ts'
import { reshape } from '../lowering/layouts.ts'
import { map, mapToBytes } from '../lowering/loops.ts'
import type { CodeSums, Lowering } from '../lowering/lowering.ts'
import { bordered, channelsSecond } from './convolution.ts'
import { codedRows } from './window-sides.ts'
import { convolved, productView, windowsIn } from './windows.ts'

/** Added to codes of i8 when they are stored, so that none is negative. */
export const storedOffset = (dtype: DType): number => (dtype === 'i8' ? 128 : 0)

/** Sums have at most this many products, so that they fit into 31 bits. */
const MAX_PRODUCTS = 2 ** 15

/** Codes with one scale and zero point. */
interface CodedInput {
  readonly codes: string
  readonly scale: number
  /** As the file has it. */
  readonly zero: number
}

/** Constant filters with one zero point, or one for each. */
interface CodedFilters {
  readonly codes: string
  readonly zero: readonly number[]
}

interface CodedConvolution {
  readonly x: CodedInput
  readonly filters: CodedFilters
  readonly bias?: CodeMatrix['bias']
}

/**
 * The sums of a convolution, [batch, channels, ...places]: i32, or f32 that are integers. Undefined if it is
 * not computed in codes.
 */
export function codeSums(lowering: Lowering, node: Node, convolution: CodedConvolution): Ref | undefined {
  const { x, filters } = convolution
  const { values, graph } = lowering
  const isKnown = graph.constants.has(filters.codes) && !graph.constants.has(x.codes)
  if (!isKnown || ![x, filters].every(({ codes }) => BYTES.includes(values.dtype(node, codes))))
    return undefined
  const [count, perGroup, ...kernel] = values.dims(node, filters.codes) as [number, number, ...number[]]
  const group = intOf(node, 'group', 1)
  const [batch, channels, ...sizes] = values.dims(node, x.codes) as [number, number, ...number[]]
  if (sizes.length === 0 || channels !== perGroup * group || count % group !== 0) return undefined
  const [, , ...places] = values.dims(node, node.outputs[0]!)
  if (countOf([batch, count, perGroup, ...places, ...kernel]) === 0) return undefined
  if (filters.zero.length !== 1 && filters.zero.length !== count) return undefined
  const axes = axesOf(node, sizes, kernel)!
  const window = { batch, count, perGroup, group, kernel, axes, places }
  if (perGroup === 1 && count === group && group > 1) return channelSums(lowering, node, convolution, window)
  return isCentred(lowering, node, filters) ? dotSums(lowering, node, convolution, window) : undefined
}

interface CodeWindow {
  readonly batch: number
  readonly count: number
  readonly perGroup: number
  readonly group: number
  readonly kernel: readonly number[]
  readonly axes: readonly Axis[]
  readonly places: readonly number[]
}

/** Whether the filters' codes minus their zero points are i8. */
function isCentred({ values }: Lowering, node: Node, { codes, zero }: CodedFilters): boolean {
  const middle = values.dtype(node, codes) === 'u8' ? 128 : 0
  return zero.every((each) => each === middle)
}

/** Sums of i32, by dot products of bytes. */
function dotSums(
  lowering: Lowering,
  node: Node,
  { x, filters, bias }: CodedConvolution,
  { batch, count, perGroup, group, kernel, axes, places }: CodeWindow,
): Ref | undefined {
  const { values } = lowering
  const more = (STEP_CODES - (perGroup % STEP_CODES)) % STEP_CODES
  const taps = [perGroup + more, ...kernel]
  if ((group > 1 && more > 0) || countOf(taps) > MAX_PRODUCTS) return undefined
  const zero = x.zero + storedOffset(values.dtype(node, x.codes))
  const input = bordered(lowering, node, bytesOf(lowering, node, x.codes), axes, true, { fill: zero, more })
  const windows = windowsIn(input, { axes, places, group })
  const { a, order, windows: tables } = codedRows(lowering, windows, taps, places.length)
  const dims = group > 1 ? [batch, ...places, group, count / group] : [batch, ...places, count]
  const out = values.make(node.outputs[0]!, 'i32', dims)
  // The strides only say which axes have filters of their own.
  const view = {
    offset: 0,
    dims: [batch, group, countOf(taps), count / group],
    strides: [0, group > 1 ? 1 : 0, 0, 0],
  }
  lowering.add({
    loop: 'product',
    node: node.name,
    mapping: 'many-to-many',
    out,
    args: [a, { ...values.coded(node, filters.codes), view }],
    at: productView(dims, { places, count }, group, batch),
    windows: tables,
    codes: { zero, bias, group, order, channels: perGroup + more },
  })
  return channelsSecond(reshape(lowering, node, refTo(out), [batch, ...places, count]))
}

/** Taps of a filter whose sums are exact in f32, with a bias of the same size. */
const MAX_EXACT_TAPS = 64

/** Sums of a filter per channel, which have so few products that f32 is exact. */
function channelSums(
  lowering: Lowering,
  node: Node,
  { x, filters, bias }: CodedConvolution,
  { count, group, kernel, axes, places }: CodeWindow,
): Ref | undefined {
  const { values } = lowering
  if (countOf(kernel) > MAX_EXACT_TAPS) return undefined
  const ref = values.ref(node, x.codes)
  const zero = x.zero + (ref.value.isByte === true ? storedOffset(values.dtype(node, x.codes)) : 0)
  const floats = lowering.once(`centred ${ref.value.id} ${JSON.stringify(ref.view)} ${zero}`, () =>
    map(lowering, node, [ref], sub(asFloat(ref), number(zero))),
  )
  const centred = { axis: 0, scale: [1], zero: filters.zero }
  const made = convolved(lowering, node, {
    x: floats,
    filters: values.decoded(node, filters.codes, centred),
    axes,
    places,
    group,
  })
  if (bias === undefined) return made
  const own = reshape(lowering, node, values.ref(node, bias.constant), [count, ...places.map(() => 1)])
  const scales = perChannel(lowering, bias.scale, dimsOf(made).length)
  const addend =
    own.value.kind === 'i32' ? apply('to f32', arg(1, 'i32')) : apply('nearest', div(arg(1), arg(2)))
  return map(lowering, node, [made, own, scales], add(arg(0), addend))
}

/** The first argument as a float. */
export const asFloat = ({ value }: Ref): Tree =>
  value.kind === 'f32' ? arg(0) : apply('to f32', arg(0, 'i32'))

/** The codes as bytes, as they are stored. */
function bytesOf(lowering: Lowering, node: Node, name: string): Ref {
  const ref = lowering.values.ref(node, name)
  if (ref.value.isByte === true) return ref
  const offset = storedOffset(lowering.values.dtype(node, name))
  return lowering.once(`bytes of ${name}`, () =>
    mapToBytes(lowering, node, [ref], apply('i.add', arg(0, 'i32'), number(offset, 'i32'))),
  )
}

/** One scale for each channel, or for all, as a reference that spreads over [batch, channels, ...places]. */
export function perChannel(lowering: Lowering, scale: readonly number[], rank: number): Ref {
  const after = Array.from({ length: rank - 2 }, () => 1)
  return lowering.once(`scales ${rank} ${scale}`, () =>
    lowering.values.table('f32', [scale.length, ...after], (at) => scale[at]!),
  )
}

/** Computes a Conv of dequantised codes, if that is what the node is. */
export function convolveCodes(lowering: Lowering, node: Node): boolean {
  const found = codedConvolution(lowering, node)
  if (found === undefined) return false
  const scale = found.scale.map((each) => Math.fround(found.x.scale * each))
  const [name = ''] = node.outputs
  const given = hasInput(node, 2) ? node.inputs[2]! : undefined
  const bias = given === undefined ? undefined : wholeBias(lowering, given, scale)
  const sums = codeSums(lowering, node, { ...found, bias })
  if (sums === undefined) return false
  const args = [sums, perChannel(lowering, scale, dimsOf(sums).length)]
  let tree = mul(asFloat(sums), arg(1))
  if (given === undefined || bias !== undefined) lowering.sums.set(name, { ref: sums, scale })
  else {
    const own = lowering.values.ref(node, given)
    args.push(
      reshape(lowering, node, own, [
        countOf(dimsOf(own)),
        ...dimsOf(sums)
          .slice(2)
          .map(() => 1),
      ]),
    )
    tree = add(tree, arg(2))
  }
  lowering.values.name(name, map(lowering, node, args, tree, name))
  return true
}

function codedConvolution(
  lowering: Lowering,
  node: Node,
): (Pick<CodedConvolution, 'x' | 'filters'> & { readonly scale: readonly number[] }) | undefined {
  const [x, filters] = node.inputs.slice(0, 2).map((name) => dequantised(lowering, name))
  if (x === undefined || filters === undefined || x.scale.length !== 1 || x.zero.length !== 1)
    return undefined
  if (filters.axis !== 0) return undefined
  return { x: { codes: x.codes, scale: x.scale[0]!, zero: x.zero[0]! }, filters, scale: filters.scale }
}

const BYTES: readonly DType[] = ['u8', 'i8']

/**
 * A constant bias that is a multiple of the sums' scale, as quantisers round it, except for the rounding of
 * the product. Undefined if it is something else.
 */
function wholeBias({ values }: Lowering, name: string, scale: readonly number[]): CodeMatrix['bias'] {
  const bias = values.known(name)
  if (bias?.dtype !== 'f32') return undefined
  const isWhole = numbersOf(bias).every((each, at) => {
    const quotient = each / scale[scale.length === 1 ? 0 : at]!
    return (
      Math.abs(quotient - Math.round(quotient)) <= 1e-3 + Math.abs(quotient) * 2 ** -22 && isSmall(quotient)
    )
  })
  return isWhole ? { constant: name, scale } : undefined
}

const isSmall = (sum: number): boolean => Math.abs(sum) < 2 ** 29

interface Dequantised {
  readonly codes: string
  readonly scale: readonly number[]
  readonly zero: readonly number[]
  readonly axis: number
}

/** The codes, scales and zero points from which DequantizeLinear computes a value. */
function dequantised({ graph, values }: Lowering, name: string): Dequantised | undefined {
  const node = producersOf(graph).get(name)
  if (node?.op !== 'DequantizeLinear' || node.domain !== '' || intOf(node, 'block_size', 0) !== 0)
    return undefined
  const [codes = '', scaleName = '', zeroName = ''] = node.inputs
  const scale = values.known(scaleName)
  const zero = hasInput(node, 2) ? values.known(zeroName) : undefined
  if (scale === undefined || (hasInput(node, 2) && zero === undefined) || scale.dtype !== 'f32')
    return undefined
  const axis = scale.data.length === 1 ? 0 : intOf(node, 'axis', 1)
  return { codes, scale: numbersOf(scale), zero: zero === undefined ? [0] : numbersOf(zero), axis }
}

/** Whether only nodes that read codes as bytes read the value. */
export const areBytes = (graph: Graph, name: string, dtype: DType): boolean =>
  BYTES.includes(dtype) &&
  !outputsOf(graph).has(name) &&
  (readersOf(graph).get(name) ?? []).every(
    ({ op, domain, inputs }) => domain === '' && op === 'DequantizeLinear' && inputs.lastIndexOf(name) === 0,
  )

/** The integer sums that equal a value, up to scales and the limits of activations in between. */
export interface Limited {
  readonly sums: CodeSums
  readonly low: number
  readonly high: number
}

/** Follows activations that only limit a value back to the sums of a convolution of codes. */
export function limitedSums({ graph, values, sums }: Lowering, name: string): Limited | undefined {
  let [low, high] = [-Infinity, Infinity]
  for (let at = name; ; ) {
    const found = sums.get(at)
    if (found !== undefined) return { sums: found, low, high }
    const node = producersOf(graph).get(at)
    if (node === undefined || node.domain !== '') return undefined
    const bound = (index: number, usual: number): number | undefined => {
      if (!hasInput(node, index)) return usual
      const known = values.known(node.inputs[index]!)
      return known === undefined ? undefined : numbersOf(known)[0]
    }
    const isClip = node.op === 'Clip' && node.version >= 11
    if (node.op !== 'Relu' && !isClip) return undefined
    const from = isClip ? bound(1, -Infinity) : 0
    const to = isClip ? bound(2, Infinity) : Infinity
    if (from === undefined || to === undefined || !(from <= to))
      return undefined
      // The inner limits are applied first, then the outer ones.
    ;[low, high] = [Math.min(Math.max(from, low), high), Math.max(Math.min(to, high), low)]
    at = node.inputs[0]!
  }
}
