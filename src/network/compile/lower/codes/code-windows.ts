// Convolutions of 8-bit codes: sums of integers, which are exact, and scaled afterwards.
import { type Graph, hasInput, type Node, outputsOf, producersOf, readersOf } from '../../../onnx/ir/graph.ts'
import { intOf } from '../../../onnx/ir/operator.ts'
import { countOf, type DType, numbersOf } from '../../../onnx/ir/tensor.ts'
import { operatorName } from '../../../onnx/operator-table.ts'
import { type Axis, axesOf } from '../../../onnx/operators/images/conv.ts'
import { STEP_CODES } from '../../emit/kernel.ts'
import { type CodeMatrix, dimsOf, type Ref, refTo } from '../../loops/loops.ts'
import { add, apply, arg, div, mul, number, sub, type Tree } from '../../loops/tree.ts'
import { transposed } from '../../loops/view.ts'
import { bordered, channelsSecond } from '../convolutions/convolution.ts'
import { codedRows } from '../convolutions/window-sides.ts'
import { convolved, productView, windowsIn } from '../convolutions/windows.ts'
import { padded, reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { CodeSums, Lowering } from '../lowering/lowering.ts'
import { reduce } from '../lowering/sums.ts'
import { along } from '../lowering/taps.ts'
import { dequantised, wholeBias } from './dequantised.ts'
import {
  bytesOf,
  CODE_DTYPES,
  type CodedFilters,
  type CodedInput,
  centredCodes,
  centredSums,
  MAX_PRODUCTS,
  storedZero,
} from './zero-points.ts'

interface CodedConvolution {
  readonly x: CodedInput
  readonly filters: CodedFilters
  /** Only if the zero point of x is known. */
  readonly bias?: CodeMatrix['bias']
}

interface CodeWindow {
  readonly batch: number
  readonly count: number
  readonly perGroup: number
  readonly group: number
  readonly kernel: readonly number[]
  readonly axes: readonly Axis[]
  readonly places: readonly number[]
  /** Whether each channel has a filter of its own. */
  readonly isChannelwise: boolean
}

/**
 * The sizes of a convolution of the codes `x` with the constant codes `filters`. Undefined if it is not
 * computed in codes.
 */
export function codeWindow(
  { values, graph }: Lowering,
  node: Node,
  x: string,
  filters: string,
): CodeWindow | undefined {
  const isKnown = graph.constants.has(filters) && !graph.constants.has(x)
  if (!isKnown || ![x, filters].every((name) => CODE_DTYPES.includes(values.dtype(node, name))))
    return undefined
  const [count, perGroup, ...kernel] = values.dims(node, filters) as [number, number, ...number[]]
  const group = intOf(node, 'group', 1)
  const [batch, channels, ...sizes] = values.dims(node, x) as [number, number, ...number[]]
  if (sizes.length === 0 || channels !== perGroup * group || count % group !== 0) return undefined
  const [, , ...places] = values.dims(node, node.outputs[0]!)
  if (countOf([batch, count, perGroup, ...places, ...kernel]) === 0) return undefined
  const axes = axesOf(node, sizes, kernel)!
  const isChannelwise = perGroup === 1 && count === group && group > 1
  const more = moreChannels(perGroup)
  const isFit = isChannelwise
    ? countOf(kernel) <= MAX_EXACT_TAPS
    : (group === 1 || more === 0) && countOf([perGroup + more, ...kernel]) <= MAX_PRODUCTS
  return isFit ? { batch, count, perGroup, group, kernel, axes, places, isChannelwise } : undefined
}

/** How many channels a group lacks for whole steps. */
const moreChannels = (perGroup: number): number => (STEP_CODES - (perGroup % STEP_CODES)) % STEP_CODES

/**
 * The sums of a convolution, [batch, channels, ...places]: i32, or f32 that are integers. Undefined if it is
 * not computed in codes.
 */
export function codeSums(lowering: Lowering, node: Node, convolution: CodedConvolution): Ref | undefined {
  const { x, filters } = convolution
  const sizes = codeWindow(lowering, node, x.codes, filters.codes)
  if (sizes === undefined) return undefined
  if (filters.zero.length !== 1 && filters.zero.length !== sizes.count) return undefined
  return (sizes.isChannelwise ? channelSums : dotSums)(lowering, node, convolution, sizes)
}

/** Sums of i32, by dot products of bytes. */
function dotSums(lowering: Lowering, node: Node, convolution: CodedConvolution, sizes: CodeWindow): Ref {
  const { x, filters, bias } = convolution
  const { batch, count, perGroup, group, kernel, axes, places } = sizes
  const { values } = lowering
  const more = moreChannels(perGroup)
  const taps = [perGroup + more, ...kernel]
  const zero = storedZero(lowering, node, x)
  const input = bordered(lowering, node, bytesOf(lowering, node, x.codes), axes, true, { fill: zero, more })
  const windows = windowsIn(input, { axes, places, group })
  const { a, order, windows: tables } = codedRows(lowering, windows, taps, places.length)
  const own = group > 1 ? [group, count / group] : [count]
  const dims = [batch, ...places, ...own]
  const out = values.make(node.outputs[0]!, 'i32', dims)
  // The strides only say which axes have filters of their own.
  const view = {
    offset: 0,
    dims: [batch, group, countOf(taps), count / group],
    strides: [0, group > 1 ? 1 : 0, 0, 0],
  }
  const form = 'filters'
  const known = typeof zero === 'number' ? zero : 0
  lowering.add({
    loop: 'product',
    node: node.name,
    mapping: 'many-to-many',
    out,
    args: [a, { ...values.coded(node, filters.codes), view }],
    at: productView(dims, { places, count }, group, batch),
    windows: tables,
    codes: { form, zero: known, bias, group, order, channels: perGroup + more },
  })
  const inputs = () => windowSums(lowering, node, x, sizes)
  const made = centredSums(lowering, node, refTo(out), { form, filters, count, zero, own, inputs })
  return channelsSecond(reshape(lowering, node, made, [batch, ...places, count]))
}

/**
 * The sum of the codes in each window of each group, minus their zero points: [batch, ...places, 1], or with
 * several groups [batch, ...places, group, 1].
 */
function windowSums(
  lowering: Lowering,
  node: Node,
  x: CodedInput,
  { batch, perGroup, group, axes, places }: CodeWindow,
): Ref {
  const ref = bytesOf(lowering, node, x.codes)
  const sizes = dimsOf(ref).slice(2)
  const split = reshape(lowering, node, ref, [batch, group, perGroup, ...sizes])
  const centred = centredCodes(lowering, node, split, storedZero(lowering, node, x))
  const sums = reduce(lowering, node, centred, [2], 'sum')
  const none = [0, 0] as const
  const around = [none, none, ...axes.map(({ before, after }) => [before, after] as const)]
  const isBordered = around.some(([before, after]) => before + after > 0)
  let made = isBordered ? padded(lowering, node, sums, around, 0) : sums
  for (const [at, axis] of axes.entries())
    made = along(lowering, node, made, { axis: at + 2, window: axis, places: places[at]!, by: WHOLE })
  const order = [0, ...places.map((_, at) => at + 2), ...(group > 1 ? [1] : [])]
  const turned = group > 1 ? made : reshape(lowering, node, made, [batch, 1, ...places])
  const rows = transposed(turned.view, group > 1 ? order : [...order, 1])
  return group > 1
    ? reshape(lowering, node, { ...turned, view: rows }, [batch, ...places, group, 1])
    : { ...turned, view: rows }
}

const WHOLE = { combine: (a: Tree, b: Tree): Tree => apply('i.add', a, b), how: 'sum' } as const

/** Taps of a filter whose sums are exact in f32, with a bias of the same size. */
const MAX_EXACT_TAPS = 64

/** Sums of a filter per channel, which have so few products that f32 is exact. */
function channelSums(
  lowering: Lowering,
  node: Node,
  { x, filters, bias }: CodedConvolution,
  { count, group, axes, places }: CodeWindow,
): Ref {
  const { values } = lowering
  const ref = values.ref(node, x.codes)
  const zero = ref.value.isByte === true ? storedZero(lowering, node, x) : x.zero
  const isNumber = typeof zero === 'number'
  const key = `centred ${ref.value.id} ${JSON.stringify(ref.view)} ${isNumber ? zero : zero.value.id}`
  const offset = isNumber ? number(zero) : apply('to f32', arg(1, 'i32'))
  const floats = lowering.once(key, () =>
    map(lowering, node, isNumber ? [ref] : [ref, zero], sub(asFloat(ref), offset)),
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
  const scales = perChannel(lowering, bias.scale, places.length)
  const addend =
    own.value.kind === 'i32' ? apply('to f32', arg(1, 'i32')) : apply('nearest', div(arg(1), arg(2)))
  return map(lowering, node, [made, own, scales], add(arg(0), addend))
}

/** The first argument as a float. */
export const asFloat = ({ value }: Ref): Tree =>
  value.kind === 'f32' ? arg(0) : apply('to f32', arg(0, 'i32'))

/**
 * One scale for each channel, or for all, as a reference that spreads over [..., channels] and `after` more
 * axes.
 */
export function perChannel(lowering: Lowering, scale: readonly number[], after: number): Ref {
  const ones = Array.from({ length: after }, () => 1)
  return lowering.once(`scales ${after} ${scale}`, () =>
    lowering.values.table('f32', [scale.length, ...ones], (at) => scale[at]!),
  )
}

/** Computes a Conv of dequantised codes, if that is what the node is. */
export function convolveCodes(lowering: Lowering, node: Node): boolean {
  const found = codedConvolution(lowering, node)
  if (found === undefined) return false
  const { scale } = found
  const [name = ''] = node.outputs
  const given = hasInput(node, 2) ? node.inputs[2]! : undefined
  const bias = given === undefined ? undefined : wholeBias(lowering, given, scale)
  const sums = codeSums(lowering, node, { ...found, bias })
  if (sums === undefined) return false
  const args = [sums, perChannel(lowering, scale, dimsOf(sums).length - 2)]
  let tree = mul(asFloat(sums), arg(1))
  if (given === undefined || bias !== undefined)
    lowering.sums.set(name, { ref: sums, scale, after: dimsOf(sums).length - 2 })
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
  const scale = filters.scale.map((each) => Math.fround(x.scale[0]! * each))
  return { x: { codes: x.codes, zero: x.zero[0]! }, filters, scale }
}

/** Operators that read codes, their first input, as bytes. */
const READS_BYTES: ReadonlySet<string> = new Set([
  ...['ConvInteger', 'DequantizeLinear', 'MatMulInteger', 'QLinearConv', 'QLinearMatMul'],
  'com.microsoft:MatMulIntegerToFloat',
])

/** Whether only nodes that read codes as bytes read the value. */
export const areBytes = (graph: Graph, name: string, dtype: DType): boolean =>
  CODE_DTYPES.includes(dtype) &&
  !outputsOf(graph).has(name) &&
  (readersOf(graph).get(name) ?? []).every(
    (node) => READS_BYTES.has(operatorName(node)) && node.inputs.lastIndexOf(name) === 0,
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
