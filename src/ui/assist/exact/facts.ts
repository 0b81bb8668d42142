// Facts about numbers. In: a question such as "is 91 prime?" or "is 2^8 more than 250?". Out: a sentence,
// or none.
import Big from 'big.js'
import { calculate, plainNumber } from './calculate.ts'
import { bareQuestion, type Form, firstAnswer } from './frame.ts'
import { NOTATIONS } from './notations.ts'
import { inFigures } from './numbers.ts'
import { askedSum, NUMBER } from './sums.ts'

const WHOLE = String.raw`(\d{1,12})`
type Reader = Form<[]>[1]

/** The smallest factor above 1. */
function leastFactor(value: number): number {
  for (let factor = 2; factor * factor <= value; factor++) if (value % factor === 0) return factor
  return value
}

const prime: Reader = ([, given]) => {
  const value = Number(given)
  if (value < 2) return `No: ${value} is not a prime number.`
  const factor = leastFactor(value)
  return factor === value
    ? `Yes: ${value} is a prime number.`
    : `No: ${value} = ${factor} * ${value / factor}.`
}

const divisible = (top: number, bottom: number): string | undefined => {
  if (bottom === 0) return undefined
  const rest = top % bottom
  return rest === 0
    ? `Yes: ${top} / ${bottom} = ${top / bottom}.`
    : `No: ${top} / ${bottom} leaves a remainder of ${rest}.`
}

const PLACES: ReadonlyMap<string, number> = new Map([
  ['whole number', 0],
  ['integer', 0],
  ['tenth', 1],
  ['hundredth', 2],
  ['ten', -1],
  ['10', -1],
  ['hundred', -2],
  ['100', -2],
  ['thousand', -3],
  ['1000', -3],
])

const rounded: Reader = ([, value, nearest, places]) => {
  const decimals = nearest === undefined ? Number(places) : PLACES.get(nearest)!
  if (decimals > 10) return undefined
  const scale = new Big(10).pow(Math.max(0, -decimals))
  const shown = new Big(value!).div(scale).round(Math.max(0, decimals), Big.roundHalfUp).times(scale)
  return `${value} rounded is ${shown.toFixed(Math.max(0, decimals))}.`
}

/** The words for more, and for less. */
const MORE = 'larger|bigger|greater|more|higher'
const LESS = 'smaller|less|lower'

interface Quantity {
  readonly value: Big
  /** The text of the question; a sum is followed by its value. */
  readonly shown: string
}

/** A number, or a sum. */
function quantityOf(given: string): Quantity | undefined {
  if (/^-?\d+(?:\.\d+)?$/.test(given)) return { value: new Big(given), shown: given }
  const expression = askedSum(given, undefined)
  if (expression === undefined) return undefined
  const value = calculate(expression)
  return { value, shown: `${given} (${plainNumber(value)})` }
}

/** Which of the two is more, or less, and whether it is the first. */
function order(
  adjective: string,
  one: string,
  other: string,
): { readonly sentence: string; readonly isFirst: boolean; readonly isEqual: boolean } | undefined {
  const [first, second] = [quantityOf(one), quantityOf(other)]
  if (first === undefined || second === undefined) return undefined
  const texts = [first.shown, second.shown]
  const isEqual = first.value.eq(second.value)
  const isFirst = !isEqual && first.value.gt(second.value) === MORE.includes(adjective)
  const [wins, loses] = isFirst ? texts : texts.toReversed()
  const sentence = isEqual
    ? `${texts[0]} and ${texts[1]} are equal.`
    : `${wins} is ${adjective} than ${loses}.`
  return { sentence, isFirst, isEqual }
}

const larger: Reader = ([, adjective, one, other]) => order(adjective!, one!, other!)?.sentence

const isLarger: Reader = ([, one, adjective, other]) => {
  const found = order(adjective!, one!, other!)
  return found && `${found.isFirst ? 'Yes' : 'No'}: ${found.sentence}`
}

const COMPARED = new RegExp(
  `^(?:which(?: number)?(?: is| one is)? |what(?:'s| is) )?(?:the (?!more|less))?(${MORE}|${LESS})(?: number)?(?: is)?[:,]? (${NUMBER}),? or (${NUMBER})$`,
)

/** A comparison of two numbers, such as "which is bigger, 9.11 or 9.9?". */
function comparison(text: string): string | undefined {
  const [, adjective, one, other] = COMPARED.exec(text) ?? []
  return adjective && order(MORE.includes(adjective) ? 'larger' : 'smaller', one!, other!)?.sentence
}

const FORMS: readonly Form<[]>[] = [
  [new RegExp(`^(?:is|if) ${WHOLE} (?:is )?(?:a )?prime(?: number)?$`), prime],
  [
    new RegExp(`^(?:is|if) ${WHOLE} (?:is )?(?:evenly )?divisible by ${WHOLE}$`),
    ([, top, bottom]) => divisible(Number(top), Number(bottom)),
  ],
  [
    new RegExp(
      `^round (-?\\d+(?:\\.\\d+)?) to (?:(?:the )?nearest (${[...PLACES.keys()].join('|')})|(\\d+) decimals?(?: places?)?)$`,
    ),
    rounded,
  ],
  [new RegExp(`^(?:which|what)(?: one)?(?:'s| is)? (${MORE}|${LESS})[:,]? (.+?),? or (.+)$`), larger],
  [new RegExp(`^is (.+?) (${MORE}|${LESS}) than (.+)$`), isLarger],
]

/** A sentence that answers a question about numbers; undefined for other questions. */
export function askedFact(question: string): string | undefined {
  const text = inFigures(question.trim())
    .replace(/\s+/g, ' ')
    .replace(/[?.!\s]+$/, '')
  return comparison(text) ?? firstAnswer([...FORMS, ...NOTATIONS], [text, bareQuestion(text).bare])
}
