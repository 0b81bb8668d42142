// Recognises a layer of Mamba among sums of products: a convolution over the newest inputs, a state that
// decays, and the output.

import type { Value } from '../../../core/graph/ir.ts'
import { isSameList } from '../ir/tensor.ts'
import {
  type Call,
  type Factor,
  factorTerms,
  type Memory,
  onlyFactor,
  type Source,
  type Term,
  type Terms,
  textOf,
  usedAxes,
} from './terms.ts'

type Of<K extends Source['of']> = Factor & { readonly source: Extract<Source, { of: K }> }
const isOf =
  <K extends Source['of']>(of: K) =>
  (factor: Factor): factor is Of<K> =>
    factor.source.of === of
const isCall =
  (name: Call['name']) =>
  (factor: Factor): factor is Of<'call'> =>
    factor.source.of === 'call' && factor.source.name === name

/** The rows that a value represents, in any layout. */
function rowsIn(value: Terms): Value | undefined {
  const source = onlyFactor(value)?.source
  return source?.of === 'rows' ? source.value : undefined
}

/** exp(A step) * state + step * b * x, where step is softplus(dt), over the same channels and states. */
export function asMemory({ rank, terms }: Terms): Terms | undefined {
  if (terms.length !== 2 || terms.some(({ sign }) => sign < 0)) return undefined
  for (const [kept, added] of [terms, terms.toReversed()] as [Term, Term][]) {
    const state = kept.factors.find(isOf('state'))
    const decayed = kept.factors.find(isCall('exp'))
    const step = added.factors.find(isCall('softplus'))
    if (state === undefined || decayed === undefined || step === undefined) continue
    const [channels = -1, states = -1] = state.axes
    const rowsOver = (axis: number) =>
      added.factors.find((each): each is Of<'rows'> => isOf('rows')(each) && isSameList(each.axes, [axis]))
    const x = rowsOver(channels)
    const b = rowsOver(states)
    const dt = rowsIn(step.source.inner)
    const decay = decayOf(decayed, state.axes, step)
    const isWhole = kept.factors.length === 2 && added.factors.length === 3 && state.source.from === 0
    if (!isWhole || !isSameList(step.axes, [channels]) || !x || !b || !dt || !decay) continue
    const memory: Memory = {
      of: 'memory',
      state: state.source.name,
      dt,
      decay,
      x: x.source.value,
      b: b.source.value,
    }
    return factorTerms(memory, state.axes, rank)
  }
  return undefined
}

/** The decay in exp(decay * step): a constant [channels, states], or -exp of a constant. */
function decayOf(
  { source: { inner }, axes }: Of<'call'>,
  due: readonly number[],
  step: Of<'call'>,
): Memory['decay'] | undefined {
  const [term, ...others] = inner.terms
  if (term === undefined || others.length > 0 || term.factors.length !== 2) return undefined
  const used = usedAxes(inner)
  const outside = (own: readonly number[]) => own.map((axis) => axes[used.indexOf(axis)]!)
  const isStep = (each: Factor) =>
    isCall('softplus')(each) &&
    rowsIn(each.source.inner) === rowsIn(step.source.inner) &&
    isSameList(outside(each.axes), step.axes)
  const decay = term.factors.find((each) => !isStep(each))
  if (!term.factors.some(isStep) || decay === undefined || !isSameList(outside(decay.axes), due))
    return undefined
  if (isOf('constant')(decay)) return term.sign > 0 ? { name: decay.source.name, isLog: false } : undefined
  const logarithm = isCall('exp')(decay) ? onlyFactor(decay.source.inner) : undefined
  // A call's axes are in order.
  const isPlain =
    logarithm !== undefined &&
    isSameList(
      logarithm.axes,
      logarithm.axes.toSorted((p, q) => p - q),
    )
  if (!isPlain || !isOf('constant')(logarithm) || term.sign > 0) return undefined
  return { name: logarithm.source.name, isLog: true }
}

/** The sum of a product over one axis: the taps of a convolution, or the output of a state. */
export function asSum(value: Terms, axis: number, isKept: boolean): Terms | undefined {
  const [term, ...others] = value.terms
  if (term === undefined || others.length > 0) return undefined
  const source = summed(
    term.factors.filter(({ axes }) => axes.includes(axis)),
    axis,
  )
  if (source === undefined) return undefined
  const rest = term.factors.filter(({ axes }) => !axes.includes(axis))
  const after = (at: number) => (isKept || at < axis ? at : at - 1)
  const factors = [source, ...rest].map((each) => ({ ...each, axes: each.axes.map(after) }))
  return { is: 'terms', rank: isKept ? value.rank : value.rank - 1, terms: [{ sign: term.sign, factors }] }
}

function summed(factors: readonly Factor[], axis: number): Factor | undefined {
  const recent = factors.find(isOf('recent'))
  const weight = factors.find(isOf('constant'))
  const memory = factors.find(isOf('memory'))
  const c = factors.find(isOf('rows'))
  const [first = -1, last = -1] = (recent ?? memory)?.axes ?? []
  if (factors.length !== 2 || last !== axis) return undefined
  if (recent && weight && isSameList(recent.axes, weight.axes))
    return { source: { of: 'convolved', recent: recent.source, weight: weight.source.name }, axes: [first] }
  if (memory && c)
    return { source: { of: 'recalled', memory: memory.source, c: c.source.value }, axes: [first] }
  return undefined
}

/** If the product is x * sigmoid(x), returns x. */
export function asSilu(left: Terms, right: Terms): Terms | undefined {
  for (const [x, by] of [
    [left, right],
    [right, left],
  ] as const) {
    const factor = onlyFactor(by)
    if (factor === undefined || !isCall('sigmoid')(factor)) continue
    const { inner } = factor.source
    if (textOf(inner) === textOf(x) && isSameList(factor.axes, usedAxes(x))) return x
  }
  return undefined
}

export interface Convolution extends Pick<Of<'convolved'>, 'source' | 'axes'> {
  /** The constant that is added, by name. */
  readonly bias: string | undefined
}

/** A convolution, with or without a bias. */
export function asConvolution({ terms }: Terms): Convolution | undefined {
  const factors = terms.flatMap((term) => (term.sign > 0 && term.factors.length === 1 ? term.factors : []))
  const sum = factors.find(isOf('convolved'))
  const bias = factors.find(isOf('constant'))
  const isWhole = factors.length === terms.length && terms.length === (bias === undefined ? 1 : 2)
  if (sum === undefined || !isWhole || (bias && !isSameList(bias.axes, sum.axes))) return undefined
  return { source: sum.source, axes: sum.axes, bias: bias?.source.name }
}

export interface Scanned {
  readonly memory: Memory
  readonly c: Value
  readonly z: Value
  /** The name of the constant by which x is multiplied. */
  readonly skip: string
  readonly axes: readonly number[]
}

/** (sum over states of memory * c + skip * x) * silu(z) */
export function asScan({ terms }: Terms): Scanned | undefined {
  if (terms.length !== 2 || terms.some(({ sign }) => sign < 0)) return undefined
  for (const [read, passed] of [terms, terms.toReversed()] as [Term, Term][]) {
    const recalled = read.factors.find(isOf('recalled'))
    const gate = read.factors.find(isOf('gate'))
    const x = passed.factors.find(isOf('rows'))
    const skip = passed.factors.find(isOf('constant'))
    const again = passed.factors.find(isOf('gate'))
    const isWhole = read.factors.length === 2 && passed.factors.length === 3
    if (!isWhole || !recalled || !gate || !x || !skip || !again) continue
    const { memory, c } = recalled.source
    const isOne = [gate, x, skip, again].every(({ axes }) => isSameList(axes, recalled.axes))
    const isGated = gate.source.value === again.source.value && gate.source.activation === 'silu'
    if (isOne && isGated && x.source.value === memory.x)
      return { memory, c, z: gate.source.value, skip: skip.source.name, axes: recalled.axes }
  }
  return undefined
}
