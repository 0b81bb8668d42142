// Numbers in words. In: an English text. Out: the same text in lower case, with its numbers as digits.
import Big from 'big.js'

const valuesOf = (first: number, step: number, words: string): readonly (readonly [string, number])[] =>
  words.split(' ').map((word, index) => [word, first + step * index] as const)

const SMALL: ReadonlyMap<string, number> = new Map([
  ...valuesOf(0, 1, 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen'),
  ...valuesOf(15, 1, 'fifteen sixteen seventeen eighteen nineteen'),
])
const TENS: ReadonlyMap<string, number> = new Map(
  valuesOf(20, 10, 'twenty thirty forty fifty sixty seventy eighty ninety'),
)
const SCALES: ReadonlyMap<string, number> = new Map([
  ['hundred', 100],
  ['thousand', 1000],
  ['million', 1e6],
  ['billion', 1e9],
])

const WORDS = [...SMALL.keys(), ...TENS.keys(), ...SCALES.keys()].join('|')
/** Consecutive number words; `a` and `and` count only inside a number. */
const RUN = new RegExp(
  String.raw`\b(?:an? (?=(?:${[...SCALES.keys()].join('|')})\b))?(?:${WORDS})(?:(?:[ -]| and )(?:${WORDS}))*\b`,
  'g',
)
const SCALED = /(\d+(?:\.\d+)?) (hundred|thousand|million|billion)\b(?! (?:and )?\d)/g

/**
 * The value of a run of number words, such as "two hundred and five"; undefined for a run that is not one
 * number, such as "one two" or "five and six".
 */
function valueOfRun(run: string): number | undefined {
  let total = 0
  let group = 0
  let last = Number.POSITIVE_INFINITY
  let isAfterAnd = false
  for (const word of run.split(/[ -]/)) {
    const scale = SCALES.get(word)
    const value = SMALL.get(word) ?? TENS.get(word)
    if (word === 'a' || word === 'an') group = 1
    else if (word === 'and') {
      if (last < 100) return undefined
      isAfterAnd = true
    } else if (scale === 100) {
      if (group === 0 || group >= 20) return undefined
      group *= 100
      last = 100
    } else if (scale !== undefined) {
      if (group === 0 || (total > 0 && scale >= total)) return undefined
      total += group * scale
      group = 0
      last = scale
    } else if (value !== undefined) {
      const fits = last >= 100 || (last >= 20 && value > 0 && value < 10 && !isAfterAnd)
      if (!fits) return undefined
      group += value
      last = TENS.has(word) ? 20 : 1
      isAfterAnd = false
    }
  }
  return isAfterAnd ? undefined : total + group
}

/** A run as digits; if it has several numbers, such as "one and two", they stay separate. */
function figuresOf(run: string): string {
  const whole = valueOfRun(run)
  if (whole !== undefined) return String(whole)
  const at = run.lastIndexOf(' and ')
  if (at >= 0) return `${figuresOf(run.slice(0, at))} and ${figuresOf(run.slice(at + 5))}`
  const words = run.split(' ')
  return words.map((word) => String(valueOfRun(word) ?? word)).join(' ')
}

/**
 * `text` in lower case, with numbers as digits and without separators: "Twenty-five" is 25, "two and a half"
 * 2.5, "1.5 million" 1500000. A comma before three digits separates thousands, as in `1,250`; before one, two
 * or more than three it is a decimal comma, as in `3,5`.
 */
export const inFigures = (text: string): string =>
  text
    .toLowerCase()
    .replace(/’/g, "'")
    .replace(/(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])/g, (figures) => figures.replaceAll(',', ''))
    .replace(/(?<![\d.,])(\d+),(\d+)(?![\d,]|\.\d)/g, '$1.$2')
    .replace(/\bhalf a dozen\b/g, '6')
    .replace(/\b(?:a|one) dozen\b/g, '12')
    .replace(RUN, figuresOf)
    .replace(/\b(\d+) dozen\b/g, (_, count) => String(12 * Number(count)))
    .replace(/\b(\d+) and a half\b/g, '$1.5')
    .replace(/\b(\d+) and (?:a|1) quarter\b/g, '$1.25')
    .replace(/\b(\d+) and 3 quarters\b/g, '$1.75')
    .replace(SCALED, (_, figures, scale) => new Big(figures).times(SCALES.get(scale)!).toFixed())
