import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { jsonSchema } from '../testing/language.ts'
import { validator } from '../testing/validate.ts'
import { randomText } from '../testing/walk.ts'
import { FORMAT_NAMES } from './formats.ts'

describe('formats', () => {
  test.each(FORMAT_NAMES)('%s generates text that other validators accept', (format) => {
    const schema = { type: 'string', format }
    const language = jsonSchema(schema)
    const isValid = validator(schema)
    const chance = randomFrom(7)
    for (let count = 0; count < 150; count++) {
      const text = randomText(language, chance)
      expect(text).toBeDefined()
      expect(isValid(JSON.parse(text!)), text).toBe(true)
    }
  })

  test.each([
    [
      'date',
      ['2024-02-29', '2000-02-29', '1999-04-30'],
      ['2023-02-29', '1900-02-29', '2024-04-31', '2024-13-01'],
    ],
    [
      'date-time',
      ['2026-11-21T23:59:59.123Z', '2026-01-01T00:00:00-23:30'],
      ['2026-11-21T24:00:00Z', '2026-11-21'],
    ],
    ['ipv4', ['0.0.0.0', '255.255.255.255'], ['256.0.0.1', '01.0.0.1']],
    ['email', ['a.b+c@x-y.example.org'], ['a@b', '@b.cd', 'a b@c.de']],
    ['uri', ['https://example.org/a%20b?c=d#e', 'http://h:8080'], ['//x', 'https://', 'http://a b']],
    ['uuid', ['123E4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000']],
  ])('%s', (format, inside, outside) => {
    const language = jsonSchema({ type: 'string', format })
    for (const text of inside) expect(language.has(JSON.stringify(text)), text).toBe(true)
    for (const text of outside) expect(language.has(JSON.stringify(text)), text).toBe(false)
  })
})

describe('what a schema leaves open is generated as its author most likely intended', () => {
  test.each([
    [
      'a type inferred from its keywords',
      { properties: { a: {} }, required: ['a'] },
      ['{"a":1}'],
      ['1', '"x"'],
    ],
    [
      'only the described properties',
      { type: 'object', properties: { a: {} } },
      ['{"a":1}', '{}'],
      ['{"b":1}'],
    ],
    ['no items after a tuple', { type: 'array', prefixItems: [{}] }, ['[]', '[1]'], ['[1,2]']],
    ['few blanks', { type: 'array', items: {} }, ['[1, 2]', '[\n  1\n]'], ['[  1]', ' []', '[] ', '[1 ,2]']],
  ])('%s', (_, schema, inside, outside) => {
    const language = jsonSchema(schema)
    for (const text of inside) expect(language.has(text), text).toBe(true)
    for (const text of outside) expect(language.has(text), text).toBe(false)
  })
})

test('a schema with if, then and else', () => {
  // As text, because an object with its own `then` would be treated as a promise.
  const schema = JSON.parse(`{
    "type": "object",
    "properties": { "k": { "enum": ["x", "y"] }, "v": { "type": ["integer", "string"] } },
    "required": ["k", "v"],
    "if": { "properties": { "k": { "const": "x" } }, "required": ["k"] },
    "then": { "properties": { "v": { "type": "integer" } } },
    "else": { "properties": { "v": { "type": "string" } } }
  }`)
  const language = jsonSchema(schema)
  for (const text of ['{"k":"x","v":1}', '{"k":"y","v":"a"}']) expect(language.has(text), text).toBe(true)
  for (const text of ['{"k":"x","v":"a"}', '{"k":"y","v":1}']) expect(language.has(text), text).toBe(false)
})
