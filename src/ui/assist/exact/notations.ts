// Other ways to write a number, and the factors of numbers. In: a question such as "what is XIV in numbers?".
// Out: a sentence, or none.
import type { Form } from './frame.ts'

type Reader = Form<[]>[1]

const ROMAN_VALUES: readonly (readonly [string, number])[] = [
  ['m', 1000],
  ['cm', 900],
  ['d', 500],
  ['cd', 400],
  ['c', 100],
  ['xc', 90],
  ['l', 50],
  ['xl', 40],
  ['x', 10],
  ['ix', 9],
  ['v', 5],
  ['iv', 4],
  ['i', 1],
]
const LARGEST_ROMAN = 3999

function romanOf(value: number): string {
  let rest = value
  let text = ''
  for (const [letters, worth] of ROMAN_VALUES)
    for (; rest >= worth; rest -= worth) text += letters.toUpperCase()
  return text
}

/** Undefined for letters that are not a valid numeral, such as `iix`. */
function valueOfRoman(text: string): number | undefined {
  let rest = text
  let value = 0
  for (const [letters, worth] of ROMAN_VALUES)
    for (; rest.startsWith(letters); rest = rest.slice(letters.length)) value += worth
  return rest === '' && romanOf(value) === text.toUpperCase() ? value : undefined
}

const toRoman: Reader = ([, given]) => {
  const value = Number(given)
  return value < 1 || value > LARGEST_ROMAN ? undefined : `${value} is ${romanOf(value)} in Roman numerals.`
}
const fromRoman: Reader = ([, letters]) => {
  const value = valueOfRoman(letters!)
  return value === undefined ? undefined : `${letters!.toUpperCase()} = ${value}`
}

const BASES: ReadonlyMap<string, number> = new Map([
  ['binary', 2],
  ['octal', 8],
  ['decimal', 10],
  ['hex', 16],
  ['hexadecimal', 16],
  ['base 2', 2],
  ['base 8', 8],
  ['base 10', 10],
  ['base 16', 16],
])
const DIGITS_OF: ReadonlyMap<number, RegExp> = new Map([
  [2, /^[01]{1,40}$/],
  [8, /^[0-7]{1,15}$/],
  [10, /^\d{1,15}$/],
  [16, /^[\da-f]{1,12}$/],
])
const PREFIXES: ReadonlyMap<string, number> = new Map([
  ['0b', 2],
  ['0o', 8],
  ['0x', 16],
])

/** `from` is absent for a number with a prefix, and for a decimal one. */
function inBase(digits: string, from: string | undefined, to: string): string | undefined {
  const prefixed = PREFIXES.get(digits.slice(0, 2))
  const source = from === undefined ? (prefixed ?? 10) : BASES.get(from)!
  const bare = prefixed !== undefined && prefixed === source ? digits.slice(2) : digits
  if (!DIGITS_OF.get(source)!.test(bare)) return undefined
  const result = Number.parseInt(bare, source).toString(BASES.get(to)!).toUpperCase()
  return `${digits} in ${to} = ${result}`
}

const SMALL = [
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen',
  'seventeen eighteen nineteen',
]
  .join(' ')
  .split(' ')
const TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const SCALES: readonly (readonly [number, string])[] = [
  [1e9, 'billion'],
  [1e6, 'million'],
  [1000, 'thousand'],
  [100, 'hundred'],
]

function wordsOf(value: number): string {
  if (value < 20) return SMALL[value]!
  if (value < 100) return `${TENS[Math.floor(value / 10)]}${value % 10 === 0 ? '' : `-${SMALL[value % 10]}`}`
  const [scale, name] = SCALES.find(([scale]) => value >= scale)!
  const rest = value % scale
  const glue = rest < 100 ? ' and ' : ' '
  return `${wordsOf(Math.floor(value / scale))} ${name}${rest === 0 ? '' : `${glue}${wordsOf(rest)}`}`
}

const greatestDivisor = (one: number, other: number): number =>
  other === 0 ? one : greatestDivisor(other, one % other)

const MAX_FACTORED = 1e6
const factors: Reader = ([, given]) => {
  const value = Number(given)
  if (value < 1 || value > MAX_FACTORED) return undefined
  const found = Array.from({ length: value }, (_, index) => index + 1).filter((each) => value % each === 0)
  return `The factors of ${value} are ${found.join(', ')}.`
}

const median: Reader = ([, list]) => {
  const values = list!.split(/,? and |, ?/).map(Number)
  const sorted = values.toSorted((one, other) => one - other)
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)]!, sorted[Math.floor(sorted.length / 2)]!]
  return `The median is ${Number(((low + high) / 2).toFixed(10))}.`
}

const WHOLE = String.raw`(\d{1,9})`
const ROMAN = '([mdclxvi]+)'
const BASE = `(${[...BASES.keys()].join('|')})`
const TO_BASE = '(?:convert |write )?(?:the (?:number|value) )?'
const AND = '(?: and |, ?)'

export const NOTATIONS: readonly Form<[]>[] = [
  [
    new RegExp(
      `^(?:convert |write |express )?${WHOLE} (?:in|to|as|into) (?:an? )?roman(?: numerals?| numbers?)?$`,
    ),
    toRoman,
  ],
  [new RegExp(`^(?:the )?roman numerals? (?:for|of) ${WHOLE}$`), toRoman],
  [
    new RegExp(
      `^(?:convert |write )?(?:the )?(?:roman numeral )?${ROMAN} (?:in|to|as|into) (?:an? )?(?:arabic )?(?:decimal|numbers?|digits|figures|arabic|normal numbers?)(?: numerals?)?$`,
    ),
    fromRoman,
  ],
  [new RegExp(`^(?:convert )?(?:the )?roman numeral ${ROMAN}$`), fromRoman],
  [
    new RegExp(`^${TO_BASE}${BASE} ([\\da-fx]+) (?:in|to|as|into) ${BASE}$`),
    ([, from, digits, to]) => inBase(digits!, from, to!),
  ],
  [
    new RegExp(`^${TO_BASE}([\\da-f]+) (?:in|from) ${BASE} (?:in|to|into) ${BASE}$`),
    ([, digits, from, to]) => inBase(digits!, from, to!),
  ],
  [
    new RegExp(`^${TO_BASE}(0[xbo][\\da-f]+|\\d+)(?: from decimal)? (?:in|to|as|into) ${BASE}$`),
    ([, digits, to]) => inBase(digits!, undefined, to!),
  ],
  [
    /^(?:spell|write|spell out|write out) (\d{1,12}) (?:in|as|with|out in) (?:words|letters|english)$/,
    ([, given]) => `${given} is ${wordsOf(Number(given))}.`,
  ],
  [/^(\d{1,12}) (?:in|as) words$/, ([, given]) => `${given} is ${wordsOf(Number(given))}.`],
  [
    new RegExp(
      `^(?:the )?(?:greatest common divisor|greatest common factor|highest common factor|gcd|gcf|hcf) (?:of |between )?${WHOLE}${AND}${WHOLE}$`,
    ),
    ([, one, other]) => `gcd(${one}, ${other}) = ${greatestDivisor(Number(one), Number(other))}`,
  ],
  [
    new RegExp(
      `^(?:the )?(?:least common multiple|lowest common multiple|smallest common multiple|lcm) (?:of |between )?${WHOLE}${AND}${WHOLE}$`,
    ),
    ([, one, other]) =>
      Number(one) * Number(other) === 0
        ? undefined
        : `lcm(${one}, ${other}) = ${(Number(one) / greatestDivisor(Number(one), Number(other))) * Number(other)}`,
  ],
  [new RegExp(`^(?:list )?(?:all )?(?:the )?(?:factors|divisors) of ${WHOLE}$`), factors],
  [/^(?:the )?median (?:of|for) (-?\d+(?:\.\d+)?(?:(?:,? and |, ?)-?\d+(?:\.\d+)?)+)$/, median],
]
