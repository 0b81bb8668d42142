// Exact answers. In: a question. Out: its value, computed without a model, or none. A question that is only
// partly understood gets none.
import { calculate, equation, plainNumber } from './calculate.ts'
import { askedClock } from './clock.ts'
import { askedDate } from './dates.ts'
import { askedFact } from './facts.ts'
import { questionInEnglish } from './other-languages.ts'
import { askedFraction, askedRatio, askedSum } from './sums.ts'
import { askedConversion, convertedText, convertUnits, roundedValue } from './units.ts'
import { askedProblem } from './word-problems.ts'

/** An answer computed without a model. */
export interface ExactAnswer {
  /** The tool that a model would have called for it. */
  readonly tool: 'calculate' | 'convert_units' | 'current_date'
  /** The tool's arguments, such as `{ expression: '17 + 25' }`. */
  readonly arguments: Readonly<Record<string, string | number>>
  /** The tool's result, such as `42`. */
  readonly result: string
  /** The answer to show: an equation or a sentence in English. */
  readonly text: string
}

/** What the answer to a question depends on besides the question. */
export interface ExactContext {
  /** The current time, in the user's time zone. Default: the system clock's. */
  readonly now?: Date
  /** The result of the previous sum, from which "and times 2" continues. Default: none. */
  readonly previous?: string | undefined
}

/** Longer texts contain more than one question. */
const LONGEST = 300

/**
 * The exact answer to a question about sums, percentages, units, dates or times; undefined for other
 * questions, and for those only partly understood. Questions are in English, with numbers as words or digits;
 * sums, percentages and a few others may be in 17 more languages, with digits.
 */
export function exactAnswer(question: string, context: ExactContext = {}): ExactAnswer | undefined {
  if (question.length > LONGEST) return undefined
  const found = englishAnswer(question, context)
  if (found !== undefined) return found
  const translated = questionInEnglish(question)
  return translated === undefined ? undefined : englishAnswer(translated, context)
}

const englishAnswer = (question: string, { now = new Date(), previous }: ExactContext) =>
  sumAnswer(question, previous) ?? unitAnswer(question) ?? dateAnswer(question, now)

function sumAnswer(question: string, previous: string | undefined): ExactAnswer | undefined {
  const compared = askedFact(question)
  if (compared !== undefined)
    return { tool: 'calculate', arguments: { expression: question.trim() }, result: compared, text: compared }
  const fraction = askedFraction(question)
  if (fraction !== undefined)
    return sum(fraction.fraction, fraction.fraction, `${fraction.decimal} = ${fraction.fraction}`)
  const ratio = askedRatio(question)
  if (ratio !== undefined) {
    const result = `${plainNumber(calculate(ratio).times(100))}%`
    return sum(ratio, result, `${ratio} = ${result}`)
  }
  const expression = askedSum(question, previous) ?? askedProblem(question)
  if (expression === undefined) return undefined
  const value = calculate(expression)
  return sum(expression, plainNumber(value), equation(expression, value))
}

const sum = (expression: string, result: string, text: string): ExactAnswer => ({
  tool: 'calculate',
  arguments: { expression },
  result,
  text,
})

function unitAnswer(question: string): ExactAnswer | undefined {
  const asked = askedConversion(question)
  if (asked === undefined) return undefined
  const { value, from, to, given } = asked
  const exact = convertUnits(value, from, to)
  const shown = roundedValue(exact)
  const result = convertedText(value, from, to)
  const text = `${given} ${Math.abs(shown - exact) < 1e-9 * Math.abs(exact) ? '=' : '≈'} ${result}`
  return { tool: 'convert_units', arguments: { value, from, to }, result, text }
}

function dateAnswer(question: string, now: Date): ExactAnswer | undefined {
  const text = askedClock(question, now) ?? askedDate(question, now)
  return text === undefined ? undefined : { tool: 'current_date', arguments: {}, result: text, text }
}
