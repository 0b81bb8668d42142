// Messages. In: a text with names in braces, or one such text for each plural form, values, a language. Out:
// the displayed text.
import { isRightToLeft } from './languages.ts'

/** A text for each plural form that the language has. Its CLDR rules choose between them. */
export interface Plural {
  /** The name of the number that decides; `count` if absent. */
  readonly by?: string
  readonly zero?: string
  readonly one?: string
  readonly two?: string
  readonly few?: string
  readonly many?: string
  readonly other: string
}

export type Message = string | Plural

export type Values = Readonly<Record<string, string | number>>

/** Replaces the names in braces with `values`, unchanged. */
export const fill = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole))

/**
 * Fills in a message: numbers are formatted for the language, and texts are isolated from the text around
 * them.
 */
export function say(message: Message, values: Values, language: string): string {
  const text = typeof message === 'string' ? message : chosen(message, values, language)
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name] ?? whole
    return typeof value === 'number' ? numberText(value, language) : isolated(value, language)
  })
}

function chosen(message: Plural, values: Values, language: string): string {
  const form = new Intl.PluralRules(language).select(Number(values[message.by ?? 'count']))
  return message[form] ?? message.other
}

const HAS_RIGHT_TO_LEFT = /[\u0591-\u08ff\ufb1d-\ufefc]/

/**
 * Where the directions of a text and the one around it may differ, it is isolated, so that the punctuation
 * beside it stays in its place.
 */
export const isolated = (text: string, language: string): string =>
  isRightToLeft(language) || HAS_RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text

/**
 * For example `131,072`, or with two `digits` after the point `2.50`. In English, small numbers are not left
 * to `Intl`, which takes as long to start as rendering a part of the page.
 */
export function numberText(value: number, language: string, digits?: number): string {
  if (language === 'en' && Math.abs(value) < 1e4)
    return digits === undefined ? `${value}` : value.toFixed(digits)
  return new Intl.NumberFormat(language, {
    useGrouping: 'min2',
    ...(digits !== undefined && { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  }).format(value)
}
