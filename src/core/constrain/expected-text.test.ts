// Tests expected text. In: grammars over a small vocabulary, and beginnings of their texts. Out: the text
// that must follow, with whitespace like that of the preceding text. It never violates the grammar.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConstraintCompiler } from './compile.ts'
import { smallVocabulary } from './testing/vocabulary.ts'
import { writeGrammar } from './write-grammar.ts'
import type { ConstraintSpec, TokenConstraint } from './written-grammar.ts'

const VOCABULARY = smallVocabulary(['{"', '":', ', "', '": "', '\n  "', 'name', 'age', 'true', 'città'])
const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
const encoder = new TextEncoder()

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' }, città: { const: true } },
  required: ['name', 'age', 'città'],
  additionalProperties: false,
}

function after(spec: ConstraintSpec, text: string): TokenConstraint {
  const constraint = compiler.constrain(writeGrammar(spec))
  expect(constraint.acceptText(encoder.encode(text))).toBe(true)
  return constraint
}

const textOf = (ids: readonly number[]): string =>
  new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => [...VOCABULARY.tokenBytes(id)])))
const expected = (text: string, compact = false): string =>
  textOf(after({ type: 'schema', schema: SCHEMA, compact }, text).expectedIds())

test.each([
  ['', '{"name": "'],
  ['{"na', 'me": "'],
  ['{"name":', ' "'],
  ['{"name":"Eve",', '"age":'],
  ['{"name": "Eve"', ', "age":'],
  ['{\n  "name": "Eve",', '\n  "age":'],
  ['{\n  "name": "Eve",\n ', ' "age":'],
  ['{"name": "Eve", "age": 4, "c', 'ittà": true'],
  ['{"name": "Eve', ''],
  ['{"name": "Eve", "age": 4', ''],
])('after %j comes %j', (text, next) => {
  expect(expected(text)).toBe(next)
})

const NESTED = {
  type: 'object',
  properties: {
    list: { type: 'array', items: SCHEMA, minItems: 2, maxItems: 2 },
    after: { const: true },
  },
  required: ['list', 'after'],
  additionalProperties: false,
}
const EVE = '{\n      "name": "Eve, \\"A\\", [{",\n      "age": 4'

test.each([
  ['commas and brackets in strings say nothing', '{\n  "name": "Eve, [{", "', 'age":', SCHEMA],
  ['objects are indented by depth', '{\n  "', 'list": [\n    {\n      "name": "', NESTED],
  [
    'commas at one depth say nothing of another',
    `{\n  "list": [\n    ${EVE},`,
    '\n      "città": true\n    },\n    {\n      "name": "',
    NESTED,
  ],
  [
    'and back',
    `{\n  "list": [\n    ${EVE},\n      "città": true\n    },\n    ${EVE},`,
    '\n      "città": true\n    }\n  ],\n  "after": true\n',
    NESTED,
  ],
  ['one line stays one line', '{"list": [{"name": "Eve", "age": 4, ', '"città": true}, {"name": "', NESTED],
])('whitespace follows the text: %s', (_, text, next, schema) => {
  const ids = after({ type: 'schema', schema }, text).expectedIds()
  expect(textOf(ids)).toBe(next)
})

test('a compact text has no whitespace to guess', () => {
  expect(expected('', true)).toBe('{"name":"')
  expect(expected('{"name":"Eve",', true)).toBe('"age":')
})

test('nothing is expected if the text may end, or if non-text tokens may follow', () => {
  expect(expected('{"name": "Eve", "age": 4, "città": true}')).toBe('')
  expect(textOf(after({ type: 'choices', choices: ['one', 'once'] }, '').expectedIds())).toBe('on')
  expect(textOf(after({ type: 'grammar', grammar: 'root ::= "a" | <think>' }, '').expectedIds())).toBe('')
})

test('a copy continues with the whitespace of its own text', () => {
  const one = after({ type: 'schema', schema: SCHEMA }, '{"name":"Eve"')
  const other = one.copy()
  expect(one.acceptText(encoder.encode(',"'))).toBe(true)
  expect(other.acceptText(encoder.encode(',\n"'))).toBe(true)
  for (const each of [one, other]) expect(each.acceptText(encoder.encode('age": 4,'))).toBe(true)
  expect(textOf(one.expectedIds())).toBe('"città": true')
  expect(textOf(other.expectedIds())).toBe('\n"città": true')
})

test('the text expected for any texts begins with their common prefix and is accepted', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢'), maxLength: 9 }), {
        minLength: 1,
        maxLength: 4,
      }),
      (choices) => {
        // No text equals the common prefix.
        const texts = choices.flatMap((choice) => [`${choice}x`, `${choice}y`])
        const constraint = compiler.constrain(writeGrammar({ type: 'choices', choices: texts }))
        const text = textOf(constraint.expectedIds())
        // Incomplete characters are left out.
        const [first = '', ...others] = texts
        const shared = [...first].findIndex((char, at) => others.some((each) => [...each][at] !== char))
        const most = [...first].slice(0, shared).join('')
        expect(text).toBe(most)
        expect(constraint.acceptText(encoder.encode(text))).toBe(true)
      },
    ),
  )
})
