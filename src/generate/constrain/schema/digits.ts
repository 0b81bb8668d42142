// Digits. In: bounds of numbers. Out: grammar nodes of the decimals between them, as JSON writes them.
//
// A number is compared with a bound digit by digit from the left. While it equals the bound so far it is `tight`; the
// first digit that differs decides, and the rest is free.
import { DIGITS } from '../code-points.ts'
import type { Grammar, NodeId } from '../grammar.ts'

/** A bound as decimal digits without sign; the fraction has no trailing zeros. */
export interface Decimal {
  readonly whole: string
  readonly fraction: string
}

export interface Limit extends Decimal {
  readonly exclusive: boolean
}

/** Most digits of a number without a bound on its size. */
export const MAX_DIGITS = 15

/** The digits of a finite number of 0 or more, exactly as JavaScript writes it. */
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
 * Whole numbers from `low` to `high`, both inclusive and 0 or more, that are multiples of `step`; without `high`, of
 * up to `most` digits.
 */
export function wholeNumbers(
  grammar: Grammar,
  low: bigint,
  high: bigint | undefined,
  { step = 1, most = MAX_DIGITS }: { step?: number; most?: number } = {},
): NodeId {
  const shortest = String(low).length
  const isFree = high === undefined && step === 1
  const last = high ?? 10n ** BigInt(isFree ? shortest : Math.max(most, shortest)) - 1n
  if (last < low) return grammar.never
  const options: NodeId[] = []
  if (isFree && most > shortest) {
    const rest = grammar.repeat(grammar.chars(DIGITS), shortest, most - 1)
    options.push(grammar.seq(grammar.chars([0x31, 0x39]), rest))
  }
  for (let length = shortest; length <= String(last).length; length++) {
    const least = length === 1 ? 0n : 10n ** BigInt(length - 1)
    const greatest = 10n ** BigInt(length) - 1n
    const from = String(low > least ? low : least)
    const to = String(last < greatest ? last : greatest)
    options.push(new SameLength(grammar, from, to, step).node())
  }
  return grammar.alt(...options)
}

/** Whole numbers of one length between two of that length. */
class SameLength {
  readonly #grammar: Grammar
  readonly #low: string
  readonly #high: string
  readonly #step: number
  readonly #known = new Map<string, NodeId>()

  constructor(grammar: Grammar, low: string, high: string, step: number) {
    this.#grammar = grammar
    this.#low = low
    this.#high = high
    this.#step = step
  }

  node(at = 0, isLow = true, isHigh = true, remainder = 0): NodeId {
    const left = this.#low.length - at
    if (left === 0) return remainder === 0 ? this.#grammar.empty : this.#grammar.never
    if (!isLow && !isHigh && this.#step === 1) {
      return this.#grammar.repeat(this.#grammar.chars(DIGITS), left, left)
    }
    const key = `${at} ${isLow} ${isHigh} ${remainder}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const from = isLow ? Number(this.#low[at]) : 0
    const to = isHigh ? Number(this.#high[at]) : 9
    const options: NodeId[] = []
    for (let digit = from; digit <= to; digit++) {
      const rest = this.node(
        at + 1,
        isLow && digit === from,
        isHigh && digit === to,
        (remainder * 10 + digit) % this.#step,
      )
      options.push(this.#grammar.seq(this.#grammar.text(String(digit)), rest))
    }
    const node = this.#grammar.alt(...byRest(this.#grammar, options))
    this.#known.set(key, node)
    return node
  }
}

/** Digits before the same rest, as one set. */
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
 * Decimals of 0 or more between two limits. The fraction has as many digits as fit in 15 with those before the point,
 * more where an inclusive limit has more: up to there, decimals that differ are numbers that differ.
 */
export function decimals(grammar: Grammar, low: Limit, high: Limit | undefined): NodeId {
  const [bottom, top] = [BigInt(low.whole), high && BigInt(high.whole)]
  if (top !== undefined && top < bottom) return grammar.never
  const free = new Fraction(grammar, undefined, undefined, fractionDigits(high?.whole ?? low.whole)).node()
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
  return new Fraction(grammar, low, high, most).node()
}

/** What may follow the digits before the point, when they equal those of the limits. */
class Fraction {
  readonly #grammar: Grammar
  readonly #low: Limit | undefined
  readonly #high: Limit | undefined
  readonly #most: number

  constructor(grammar: Grammar, low: Limit | undefined, high: Limit | undefined, most: number) {
    this.#grammar = grammar
    this.#low = low
    this.#high = high
    this.#most = most
  }

  node(): NodeId {
    const digits = this.#digits(0, this.#low !== undefined, this.#high !== undefined)
    return this.#grammar.alt(
      this.#mayStop(0, this.#low !== undefined, this.#high !== undefined),
      this.#grammar.seq(this.#grammar.text('.'), digits),
    )
  }

  /** At least one digit from place `at` on. */
  #digits(at: number, isLow: boolean, isHigh: boolean): NodeId {
    const left = this.#most - at
    if (left <= 0) return this.#grammar.never
    if (!isLow && !isHigh) return this.#grammar.repeat(this.#grammar.chars(DIGITS), 1, left)
    const from = isLow ? Number(this.#low!.fraction[at] ?? 0) : 0
    const to = isHigh ? Number(this.#high!.fraction[at] ?? 0) : 9
    const options: NodeId[] = []
    for (let digit = from; digit <= to; digit++) {
      const [low, high] = [isLow && digit === from, isHigh && digit === to]
      const rest = this.#grammar.alt(this.#mayStop(at + 1, low, high), this.#digits(at + 1, low, high))
      options.push(this.#grammar.seq(this.#grammar.text(String(digit)), rest))
    }
    return this.#grammar.alt(...byRest(this.#grammar, options))
  }

  /** Empty where the number so far, with zeros behind it, lies between the limits; else never. */
  #mayStop(at: number, isLow: boolean, isHigh: boolean): NodeId {
    const isBelow = isLow && (this.#low!.fraction.length > at || this.#low!.exclusive)
    const isAbove = isHigh && this.#high!.exclusive && this.#high!.fraction.length <= at
    return isBelow || isAbove ? this.#grammar.never : this.#grammar.empty
  }
}
