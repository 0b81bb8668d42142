// The grammar of the numbers that a case allows: decimals between its bounds, with as many digits as doubles
// can represent.

import { memo } from '../../base/values.ts'
import { DIGITS } from '../code-points.ts'
import type { Grammar, NodeId } from '../grammar.ts'
import type { Bound, NumberCase, Step } from './cases.ts'
import { greatestDivisor } from './intersect.ts'
import { anyNumber } from './json-text.ts'

/** A bound as decimal digits, without a sign. The fraction has no trailing zeros. */
interface Decimal {
  readonly whole: string
  readonly fraction: string
}

interface Limit extends Decimal {
  readonly exclusive: boolean
}

/** Maximum digits of an unbounded decimal. */
const MAX_DIGITS = 15
/** Maximum digits of an unbounded whole number. JavaScript is exact only to 16, but a reply is text. */
const MAX_WHOLE_DIGITS = 40

/** The digits of a finite number, 0 or more, exactly as JavaScript prints it. */
export function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [before = '', after = ''] = mantissa.split('.')
  const shift = Number(exponent)
  const digits = before + after
  const point = before.length + shift
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const at = Math.max(1, point)
  return {
    whole: padded.slice(0, at).replace(/^0+(?=\d)/, ''),
    fraction: padded.slice(at).replace(/0+$/, ''),
  }
}

/**
 * Whole multiples of `step` from `low` to `high`, both inclusive and at least 0. Without `high`, numbers have
 * up to `most` digits. The last `point` digits are written after a decimal point.
 */
function wholeNumbers(
  grammar: Grammar,
  low: bigint,
  high: bigint | undefined,
  { step = 1, point = 0, most = MAX_DIGITS }: { step?: number; point?: number; most?: number } = {},
): NodeId {
  // At least one digit comes before the decimal point.
  const shortest = Math.max(String(low).length, point + 1)
  const isFree = high === undefined && step === 1 && point === 0
  const last = high ?? 10n ** BigInt(isFree ? shortest : Math.max(most, shortest)) - 1n
  if (last < low) return grammar.never
  const options: NodeId[] = []
  if (isFree && most > shortest) {
    const rest = grammar.repeat(grammar.chars(DIGITS), shortest, most - 1)
    options.push(grammar.seq(grammar.chars([0x31, 0x39]), rest))
  }
  for (let length = shortest; length <= Math.max(shortest, String(last).length); length++) {
    const least = length === point + 1 ? 0n : 10n ** BigInt(length - 1)
    const greatest = 10n ** BigInt(length) - 1n
    const from = String(low > least ? low : least).padStart(length, '0')
    const to = String(last < greatest ? last : greatest).padStart(length, '0')
    options.push(ofLength(grammar, from, to, step, point))
  }
  return grammar.alt(...options)
}

/** Whole numbers of one length between two bounds of that length. */
function ofLength(grammar: Grammar, low: string, high: string, step: number, point: number): NodeId {
  const known = new Map<string, NodeId>()
  return from(0, true, true, 0)

  /** The digits that may follow the first `at` digits, which equal those of the bounds marked tight. */
  function from(at: number, isLow: boolean, isHigh: boolean, remainder: number): NodeId {
    const left = low.length - at
    if (left === 0) return remainder === 0 ? grammar.empty : grammar.never
    if (!isLow && !isHigh && step === 1 && left > point) {
      const rest = point === 0 ? grammar.empty : from(low.length - point, false, false, 0)
      return grammar.seq(grammar.repeat(grammar.chars(DIGITS), left - point, left - point), rest)
    }
    const key = `${at} ${isLow} ${isHigh} ${remainder}`
    return memo(known, key, () => {
      const digits = eachDigit(
        grammar,
        isLow ? low[at] : undefined,
        isHigh ? high[at] : undefined,
        (digit, first, last) => from(at + 1, isLow && first, isHigh && last, (remainder * 10 + digit) % step),
      )
      return left === point ? grammar.seq(grammar.text('.'), digits) : digits
    })
  }
}

/** One digit from `low` to `high`, followed by `rest` for that digit. */
function eachDigit(
  grammar: Grammar,
  low = '0',
  high = '9',
  rest: (digit: number, isFirst: boolean, isLast: boolean) => NodeId,
): NodeId {
  const options: NodeId[] = []
  for (let digit = Number(low); digit <= Number(high); digit++) {
    const behind = rest(digit, String(digit) === low, String(digit) === high)
    options.push(grammar.seq(grammar.text(String(digit)), behind))
  }
  return grammar.alt(...byRest(grammar, options))
}

/** Merges digits with the same rest into one set. */
function byRest(grammar: Grammar, options: readonly NodeId[]): NodeId[] {
  const firsts = new Map<NodeId, NodeId[]>()
  for (const option of options) {
    if (option === grammar.never) continue
    const isSeq = grammar.children(option).length === 2
    const [first, rest] = isSeq ? grammar.children(option) : [option, grammar.empty]
    const list = firsts.get(rest!)
    if (list === undefined) firsts.set(rest!, [first!])
    else list.push(first!)
  }
  return [...firsts].map(([rest, list]) => grammar.seq(grammar.alt(...list), rest))
}

/**
 * Nonnegative decimals between two limits. The digits before and after the point add up to at most 15, or
 * more if an inclusive limit has more. Up to that length, different decimals are different doubles.
 */
function decimals(grammar: Grammar, low: Limit, high: Limit | undefined): NodeId {
  const bottom = BigInt(low.whole)
  const top = high && BigInt(high.whole)
  if (top !== undefined && top < bottom) return grammar.never
  const free = fractions(grammar, undefined, undefined, fractionDigits(high?.whole ?? low.whole))
  if (bottom === top) {
    return grammar.seq(grammar.text(low.whole), fractionBetween(grammar, low, high))
  }
  const options = [
    grammar.seq(grammar.text(low.whole), fractionBetween(grammar, low, undefined)),
    grammar.seq(wholeNumbers(grammar, bottom + 1n, top && top - 1n), free),
  ]
  if (high !== undefined) {
    options.push(grammar.seq(grammar.text(high.whole), fractionBetween(grammar, undefined, high)))
  }
  return grammar.alt(...options)
}

function fractionDigits(whole: string): number {
  return Math.max(0, MAX_DIGITS - whole.length)
}

function fractionBetween(grammar: Grammar, low: Limit | undefined, high: Limit | undefined): NodeId {
  const longest = (limit: Limit | undefined) =>
    limit === undefined || limit.exclusive ? 0 : limit.fraction.length
  const { whole } = (low ?? high)!
  const most = Math.max(fractionDigits(whole), longest(low), longest(high))
  return fractions(grammar, low, high, most)
}

/** The text that may follow the digits before the decimal point if they equal those of the limits. */
function fractions(grammar: Grammar, low: Limit | undefined, high: Limit | undefined, most: number): NodeId {
  const isLow = low !== undefined
  const isHigh = high !== undefined
  return grammar.alt(mayStop(0, isLow, isHigh), grammar.seq(grammar.text('.'), digits(0, isLow, isHigh)))

  /** At least one digit from position `at` on. */
  function digits(at: number, isLow: boolean, isHigh: boolean): NodeId {
    const left = most - at
    if (left <= 0) return grammar.never
    if (!isLow && !isHigh) return grammar.repeat(grammar.chars(DIGITS), 1, left)
    const from = isLow ? (low!.fraction[at] ?? '0') : undefined
    const to = isHigh ? (high!.fraction[at] ?? '0') : undefined
    return eachDigit(grammar, from, to, (_, first, last) => {
      const low = isLow && first
      const high = isHigh && last
      return grammar.alt(mayStop(at + 1, low, high), digits(at + 1, low, high))
    })
  }

  /** The empty text if the number so far, extended with zeros, is between the limits; otherwise nothing. */
  function mayStop(at: number, isLow: boolean, isHigh: boolean): NodeId {
    const isBelow = isLow && (low!.fraction.length > at || low!.exclusive)
    const isAbove = isHigh && high!.exclusive && high!.fraction.length <= at
    return isBelow || isAbove ? grammar.never : grammar.empty
  }
}

/** Unbounded numbers are generated up to these sizes, so bounds beyond them have no effect. */
const FAR = 1e16
const FAR_WHOLE = 10 ** MAX_WHOLE_DIGITS

export function numberNode(grammar: Grammar, one: NumberCase): NodeId {
  const { isInteger, min, max, step } = one
  if (isInteger || step.digits > 0) return multiplesNode(grammar, one)
  return min === undefined && max === undefined ? anyNumber(grammar) : decimalNode(grammar, min, max)
}

/**
 * Whether a number is a multiple of a step, in decimal arithmetic. `1e999` parses as infinite, so it is not a
 * multiple.
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

/** Multiples between two optional bounds. `point`: digits after the decimal point. */
function between(
  grammar: Grammar,
  [low, high]: readonly [bigint | undefined, bigint | undefined],
  { step, point = 0 }: { readonly step: number; readonly point?: number },
): NodeId {
  // Unbounded multiples stay within the numbers that doubles represent exactly.
  const options = { step, point, most: step === 1 && point === 0 ? MAX_WHOLE_DIGITS : MAX_DIGITS }
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

/** How many numbers the case allows, possibly approximate; at least 1. */
export function numberCount({ isInteger, min, max, step }: NumberCase): number {
  const isFree = !isInteger && step.digits === 0
  const longest = [min, max].map((bound) => (bound === undefined ? 1 : limit(bound).whole.length))
  const digits = isInteger ? 0 : isFree ? Math.max(0, MAX_DIGITS - Math.max(...longest)) : step.digits
  const unit = BigInt(isInteger ? step.units / greatestDivisor(step.units, 10 ** step.digits) : step.units)
  const far = 10n ** BigInt(MAX_DIGITS)
  const low = leastOf(min, digits) ?? -far
  const high = greatestOf(max, digits) ?? far
  return Math.max(1, Number(roundedDown(high, unit) - roundedDown(low - 1n, unit)))
}

/** A number divided by a unit, rounded down. */
function roundedDown(value: bigint, unit: bigint): bigint {
  const times = value / unit
  return value < 0n && times * unit !== value ? times - 1n : times
}

/** The absolute value of a bound. */
function limit({ value, exclusive }: Bound): Limit {
  return { ...decimalOf(Math.abs(value)), exclusive }
}

/** Like `limit`, for the bound that is farther from zero. */
function farLimit(bound: Bound | undefined): Limit | undefined {
  return bound === undefined || Math.abs(bound.value) > FAR ? undefined : limit(bound)
}

/** The smallest multiple of 10^-`digits` that satisfies a lower bound; undefined if there is no bound. */
function leastOf(bound: Bound | undefined, digits: number): bigint | undefined {
  if (bound === undefined || bound.value < -FAR_WHOLE) return undefined
  const { floor, isExact } = scaled(bound.value, digits)
  return isExact && !bound.exclusive ? floor : floor + 1n
}

/** The largest multiple of 10^-`digits` within an upper bound. */
function greatestOf(bound: Bound | undefined, digits: number): bigint | undefined {
  if (bound === undefined || bound.value > FAR_WHOLE) return undefined
  const { floor, isExact } = scaled(bound.value, digits)
  // JavaScript rounds the largest 64-bit numbers, 2^63 - 1 and 2^64 - 1, up to the power of two above.
  if (digits === 0 && !bound.exclusive && (bound.value === 2 ** 63 || bound.value === 2 ** 64))
    return floor - 1n
  return isExact && bound.exclusive ? floor - 1n : floor
}

/** The value times 10^`digits`, rounded down. */
function scaled(value: number, digits: number): { readonly floor: bigint; readonly isExact: boolean } {
  if (!Number.isSafeInteger(value) && Number.isInteger(value))
    return { floor: BigInt(value) * 10n ** BigInt(digits), isExact: true }
  const { whole, fraction } = decimalOf(Math.abs(value))
  const units = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'))
  const isExact = fraction.length <= digits
  return { floor: value >= 0 ? units : -units - (isExact ? 0n : 1n), isExact }
}
