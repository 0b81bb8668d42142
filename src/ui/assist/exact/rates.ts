// Rates. In: a question such as "I read 25 pages a day. How many pages in 2 weeks?", with its numbers in
// figures. Out: its expression, or none.

const N = String.raw`(\d+(?:\.\d+)?)`
const PER = '(?:an?|per|every|each)'
const UNIT = '(minute|hour|day|week|month|year)s?'
const ENDS = '[.,;]* (?:so )?'

/**
 * How many of the first unit make up the second, where that is certain. Not hours and days: a day includes
 * rest.
 */
const CONTAINED: ReadonlyMap<string, number> = new Map([
  ['minute hour', 60],
  ['day week', 7],
  ['month year', 12],
])
/** What people do not do on each day of a week. */
const ON_WORKDAYS = /^(?:earn|make|sell|produce|work)/

const singular = (noun: string): string => noun.replace(/s$/, '')

const AMOUNT_IN = new RegExp(
  `^(?:if )?(?:i|we|you|he|she|they|it|[a-z]+|(?:my|the|an?) [a-z]+) (reads?|saves?|drinks?|eats?|walks?|runs?|writes?|smokes?|spends?|pays?|uses?|sleeps?|learns?|bakes?|lays?|earns?|makes?|sells?|produces?|types?|does|do|watch|watches) (?:about )?${N} ([a-z]+) ${PER} ${UNIT}${ENDS}how (many|much)((?: [a-z]+)*?) (?:in|after|for|over|during|within) (\\d+|an?) ${UNIT}$`,
)
/** Whether the words after "how many" ask for all of the thing, and for nothing else. */
function isAskedFor(thing: string, many: string, words: string): boolean {
  if (/\b(?:left|more|fewer|less|remain\w*|without|not|extra|need\w*|finish\w*|other|still)\b/.test(words))
    return false
  const noun = words.split(' ')[0]!
  if (singular(noun) === singular(thing)) return true
  return many === 'much' && /^(?:|money|will|do|does|is|would|have)$/.test(noun)
}

/** The expression of an amount at a rate; undefined for other questions. */
export function askedRate(text: string): string | undefined {
  const amount = AMOUNT_IN.exec(text)
  if (amount === null) return undefined
  const [, verb, rate, thing, unit, many, words, times, whole] = amount
  if (!isAskedFor(thing!, many!, words!.trim())) return undefined
  const contained = unit === whole ? 1 : CONTAINED.get(`${unit} ${whole}`)
  if (contained === undefined || (unit === 'day' && contained > 1 && ON_WORKDAYS.test(verb!)))
    return undefined
  const factors = [times!.replace(/^an?$/, '1'), `${contained}`].filter((factor) => factor !== '1')
  return factors.length === 0 ? undefined : [rate, ...factors].join(' * ')
}
