// Numbers. In: a number case. Out: its grammar: decimals between the bounds, with as many digits as doubles
// hold.
import type { Grammar, NodeId } from '../grammar.ts'
import type { Bound, NumberCase } from './cases.ts'
import { decimalOf, decimals, type Limit, MAX_DIGITS, wholeNumbers } from './digits.ts'
import { anyNumber } from './json-text.ts'

/** Numbers without a bound are written up to this size, so a bound beyond it has no effect. */
const FAR = 1e16

export function numberNode(grammar: Grammar, one: NumberCase): NodeId {
  const { isInteger, min, max } = one
  if (isInteger) return integerNode(grammar, one)
  return min === undefined && max === undefined ? anyNumber(grammar) : decimalNode(grammar, min, max)
}

function integerNode(grammar: Grammar, { min, max, step }: NumberCase): NodeId {
  const [low, high] = [leastWhole(min), greatestWhole(max)]
  // Multiples stay within the numbers that a double holds exactly.
  const options = { step, most: step === 1 ? MAX_DIGITS + 1 : MAX_DIGITS }
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

/** The least whole number within a lower bound; undefined if there is no bound to keep. */
function leastWhole(bound: Bound | undefined): bigint | undefined {
  if (bound === undefined || bound.value < -FAR) return undefined
  const least = Math.ceil(bound.value)
  return BigInt(least) + (bound.exclusive && least === bound.value ? 1n : 0n)
}

/** The greatest whole number within an upper bound. */
function greatestWhole(bound: Bound | undefined): bigint | undefined {
  if (bound === undefined || bound.value > FAR) return undefined
  const greatest = Math.floor(bound.value)
  return BigInt(greatest) - (bound.exclusive && greatest === bound.value ? 1n : 0n)
}
