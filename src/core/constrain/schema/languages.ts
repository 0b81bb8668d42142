// The texts that a string case allows, as one DFA. It is built only where the limits must be exact.
import { tooLarge } from '../refuse.ts'
import {
  complementDfa,
  type Dfa,
  dfaHas,
  dfaOfLength,
  dfaSteps,
  isEmpty,
  MAX_STATES,
  meet,
  merged,
} from '../regex/dfa.ts'
import type { Regex } from '../regex/syntax.ts'
import { inParts, type Steps } from '../slices.ts'
import type { StringCase } from './cases.ts'

/** Maximum number of states for which lengths are counted; more would take seconds. */
const MAX_COUNTED = MAX_STATES / 2

const known = new WeakMap<Regex, Dfa>()

/** The texts of a pattern that is part of a schema. Throws `unsupported` if it needs too many states. */
export function languageOf(regex: Regex): Dfa {
  // The cache is consulted inside the part, because a restarted compilation requests the same parts.
  return inParts(() => languageSteps(regex))
}

function* languageSteps(regex: Regex): Steps<Dfa> {
  const dfa = known.get(regex) ?? (yield* dfaSteps(regex))
  known.set(regex, dfa)
  return dfa
}

export function matches(regex: Regex, text: string): boolean {
  return dfaHas(languageOf(regex), text)
}

/** The texts that satisfy all limits. */
export function stringLanguage(one: StringCase): Dfa {
  return ofLength(spelledLanguage(one), one)
}

function ofLength(spelled: Dfa | undefined, { minLength, maxLength }: StringCase): Dfa {
  const hasLength = minLength > 0 || maxLength !== Number.POSITIVE_INFINITY
  if (spelled === undefined) return dfaOfLength(minLength, maxLength)
  return hasLength ? meet(spelled, dfaOfLength(minLength, maxLength)) : spelled
}

/**
 * The subset of the allowed texts that is generated. Counting characters multiplies the states of a pattern;
 * if there would be too many, the longest texts are excluded. Throws `unsupported` if none are left.
 */
export function writtenLanguage(one: StringCase): Dfa {
  const { minLength, maxLength } = one
  const spelled = spelledLanguage(one)
  if (spelled === undefined || maxLength === Number.POSITIVE_INFINITY) return ofLength(spelled, one)
  const language = merged(spelled)
  const isExact = language.next.length * (maxLength + 2) <= MAX_STATES
  const counted = isExact ? maxLength : Math.floor(MAX_COUNTED / language.next.length)
  if (counted < minLength) throw tooLarge('states of a pattern', language.next.length * minLength, MAX_STATES)
  const written = meet(language, dfaOfLength(minLength, Math.min(maxLength, counted)))
  if (counted < maxLength && isEmpty(written)) {
    throw tooLarge('states of a pattern', language.next.length * maxLength, MAX_STATES)
  }
  return written
}

/** The texts of all patterns, of any length; undefined if there are none. */
function spelledLanguage({ within, outside }: StringCase): Dfa | undefined {
  const parts = [...within.map(languageOf), ...outside.map(complementDfa)]
  return parts.length === 0 ? undefined : parts.reduce((one, other) => merged(meet(one, other)))
}

/** True if the text is within the limits. */
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
 * Handles a pattern of single characters with one repetition among them: narrows the repetition's counts so
 * that the whole text has `min` to `max` characters. Undefined for any other pattern. Runs keep their
 * structure this way, which makes their masks cheap.
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

/** A lower bound on the length of the pattern's texts, in characters. */
export function shortest(regex: Regex): number {
  switch (regex.type) {
    case 'chars':
      return 1
    case 'seq':
      return regex.parts.reduce((sum, part) => sum + shortest(part), 0)
    case 'alt':
      return Math.min(...regex.options.map(shortest))
    case 'repeat':
      return regex.min === 0 ? 0 : regex.min * shortest(regex.body)
    case 'meet':
      return Math.max(0, ...regex.within.map(shortest))
    default:
      return 0
  }
}

function flat(regex: Regex): readonly Regex[] {
  return regex.type === 'seq' ? regex.parts.flatMap(flat) : [regex]
}
