import { describe, expect, test } from 'vitest'
import { jsonSchema } from '../testing/language.ts'

describe('a schema is rejected, and the message names the keyword', () => {
  const wide = { anyOf: Array.from({ length: 8 }, (_, index) => ({ type: 'string', minLength: index })) }
  test.each([
    [
      'uniqueItems',
      { type: 'array', items: { maxLength: 0, type: 'string' }, uniqueItems: true, minItems: 2 },
    ],
    ['contains', { type: 'array', prefixItems: [{}], contains: { const: 1 } }],
    ['contains', { type: 'array', contains: {}, minContains: 65 }],
    ['dependentRequired', { type: 'object', dependentRequired: ['b'] }],
    ['unevaluatedItems', { type: 'array', unevaluatedItems: false }],
    ['$dynamicRef', { $dynamicRef: '#x' }],
    ['$ref', { $ref: 'https://example.org/schema.json' }],
    ['$ref', { $ref: '#/$defs/missing' }],
    ['$ref', { $ref: '#' }],
    ['$ref', { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }],
    ['pattern', { type: 'string', pattern: '(?<=a)b' }],
    ['pattern', { type: 'string', pattern: '(' }],
    ['patternProperties', { type: 'object', patternProperties: { '\\bx': {} } }],
    ['multipleOf', { type: 'number', multipleOf: 1.01 }],
    ['multipleOf', { type: 'number', multipleOf: -0.5 }],
    ['type', { type: 'text' }],
    ['minLength', { type: 'string', minLength: -1 }],
    ['maximum', { type: 'integer', maximum: '3' }],
    ['exclusiveMinimum', { type: 'integer', minimum: 3, exclusiveMinimum: 'yes' }],
    ['required', { type: 'object', required: 'a' }],
    ['properties', { type: 'object', properties: [] }],
    ['enum', { enum: 'a' }],
    [
      'oneOf',
      {
        oneOf: [
          { type: 'array', items: { type: 'integer' } },
          { type: 'array', minItems: 1 },
        ],
      },
    ],
    ['not', { type: 'array', not: { items: { type: 'string' } } }],
    ['anyOf', { allOf: [wide, { ...wide }, { ...wide }, { ...wide }] }],
    ['$ref', { $id: 'https://example.org/a', $ref: 'b#/$defs/c', $defs: { c: {} } }],
  ])('%s', (keyword, schema) => {
    expect(() => jsonSchema(schema)).toThrow(
      expect.objectContaining({ code: 'unsupported', detail: expect.objectContaining({ keyword }) }),
    )
  })
})

describe('a schema is rejected', () => {
  let deep: object = { type: 'null' }
  for (let level = 0; level < 5000; level++) deep = { type: 'array', items: deep }
  test.each([
    ['that is not a schema', 3, /not a schema/],
    ['that contradicts itself', { allOf: [{ type: 'string' }, { type: 'null' }] }, /matches no text/],
    [
      'whose values never end',
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      /matches no text/,
    ],
    ['that is nested too deeply', deep, /nested more than 128 levels/],
    [
      'that is too large',
      { enum: Array.from({ length: 200_000 }, (_, index) => index) },
      /more than 131072 values/,
    ],
    [
      'whose pattern and length need too many states',
      { type: 'string', pattern: 'a.*b', minLength: 1e6, maxLength: 1e6 },
      /more than/,
    ],
  ])('%s', (_, schema, message) => {
    expect(() => jsonSchema(schema)).toThrow(message)
    expect(() => jsonSchema(schema)).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })

  test('but not just because a limit is large', () => {
    const language = jsonSchema({ type: 'array', items: { type: 'string', maxLength: 1e9 }, maxItems: 1e9 })
    expect(language.has('["a","b"]')).toBe(true)
  })
})

test('a number too large for a double does not equal any value that a schema lists', () => {
  const infinite = JSON.parse('1e999')
  for (const schema of [{ enum: [infinite] }, { const: infinite, multipleOf: 2 }])
    expect(() => jsonSchema(schema)).toThrow(expect.objectContaining({ code: 'unsupported' }))
  expect(jsonSchema({ enum: [infinite, 5] }).has('5')).toBe(true)
})
