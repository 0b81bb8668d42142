import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Language } from '../testing/language.ts'
import { found, whole } from './anchors.ts'
import { dfaOf, isEmpty, regexNode } from './dfa.ts'
import { parseRegex } from './syntax.ts'

const language = (pattern: string, mode: typeof whole) =>
  new Language((grammar) => regexNode(grammar, mode(parseRegex(pattern)), (set) => grammar.chars(set)))

/** Like `language`, for patterns that may match no text at all. */
const languageOf = (pattern: string, mode: typeof whole) => {
  if (isEmpty(dfaOf(mode(parseRegex(pattern))))) return () => false
  const own = language(pattern, mode)
  return (text: string) => own.has(text)
}

/** Patterns over a few characters, as text. */
const PATTERN = fc.letrec<{ tree: string; atom: string; part: string }>((tie) => ({
  atom: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'é', '😀', '.', '\\d', '\\w', '\\s', '\\n', '\\.') },
    {
      weight: 3,
      arbitrary: fc.constantFrom('[ab]', '[^a]', '[a-cé-ü]', '[^\\s-]', '[\\d_-]', '\\u00e9', '\\x41'),
    },
    { weight: 2, arbitrary: tie('tree').map((tree) => `(?:${tree})`) },
  ),
  part: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{0,2}?', '{2,}'))
    .map(([atom, count]) => `${atom}${count}`),
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
    fc.tuple(tie('tree'), tie('tree')).map((trees) => trees.join('|')),
  ),
})).tree

const TEXT = fc
  .array(fc.constantFrom('a', 'b', 'c', 'é', '😀', '漢', '1', '_', ' ', '\n', '.', '-', 'A'), {
    maxLength: 8,
  })
  .map((chars) => chars.join(''))

describe('a pattern accepts the texts that RegExp accepts', () => {
  test('from beginning to end', () => {
    fc.assert(
      fc.property(PATTERN, fc.array(TEXT, { minLength: 12, maxLength: 12 }), (pattern, texts) => {
        const real = new RegExp(`^(?:${pattern})$`, 'u')
        const own = language(pattern, whole)
        for (const text of texts)
          expect(own.has(text), `${pattern} on ${JSON.stringify(text)}`).toBe(real.test(text))
      }),
      { numRuns: 300 },
    )
  })

  test('anywhere, with anchors at its edges', () => {
    const edge = fc.tuple(fc.constantFrom('', '^'), PATTERN, fc.constantFrom('', '$'))
    const pattern = fc
      .array(
        edge.map(([start, body, end]) => `${start}(?:${body})${end}`),
        { minLength: 1, maxLength: 3 },
      )
      .map((options) => options.join('|'))
    fc.assert(
      fc.property(pattern, fc.array(TEXT, { minLength: 12, maxLength: 12 }), (source, texts) => {
        const real = new RegExp(source, 'u')
        const own = language(source, found)
        for (const text of texts)
          expect(own.has(text), `${source} on ${JSON.stringify(text)}`).toBe(real.test(text))
      }),
      { numRuns: 200 },
    )
  })

  test.each([
    ['(^a|b)c$', ['ac', 'xbc', 'xac', 'acx']],
    ['^$', ['', 'a']],
    ['^', ['', 'a']],
    ['(?<year>\\d{4})-\\d{2}', ['on 2026-11', '202-11']],
    ['\\u{1F600}|\\ud83d\\ude01|\\cJ|\\0|[\\b]', ['😀', '😁', '\n', '\0', '\b', 'x']],
    ['[]', ['', 'a']],
    ['a|[^]', ['a', '\n', '']],
    ['^[^\\W\\d_]+$', ['abc', 'ab1', '_']],
    ['^\\p{Lu}\\p{L}*$', ['Éa', 'éa', 'Ж', 'A1']],
    ['^[\\P{L}\\p{Script=Greek}]+$', ['α1', 'a']],
    ['^\\p{Emoji_Presentation}$', ['😀', 'a']],
  ])('%s', (source, texts) => {
    const real = new RegExp(source, 'u')
    if (source === '[]') return expect(() => language(source, found)).toThrow(/matches no text/)
    const own = language(source, found)
    for (const text of texts) expect(own.has(text), JSON.stringify(text)).toBe(real.test(text))
    return undefined
  })
})

describe('lookahead', () => {
  const PIECE = fc.constantFrom('a', 'b+', '[ab]', '.', '.*', 'c?', '(?:ab|c)', '(?:a|bb)*', '\\w{2}', '')
  const BODY = fc.array(PIECE, { maxLength: 3 }).map((parts) => parts.join(''))
  const AHEAD = fc
    .tuple(fc.constantFrom('=', '!'), BODY, fc.constantFrom('', '$', '.*c'))
    .map(([kind, body, end]) => `(?${kind}${body}${end})`)
  const MIXED = fc
    .array(fc.oneof(AHEAD, PIECE), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(''))

  // V8 also tries `(?!.*$)` between the two halves of 😀.
  const PLAIN = TEXT.map((text) => text.replaceAll('😀', 'é'))

  test.each([
    ['from beginning to end', whole, (source: string) => `^(?:${source})$`],
    ['anywhere', found, (source: string) => source],
  ] as const)('accepts the texts that RegExp accepts, %s', (_, mode, wrapped) => {
    const pattern = fc.oneof(
      MIXED,
      fc.tuple(MIXED, MIXED).map(([one, other]) => `(?:${one})?${other}|b`),
    )
    fc.assert(
      fc.property(pattern, fc.array(PLAIN, { minLength: 12, maxLength: 12 }), (source, texts) => {
        const real = new RegExp(wrapped(source), 'u')
        const has = languageOf(source, mode)
        for (const text of texts)
          expect(has(text), `${source} on ${JSON.stringify(text)}`).toBe(real.test(text))
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', ['12.50', '-3', '.', '+', 'abc']],
    ['^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+$', ['a.b@c', '.a@c', 'a..b@c']],
    ['^P(?!$)(\\d+Y)?(\\d+M)?(T(?=\\d)(\\d+H)?(\\d+S)?)?$', ['P1Y', 'P', 'P1YT', 'PT5S', 'P2MT1H3S']],
    ['^(?=.*[A-Z])(?=.*\\d).{4,8}$', ['Abc1', 'abc1', 'ABCD', 'A1b', 'A1234567', 'A12345678']],
    ['foo(?!bar)', ['foo', 'foobar', 'foobaz', 'foobarfoo']],
  ])('%s', (source, texts) => {
    const real = new RegExp(source, 'u')
    const has = languageOf(source, found)
    for (const text of texts) expect(has(text), text).toBe(real.test(text))
  })

  test('within a long repetition is rejected', () => {
    expect(() => language('((?=a).)*', whole)).toThrow(/repeated more than 16 times/)
  })
})

describe('a pattern is rejected', () => {
  test.each([
    ['(?<=a)b', /lookbehind/],
    ['(?<!a)b', /lookbehind/],
    ['(?i:a)', /lookbehind or flags/],
    ['(a)\\1', /back-reference/],
    ['(?<x>a)\\k<x>', /back-reference/],
    ['\\bword\\b', /word boundary/],
    ['(?i)^abc$', /the flags \(\?i\)/],
    ['\\p{L}'.repeat(17), /more than 16 Unicode properties/],
    ['a^b', /\^ in the middle/],
    ['(a$)*', /\$ in the middle/],
    ['a**', /repeat/i],
    ['^*', /repeat/i],
    ['(^)*', /\^ in the middle/],
    ['*a', /repeat/i],
    ['(a', /is not valid: Unterminated group; correct it/],
    ['a)', /is not valid/],
    ['[a', /is not valid/],
    ['[z-a]', /order/],
    ['a{2,1}', /order/],
    ['a{9999999}', /more than 1048576/],
    ['\\q', /escape/],
    ['\\u12', /Unicode escape/],
    ['\\ud800', /a lone surrogate/],
    ['\\ud83d\\u0041', /a lone surrogate/],
    ['a\\', /is not valid/],
    [`${'('.repeat(500)}${')'.repeat(500)}`, /nests groups more than 200/],
    ['a'.repeat(70_000), /70000 characters/],
  ])('%s'.slice(0, 40), (pattern, message) => {
    expect(() => language(pattern, whole)).toThrow(message)
    expect(() => language(pattern, whole)).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })
})

test.each<[string, string, readonly string[], readonly string[]]>([
  ['Python’s anchors', '\\Aab\\Z', ['ab'], ['abc', 'Aab']],
  ['a lower-case anchor', '^ab\\z', ['ab'], ['abz']],
  ['Python’s named groups', '(?P<year>\\d{4})-(?P<month>\\d\\d)', ['2026-11'], ['P2026-11']],
  ['needless escapes', '\\!\\"\\@\\_\\-\\ \\é', ['!"@_- é'], ['\\!']],
  ['needless escapes in a class', "[\\'\\@\\-]", ["'", '@', '-'], ['\\']],
  ['literal brackets', 'a{x}[]a]}\\!', ['a{x}]}!', 'a{x}a}!'], ['a{x}}!']],
  ['hyphens next to class escapes', '[\\w-.]+\\@', ['a-b.c@'], ['+@']],
  ['Python’s code points', '^[\\U0001F600x]\\U000000e9$', ['😀é', 'xé'], ['U']],
  ['comments', '^a(?#b c)d[(?#)]$', ['ad(', 'ad#'], ['abd']],
  ['a bell', '\\a\\!', ['\x07!'], ['a!']],
])('%s are read as in Python or JavaScript without flags', (_, pattern, inside, outside) => {
  const own = language(pattern, whole)
  for (const text of inside) expect(own.has(text), text).toBe(true)
  for (const text of outside) expect(own.has(text), text).toBe(false)
})
