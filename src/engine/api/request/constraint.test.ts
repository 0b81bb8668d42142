// Constraints in requests. In: schemas from generators, validators, regular expressions. Out: texts that the
// generators' own validators accept.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { jsonSchema } from '../../../core/constrain/testing/language.ts'
import { validator } from '../../../core/constrain/testing/validate.ts'
import { randomText } from '../../../core/constrain/testing/walk.ts'
import type { DecodeOptions } from '../../types/reply.ts'
import { decodeRequest } from './decode-options.ts'

const ZOD: Readonly<Record<string, z.ZodType>> = {
  'an email with a length': z.email().max(255),
  'an address with a length': z.url().max(2048),
  'a start': z.string().startsWith('ab').max(9),
  'lower case': z.string().lowercase().max(9),
  base64: z.base64().max(40),
  'an id': z.union([z.ulid(), z.nanoid(), z.cuid2().max(40), z.uuid()]),
  'a phone number': z.e164(),
  'a date': z.iso.date(),
  'a time': z.iso.datetime(),
  'a duration': z.iso.duration(),
  'the address of a host': z.union([z.ipv4(), z.cidrv4()]),
  money: z.number().multipleOf(0.01).min(0).max(1000),
  'a record': z.record(z.string().regex(/^[a-z]{1,5}$/), z.number().int()),
  'a tuple': z.tuple([z.literal('x'), z.boolean().nullable()]),
  'a tagged union': z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('a'), n: z.number().int().positive() }),
    z.object({ kind: z.literal('b'), text: z.string().max(8) }),
  ]),
  'a forbidden property': z.object({ a: z.never().optional(), b: z.literal(1) }),
  'a tree': z.object({
    name: z.string().max(4),
    get children() {
      return z.array(z.object({ name: z.string().max(4) })).max(2)
    },
  }),
}

const wantedRequest = async (options: DecodeOptions) => (await decodeRequest(options, () => true))!

describe('a Zod schema', () => {
  test.each(Object.entries(ZOD))('%s produces values that Zod accepts', async (name, schema) => {
    const { constraint } = await wantedRequest({ schema })
    expect(constraint).toBeDefined()
    const language = jsonSchema(z.toJSONSchema(schema))
    const chance = randomFrom(name.length)
    for (let count = 0; count < 20; count++) {
      const text = randomText(language, chance)
      if (text === undefined) continue
      const { success, error } = schema.safeParse(JSON.parse(text))
      expect(success, `${text}: ${error}`).toBe(true)
    }
  })

  test('is the same constraint as its JSON Schema', async () => {
    const schema = z.object({ n: z.number().int() })
    const [own, plain] = await Promise.all([
      wantedRequest({ schema }),
      wantedRequest({ schema: z.toJSONSchema(schema) as object }),
    ])
    expect(own.constraint?.key).toBe(plain.constraint?.key)
    expect(own.options).toEqual({})
  })
})

/** Schemas as written by pydantic 2. */
const PYDANTIC: Readonly<Record<string, object>> = {
  Decimal: {
    anyOf: [
      { type: 'number' },
      { type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', maxLength: 9 },
    ],
  },
  HttpUrl: { type: 'string', format: 'uri', minLength: 1, maxLength: 2083 },
  EmailStr: { type: 'string', format: 'email', maxLength: 64 },
  Path: { type: 'string', format: 'path', maxLength: 9 },
  SecretStr: { type: 'string', format: 'password', writeOnly: true, maxLength: 9 },
  'a set of words': { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true },
  timedelta: { type: 'string', format: 'duration' },
  Money: { type: 'number', multipleOf: 0.05, exclusiveMinimum: 0, maximum: 20 },
  'a nested model': {
    $defs: {
      Part: { type: 'object', title: 'Part', properties: { n: { type: 'integer' } }, required: ['n'] },
    },
    type: 'object',
    properties: { parts: { type: 'array', items: { $ref: '#/$defs/Part' }, maxItems: 2 } },
    required: ['parts'],
  },
}

test.each(Object.entries(PYDANTIC))('%s from pydantic produces values that ajv accepts', (name, schema) => {
  const language = jsonSchema(schema)
  const isValid = validator(schema)
  const chance = randomFrom(name.length)
  for (let count = 0; count < 20; count++) {
    const text = randomText(language, chance)
    if (text !== undefined) expect(isValid(JSON.parse(text)), text).toBe(true)
  }
})

describe('a pattern', () => {
  test('may be a RegExp', async () => {
    const [own, text] = await Promise.all([
      wantedRequest({ pattern: /a\d+/u }),
      wantedRequest({ pattern: 'a\\d+' }),
    ])
    expect(own.constraint?.key).toBe(text.constraint?.key)
  })

  test('is rejected with a flag that changes its meaning', async () => {
    await expect(wantedRequest({ pattern: /a/i })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('/a/i'),
    })
  })
})

test('compact JSON has no whitespace', async () => {
  const schema = { type: 'array', items: { type: 'integer' }, maxItems: 3 }
  const [free, compact] = await Promise.all([
    wantedRequest({ schema }),
    wantedRequest({ schema, compact: true }),
  ])
  expect(compact.constraint!.kinds.length).toBeLessThan(free.constraint!.kinds.length)
  expect(compact.options).toEqual({})
  await expect(wantedRequest({ schema, compact: 1 as never })).rejects.toMatchObject({ code: 'unsupported' })
})

test('a validator without a JSON Schema is rejected with the next step', async () => {
  const schema = { '~standard': { version: 1, vendor: 'own', validate: () => ({ value: 1 }) } }
  await expect(wantedRequest({ schema })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('z.toJSONSchema(schema)'),
  })
})
