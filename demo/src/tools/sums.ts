// Sums. In: a question and earlier results. Out: its expression, and the numbers in it.
import { calculate } from './calculate.ts'

const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...ONES.split(' ').map((word, value) => [word, value] as const),
  ...TENS.split(' ').map((word, index) => [word, 10 * (index + 2)] as const),
])
const NAMED = new RegExp(`\\b(${[...NUMBERS.keys()].join('|')})\\b`, 'g')
const TENS_AND_ONES = /\b([2-9]0)[ -]([1-9])\b(?![.\d])/g

/** Words before and after a sum that are not part of it. */
const ASKS = [
  'and|so|now|then|ok|okay|hi|hello|please|also|quick(?:ly)?|can you|could you|tell (?:me|us)|do you know',
  'i (?:need|want|would like)(?: to know)?|help me with|calculate|compute|solve|evaluate|the result of',
  "work (?:this |that |it )?out|what(?:['’]?s| is| are| does| do i get for)?|how much(?: is| are| does)?",
].join('|')
const BEFORE = new RegExp(`^(?:(?:${ASKS})(?!\\w)[\\s,:]*)+`)
const AFTER =
  /(?:\s*(?:please|for me|is|are|makes?|gives?|(?:is )?equal to|comes to|equals?|in total|now|then|too|[?=.!,]))+$/

/** Phrasings of sums that begin with a verb. `1` and `2` are the two sides of the sign. */
const VERBS: readonly (readonly [RegExp, string])[] = [
  [/^(?:add|the sum of) (.+?) (?:and|to|with) (.+)$/, '$1 + $2'],
  [/^(?:subtract|take|take away) (.+?) (?:away )?from (.+)$/, '$2 - $1'],
  [/^(?:multiply|the product of) (.+?) (?:by|and|with) (.+)$/, '$1 * $2'],
  [/^divide (.+?) by (.+)$/, '$1 / $2'],
  [/^take (.+?) away$/, '- $1'],
  [/^(?:add|subtract|take away) (.+)$/, '+ $1'],
  [/^halve (.+)$/, '$1 / 2'],
]

const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\s*(?:%|per ?cent\b)/g, '%'],
  [/(?<=[\d%])\s*of\b/g, ' *'],
  [/\bhalf(?: of)?\b/g, '0.5 *'],
  [/\ba quarter of\b/g, '0.25 *'],
  [/\ba third of\b/g, '1 / 3 *'],
  [/\b(?:twice|double)\b/g, '2 *'],
  [/\b(?:to the power of|to the power)\b|\*\*/g, '^'],
  [/\bsquared\b/g, '^ 2'],
  [/\bcubed\b/g, '^ 3'],
  [/\bplus\b/g, '+'],
  [/\b(?:minus|less|take away)\b|[−–]/g, '-'],
  [/\b(?:times|multiplied by)\b|[×·⋅]|(?<=[\d)]\s*)x(?=\s*[\d(])/g, '*'],
  [/\b(?:divided by|over)\b|÷/g, '/'],
]

const PER_CENT = String.raw`([\d.]+)\s*(?:%|per ?cent\b)`
const LESS = '(?:cheaper|off|less|lower|discount|reduction)'
const MORE = '(?:dearer|more|higher|more expensive|extra)'
const ASKED = String.raw`\D*\b(?:what|how)\b\D*$`
/** Questions about a share of things, or about a price change: exactly two numbers. */
const SHARES: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(String.raw`^\D*${PER_CENT} of (?:the |all |all the |my |our )?([\d.]+) [a-z]${ASKED}`),
    '$1% * $2',
  ],
  [new RegExp(String.raw`^\D*([\d.]+) [a-z]\D*?${PER_CENT} ${LESS}\b${ASKED}`), '$1 - $2%'],
  [new RegExp(String.raw`^\D*${PER_CENT} ${LESS}\b\D*([\d.]+) [a-z]${ASKED}`), '$2 - $1%'],
  [new RegExp(String.raw`^\D*([\d.]+) [a-z]\D*?${PER_CENT} ${MORE}\b${ASKED}`), '$1 + $2%'],
]

/** The expression of such a question, with its numbers as digits. */
function askedShare(question: string): string | undefined {
  // A sentence's full stop is not part of its number.
  const figures = question.replace(/(?<=\d)\.(?=\s|$)/g, ' ')
  const found = SHARES.find(([asks]) => asks.test(figures))
  return found && tidy(figures.replace(...found))
}

/** Characters of the longest question that is read as a sum. */
const LONGEST = 200

const replaceAll = (text: string, rules: readonly (readonly [RegExp, string])[]): string =>
  rules.reduce((changed, [from, to]) => changed.replace(from, to), text)

/**
 * Numbers as digits, without separators. A comma before three digits separates thousands, as in `1,250`;
 * before one, two or more than three it is a decimal comma, as in `3,5`.
 */
const inFigures = (text: string): string =>
  text
    .toLowerCase()
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/(?<![\d.,])(\d+),(\d+)(?![\d,]|\.\d)/g, '$1.$2')
    .replace(NAMED, (word) => String(NUMBERS.get(word)))
    .replace(TENS_AND_ONES, (_, tens, ones) => String(Number(tens) + Number(ones)))

/**
 * The expression of a question that is only a sum, such as `What is 15 % of 240?`; undefined for
 * any other. `before` is the result that "that" refers to, and that `and times 2` continues.
 */
export function askedSum(question: string, before: number | undefined): string | undefined {
  if (question.length > LONGEST) return undefined
  const figures = inFigures(question.trim())
  const share = askedShare(figures)
  if (share !== undefined) return share
  const bare = figures.replace(BEFORE, '').replace(AFTER, '').trim()
  const isTaken = /^(?:subtract|take away) [^a-z]+$/.test(bare)
  const signed = isTaken ? bare.replace(/^\D+/, '- ') : replaceAll(bare, VERBS)
  const needs = /\b(?:that|it|this|the result|the answer)\b/g
  if (before === undefined && needs.test(signed)) return undefined
  const spelt = replaceAll(signed.replace(needs, String(before)), SIGNS).trim()
  if (!/^[\d.\s+\-*/^%()]+$/.test(spelt) || !/\d.*[+\-*/^%]|[+*/^-].*\d/.test(spelt)) return undefined
  const goesOn = /^(?:[+*/^]|-\s*[\d.]+%?$|-\s)/.test(spelt)
  if (goesOn && before === undefined) return undefined
  const whole = tidy(goesOn ? `${before} ${spelt}` : spelt)
  try {
    calculate(whole)
    return whole
  } catch {
    return undefined
  }
}

/** With a space around each binary operator. Ten per cent more means ten per cent of the current value. */
function tidy(expression: string): string {
  const spaced = expression
    .replace(/\s*([+*/^-])\s*/g, ' $1 ')
    .replace(/\s+/g, ' ')
    .replace(/(^|[(+*/^-]) - /g, '$1 -')
    .trim()
  return spaced.replace(/^(-?[\d.]+) ([+-]) ([\d.]+%)$/, '$1 * (1 $2 $3)')
}

const MEANT: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\b(?:half|halve|twice|double)\b/, ['2', '0.5']],
  [/\b(?:quarter|quarters)\b/, ['4', '0.25']],
  [/\b(?:third|thirds|triple)\b/, ['3']],
  [/\bdozen\b/, ['12']],
  [/\bsquared\b/, ['2']],
  [/\bcubed\b/, ['3']],
]

/** The numbers in a text; `15%` and `15` count as different. */
const numbersIn = (text: string): readonly string[] =>
  Array.from(
    inFigures(text).matchAll(/(\d+(?:\.\d+)?|\.\d+)(\s*(?:%|per ?cent\b))?/g),
    ([, figures, percent]) => `${Number(figures)}${percent === undefined ? '' : '%'}`,
  )

/**
 * The first number of an expression that occurs neither in the question nor in `results`; undefined if there
 * is none.
 */
export function foreignNumber(
  expression: string,
  question: string,
  results: readonly number[],
): string | undefined {
  const named = numbersIn(question)
  const shares = named.filter((number) => number.endsWith('%')).map((number) => Number.parseFloat(number))
  const known = new Set([
    ...named,
    ...results.map((result) => String(Math.abs(result))),
    ...MEANT.flatMap(([word, numbers]) => (word.test(question.toLowerCase()) ? numbers : [])),
    ...shares.map((share) => String(share / 100)),
  ])
  // A share may be written as a fraction.
  const written = shares.reduce(
    (text, share) => text.replace(new RegExp(`\\b${share}\\s*/\\s*100\\b`), `${share}%`),
    expression,
  )
  return numbersIn(written).find((number) => !known.has(number))
}
