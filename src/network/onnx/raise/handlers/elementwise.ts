// Handlers of elementwise operators: sums, gates, activations and scaled rows.
import type { Activation, Value } from '../../../../core/graph/ir.ts'
import { axisOf } from '../../ir/broadcast.ts'
import type { Dim } from '../../ir/dims.ts'
import { hasInput, isStored, type Node } from '../../ir/graph.ts'
import { floatOf, intOf, stringOf, unclaimed } from '../../ir/operator.ts'
import { DTYPES, type DType, isFloat } from '../../ir/tensor.ts'
import type { Scaled } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'

export interface AxisCut {
  readonly axis: number
  /** 0 <= from, to <= size. */
  readonly from: number
  readonly to: number
  readonly size: number
}

/** Undefined for any other Slice, and along an axis of unknown size. */
export function axisCut(
  t: Translator,
  node: Node,
  rank: number,
  sizeOf: (axis: number) => Dim | undefined,
  step = 1,
): AxisCut | undefined {
  const starts = t.types.numbers(node, 1)
  const ends = t.types.numbers(node, 2)
  const axes = hasInput(node, 3) ? t.types.numbers(node, 3) : [0]
  const steps = hasInput(node, 4) ? t.types.numbers(node, 4) : [1]
  if (starts?.length !== 1 || ends?.length !== 1 || axes?.length !== 1 || steps?.[0] !== step)
    return undefined
  const axis = axisOf(node, axes[0]!, rank)
  const size = sizeOf(axis)
  if (typeof size !== 'number') return undefined
  const within = (at: number) => Math.min(size, Math.max(0, at < 0 ? at + size : at))
  return { axis, from: within(starts[0]!), to: within(ends[0]!), size }
}

/** Columns of rows, such as queries, keys and values that come from one product: Slice with step 1. */
export const sliceRows: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const rank = t.types.get(node.inputs[0] ?? '')?.dims?.length ?? 0
  const value = t.meanings.rows(node, 0)
  const cut = axisCut(t, node, rank, (axis) => (axis === rank - 1 ? value.shape[1] : undefined))
  if (cut === undefined || cut.from >= cut.to) return false
  t.meanings.setRows(node, 0, columns(t, node, 0, cut.from, cut.to - cut.from))
  return true
}

/** Adjacent columns: Split along the last axis. */
export const splitRows: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const rank = t.types.get(node.inputs[0] ?? '')?.dims?.length ?? 0
  if (rank < 2 || axisOf(node, intOf(node, 'axis', 0), rank) !== rank - 1) return false
  const widths = node.outputs.map((_, output) => t.types.dims(node, output)?.at(-1))
  if (!widths.every((width) => typeof width === 'number' && width > 0)) return false
  let start = 0
  for (const [output, width] of (widths as number[]).entries()) {
    t.meanings.setRows(node, output, columns(t, node, output, start, width))
    start += width
  }
  return true
}

function columns(t: Translator, node: Node, output: number, start: number, width: number): Value {
  const input = t.meanings.rows(node, 0)
  if (width === input.shape[1]) return input
  return t.b.node(node.outputs[output] || node.name, { op: 'slice', input, start, width })
}

export const add: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0) || !t.meanings.isRows(node, 1)) return false
  t.meanings.setRows(node, 0, sumOf(t, node, node.outputs[0] ?? node.name))
  return true
}

/** The sum of the first two inputs. One of them may be scaled. */
export function sumOf(t: Translator, node: Node, label: string): Value {
  for (const [one, other] of [
    [1, 0],
    [0, 1],
  ] as const) {
    const scaled = t.meanings.read(node, one)
    if (scaled?.is === 'scaled' && scaled.cap === 0)
      return t.b.add(label, t.meanings.rows(node, other), scaled.value, scaled.scale)
  }
  return t.b.add(label, t.meanings.rows(node, 0), t.meanings.rows(node, 1))
}

/** Operators that pass their input's factor on. */
const TAKES_SCALE = /^(Add|Mul|Div|Tanh|Skip(Simplified)?LayerNormalization)$/

/** Rows times a number. */
export const scale: Handler = (t, node) =>
  scaleBy(t, node, 0, t.types.scalar(node, 1)) || scaleBy(t, node, 1, t.types.scalar(node, 0))

export const divideBy: Handler = (t, node) => {
  const number = t.types.scalar(node, 1)
  return scaleBy(t, node, 0, number === undefined ? undefined : 1 / number)
}

/** A soft cap, once the factors before and after it are known. */
export const tanh: Handler = (t, node) => {
  const rows = scaledRows(t, node, 0)
  return rows !== undefined && rows.cap === 0 && setScaled(t, node, { ...rows, cap: 1 })
}

function scaleBy(t: Translator, node: Node, index: number, by: number | undefined): boolean {
  const rows = scaledRows(t, node, index)
  if (rows === undefined || by === undefined || rows.cap * by < 0) return false
  checkFactor(node, by)
  return setScaled(t, node, { ...rows, scale: rows.scale * by, cap: rows.cap * by })
}

/** Throws `unsupported` for a factor that is 0 or not finite. */
export function checkFactor(node: Node, by: number): void {
  if (Number.isFinite(by) && by !== 0) return
  throw unclaimed(node, `it multiplies by ${by}; only finite numbers other than 0 are supported`)
}

function scaledRows(t: Translator, node: Node, index: number): Scaled | undefined {
  const rows = t.meanings.read(node, index)
  if (rows?.is === 'scaled') return rows
  return rows?.is === 'rows' ? { is: 'scaled', value: rows.value, scale: 1, cap: 0 } : undefined
}

function setScaled(t: Translator, node: Node, { value, scale, cap }: Scaled): true {
  if (TAKES_SCALE.test(t.onlyReader(node)?.op ?? ''))
    t.meanings.set(node, 0, { is: 'scaled', value, scale, cap })
  else t.meanings.setRows(node, 0, t.b.rescale(node.outputs[0] ?? node.name, value, scale, cap))
  return true
}

/** activation(gate) * up, or x * sigmoid(x). */
export const multiply: Handler = (t, node) => {
  const left = t.meanings.read(node, 0)
  const right = t.meanings.read(node, 1)
  for (const [one, other, at] of [
    [left, right, 1],
    [right, left, 0],
  ] as const) {
    if (one?.is === 'sigmoid' && other?.is === 'rows' && one.value === other.value) {
      t.meanings.set(node, 0, { is: 'gate', value: one.value, activation: 'silu' })
      return true
    }
    if (one?.is === 'gate' && (other?.is === 'rows' || other?.is === 'scaled')) {
      const up = t.meanings.rows(node, at)
      t.findings.intermediateSize = Math.max(t.findings.intermediateSize, up.shape[1])
      t.meanings.setRows(node, 0, t.b.swiglu(node.outputs[0] ?? node.name, [one.value, up], one.activation))
      return true
    }
  }
  return false
}

/** Rows times other rows, such as the remainder of a gate whose activation is quantised. */
export const multiplyRows: Handler = (t, node) => {
  if (t.states.areRecurrent || !t.meanings.isRows(node, 0) || !t.meanings.isRows(node, 1)) return false
  const left = t.meanings.rows(node, 0)
  const right = t.meanings.rows(node, 1)
  if (left === right || left.shape[1] !== right.shape[1]) return false
  t.findings.intermediateSize = Math.max(t.findings.intermediateSize, right.shape[1])
  t.meanings.setRows(node, 0, t.b.swiglu(node.outputs[0] ?? node.name, [left, right], 'none'))
  return true
}

/** No float in a model is larger than this. */
const MAX = 3e38

/** The positive values of rows, and 0 for the rest. */
export const relu: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const input = t.meanings.rows(node, 0)
  t.findings.intermediateSize = Math.max(t.findings.intermediateSize, input.shape[1])
  t.meanings.setRows(node, 0, t.b.clamp(node.outputs[0] ?? node.name, input, { least: 0, most: MAX }))
  return true
}

export const sigmoid: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is !== 'rows') return false
  t.meanings.set(node, 0, { is: 'sigmoid', value: input.value })
  return true
}

/** x * sigmoid(alpha x) */
export const quickGelu: Handler = (t, node) => {
  const alpha = floatOf(node, 'alpha', 1.702)
  if (alpha !== 1) throw unclaimed(node, `its alpha is ${alpha} ; only 1 is supported, which is SiLU`)
  return gate(t, node, 'silu')
}

/** x * sigmoid(alpha x), since opset 24. */
export const swish: Handler = (t, node) => {
  const alpha = floatOf(node, 'alpha', 1)
  if (alpha !== 1) throw unclaimed(node, `its alpha is ${alpha} ; only 1 is supported, which is SiLU`)
  return gate(t, node, 'silu')
}

export const gelu: Handler = (t, node) =>
  gate(t, node, stringOf(node, 'approximate', 'none') === 'tanh' ? 'gelu' : 'gelu_exact')

/** The tanh approximation. A second input is a bias. */
export const fastGelu: Handler = (t, node) => {
  if (hasInput(node, 1) && !t.facts.biased.has(node))
    throw unclaimed(node, 'it adds a bias before the activation')
  return gate(t, node, 'gelu')
}

function gate(t: Translator, node: Node, activation: Activation): boolean {
  const input = t.meanings.read(node, 0)
  if (input?.is !== 'rows') return false
  t.findings.intermediateSize = Math.max(t.findings.intermediateSize, input.value.shape[1])
  t.meanings.set(node, 0, { is: 'gate', value: input.value, activation })
  return true
}

/** The dtypes that can count tokens. Other integer types are too small. */
const ID_TYPES: readonly DType[] = ['i32', 'i64']

/** A cast between float types only changes rounding; a cast to integers or booleans changes values. */
export const cast: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input === undefined || input.is === 'constant' || input.is === 'control') return false
  const to = DTYPES.get(intOf(node, 'to', 0))
  const isKept = to !== undefined && (input.is === 'ids' ? ID_TYPES.includes(to) : isFloat(to))
  if (!isKept) throw unclaimed(node, `it casts ${input.is} to ${to ?? 'another type'}`)
  t.meanings.set(node, 0, input)
  return true
}

/** A weight that stays in its file. It may be transposed, cast or reshaped. */
export const viewWeight: Handler = (t, node) => {
  const constant = t.graph.constants.get(node.inputs[0] ?? '')
  // Values in memory have been folded.
  const isInFile = constant === undefined || isStored(constant)
  if (t.meanings.read(node, 0)?.is !== 'constant' || !isInFile || !t.weights.view(node, t.types.dims(node)))
    return false
  t.meanings.set(node, 0, { is: 'constant', name: node.outputs[0] ?? '' })
  return true
}

/** The same elements, if the value is rows of tokens. */
export const same: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  // A cast of a control value creates a new value, such as a mask of numbers from a mask of booleans.
  if (input === undefined || input.is === 'constant' || input.is === 'control') return false
  t.meanings.set(node, 0, input)
  return true
}
