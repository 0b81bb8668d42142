// Reply forms. In: tools, choices and formats. Out: schemas that combine the meaning of their parts,
// according to a validator.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { ConstraintCompiler } from '../core/constrain/compile.ts'
import { allowed, smallVocabulary } from '../core/constrain/testing/vocabulary.ts'
import { writeGrammar } from '../core/constrain/write-grammar.ts'
import { formOptions } from './reply-form.ts'

const TREE = {
  $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, $ref: { const: '#' } } } },
  type: 'object',
  properties: { root: { $ref: '#/$defs/node' } },
  required: ['root'],
  additionalProperties: false,
}
const tools = [{ name: 'plant', parameters: TREE }, { name: 'stop' }]
const deep = { root: { next: { next: {}, $ref: '#' } } }
const broken = { root: { next: { next: 1 } } }

const validator = (schema: unknown) => new Ajv2020({ strict: false }).compile(schema as object)

test('no schema results if nothing was given', () => {
  expect(formOptions({ tools: [], choice: 'auto', schema: undefined })).toEqual({})
  expect(formOptions({ tools, choice: 'none', schema: TREE })).toEqual({ schema: TREE })
  expect(formOptions({ tools, choice: 'auto', schema: undefined })).toEqual({ tools })
})

test('a required call is for one of the tools, whose schema keeps its meaning', () => {
  const isValid = validator(formOptions({ tools, choice: 'required', schema: TREE }).schema)
  expect(isValid({ name: 'plant', arguments: deep })).toBe(true)
  expect(isValid({ name: 'plant', arguments: broken })).toBe(false)
  expect(isValid({ name: 'stop', arguments: {} })).toBe(true)
  expect(isValid({ name: 'stop' })).toBe(false)
  expect(isValid({ name: 'other', arguments: {} })).toBe(false)
  expect(isValid(deep)).toBe(false)
})

test.each([
  {},
  { description: 'anything' },
  { type: ['object', 'null'] },
  { $ref: '#/$defs/any', $defs: { any: {} } },
])('the arguments of a forced call are an object, even if the parameters are %j', (parameters) => {
  const { schema } = formOptions({
    tools: [{ name: 'ping', parameters }],
    choice: 'required',
    schema: undefined,
  })
  const isValid = validator(schema)
  expect([{}, 7, null].map((given) => isValid({ name: 'ping', arguments: given }))).toEqual([
    true,
    false,
    false,
  ])
})

test('one tool can be chosen, but only one of those given', () => {
  const { schema } = formOptions({ tools, choice: { tool: 'stop' }, schema: undefined })
  expect(validator(schema)({ name: 'plant', arguments: deep })).toBe(false)
  expect(validator(schema)({ name: 'stop', arguments: {} })).toBe(true)
  expect(() => formOptions({ tools, choice: { tool: 'other' }, schema: undefined })).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringContaining('"other"') }),
  )
})

test('a reply that must be JSON is JSON or a call', () => {
  const isValid = validator(formOptions({ tools, choice: 'auto', schema: TREE }).schema)
  expect(isValid(deep)).toBe(true)
  expect(isValid(broken)).toBe(false)
  expect(isValid({ name: 'plant', arguments: deep })).toBe(true)
  expect(isValid({ name: 'plant', arguments: broken })).toBe(false)
})

test('a forced call is written without whitespace', () => {
  const add = { name: 'add', parameters: { type: 'object', properties: { a: {} }, required: ['a'] } }
  const { schema, compact } = formOptions({ tools: [add], choice: 'required', schema: undefined })
  const vocabulary = smallVocabulary([])
  const constraint = new ConstraintCompiler(vocabulary, vocabulary.vocab, vocabulary.endIds).constrain(
    writeGrammar({ type: 'schema', schema, compact }),
  )
  const ids = vocabulary.encode('{"name":"add","arguments":{"a":[1,2]}}')
  for (const id of ids) {
    const next = allowed(constraint.mask())
    expect(next).toContain(id)
    for (const blank of ' \n\t') expect(next).not.toContain(blank.charCodeAt(0))
    constraint.accept(id)
  }
  expect(constraint.mustEnd).toBe(true)
})
