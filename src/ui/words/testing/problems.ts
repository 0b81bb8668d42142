// Translations for tests. In: an English table of messages, and its translation. Out: what is wrong with it.
import type { Message } from '../message.ts'

type Table = Readonly<Record<string, Message>>

/** Names of products, formats and units: the same words in many languages. */
const MAX_SAME_WORDS = 2
const ENDS: Readonly<Record<string, RegExp>> = { '.': /[.。।]$/, '?': /[?？؟]$/, '…': /…$/ }

const namesIn = (text: string): readonly string[] => [...new Set(text.match(/\{\w+\}/g))].sort()
const formsOf = (message: Message): readonly (readonly [string, string])[] =>
  typeof message === 'string'
    ? [['other', message]]
    : Object.entries(message).filter(([name]) => name !== 'by')
const endOf = (text: string) => Object.keys(ENDS).find((end) => ENDS[end]?.test(text))

/** The plural forms of whole numbers that occur in practice; larger ones and fractions may need another. */
const usedForms = (language: string): ReadonlySet<string> => {
  const rules = new Intl.PluralRules(language)
  return new Set(Array.from({ length: 1000 }, (_, count) => rules.select(count)))
}

/** One sentence for each difference that cannot be intentional. */
export function problemsOf(english: Table, translated: Table, language: string): readonly string[] {
  const wrong: string[] = []
  for (const name of new Set([...Object.keys(english), ...Object.keys(translated)])) {
    const [from, to] = [english[name], translated[name]]
    if (from === undefined || to === undefined) wrong.push(`${name} is in one table only`)
    else wrong.push(...problemsOfOne(from, to, language).map((problem) => `${name} ${problem}`))
  }
  return wrong
}

function problemsOfOne(from: Message, to: Message, language: string): readonly string[] {
  const wrong: string[] = []
  const wanted = formsOf(from).at(-1)?.[1] ?? ''
  const forms = formsOf(to)
  const by = typeof to === 'string' ? undefined : (to.by ?? 'count')
  if (by !== undefined) {
    const used = usedForms(language)
    const has = new Set(forms.map(([form]) => form))
    if (!namesIn(wanted).includes(`{${by}}`)) wrong.push(`depends on {${by}}, which the English text lacks`)
    for (const form of used) if (!has.has(form)) wrong.push(`lacks the form ${form}`)
    for (const form of has) if (form !== 'other' && !used.has(form)) wrong.push(`has the unused form ${form}`)
  }
  for (const [form, text] of forms) {
    // A form for a single number may spell it out.
    const isExact = ['zero', 'one', 'two'].includes(form)
    const missing = namesIn(wanted).filter(
      (name) => !namesIn(text).includes(name) && !(isExact && name === `{${by}}`),
    )
    const added = namesIn(text).filter((name) => !namesIn(wanted).includes(name))
    if (missing.length > 0) wrong.push(`(${form}) lacks ${missing}`)
    if (added.length > 0) wrong.push(`(${form}) has the unknown ${added}`)
    if (text !== text.trim() || text === '' || / {2}/.test(text))
      wrong.push(`(${form}) is empty or has stray spaces`)
    if (endOf(text) !== endOf(wanted)) wrong.push(`(${form}) ends differently: ${text}`)
    const isLong = (wanted.replace(/\{\w+\}/g, '').match(/[a-z]+/gi) ?? []).length > MAX_SAME_WORDS
    if (isLong && text === wanted) wrong.push(`(${form}) is English`)
  }
  return wrong
}
