// Numbers. In: a number case. Out: its grammar: decimals between the bounds, with as many digits as doubles
// hold.
import type { Grammar, NodeId } from '../grammar.ts'
import type { Bound, NumberCase, Step } from './cases.ts'
import { decimalOf, decimals, type Limit, MAX_DIGITS, wholeNumbers } from './digits.ts'
import { greatestDivisor } from './intersect.ts'
import { anyNumber } from './json-text.ts'

/** Numbers without a bound are written up to this size, so a bound beyond it has no effect. */
const FAR = 1e16

export function numberNode(grammar: Grammar, one: NumberCase): NodeId {
  const { isInteger, min, max, step } = one
  if (isInteger || step.digits > 0) return multiplesNode(grammar, one)
  return min === undefined && max === undefined ? anyNumber(grammar) : decimalNode(grammar, min, max)
}

/**
 * Whether a number is a multiple of a step, in decimal arithmetic. `1e999` is read as infinite, and is none.
 */
export function isMultiple(value: number, { units, digits }: Step): boolean {
  if (!Number.isFinite(value)) return false
  const { whole, fraction } = decimalOf(Math.abs(value))
  return fraction.length <= digits && BigInt(whole + fraction.padEnd(digits, '0')) % BigInt(units) === 0n
}

function multiplesNode(grammar: Grammar, { isInteger, min, max, step }: NumberCase): NodeId {
  const { units, digits } = step
  const wholes = units / greatestDivisor(units, 10 ** digits)
  const integers = between(grammar, [leastOf(min, 0), greatestOf(max, 0)], { step: wholes })
  if (isInteger) return integers
  const point = { step: units, point: digits }
  return grammar.alt(integers, between(grammar, [leastOf(min, digits), greatestOf(max, digits)], point))
}

/** Multiples between two bounds, each of which may be absent. `point`: digits after the point. */
function between(
  grammar: Grammar,
  [low, high]: readonly [bigint | undefined, bigint | undefined],
  { step, point = 0 }: { readonly step: number; readonly point?: number },
): NodeId {
  // Multiples stay within the numbers that a double holds exactly.
  const options = { step, point, most: step === 1 && point === 0 ? MAX_DIGITS + 1 : MAX_DIGITS }
  const above =
    high !== undefined && high < 0n
      ? grammar.never
      : wholeNumbers(grammar, low === undefined || low < 0n ? 0n : low, high, options)
  if (low !== undefined && low >= 0n) return above
  const nearest = high === undefined || high > -1n ? 1n : -high
  const below = wholeNumbers(grammar, nearest, low === undefined ? undefined : -low, options)
  return grammar.alt(above, grammar.seq(grammar.text('-'), below))
}

function decimalNode(grammar: Grammar, min: Bound | undefined, max: Bound | undefined): NodeId {
  const zero: Limit = { whole: '0', fraction: '', exclusive: false }
  const isNegative = max !== undefined && (max.value < 0 || (max.value === 0 && max.exclusive))
  const above = isNegative
    ? grammar.never
    : decimals(grammar, min === undefined || min.value < 0 ? zero : limit(min), farLimit(max))
  if (min !== undefined && min.value >= 0) return above
  // Zero is written without a sign.
  const nearest = max === undefined || max.value >= 0 ? { ...zero, exclusive: true } : limit(max)
  return grammar.alt(above, grammar.seq(grammar.text('-'), decimals(grammar, nearest, farLimit(min))))
}

/** The absolute value of a bound. */
function limit({ value, exclusive }: Bound): Limit {
  return { ...decimalOf(Math.abs(value)), exclusive }
}

/** The same for the bound that is farther from zero. */
function farLimit(bound: Bound | undefined): Limit | undefined {
  return bound === undefined || Math.abs(bound.value) > FAR ? undefined : limit(bound)
}

/** The least multiple of 10^-`digits` within a lower bound; undefined if there is no bound to keep. */
function leastOf(bound: Bound | undefined, digits: number): bigint | undefined {
  if (bound === undefined || bound.value < -FAR) return undefined
  const { floor, isExact } = scaled(bound.value, digits)
  return isExact && !bound.exclusive ? floor : floor + 1n
}

/** The greatest multiple of 10^-`digits` within an upper bound. */
function greatestOf(bound: Bound | undefined, digits: number): bigint | undefined {
  if (bound === undefined || bound.value > FAR) return undefined
  const { floor, isExact } = scaled(bound.value, digits)
  return isExact && bound.exclusive ? floor - 1n : floor
}

/** The value times 10^`digits`, rounded down. */
function scaled(value: number, digits: number): { readonly floor: bigint; readonly isExact: boolean } {
  const { whole, fraction } = decimalOf(Math.abs(value))
  const units = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'))
  const isExact = fraction.length <= digits
  return { floor: value >= 0 ? units : -units - (isExact ? 0n : 1n), isExact }
}
