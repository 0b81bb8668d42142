// The arguments that a call for a message can have. In: a message. Out: for each tool, a JSON Schema of its
// arguments whose numbers, units, dates and places are those of the message. Small models would make up
// others.
import { timeInPlace } from '../exact/dates.ts'
import { inFigures } from '../exact/numbers.ts'
import { areSameUnit, canConvert, isUnit } from '../exact/units.ts'
import type { AssistToolName } from './assist-tools.ts'

export type ArgumentForms = Partial<Readonly<Record<AssistToolName, object>>>

/** More than any question has. Each makes the grammar of a call larger. */
const MOST = 8
/** Numbers that people need not say: 1, and those of percent, clock, calendar and metric units. */
const KNOWN = ['1', '7', '12', '24', '30', '52', '60', '100', '365', '1000']
/** Words that are also names of units. */
const COMMON = /^(?:a|an|are|as|at|b|bit|d|h|i|in|me|n|o|p|point|s|second|seconds|t|us|y)$/
const MONTH =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?'
const DATES = new RegExp(
  String.raw`\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:${MONTH})(?:,? \d{4})?|(?:${MONTH}) \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?|christmas(?: eve)?|new year(?:'s eve)?|halloween)\b`,
  'gi',
)

const unique = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)].slice(0, MOST)

/** The runs of one to `most` words of a text. */
function runsOf(text: string, most: number): readonly string[] {
  const words = text.match(/[\p{L}°²/']+/gu) ?? []
  return words.flatMap((_, at) =>
    Array.from({ length: Math.min(most, words.length - at) }, (__, more) =>
      words.slice(at, at + more + 1).join(' '),
    ),
  )
}

/** The tools for which a message contains arguments, with the schemas of these arguments. */
export function argumentsFrom(message: string, now: Date): ArgumentForms {
  const expression = expressionForm(message)
  const conversions = conversionsOf(message)
  const places = unique(runsOf(message, 3).filter((run) => timeInPlace(run, now) !== undefined))
  const days = unique([...(message.match(DATES) ?? []), 'today'])
  const pairs = days.flatMap((from, at) => days.slice(at + 1).map((to) => ({ from, to })))
  return {
    ...(expression !== undefined && {
      calculate: objectOf({ expression: { type: 'string', pattern: expression } }),
    }),
    ...(conversions.length > 0 && { convert_units: oneOf(conversions) }),
    ...(places.length > 0 && { time_in: objectOf({ place: { enum: places } }) }),
    ...(pairs.length > 0 && { days_between: oneOf(pairs) }),
    current_date: objectOf({}),
  }
}

const objectOf = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

const oneOf = (all: readonly object[]): object => ({
  anyOf: all.map((each) =>
    objectOf(Object.fromEntries(Object.entries(each).map(([name, value]) => [name, { const: value }]))),
  ),
})

/**
 * A pattern of expressions with the message's numbers, which may be percentages, and with known ones.
 * Undefined for fewer than two numbers: there is nothing to work out.
 */
function expressionForm(message: string): string | undefined {
  const figures = inFigures(message.replace(DATES, ' '))
  const numbers = figures.match(/\d+(?:\.\d+)?/g) ?? []
  if (numbers.length < 2) return undefined
  const percents = Array.from(figures.matchAll(/(\d+(?:\.\d+)?) ?(?:%|per ?cent)/g), ([, value]) =>
    Number(value),
  )
  const shares = percents.flatMap((value) => [value / 100, 1 + value / 100, 1 - value / 100])
  const shown = shares.map((share) => String(Number(share.toFixed(8))))
  const known = [...unique(numbers), ...unique(shown), ...KNOWN].map((number) =>
    number.replace('.', String.raw`\.`),
  )
  const value = String.raw`\(?(?:${[...new Set(known)].join('|')})%?\)?`
  return String.raw`^\(?${value}(?: [-+*/] ${value}){1,7}\)?$`
}

interface Quantity {
  readonly value: number
  readonly from: string
}

/** The conversions of quantities of the message to other units that it names. */
function conversionsOf(message: string): readonly (Quantity & { readonly to: string })[] {
  const quantities = Array.from(
    inFigures(message).matchAll(/(\d+(?:\.\d+)?)\s*((?:[\p{L}°²/']+ ?){1,3})/gu),
    ([, value, after]): Quantity | undefined => {
      const from = runsFromStart(after!).find((run) => isUnit(run))
      return from === undefined ? undefined : { value: Number(value), from }
    },
  ).filter((each) => each !== undefined)
  const units = unique(runsOf(message.toLowerCase(), 3).filter((run) => !COMMON.test(run) && isUnit(run)))
  return quantities
    .flatMap((quantity) =>
      units
        .filter((to) => canConvert(quantity.from, to) && !areSameUnit(quantity.from, to))
        .map((to) => ({ ...quantity, to })),
    )
    .slice(0, MOST)
}

/** The first three words, two, and one. */
function runsFromStart(text: string): readonly string[] {
  const words = text.trim().split(' ')
  return [3, 2, 1].map((count) => words.slice(0, count).join(' '))
}
