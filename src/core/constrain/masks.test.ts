import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEAD } from './automaton.ts'
import { ConstraintCompiler } from './compile.ts'
import { gbnf, type Language } from './testing/language.ts'
import { allowed, type SmallVocabulary, smallVocabulary } from './testing/vocabulary.ts'
import { writeGrammar } from './write-grammar.ts'
import type { ConstraintSpec, TokenConstraint } from './written-grammar.ts'

/** Tokens that begin, end and cross grammar parts, including incomplete characters. */
const VOCABULARY = smallVocabulary([
  'ab',
  'abc',
  'abcabcabc',
  'bb',
  '"',
  '",',
  '":',
  '"}',
  '"a',
  'a"',
  'a","',
  'a"}]',
  '{"',
  '[[',
  ']]',
  ']]]',
  '  ',
  '\n  ',
  '\n',
  ': ',
  ', ',
  '12',
  '123',
  '1,',
  '2]',
  'true',
  'tr',
  'ue',
  'nullnull',
  'é',
  'éé',
  'aé"',
  '漢字',
  '字"',
  '😀',
  '\\n',
  '\\u',
  '\\u00',
  'e9"',
  '<th',
  'ink>',
  'aaaaaaaaaaaaaaaaaaaaaaaa',
  'ab',
  'ab',
  [0xc3],
  [0xa9, 0x22],
  [0xe6, 0xbc],
  [0xf0, 0x9f],
  [0x98, 0x80, 0x61],
  [0x61, 0xe6],
])

const SOURCES = {
  json: String.raw`root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}"
array ::= "[" ws (value ("," ws value)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4})
number ::= "-"? ("0" | [1-9] [0-9]{0,3})
ws ::= " "? | "\n" " "{0,4}`,
  shortStrings: 'root ::= "[" string ("," string){0,3} "]"\nstring ::= "\\"" [^"\\\\]{2,5} "\\""',
  openRuns: 'root ::= word (", " word)* "."?\nword ::= [a-cé]{1,6}',
  notPrefixFree: 'root ::= ("a" | "ab" | "abc" | "b"){1,7} "c"?',
  ambiguous: 'root ::= ("a" | "b")* "a" ("a" | "b" | "c"){3} | [a-c]*',
  choices: 'root ::= "abc" | "ab" | "abcabcabc" | "true" | "é漢字"',
  tokens: 'root ::= <think> inner "." "ab"*\ninner ::= !<think>{0,4}',
  letters: 'root ::= [^\\n]* "\\n" [^\\n]*',
} as const

/** Every id that may come next, found without a trie, frames or caches. */
function bruteForce(language: Language, vocabulary: SmallVocabulary, state: number): number[] {
  const { automaton } = language
  const { tokens, hasEnd } = automaton.closure(state)
  const ids: number[] = []
  for (let id = 0; id < vocabulary.vocab; id++) {
    automaton.work.renew()
    const isEnd = vocabulary.endIds.has(id)
    const isText = id < vocabulary.vocabSize && !vocabulary.isSpecial(id)
    let after = isText ? state : DEAD
    if (isText) for (const byte of vocabulary.tokenBytes(id)) after = automaton.step(after, byte)
    const isNamed = tokens.some((token) => (token.id === id) !== token.negated)
    if (after !== DEAD || (isEnd && hasEnd) || isNamed) ids.push(id)
  }
  return ids
}

describe('a mask equals the result of trying every token', () => {
  test.each(Object.entries(SOURCES).filter(([name]) => name !== 'tokens'))('%s', (_, grammar) => {
    const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
    const language = gbnf(grammar)
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 24 }), (picks) => {
        const constraint = compiler.constrain(writeGrammar({ type: 'grammar', grammar }))
        const { automaton } = language
        let state = automaton.start
        for (const pick of picks) {
          const ids = allowed(constraint.mask())
          expect(ids).toEqual(bruteForce(language, VOCABULARY, state))
          expect(constraint.canEnd).toBe(automaton.closure(state).hasEnd)
          expect(constraint.mustEnd).toBe(constraint.canEnd && ids.length === 1)
          // Prefers one of the longer tokens to the many single bytes.
          const long = ids.filter((id) => id >= 256 && id !== VOCABULARY.endId)
          const choice =
            long.length > 0 && pick % 4 !== 0 ? long : ids.filter((id) => id !== VOCABULARY.endId)
          const id = choice[pick % choice.length]
          if (id === undefined) return
          constraint.accept(id)
          for (const byte of VOCABULARY.tokenBytes(id)) state = automaton.step(state, byte)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('with tokens named in the grammar', () => {
    const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
    const constraint = compiler.constrain(writeGrammar({ type: 'grammar', grammar: SOURCES.tokens }))
    expect(allowed(constraint.mask())).toEqual([VOCABULARY.controlId])
    constraint.accept(VOCABULARY.controlId)
    expect(allowed(constraint.mask())).toHaveLength(VOCABULARY.vocab - 1)
    // Also tokens without text: any token except the named one.
    constraint.accept(VOCABULARY.endId)
    constraint.accept(VOCABULARY.idOf('ab')!)
    constraint.accept('.'.charCodeAt(0))
    expect(constraint.canEnd).toBe(true)
    const ids = allowed(constraint.mask())
    expect(ids).toContain(VOCABULARY.idOf('ab')!)
    expect(ids).not.toContain(VOCABULARY.controlId)
  })

  test('that names tokens which the model lacks is rejected with the position of the first', () => {
    const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
    for (const token of ['<nope>', '<[99999]>']) {
      const grammar = `root ::= ("a"\n  ${token} "b" ${token})`
      expect(() => compiler.constrain(writeGrammar({ type: 'grammar', grammar }))).toThrow(
        expect.objectContaining({
          code: 'unsupported',
          message: `the constraint has a grammar that names ${token}, which is not one token of this model in line 2, column 4; correct it`,
        }),
      )
    }
  })
})

function run(constraint: TokenConstraint, text: string): TokenConstraint {
  for (const id of VOCABULARY.encode(text)) {
    expect(allowed(constraint.mask())).toContain(id)
    constraint.accept(id)
  }
  return constraint
}

describe('a constraint', () => {
  const begin = (spec: ConstraintSpec) =>
    new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds).constrain(writeGrammar(spec))

  test('ends where the text may end, and not before', () => {
    const constraint = begin({ type: 'choices', choices: ['ab', 'abc', '😀'] })
    expect(constraint).toMatchObject({ canEnd: false, mustEnd: false })
    expect(() => constraint.accept(VOCABULARY.endId)).toThrow(/forbids/)
    constraint.accept(VOCABULARY.idOf('ab')!)
    expect(constraint).toMatchObject({ canEnd: true, mustEnd: false })
    expect(allowed(constraint.mask())).toEqual(['c'.charCodeAt(0), VOCABULARY.endId])
    constraint.accept('c'.charCodeAt(0))
    expect(constraint).toMatchObject({ canEnd: true, mustEnd: true })
    expect(allowed(constraint.mask())).toEqual([VOCABULARY.endId])
    constraint.accept(VOCABULARY.endId)
    expect(constraint.mustEnd).toBe(true)
  })

  test('continues as two independent ones', () => {
    const one = run(begin({ type: 'grammar', grammar: SOURCES.json }), '[[12')
    const other = one.copy()
    run(one, ']]')
    expect(one.mustEnd).toBe(true)
    expect(other.canEnd).toBe(false)
    run(other, '3, true]]')
    expect(other.mustEnd).toBe(true)
  })

  test('rejects tokens that its mask forbids, and ids beyond the vocabulary', () => {
    const constraint = begin({ type: 'pattern', pattern: 'a+' })
    for (const id of [98, VOCABULARY.controlId, VOCABULARY.endId, VOCABULARY.vocab - 1, 1 << 20, -1]) {
      expect(() => constraint.accept(id), String(id)).toThrow(expect.objectContaining({ code: 'internal' }))
    }
    run(constraint, 'aaa')
  })

  test('that allows only the empty text allows only the end', () => {
    const constraint = begin({ type: 'choices', choices: [''] })
    expect(constraint.mustEnd).toBe(true)
    expect(allowed(constraint.mask())).toEqual([VOCABULARY.endId])
  })

  test('outgrows its automaton and continues in a new one', () => {
    const grammar = 'root ::= "<" item ">"\nitem ::= "(" item ")" | [a-c]{1,30000}'
    const text = `<${'('.repeat(40)}${'abcabcabc'.repeat(2500)}${')'.repeat(40)}>`
    expect(run(begin({ type: 'grammar', grammar }), text).mustEnd).toBe(true)
  })

  test.each([
    ['no choices', { type: 'choices', choices: [] }, /no choices/],
    [
      'a pattern with many simultaneous positions',
      { type: 'pattern', pattern: '(?:.{0,3000}.{0,3000})+x' },
      /needs more than/,
    ],
  ] as const)('is rejected for %s', (_, spec, message) => {
    expect(() => {
      const constraint = begin(spec)
      for (let count = 0; count < 3000; count++) {
        constraint.mask()
        constraint.accept(97)
      }
    }).toThrow(message)
  })

  test('omits text that single-byte tokens cannot write', () => {
    const source = smallVocabulary(['é'])
    const noBytes = {
      ...source,
      isSpecial: (id: number) => source.isSpecial(id) || (id >= 0x80 && id < 256),
    }
    const compiler = new ConstraintCompiler(noBytes, source.vocab, source.endIds)
    expect(() => compiler.constrain(writeGrammar({ type: 'choices', choices: ['é'] }))).toThrow(
      /no text that this model/,
    )
    const constraint = compiler.constrain(writeGrammar({ type: 'choices', choices: ['é', 'a'] }))
    expect(allowed(constraint.mask())).toEqual([97])
  })
})
