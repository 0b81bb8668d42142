// String languages. In: the limits of a string case. Out: its texts as one DFA, made only if limits must be
// exact.
import { complementDfa, type Dfa, dfaHas, dfaOf, dfaOfLength, meet } from '../regex/dfa.ts'
import type { Regex } from '../regex/syntax.ts'
import type { StringCase } from './cases.ts'

const known = new WeakMap<Regex, Dfa>()

/** The texts of a pattern that is part of a schema. Throws `unsupported` if it needs too many states. */
export function languageOf(regex: Regex): Dfa {
  let dfa = known.get(regex)
  if (dfa === undefined) {
    dfa = dfaOf(regex)
    known.set(regex, dfa)
  }
  return dfa
}

export function matches(regex: Regex, text: string): boolean {
  return dfaHas(languageOf(regex), text)
}

/** The texts that all limits allow. */
export function stringLanguage({ minLength, maxLength, within, outside }: StringCase): Dfa {
  const parts = [...within.map(languageOf), ...outside.map(complementDfa)]
  if (parts.length === 0 || minLength > 0 || maxLength !== Number.POSITIVE_INFINITY) {
    parts.push(dfaOfLength(minLength, maxLength))
  }
  return parts.reduce(meet)
}

/** True when the text is within the limits. */
export function stringHas(one: StringCase, text: string): boolean {
  const length = Array.from(text).length
  return (
    length >= one.minLength &&
    length <= one.maxLength &&
    one.within.every((regex) => matches(regex, text)) &&
    !one.outside.some((dfa) => dfaHas(dfa, text))
  )
}

/**
 * Handles a pattern of single characters with one repetition among them. It narrows the repetition's counts
 * so that the whole has `min` to `max` characters; undefined for any other pattern. Runs then keep their
 * form, which makes their masks cheap.
 */
export function withLength(regex: Regex, min: number, max: number): Regex | undefined {
  const parts = flat(regex)
  const at = parts.findIndex(({ type }) => type === 'repeat')
  const run = parts[at]
  if (run?.type !== 'repeat' || run.body.type !== 'chars') return undefined
  if (parts.some((part, index) => index !== at && part.type !== 'chars')) return undefined
  const fixed = parts.length - 1
  const counts = { min: Math.max(run.min, min - fixed), max: Math.min(run.max, max - fixed) }
  if (counts.min > counts.max) return { type: 'alt', options: [] }
  return { type: 'seq', parts: parts.with(at, { ...run, ...counts }) }
}

function flat(regex: Regex): readonly Regex[] {
  return regex.type === 'seq' ? regex.parts.flatMap(flat) : [regex]
}
