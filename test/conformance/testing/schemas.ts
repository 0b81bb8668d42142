// 200 schemas of rising difficulty: handwritten ones, then random ones.

import { RandomSchema, type TestSchema } from '../../../src/core/constrain/testing/random-schema.ts'
import { randomFrom } from '../../helpers/random.ts'

const text = { type: 'string', maxLength: 24 }
const count = { type: 'integer', minimum: 0, maximum: 999 }
const object = (properties: { readonly [name: string]: object }, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
})
const closed = { additionalProperties: false }
const list = (items: object, maxItems = 3) => ({ type: 'array', items, maxItems })

const SCALARS: readonly TestSchema[] = [
  { type: 'null' },
  { type: 'boolean' },
  { type: 'integer' },
  { type: 'integer', minimum: 1, maximum: 5 },
  { type: 'integer', exclusiveMinimum: -100, exclusiveMaximum: -10 },
  { type: 'integer', multipleOf: 12, minimum: 100, maximum: 400 },
  { type: 'number' },
  { type: 'number', minimum: 0, maximum: 1 },
  { type: 'number', exclusiveMinimum: -273.15, maximum: 100 },
  { type: 'string' },
  { type: 'string', maxLength: 8 },
  { type: 'string', minLength: 5, maxLength: 30 },
  { type: ['string', 'null'], maxLength: 12 },
  { type: 'integer', nullable: true, maximum: 9, minimum: 0 },
  { enum: ['red', 'green', 'blue'] },
  { enum: [1, 'one', null, true, [1], { one: 1 }] },
  { const: 'yes' },
  { const: { version: 2, tags: ['a', 'b'] } },
  { type: 'string', enum: ['north', 'east', 'south', 'west'] },
  {},
]

const TEXTS: readonly TestSchema[] = [
  { type: 'string', pattern: '^[A-Z][a-z]+$', maxLength: 12 },
  { type: 'string', pattern: '^\\d{3}-\\d{4}$' },
  { type: 'string', pattern: '^(Mr|Mrs|Ms)\\. [A-Z][a-z]{2,9}$' },
  { type: 'string', pattern: 'the', maxLength: 20 },
  { type: 'string', pattern: '^[^aeiou\\s"]{1,12}$' },
  { type: 'string', pattern: '^#[0-9a-f]{6}$' },
  { type: 'string', pattern: '^[a-z]+(-[a-z]+){0,2}$', maxLength: 20 },
  {
    allOf: [
      { type: 'string', pattern: '^T' },
      { pattern: '\\.$', maxLength: 16 },
    ],
  },
  { type: 'string', not: { enum: ['I', 'no'] }, pattern: '^[A-Za-z]{1,6}$' },
  {
    oneOf: [
      { type: 'string', pattern: '^a[a-z]{0,5}$' },
      { type: 'string', pattern: '^[a-z]{0,5}z$' },
    ],
  },
  ...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'].map(
    (format) => ({ type: 'string', format }),
  ),
]

const LISTS: readonly TestSchema[] = [
  list(count),
  list({ type: 'boolean' }, 6),
  list(text, 2),
  { ...list({ enum: ['cat', 'dog', 'fox'] }, 4), minItems: 2 },
  list(list(count, 2), 2),
  { type: 'array', maxItems: 0 },
  { type: 'array', prefixItems: [text, count], items: false, minItems: 2 },
  { type: 'array', prefixItems: [{ const: 'point' }], items: { type: 'number' }, minItems: 3, maxItems: 3 },
  { ...list({ type: ['integer', 'null'], minimum: 0, maximum: 99 }, 5), minItems: 1 },
  { ...list({ anyOf: [count, { type: 'boolean' }] }, 4), minItems: 3 },
]

const OBJECTS: readonly TestSchema[] = [
  object({ name: text }),
  object({ name: text, age: count }),
  object({ name: text, age: count }, closed),
  { type: 'object', properties: { name: text, age: count, alive: { type: 'boolean' } }, required: ['age'] },
  {
    type: 'object',
    properties: { a: count, b: count, c: count, d: count },
    minProperties: 2,
    maxProperties: 3,
  },
  { type: 'object', additionalProperties: count, maxProperties: 2 },
  object({ id: count }, { additionalProperties: { type: 'boolean' }, maxProperties: 3 }),
  { type: 'object', patternProperties: { '^x-[a-z]{1,6}$': count }, ...closed, maxProperties: 2 },
  {
    type: 'object',
    propertyNames: { pattern: '^[a-z]{1,5}$' },
    additionalProperties: count,
    maxProperties: 2,
  },
  object({ 'key with "quotes"': count, ключ: count, '': count }),
  object({ title: text, tags: list(text), rating: { type: 'number', minimum: 0, maximum: 5 } }),
  object({
    at: object({
      x: { type: 'number', minimum: -1, maximum: 1 },
      y: { type: 'number', minimum: -1, maximum: 1 },
    }),
  }),
  object({ animal: { enum: ['cat', 'dog'] }, weight: { type: 'number', exclusiveMinimum: 0, maximum: 80 } }),
  object({ rows: list(object({ id: count, ok: { type: 'boolean' } }), 2) }),
  object({ date: { type: 'string', format: 'date' }, mail: { type: 'string', format: 'email' } }, closed),
]

const COMBINED: readonly TestSchema[] = [
  { anyOf: [count, text] },
  { anyOf: [object({ error: text }, closed), object({ result: count }, closed)] },
  { allOf: [object({ id: count }), object({ name: text })] },
  { allOf: [{ type: 'integer', minimum: 10 }, { maximum: 20 }, { multipleOf: 5 }] },
  { type: 'object', properties: { a: count, b: text }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
  { type: 'object', properties: { a: count, b: text }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  {
    oneOf: [
      object({ kind: { const: 'circle' }, radius: count }, closed),
      object({ kind: { const: 'square' }, side: count }, closed),
      object({ kind: { const: 'label' }, text }, closed),
    ],
  },
  {
    oneOf: [
      { type: 'integer', minimum: 0, maximum: 10 },
      { type: 'integer', minimum: 5, maximum: 20 },
    ],
  },
  { type: 'object', properties: { a: count, b: count }, not: { required: ['b'] } },
  { type: 'integer', minimum: 0, maximum: 30, not: { minimum: 10, maximum: 20 } },
  { $ref: '#/$defs/name', $defs: { name: text } },
  {
    ...list({ $ref: '#/$defs/pet' }, 2),
    $defs: { pet: object({ name: text, kind: { enum: ['cat', 'dog'] } }) },
  },
  {
    $ref: '#/$defs/node',
    $defs: {
      node: object({ value: count, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }, closed),
    },
  },
  {
    $ref: '#/$defs/tree',
    $defs: {
      tree: object({ name: { enum: ['a', 'b'] }, children: list({ $ref: '#/$defs/tree' }, 2) }, closed),
    },
  },
  {
    $ref: '#/$defs/sum',
    $defs: {
      sum: {
        anyOf: [
          count,
          object({ op: { enum: ['+', '-'] }, left: { $ref: '#/$defs/sum' }, right: { $ref: '#/$defs/sum' } }),
        ],
      },
    },
  },
]

/** The simple ones first. */
const WRITTEN = [...SCALARS, ...TEXTS, ...LISTS, ...OBJECTS, ...COMBINED]

/** 200 schemas, no two alike. */
export const SCHEMAS: readonly { readonly name: string; readonly schema: TestSchema }[] = complete(200)

function complete(count: number) {
  const known = new Map<string, { name: string; schema: TestSchema }>()
  const add = (name: string, schema: TestSchema) => {
    const key = JSON.stringify(schema)
    if (!known.has(key) && known.size < count) known.set(key, { name, schema })
  }
  for (const [index, schema] of WRITTEN.entries()) add(`written ${index}`, schema)
  for (let seed = 9000; known.size < count; seed++) {
    const level = Math.min(3, 1 + Math.floor((4 * (known.size - WRITTEN.length)) / (count - WRITTEN.length)))
    add(`level ${level}, seed ${seed}`, new RandomSchema(randomFrom(seed)).schema(level))
  }
  return [...known.values()]
}
