// The grammar nodes of JSON values, strings and whitespace.
import {
  ANY,
  type CodePoints,
  codePoints,
  complement,
  DIGITS,
  intersect,
  ofText,
  pairs,
} from '../code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Characters that are written with a backslash in strings. */
const ESCAPED = codePoints([0, 0x1f], [0x22, 0x22], [0x5c, 0x5c])
/** Characters that are written unchanged in strings. */
const RAW = complement(ESCAPED)

/**
 * Maximum number of spaces after a line break: ten levels of two. Without a limit, a weak model could write
 * spaces forever.
 */
const MAX_INDENT = 20

/** Nothing, one space, or a line break and its indentation; nothing in compact JSON. */
export function space(grammar: Grammar): NodeId {
  if (grammar.isCompact) return grammar.empty
  const blank = grammar.chars(ofText(' \t'))
  const line = grammar.seq(grammar.text('\n'), grammar.repeat(blank, 0, MAX_INDENT))
  return grammar.alt(grammar.empty, grammar.text(' '), line)
}

/** Between a key and its value. */
export function colon(grammar: Grammar): NodeId {
  return grammar.isCompact
    ? grammar.text(':')
    : grammar.seq(grammar.text(':'), grammar.optional(grammar.text(' ')))
}

/** Between members. */
export function comma(grammar: Grammar): NodeId {
  return grammar.seq(grammar.text(','), space(grammar))
}

/** One character of a set, as `JSON.stringify` writes it, so that each text has one spelling. */
export function spelledChar(grammar: Grammar, set: CodePoints): NodeId {
  return grammar.once(`spelled ${set.join()}`, () => {
    const escapes: NodeId[] = []
    for (const [low, high] of pairs(intersect(set, ESCAPED))) {
      for (let point = low; point <= high; point++) {
        escapes.push(grammar.text(JSON.stringify(String.fromCharCode(point)).slice(1, -1)))
      }
    }
    return grammar.alt(grammar.chars(intersect(set, RAW)), ...escapes)
  })
}

/** One character of a string in any JSON spelling, except halves of surrogate pairs. */
export function freeChar(grammar: Grammar): NodeId {
  const hex = (digits: string) => grammar.chars(ofText(digits))
  const any = hex('0123456789abcdefABCDEF')
  const lead = grammar.seq(hex('dD'), hex('89abAB'), any, any)
  const trail = grammar.seq(hex('dD'), hex('cdefCDEF'), any, any)
  const single = grammar.alt(
    grammar.seq(hex('0123456789abcefABCEF'), any, any, any),
    grammar.seq(hex('dD'), hex('01234567'), any, any),
  )
  const backslash = grammar.text('\\')
  const unicode = grammar.text('\\u')
  return grammar.alt(
    grammar.chars(RAW),
    grammar.seq(backslash, grammar.chars(ofText('"\\/bfnrt'))),
    grammar.seq(unicode, single),
    grammar.seq(unicode, lead, unicode, trail),
  )
}

/** A string with these characters. */
export function quoted(grammar: Grammar, inside: NodeId): NodeId {
  const quote = grammar.text('"')
  return grammar.seq(quote, inside, quote)
}

/**
 * Any string in its only spelling. Keys need this, because another spelling such as `"\u0061"` could repeat a
 * key.
 */
export function anyKey(grammar: Grammar): NodeId {
  return quoted(grammar, grammar.repeat(spelledChar(grammar, ANY), 0, UNBOUNDED))
}

/** Exactly this value, with whitespace as in any value. */
export function literal(grammar: Grammar, value: Json): NodeId {
  if (typeof value !== 'object' || value === null) return grammar.text(JSON.stringify(value))
  const members = Array.isArray(value)
    ? value.map((item: Json) => literal(grammar, item))
    : Object.entries(value).map(([key, item]) =>
        grammar.seq(grammar.text(JSON.stringify(key)), colon(grammar), literal(grammar, item)),
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const rest = members.slice(1).flatMap((member) => [comma(grammar), member])
  const inside = members.length === 0 ? [] : [members[0]!, ...rest, space(grammar)]
  return grammar.seq(grammar.text(open), space(grammar), ...inside, grammar.text(close))
}

/**
 * Any number in JavaScript's notation that does not exceed its range: up to 21 digits before the point,
 * and an exponent of at most 307.
 */
export function anyNumber(grammar: Grammar): NodeId {
  const digit = grammar.chars(DIGITS)
  const first = grammar.chars([0x31, 0x39])
  const fraction = (most: number) =>
    grammar.optional(grammar.seq(grammar.text('.'), grammar.repeat(digit, 1, most)))
  const whole = grammar.alt(grammar.text('0'), grammar.seq(first, grammar.repeat(digit, 0, 20)))
  const twoDigits = grammar.repeat(digit, 1, 2)
  const threeDigits = grammar.alt(
    grammar.seq(grammar.chars(ofText('12')), digit, digit),
    grammar.seq(grammar.text('30'), grammar.chars(ofText('01234567'))),
  )
  const exponent = grammar.seq(
    grammar.chars(ofText('eE')),
    grammar.alt(
      grammar.seq(grammar.optional(grammar.text('+')), grammar.alt(twoDigits, threeDigits)),
      grammar.seq(grammar.text('-'), grammar.repeat(digit, 1, 3)),
    ),
  )
  const scientific = grammar.seq(first, fraction(20), exponent)
  return grammar.seq(
    grammar.optional(grammar.text('-')),
    grammar.alt(grammar.seq(whole, fraction(25)), scientific),
  )
}
