// Terms: values as sums of products of rows, constants and states, in any layout. Whatever a recurrent layer
// does between its matrices is such a sum.
import type { Activation, Value } from '../../../core/graph/ir.ts'

/** A sum of products over the axes of a value of this rank. An axis that no factor has is redundant. */
export interface Terms {
  readonly is: 'terms'
  readonly rank: number
  readonly terms: readonly Term[]
}

export interface Term {
  readonly sign: 1 | -1
  readonly factors: readonly Factor[]
}

export interface Factor {
  readonly source: Source
  /** The value's axes that correspond to the source's own axes, in order. */
  readonly axes: readonly number[]
}

/**
 * The type of a factor. Its own axes: [channels] of `rows`, `gate`, `convolved` and `recalled`; [channels,
 * taps] of `state`, `recent`, `joined`, `kept` and `late`; [channels, states] of `state` and `memory`; those
 * longer than 1 of `constant`; the axes of `inner`, in order, of `call`.
 */
export type Source =
  | { readonly of: 'rows'; readonly value: Value }
  | { readonly of: 'gate'; readonly value: Value; readonly activation: Activation }
  | { readonly of: 'constant'; readonly name: string }
  /** `from`: how many leading taps are left out. */
  | { readonly of: 'state'; readonly name: string; readonly from: number }
  | Recent
  | Memory
  | { readonly of: 'convolved'; readonly recent: Recent; readonly weight: string }
  | { readonly of: 'recalled'; readonly memory: Memory; readonly c: Value }
  | Joined
  /** A convolution of concatenated inputs. `more`: how many columns precede those of the step. */
  | { readonly of: 'late'; readonly value: Value; readonly more: number }
  | Call

/** The newest inputs, the step's own input last. `from`: how many of the oldest are skipped. */
export interface Recent {
  readonly of: 'recent'
  readonly state: string
  readonly value: Value
  readonly from: number
}

/**
 * The newest inputs of earlier steps, followed by all inputs of this step, or only by as many as the state
 * holds.
 */
export interface Joined {
  readonly of: 'joined' | 'kept'
  readonly state: string
  readonly value: Value
  /** Inputs of earlier steps. */
  readonly columns: number
}

/** The new state: exp(decay * softplus(dt)) * state + softplus(dt) * b * x. */
export interface Memory {
  readonly of: 'memory'
  readonly state: string
  readonly x: Value
  readonly dt: Value
  readonly b: Value
  /** The constant, and whether it is the logarithm of the negative decay. */
  readonly decay: { readonly name: string; readonly isLog: boolean }
}

export interface Call {
  readonly of: 'call'
  readonly name: 'exp' | 'softplus' | 'sigmoid'
  readonly inner: Terms
  /** Depth of nested calls, including this one. */
  readonly depth: number
}

/** Limits beyond what a recurrent layer needs, because a graph could double its terms with every node. */
const MAX_TERMS = 4
const MAX_FACTORS = 8
const DEEPEST = 3

/** Whether the value is within these limits. */
export const isSmall = ({ terms }: Terms): boolean =>
  terms.length <= MAX_TERMS &&
  terms.every(({ factors }) => factors.length <= MAX_FACTORS) &&
  depthOf(terms) <= DEEPEST

const depthOf = (terms: readonly Term[]): number =>
  Math.max(
    0,
    ...terms.flatMap(({ factors }) => factors.map(({ source }) => (source.of === 'call' ? source.depth : 0))),
  )

export const callTerms = (name: Call['name'], inner: Terms): Terms =>
  factorTerms({ of: 'call', name, inner, depth: depthOf(inner.terms) + 1 }, usedAxes(inner), inner.rank)

export const factorTerms = (source: Source, axes: readonly number[], rank: number): Terms => ({
  is: 'terms',
  rank,
  terms: [{ sign: 1, factors: [{ source, axes }] }],
})

/** The single factor of which a value consists; undefined if there are more. */
export function onlyFactor({ terms: [first, ...others] }: Terms): Factor | undefined {
  return others.length === 0 && first?.sign === 1 && first.factors.length === 1 ? first.factors[0] : undefined
}

/** Axes that a factor has, in order. */
export const usedAxes = ({ terms }: Terms): number[] =>
  [...new Set(terms.flatMap(({ factors }) => factors.flatMap(({ axes }) => axes)))].sort((a, b) => a - b)

/** Renumbers axes. */
export const moved = (value: Terms, rank: number, to: (axis: number) => number): Terms => ({
  is: 'terms',
  rank,
  terms: value.terms.map(({ sign, factors }) => ({
    sign,
    factors: factors.map(({ source, axes }) => ({ source, axes: axes.map(to) })),
  })),
})

/** Axes are counted from the last one, as in broadcasting. */
const widened = (value: Terms, rank: number): Terms => moved(value, rank, (axis) => axis + rank - value.rank)

export function product(left: Terms, right: Terms): Terms {
  const rank = Math.max(left.rank, right.rank)
  const one = widened(left, rank)
  const other = widened(right, rank)
  const terms = one.terms.flatMap((a) =>
    other.terms.map(
      (b): Term => ({ sign: a.sign === b.sign ? 1 : -1, factors: [...a.factors, ...b.factors] }),
    ),
  )
  return { is: 'terms', rank, terms }
}

export function sum(left: Terms, right: Terms): Terms {
  const rank = Math.max(left.rank, right.rank)
  return { is: 'terms', rank, terms: [...widened(left, rank).terms, ...widened(right, rank).terms] }
}

/** A text that is the same for equal values. */
export function textOf({ rank, terms }: Terms): string {
  const texts = terms.map(
    ({ sign, factors }) =>
      sign +
      factors
        .map(({ source, axes }) => `${sourceText(source)}[${axes}]`)
        .sort()
        .join('*'),
  )
  return `${rank}: ${texts.sort().join(' + ')}`
}

const sourceText = (source: Source): string =>
  JSON.stringify(source, (_, part: unknown) =>
    typeof part === 'object' && part !== null && 'id' in part ? part.id : part,
  )
