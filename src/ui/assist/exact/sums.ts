// Sums. In: a question and the previous result. Out: its expression, or none.
import Big from 'big.js'
import { calculate, plainNumber } from './calculate.ts'
import { bareQuestion } from './frame.ts'
import { inFigures } from './numbers.ts'

type Rule = readonly [RegExp, string | ((...groups: string[]) => string)]

/** A number, or a sum in brackets. */
export const NUMBER = String.raw`(?:-?\d+(?:\.\d+)?|\([^()]*\))`
const PERCENT = String.raw`(\d+(?:\.\d+)?)\s*(?:%|per ?cent\b)`
const LIST = `(${NUMBER}(?:(?:,? and |, ?)(?:${NUMBER}))+)`
const partsOf = (list: string): readonly string[] => list.split(/,? and |, ?/)

/** Enough digits for the ten that are shown. */
const PI = '3.14159265358979'

/** Questions that name the operation, each with the expression for the whole question. */
const FORMS: readonly Rule[] = [
  [new RegExp(`^add ${PERCENT}(?: (?:vat|tax|tip))? to (${NUMBER})$`), '$2 * (1 + $1%)'],
  [new RegExp(`^(?:increase|raise) (${NUMBER}) by ${PERCENT}$`), '$1 * (1 + $2%)'],
  [new RegExp(`^(?:decrease|reduce|lower) (${NUMBER}) by ${PERCENT}$`), '$1 * (1 - $2%)'],
  [new RegExp(`^(${NUMBER}) (?:increased|raised) by ${PERCENT}$`), '$1 * (1 + $2%)'],
  [new RegExp(`^(${NUMBER}) (?:decreased|reduced|lowered) by ${PERCENT}$`), '$1 * (1 - $2%)'],
  [
    /^(?:the )?(?:average|mean) of (\d+(?:\.\d+)?(?: \d+(?:\.\d+)?)+)$/,
    (_, list) => `(${list!.replaceAll(' ', ' + ')}) / ${list!.split(' ').length}`,
  ],
  [
    /^(?:add|(?:the )?sum of|(?:the )?total of) (.+?) (?:and|to|with) (\S+)$/,
    (_, list, last) => [...partsOf(list!), last].join(' + '),
  ],
  [/^(?:subtract|take|take away) (.+?) (?:away )?from (.+)$/, '$2 - $1'],
  [/^multiply (.+?) (?:by|and|with) (.+)$/, '$1 * $2'],
  [/^divide (.+?) by (.+)$/, '$1 / $2'],
  [/^take (.+?) away$/, '- $1'],
  [/^(?:add|subtract|take away) (.+)$/, '+ $1'],
  [/^halve (.+)$/, '$1 / 2'],
  [/^(?:double|triple) (.+)$/, (question, value) => `${question!.startsWith('d') ? 2 : 3} * ${value}`],
  [new RegExp(`^(?:the )?product of ${LIST}$`), (_, list) => partsOf(list!).join(' * ')],
  [
    new RegExp(`^(?:the )?(?:average|mean)(?: value)? of ${LIST}$`),
    (_, list) => `(${partsOf(list!).join(' + ')}) / ${partsOf(list!).length}`,
  ],
  [
    new RegExp(`^(?:the )?difference (?:between|of) (${NUMBER}) and (${NUMBER})$`),
    (_, one, other) => (Number(one) < Number(other) ? `${other} - ${one}` : `${one} - ${other}`),
  ],
  [
    new RegExp(`^(?:the )?remainder (?:of|when|if) (${NUMBER})(?: is| /)? (?:divided by )?(${NUMBER})$`),
    '$1 mod $2',
  ],
  [new RegExp(`^(?:the )?factorial of (${NUMBER})$`), '$1!'],
  [
    new RegExp(`^(?:a |the )?tip of ${PERCENT} (?:on|for|of) (?:a (?:bill|meal) of )?(${NUMBER})$`),
    '$1% * $2',
  ],
  [
    new RegExp(`^(?:a |an )?${PERCENT} (?:tip|tax|vat|discount) (?:on|for|of) (?:a bill of )?(${NUMBER})$`),
    '$1% * $2',
  ],
  [new RegExp(`^(${NUMBER}) (?:with|plus) (?:a |an )?${PERCENT} (?:tip|tax|vat)$`), '$1 * (1 + $2%)'],
  [new RegExp(`^${PERCENT} off (?:of )?(${NUMBER})$`), '$2 * (1 - $1%)'],
  [new RegExp(`^(${NUMBER}) with (?:a )?${PERCENT} (?:off|discount)$`), '$1 * (1 - $2%)'],
  [
    new RegExp(
      `^(?:i owe |i pay )?(?:a )?${PERCENT} tip on (?:a |my |the )?(${NUMBER}) (?:bill|meal|check|dinner)(?:, (?:how much is (?:it|that)|what is (?:it|that)))?$`,
    ),
    '$1% * $2',
  ],
  [
    new RegExp(
      `^(?:if )?(?:i|we|you) (increase|raise|decrease|reduce|lower) (${NUMBER}) by ${PERCENT},? (?:what|how much) do (?:i|we|you) (?:get|have)$`,
    ),
    (_, verb, value, percent) =>
      `${value} * (1 ${/^[ir]/.test(verb!) && verb !== 'reduce' ? '+' : '-'} ${percent}%)`,
  ],
  [
    new RegExp(
      `^(?:an? )?(${NUMBER}) [a-z]+ with ${PERCENT} (?:vat|tax)(?: added)?,? (?:total|in total|how much)$`,
    ),
    '$1 * (1 + $2%)',
  ],
  [
    new RegExp(
      `^${PERCENT} (?:sales tax|vat|service charge|commission|interest|cashback) (?:on|for|of) (?:a bill of )?(${NUMBER})$`,
    ),
    '$1% * $2',
  ],
  [
    new RegExp(
      `^(?:what (?:number|value) is )?(${NUMBER}) is ${PERCENT} of (?:what|which)(?: number| value)?$`,
    ),
    '$1 / $2%',
  ],
  [
    new RegExp(`^(${NUMBER}) (less|more) than (${NUMBER})$`),
    (_, one, word, other) => `${other} ${word === 'less' ? '-' : '+'} ${one}`,
  ],
  [
    new RegExp(
      `^(?:what )?number is (${NUMBER}) times (?:as (?:big|large|much|many) as|bigger than) (${NUMBER})$`,
    ),
    (whole, one, other) => (whole!.includes('bigger') ? whole! : `${one} * ${other}`),
  ],
  [new RegExp(`^(?:the )?sum of ${LIST}$`), (_, list) => partsOf(list!).join(' + ')],
  [
    new RegExp(
      `^(?:the )?area of (?:a |the )?(?:rectangle|room|field) (?:with sides |of |measuring )?(${NUMBER})(?: [a-z]+)? (?:by|and|x) (${NUMBER})(?: [a-z]+)?$`,
    ),
    '$1 * $2',
  ],
  [
    new RegExp(
      `^(?:the )?area of (?:a )?square (?:with )?(?:a )?(?:side|sides|side length)(?: of| is)? (${NUMBER})$`,
    ),
    '$1 ^ 2',
  ],
  [
    new RegExp(
      `^(?:the )?perimeter of (?:a )?square (?:with )?(?:a )?(?:side|sides|side length)(?: of| is)? (${NUMBER})$`,
    ),
    '4 * $1',
  ],
  [
    new RegExp(
      `^(?:the )?perimeter of (?:a )?rectangle (?:with sides |of )?(${NUMBER}) (?:by|and|x) (${NUMBER})$`,
    ),
    '2 * ($1 + $2)',
  ],
  [
    new RegExp(
      `^(?:the )?area of (?:a )?triangle (?:with )?(?:a )?base(?: of)? (${NUMBER}) and (?:a )?height(?: of)? (${NUMBER})$`,
    ),
    '$1 * $2 / 2',
  ],
  [
    new RegExp(
      `^(?:the )?volume of (?:a )?cube (?:with )?(?:a )?(?:side|sides|edge|edges|side length)(?: of| is)? (${NUMBER})$`,
    ),
    '$1 ^ 3',
  ],
  [
    new RegExp(`^(?:the )?area of (?:a )?circle (?:with )?(?:a )?radius(?: of| is)? (${NUMBER})$`),
    `${PI} * $1 ^ 2`,
  ],
  [
    new RegExp(`^(?:the )?area of (?:a )?circle (?:with )?(?:a )?diameter(?: of| is)? (${NUMBER})$`),
    `${PI} * ($1 / 2) ^ 2`,
  ],
  [
    new RegExp(`^(?:the )?circumference of (?:a )?circle (?:with )?(?:a )?diameter(?: of| is)? (${NUMBER})$`),
    `${PI} * $1`,
  ],
  [
    new RegExp(`^(?:the )?circumference of (?:a )?circle (?:with )?(?:a )?radius(?: of| is)? (${NUMBER})$`),
    `2 * ${PI} * $1`,
  ],
  [
    new RegExp(
      `^(?:the )?simple interest on (${NUMBER}) at ${PERCENT}(?: (?:a|per) year)? (?:for|over) (${NUMBER}) years?$`,
    ),
    '$1 * $2% * $3',
  ],
  [
    new RegExp(
      `^(?:split|divide|share) (?:an? |the )?(${NUMBER})(?: bill| check)? (?:between|among|by) (${NUMBER})(?: people| persons| friends| of us)?$`,
    ),
    '$1 / $2',
  ],
  [
    new RegExp(
      `^(?:how many )?(?:groups|teams|sets|bags) of (${NUMBER}) (?:can (?:you|i|we) make|fit|are there) (?:from|in|out of|with) (${NUMBER})$`,
    ),
    '($2 - $2 mod $1) / $1',
  ],
  [/^(\d+) ?\/ ?(\d+) (?:as|in|to|into) (?:a )?decimals?(?: number)?$/, '$1 / $2'],
]

const ORDINALS = 'second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')

/** Operations inside a question, by their signs. */
const SIGNS: readonly Rule[] = [
  [/\s*(?:%|per ?cent\b)/g, '%'],
  [new RegExp(`(?:the )?(?:square root|sqrt)(?: of)? ?(${NUMBER})|√ ?(${NUMBER})`, 'g'), rootOf],
  [new RegExp(`(?:the )?(?:cube root|cbrt)(?: of)? ?(${NUMBER})`, 'g'), 'cbrt($1)'],
  [/\b(\d+) factorial\b/g, '$1!'],
  [/\b(\d+) (?:thirds?) of\b/g, '$1 / 3 *'],
  [/\b(\d+) (?:quarters?|fourths?) of\b/g, '$1 / 4 *'],
  [/\b(\d+) (?:fifths?) of\b/g, '$1 / 5 *'],
  [/(?<=[\d%])\s*of\b/g, ' *'],
  [/\bhalf of (?:a )?half\b/g, '0.5 * 0.5'],
  [/(?<![\d./])(\d+) (\d+) ?\/ ?(\d+)(?![\d./])/g, '($1 + $2 / $3)'],
  [/\b(?:a )?half(?: of)?\b/g, '0.5 *'],
  [/\ba quarter of\b/g, '0.25 *'],
  [/\ba third of\b/g, '1 / 3 *'],
  [/\ba (?:tenth|fifth) of\b/g, (words) => (words!.includes('tenth') ? '0.1 *' : '0.2 *')],
  [/\b(?:twice|double)\b/g, '2 *'],
  [/\btriple\b/g, '3 *'],
  [/\b(?:(?:raised )?to the power of|(?:raised )?to the power)\b|\*\*/g, '^'],
  [/\bto the (\d+)(?:st|nd|rd|th)(?: power)?\b/g, '^ $1'],
  [
    /\bto the (second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?: power)?\b/g,
    (_, word) => `^ ${ORDINALS.indexOf(word!) + 2}`,
  ],
  [/\b(?:4th|fourth) root of (\d+(?:\.\d+)?)/g, 'sqrt(sqrt($1))'],
  [/(?<![\d.])(\d+(?:\.\d+)?)k(?![a-z\d])/g, '($1 * 1000)'],
  [/\bsquared\b|²/g, '^ 2'],
  [/\bcubed\b|³/g, '^ 3'],
  [/\bplus\b/g, '+'],
  [/\b(?:minus|less|take away)\b|[−–]/g, '-'],
  [/\b(?:times|multiplied by)\b|[·⋅×]|(?<=[\d)]\s*)x(?=\s*[\d(])/g, '*'],
  [/\b(?:divided by|over)\b|÷/g, '/'],
  [/\bmodulo\b/g, 'mod'],
]

function rootOf(_: string, named: string | undefined, signed: string | undefined): string {
  const value = (named ?? signed)!
  return value.startsWith('(') ? `sqrt${value}` : `sqrt(${value})`
}

const LESS = '(?:cheaper|off|less|lower|discount|reduction)'
const MORE = '(?:dearer|more|higher|more expensive|extra)'
const ASKED = String.raw`\D*\b(?:what|how)\b\D*$`
/** Questions about a share of things, or about a price change: exactly two numbers. */
const SHARES: readonly Rule[] = [
  [
    new RegExp(String.raw`^\D*${PERCENT} of (?:the |all |all the |my |our )?([\d.]+) [a-z]${ASKED}`),
    '$1% * $2',
  ],
  [new RegExp(String.raw`^\D*([\d.]+) [a-z]\D*?${PERCENT} ${LESS}\b${ASKED}`), '$1 - $2%'],
  [new RegExp(String.raw`^\D*${PERCENT} ${LESS}\b\D*([\d.]+) [a-z]${ASKED}`), '$2 - $1%'],
  [new RegExp(String.raw`^\D*([\d.]+) [a-z]\D*?${PERCENT} ${MORE}\b${ASKED}`), '$1 + $2%'],
]
/**
 * Words that change such a question's meaning: it asks for the rest, only the change, or the earlier price.
 */
const OTHER_SHARE =
  /\b(?:not|rest|others?|left|remain\w*|save[ds]?|saving|before|original\w*|originally|much (?:cheaper|less|more)|difference|in total|each|per)\b/

/** The expression of such a question, with its numbers as digits. */
function askedShare(question: string): string | undefined {
  if (OTHER_SHARE.test(question)) return undefined
  // A sentence's full stop is not part of its number.
  const figures = question.replace(/(?<=\d)\.(?=\s|$)/g, ' ')
  const found = SHARES.find(([asks]) => asks.test(figures))
  return found && tidy(replaced(figures, found))
}

/** Characters of the longest question that is read as a sum. */
const LONGEST = 200

const replaced = (text: string, [from, to]: Rule): string => text.replace(from, to as string)
const replaceAll = (text: string, rules: readonly Rule[]): string => rules.reduce(replaced, text)

/** A telephone number, a date or a numeric name. */
const isLabel = (text: string): boolean => /\b0\d|^\d+\/\d+\/\d+$|^(?:9\/11|24 ?\/ ?7)$/.test(text)
/** A text that may be a label, unless the question asks for a value. */
const isMaybeLabel = (text: string): boolean =>
  /^\d{3,}-\d+$|^\d+-\d{3,}$|^\d+(?:-\d+){3,}$|^\+\d{5,}$/.test(text)

/**
 * The expression of a question that is only a sum, such as `What is 15 % of 240?`; undefined for
 * any other. `before` is the result that "that" refers to and that `and times 2` continues from.
 */
export function askedSum(question: string, before: string | undefined): string | undefined {
  if (question.length > LONGEST) return undefined
  const figures = inFigures(question.trim())
  const share = askedShare(figures)
  if (share !== undefined) return share
  const { bare, isAsked } = bareQuestion(withoutCurrency(figures))
  if (isLabel(bare) || (isMaybeLabel(bare) && !isAsked)) return undefined
  const isTaken = /^(?:subtract|take away) [^a-z]+$/.test(bare)
  const form = FORMS.find(([asks]) => asks.test(bare))
  const signed = isTaken ? bare.replace(/^\D+/, '- ') : form === undefined ? bare : replaced(bare, form)
  const needs = /\b(?:that|it|this|the result|the answer)\b/g
  if (before === undefined && needs.test(signed)) return undefined
  const spelt = replaceAll(signed.replace(needs, String(before)), SIGNS).trim()
  const signs = spelt.replace(/\b(?:sqrt|cbrt|mod)\b/g, ' + ')
  if (!/^[\d.\s+\-*/^%()!]+$/.test(signs) || !/\d.*[+\-*/^%!]|[+*/^-].*\d/.test(signs)) return undefined
  const goesOn = /^(?:[+*/^]|-\s*[\d.]+%?$|-\s)/.test(spelt)
  if (goesOn && before === undefined) return undefined
  const whole = tidy(goesOn ? `${before} ${spelt}` : spelt)
  return hasValue(whole) ? whole : undefined
}

function hasValue(expression: string): boolean {
  try {
    calculate(expression)
    return true
  } catch {
    return false
  }
}

/** Removes the signs and names of one currency; a text with several stays unchanged. */
function withoutCurrency(text: string): string {
  if (/\b(?:to|in|into|many) (?:dollars?|euros?|pounds?|cents?)\b/.test(text)) return text
  const named = text.match(/[$€£]|\b(?:dollars?|euros?|pounds?|cents?)\b/g) ?? []
  const kinds = new Set(named.map((name) => name.replace(/s$/, '')))
  if (kinds.size !== 1) return text
  return text
    .replace(/[$€£] ?(?=\d)/g, '')
    .replace(/(?<=\d) ?(?:[$€£]|(?:dollars?|euros?|pounds?|cents?)\b)/g, '')
}

/** With a space around each binary operator. Ten per cent more means ten per cent of the current value. */
function tidy(expression: string): string {
  const spaced = expression
    .replace(/\s*(mod|[+*/^-])\s*/g, ' $1 ')
    .replace(/\s+/g, ' ')
    .replace(/(^|[(+*/^-]) - /g, '$1 -')
    .replace(/\( /g, '(')
    .trim()
  return spaced.replace(/^(-?[\d.]+) ([+-]) ([\d.]+%)$/, '$1 * (1 $2 $3)')
}

/**
 * Questions for a part as a percentage of a whole, or for the percentage change from one value to another.
 */
const RATIOS: readonly Rule[] = [
  [
    new RegExp(`^(${NUMBER}) out of (${NUMBER}) (?:as|in) (?:a )?(?:percent|percentage|per cent|%)$`),
    '$1 / $2',
  ],
  [
    new RegExp(
      `^(?:the )?(?:price|it|value|cost|rent|salary) (?:went up|went down|went|rose|fell|increased|decreased|dropped) from (${NUMBER}) to (${NUMBER}),? (?:(?:what|how much) (?:percent|percentage|per cent|%) (?:increase|decrease|change)?(?: is (?:that|it|this))?)$`,
    ),
    '($2 - $1) / $1',
  ],
  [new RegExp(`^(?:what )?(?:percent|percentage|per cent) of (${NUMBER}) is (${NUMBER})$`), '$2 / $1'],
  [new RegExp(`^(${NUMBER}) is what (?:percent|percentage|per cent|%) of (${NUMBER})$`), '$1 / $2'],
  [new RegExp(`^(${NUMBER}) (?:as|in) (?:a )?(?:percent|percentage|per cent|%) of (${NUMBER})$`), '$1 / $2'],
  [new RegExp(`^(${NUMBER}) ?/ ?(${NUMBER}) (?:as|in) (?:a )?(?:percent|percentage|per cent|%)$`), '$1 / $2'],
  [
    new RegExp(
      `^(?:the )?(?:percent|percentage|per cent|%) (?:change|increase|decrease|difference|growth) from (${NUMBER}) to (${NUMBER})$`,
    ),
    '($2 - $1) / $1',
  ],
  [
    new RegExp(
      `^(${NUMBER}) (?:out )?of (?:the |my |our )?(${NUMBER}) [a-z]+ ([a-z ]+)\\. (?:what|which) (?:percentage|percent|per cent|share)(?: of [a-z]+)? \\3$`,
    ),
    '$1 / $2',
  ],
]

/** The expression of a share or a change asked for as a percentage; undefined for other questions. */
export function askedRatio(question: string): string | undefined {
  const { bare } = bareQuestion(withoutCurrency(inFigures(question.trim())))
  const form = RATIOS.find(([asks]) => asks.test(bare))
  if (form === undefined) return undefined
  const expression = tidy(replaced(bare, form))
  return hasValue(expression) ? expression : undefined
}

/** A decimal as a fraction in lowest terms: `3/4`. */
export function askedFraction(
  question: string,
): { readonly decimal: string; readonly fraction: string } | undefined {
  const { bare } = bareQuestion(inFigures(question.trim()))
  const found = /^(\d*\.\d{1,8}) (?:as|in|to|into) (?:a )?fraction$/.exec(bare)
  if (found === null) return undefined
  const decimals = found[1]!.split('.')[1]!.length
  let top = new Big(found[1]!).times(new Big(10).pow(decimals)).toNumber()
  let bottom = 10 ** decimals
  for (const prime of [2, 5]) for (; top % prime === 0 && bottom % prime === 0; top /= prime) bottom /= prime
  return { decimal: plainNumber(new Big(found[1]!)), fraction: `${top}/${bottom}` }
}
