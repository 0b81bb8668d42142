// Handlers of recurrent layers in primitive operators, which become convolutions and scans.

import type { Value } from '../../../../core/graph/ir.ts'
import { axisOf } from '../../ir/broadcast.ts'
import type { Dim } from '../../ir/dims.ts'
import type { Node } from '../../ir/graph.ts'
import { intOf, intsOf, stringOf, unclaimed } from '../../ir/operator.ts'
import { isFloat } from '../../ir/tensor.ts'
import {
  asConvolution,
  asMemory,
  asScan,
  asSilu,
  asSum,
  type Convolution,
  type Scanned,
} from '../recurrence.ts'
import {
  type Call,
  callTerms,
  factorTerms,
  isSmall,
  moved,
  onlyFactor,
  product,
  sum,
  type Terms,
  textOf,
  usedAxes,
} from '../terms.ts'
import type { Handler, Translator } from '../translator.ts'
import { type AxisCut, axisCut } from './elementwise.ts'

/** An input as terms; undefined if it is not a sum of terms or if the graph has no recurrent states. */
export function lifted(t: Translator, node: Node, index: number): Terms | undefined {
  const meaning = t.meanings.read(node, index)
  if (meaning?.is === 'terms') return meaning
  const type = t.types.get(node.inputs[index] ?? '')
  const dims = type?.dims
  if (!t.states.areRecurrent || meaning === undefined || dims === undefined) return undefined
  const rank = dims.length
  const long = longAxes(dims)
  if (meaning.is === 'gate') {
    const { value, activation } = meaning
    return factorTerms({ of: 'gate', value, activation }, [rank - 1], rank)
  }
  if (t.meanings.isRows(node, index))
    return factorTerms({ of: 'rows', value: t.meanings.rows(node, index) }, [rank - 1], rank)
  if (meaning.is === 'state' && long.length === 2)
    return factorTerms({ of: 'state', name: meaning.name, from: 0 }, long, rank)
  if (meaning.is !== 'constant' || !isFloat(type?.dtype ?? 'i64')) return undefined
  return factorTerms({ of: 'constant', name: meaning.name }, long, rank)
}

/** Axes of more than one element. */
const longAxes = (dims: readonly Dim[]): number[] =>
  dims.flatMap((size, axis) => (typeof size === 'number' && size > 1 ? [axis] : []))

/** Turns the value back into rows, if it is rows with their channels last. */
export function set(t: Translator, node: Node, value: Terms | undefined, output = 0): boolean {
  if (value === undefined || !isSmall(value)) return false
  const factor = onlyFactor(value)
  const isLast = factor?.axes[0] === value.rank - 1
  if (isLast && factor?.source.of === 'rows') t.meanings.setRows(node, output, factor.source.value)
  else if (isLast && factor?.source.of === 'gate') {
    const { value: of, activation } = factor.source
    t.meanings.set(node, output, { is: 'gate', value: of, activation })
  } else t.meanings.set(node, output, value)
  return true
}

const unary =
  (change: (value: Terms) => Terms): Handler =>
  (t, node) => {
    const value = lifted(t, node, 0)
    return value !== undefined && set(t, node, change(value))
  }

const call = (name: Call['name']): Handler => unary((inner) => callTerms(name, inner))

export const exponential = call('exp')
export const softplus = call('softplus')
export const sigmoid = call('sigmoid')
export const negative = unary((value) => ({
  ...value,
  terms: value.terms.map(({ sign, factors }) => ({ sign: sign === 1 ? -1 : 1, factors })),
}))

const binary =
  (join: (t: Translator, node: Node, left: Terms, right: Terms) => Terms | undefined): Handler =>
  (t, node) => {
    const left = lifted(t, node, 0)
    const right = lifted(t, node, 1)
    return left !== undefined && right !== undefined && set(t, node, join(t, node, left, right))
  }

export const multiply = binary((t, node, left, right) => {
  const x = asSilu(left, right)
  if (x !== undefined) {
    const convolution = asConvolution(x)
    if (convolution !== undefined) return convolve(t, convolution, x.rank)
    const { source, axes } = onlyFactor(x) ?? {}
    return source?.of === 'rows' && axes
      ? factorTerms({ of: 'gate', value: source.value, activation: 'silu' }, axes, x.rank)
      : undefined
  }
  const made = product(left, right)
  const isOfMany = made.terms.some(({ factors }) => factors.some(({ source }) => source.of === 'joined'))
  if (isOfMany)
    throw unclaimed(
      node,
      'it combines the newest inputs of several tokens at once; export a step of one token, or a convolution',
    )
  const scanned = asScan(made)
  return scanned === undefined ? (gated(t, node, left, right) ?? made) : scan(t, node, scanned, made.rank)
})

/** The elementwise product of two rows. */
function gated(t: Translator, node: Node, left: Terms, right: Terms): Terms | undefined {
  const one = onlyFactor(left)
  const other = onlyFactor(right)
  if (one?.source.of !== 'rows' || other?.source.of !== 'rows' || left.rank !== right.rank) return undefined
  const first = one.source.value
  const second = other.source.value
  if (`${one.axes}` !== `${other.axes}` || first.shape[1] !== second.shape[1]) return undefined
  const value = t.b.swiglu(node.outputs[0] ?? node.name, [first, second], 'none')
  return factorTerms({ of: 'rows', value }, one.axes, left.rank)
}

export const add = binary((t, node, left, right) => {
  const made = sum(left, right)
  const memory = asMemory(made)
  if (memory !== undefined) leave(t, node, memory)
  return memory ?? made
})

/** Sums of products over one axis, and products of matrices. */
export const matMul = binary((_t, _node, left, right) => {
  const rank = Math.max(left.rank, right.rank)
  if (left.rank < 2 || right.rank < 2) return undefined
  // [.., row, shared, 1] and [.., 1, shared, column]
  const rows = moved(left, rank + 1, (axis) => axis + rank - left.rank)
  const columns = moved(right, rank + 1, (axis) => {
    const place = axis + rank - right.rank
    return place < rank - 2 ? place : place + 1
  })
  return asSum(product(rows, columns), rank - 1, false)
})

export const einsum: Handler = (t, node) => {
  const [terms = '', output = ''] = stringOf(node, 'equation', '').replaceAll(' ', '').split('->')
  const inputs = terms.split(',')
  const values = inputs.map((_, index) => lifted(t, node, index))
  const [left, right] = values
  if (values.length !== 2 || left === undefined || right === undefined || /[^a-z,]/i.test(terms)) return false
  const gone = [...new Set(terms.replaceAll(',', ''))].filter((letter) => !output.includes(letter))
  const letters = [...output, ...gone]
  const [one, other] = [left, right].map((value, index) =>
    moved(value, letters.length, (axis) => letters.indexOf(inputs[index]![axis]!)),
  ) as [Terms, Terms]
  let summed: Terms | undefined = product(one, other)
  for (let axis = letters.length - 1; axis >= output.length && summed !== undefined; axis--)
    summed = asSum(summed, axis, false)
  return set(t, node, summed)
}

export const reduceSum: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const [axis, ...others] = intsOf(node, 'axes', undefined) ?? t.types.numbers(node, 1) ?? []
  if (value === undefined || axis === undefined || others.length > 0) return false
  return set(t, node, asSum(value, axisOf(node, axis, value.rank), intOf(node, 'keepdims', 1) !== 0))
}

export const transpose: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const perm = intsOf(node, 'perm', undefined)
  return (
    value !== undefined &&
    perm !== undefined &&
    set(
      t,
      node,
      moved(value, perm.length, (axis) => perm.indexOf(axis)),
    )
  )
}

/** The same elements in the same order, with other axes of size one: Reshape, Squeeze, Unsqueeze. */
export const relay: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const from = t.types.get(node.inputs[0] ?? '')?.dims
  const to = t.types.dims(node)
  if (value === undefined || from === undefined || to === undefined) return false
  const used = usedAxes(value)
  const long = longAxes(to)
  const isSame = used.length === long.length && used.every((axis, at) => from[axis] === to[long[at]!])
  return (
    isSame &&
    set(
      t,
      node,
      moved(value, to.length, (axis) => long[used.indexOf(axis)]!),
    )
  )
}

/** Selects by index along an axis on which no factor depends. */
export const pick: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const to = t.types.dims(node)
  const indices = t.types.numbers(node, 1)
  if (value === undefined || to === undefined || indices?.length !== 1) return false
  const axis = axisOf(node, intOf(node, 'axis', 0), value.rank)
  if (usedAxes(value).includes(axis)) return false
  const gone = value.rank - to.length
  return set(
    t,
    node,
    moved(value, to.length, (at) => (at < axis ? at : at - gone)),
  )
}

/** A slice of the channels, or one that drops the oldest of the kept inputs. */
export const slice: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  if (value === undefined) return false
  const dims = t.types.get(node.inputs[0] ?? '')?.dims
  const cut = axisCut(t, node, value.rank, (axis) => dims?.[axis])
  return cut !== undefined && set(t, node, part(t, node, value, cut))
}

export const split: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  if (value === undefined) return false
  const axis = axisOf(node, intOf(node, 'axis', 0), value.rank)
  const size = t.types.get(node.inputs[0] ?? '')?.dims?.[axis]
  let from = 0
  return node.outputs.every((_, output) => {
    const width = t.types.dims(node, output)?.[axis]
    if (typeof width !== 'number' || typeof size !== 'number') return false
    const to = from + width
    const own = part(t, node, value, { axis, from, to, size }, output)
    from = to
    return set(t, node, own, output)
  })
}

function part(
  t: Translator,
  node: Node,
  value: Terms,
  { axis, from, to, size }: AxisCut,
  output = 0,
): Terms | undefined {
  const factor = onlyFactor(value)
  const isWhole = from === 0 && to === size
  if (isWhole) return value
  if (factor === undefined) return undefined
  const { source, axes } = factor
  if (source.of === 'rows' && axes[0] === axis && to <= source.value.shape[1]) {
    const label = node.outputs[output] ?? node.name
    const made = t.b.node(label, { op: 'slice', input: source.value, start: from, width: to - from })
    return factorTerms({ of: 'rows', value: made }, axes, value.rank)
  }
  const isNewest = (source.of === 'state' || source.of === 'recent') && source.from === 0
  if (!isNewest || axes[1] !== axis || from !== 1 || to !== size) return undefined
  const newest = factorTerms({ ...source, from: 1 }, axes, value.rank)
  if (source.of === 'recent') leave(t, node, newest)
  return newest
}

/** Appends the step's own input to the state's newest inputs. */
export const concat = binary((t, node, left, right) => {
  const past = onlyFactor(left)
  const own = onlyFactor(right)
  if (node.inputs.length !== 2 || past?.source.of !== 'state' || own?.source.of !== 'rows') return undefined
  const [channels, taps] = past.axes
  if (axisOf(node, intOf(node, 'axis', 0), left.rank) !== taps || `${own.axes}` !== `${channels}`)
    return undefined
  const { name, from } = past.source
  if (t.idsDims[1] !== 1) return joined(t, past.source, own.source.value, past.axes)
  const recent = { of: 'recent', state: name, value: own.source.value, from: 0 } as const
  const made = factorTerms(recent, past.axes, left.rank)
  if (from === 1) leave(t, node, made)
  return made
})

/** A state, possibly without its first columns, followed by the step's own rows. */
function joined(
  t: Translator,
  state: { readonly name: string; readonly from: number },
  value: Value,
  axes: readonly number[],
): Terms {
  const columns = columnsOf(t, state.name) - state.from
  return factorTerms({ of: 'joined', state: state.name, value, columns }, axes, 3)
}

/** Number of columns of a state [batch, channels, columns]. */
export function columnsOf(t: Translator, state: string): number {
  const size = t.types.get(state)?.dims?.[2]
  return typeof size === 'number' ? size : 0
}

/** Records the state for the next step. */
export function leave(t: Translator, node: Node, value: Terms): void {
  const source = onlyFactor(value)?.source
  if (source?.of !== 'recent' && source?.of !== 'memory' && source?.of !== 'kept') return
  t.states.leave(node, source.state, textOf(value))
}

const at = (t: Translator): string => `layers.${t.findings.layers}`

function convolve(t: Translator, { source, axes, bias }: Convolution, rank: number): Terms {
  const { recent, weight } = source
  const channels = recent.value.shape[1]
  const name = `${at(t)}.ssm_conv`
  const value = t.b.conv1d(
    name,
    recent.value,
    t.weights.named(weight, `${name}.weight`, channels),
    bias === undefined ? undefined : t.weights.named(bias, `${name}.bias`, channels),
  )
  return factorTerms({ of: 'rows', value }, axes, rank)
}

function scan(t: Translator, node: Node, { memory, c, z, skip, axes }: Scanned, rank: number): Terms {
  const [, tokens = 1] = t.idsDims
  if (tokens !== 1)
    throw unclaimed(
      node,
      `its state covers one token, but the graph takes ${tokens} tokens at once; export a step of one token`,
    )
  const { x, dt, b, decay } = memory
  const channels = x.shape[1]
  const change = decay.isLog ? { scale: -Math.LOG2E, exp: true } : { scale: Math.LOG2E }
  const value = t.b.scan(
    `${at(t)}.ssm_scan`,
    { x, dt, z, b, c },
    {
      decay: t.weights.named(decay.name, `${at(t)}.ssm_decay`, channels, change),
      skip: t.weights.named(skip, `${at(t)}.ssm_skip`, channels),
    },
  )
  t.findings.layers++
  return factorTerms({ of: 'rows', value }, axes, rank)
}
