// Random schemas for tests. In: a random source and a level. Out: a schema, and values that it allows.
import type { Json } from '../schema/json-text.ts'

export type TestSchema = { readonly [keyword: string]: unknown }

/** A number in [0, 1). */
export type Chance = () => number

const WORDS = ['name', 'id', 'a b', 'é', 'naïve "x"', 'tag', 'n', 'items', 'next', 'kind', '\n', 'x-y', '漢']
const TEXTS = [
  '',
  'a',
  'red',
  'blue',
  'two words',
  'é"\\\n',
  '😀',
  '\u0001',
  'a longer text, with more in it',
]
const PATTERNS: readonly (readonly [string, readonly string[]])[] = [
  ['^[a-z]+$', ['a', 'abc', 'hello']],
  ['^[A-Z][a-z]{1,5}$', ['Ab', 'Hello']],
  ['[0-9]', ['0', 'a1b', '42']],
  ['^(foo|bar)-?x*$', ['foo', 'bar-xx']],
  ['^\\S+@\\S+$', ['a@b', 'é@"x"']],
  ['"$', ['"', 'say "']],
]
const FORMATS: readonly (readonly [string, readonly string[]])[] = [
  ['date', ['2024-02-29', '1999-12-31']],
  ['date-time', ['2026-11-21T10:00:00Z', '1985-04-12T23:20:50.52+01:30']],
  ['uuid', ['123e4567-e89b-12d3-a456-426614174000']],
  ['ipv4', ['127.0.0.1', '255.0.10.99']],
  ['email', ['ada@example.org']],
]

export class RandomSchema {
  readonly #chance: Chance

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** A schema nested up to `level` deep. */
  schema(level: number): TestSchema {
    const kinds = [
      () => ({ type: 'null' }),
      () => ({ type: 'boolean' }),
      () => this.#integer(),
      () => this.#number(),
      () => this.#string(),
      () => ({
        enum: this.#some(TEXTS.concat([]), 1, 4).concat(this.#pick<Json[]>([[], [3], [null, true]]) as never),
      }),
      () => ({ const: this.#pick<Json>(['fixed', 7, null, ['x', 1], { k: [true] }]) }),
    ]
    const nested = [
      () => this.#array(level - 1),
      () => this.#array(level - 1),
      () => this.#object(level - 1),
      () => this.#object(level - 1),
      () => this.#object(level - 1),
      () => ({ anyOf: [this.schema(level - 1), this.schema(level - 1)] }),
      () => this.#tagged(level - 1),
      () => this.#both(level - 1),
    ]
    return this.#pick(level > 0 ? [...nested, ...this.#some(kinds, 1, 2)] : kinds)()
  }

  /** A value that the schema allows, with properties in the schema's order. */
  value(schema: TestSchema): Json {
    if ('const' in schema) return schema['const'] as Json
    if ('enum' in schema) return this.#pick(schema['enum'] as Json[])
    if ('anyOf' in schema) return this.value(this.#pick(schema['anyOf'] as TestSchema[]))
    if ('oneOf' in schema) return this.value(this.#pick(schema['oneOf'] as TestSchema[]))
    if ('allOf' in schema) return this.#value({ ...merged(schema['allOf'] as TestSchema[]) })
    return this.#value(schema)
  }

  #value(schema: TestSchema): Json {
    const {
      type,
      minimum = -50,
      maximum = 50,
      exclusiveMaximum,
      multipleOf = 1,
    } = schema as {
      [key: string]: number
    }
    switch (schema['type']) {
      case 'null':
        return null
      case 'boolean':
        return this.#chance() < 0.5
      case 'integer': {
        const low = Math.ceil(minimum / multipleOf)
        const high = Math.floor((exclusiveMaximum ?? maximum + 1) - 1)
        return this.#whole(low, Math.max(low, Math.floor(high / multipleOf))) * multipleOf
      }
      case 'number': {
        const value = minimum + this.#chance() * ((exclusiveMaximum ?? maximum) - minimum)
        return Number(value.toFixed(3)) >= minimum &&
          Number(value.toFixed(3)) < (exclusiveMaximum ?? Infinity)
          ? Number(value.toFixed(3))
          : minimum
      }
      case 'string':
        return this.#text(schema)
      case 'array':
        return this.#items(schema)
      case 'object':
        return this.#properties(schema)
      default:
        throw new Error(`no values of type ${type}`)
    }
  }

  #integer(): TestSchema {
    const low = this.#whole(-300, 300)
    return this.#pick<TestSchema>([
      { type: 'integer' },
      { type: 'integer', minimum: low, maximum: low + this.#whole(0, 400) },
      { type: 'integer', minimum: low },
      { type: 'integer', exclusiveMaximum: low, minimum: low - 20 },
      { type: 'integer', minimum: 0, maximum: 1000, multipleOf: this.#whole(2, 9) },
    ])
  }

  #number(): TestSchema {
    const low = this.#whole(-3000, 3000) / 100
    return this.#pick<TestSchema>([
      { type: 'number' },
      { type: 'number', minimum: low, maximum: low + 12.5 },
      { type: 'number', minimum: low, exclusiveMaximum: low + 0.25 },
    ])
  }

  #string(): TestSchema {
    const [pattern] = this.#pick(PATTERNS)
    const [format] = this.#pick(FORMATS)
    return this.#pick<TestSchema>([
      { type: 'string' },
      { type: 'string', maxLength: this.#whole(1, 12) },
      { type: 'string', minLength: 2, maxLength: this.#whole(2, 9) },
      { type: 'string', pattern },
      { type: 'string', pattern, maxLength: 12 },
      { type: 'string', format },
    ])
  }

  #array(level: number): TestSchema {
    const minItems = this.#whole(0, 2)
    return this.#pick<TestSchema>([
      { type: 'array', items: this.schema(level) },
      { type: 'array', items: this.schema(level), minItems, maxItems: minItems + this.#whole(0, 3) },
      { type: 'array', prefixItems: [this.schema(level), this.schema(level)], items: false, minItems },
      { type: 'array', prefixItems: [this.schema(level)], items: this.schema(level), minItems: 1 },
    ])
  }

  #object(level: number): TestSchema {
    const names = this.#some(WORDS, 1, 4)
    const properties = Object.fromEntries(names.map((name) => [name, this.schema(this.#whole(0, level))]))
    const required = this.#some(names, 0, names.length)
    return this.#pick<TestSchema>([
      { type: 'object', properties, required, additionalProperties: false },
      { type: 'object', properties, required: names },
      { type: 'object', properties, required },
      { type: 'object', properties, required, additionalProperties: this.schema(0) },
      { type: 'object', additionalProperties: this.schema(level), maxProperties: 3 },
      {
        type: 'object',
        patternProperties: { '^x[^-]': this.schema(0) },
        properties,
        required,
        maxProperties: 6,
      },
    ])
  }

  /** Objects that a constant property distinguishes. */
  #tagged(level: number): TestSchema {
    const option = (kind: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, value: this.schema(level) },
      required: ['kind', 'value'],
      additionalProperties: false,
    })
    return { oneOf: [option('one'), option('two')] }
  }

  #both(level: number): TestSchema {
    return {
      allOf: [
        { type: 'object', properties: { id: { type: 'integer', minimum: 0 } }, required: ['id'] },
        { type: 'object', properties: { data: this.schema(level) }, required: ['data'] },
      ],
    }
  }

  #text({ pattern, format, minLength = 0, maxLength = 40 }: TestSchema): string {
    const least = minLength as number
    const most = maxLength as number
    const known = [...PATTERNS, ...FORMATS].find(([source]) => source === pattern || source === format)
    const texts = known?.[1] ?? TEXTS
    const fits = texts.filter((text) => Array.from(text).length >= least && Array.from(text).length <= most)
    return fits.length > 0 ? this.#pick(fits) : 'x'.repeat(least)
  }

  #items({ prefixItems = [], items, minItems = 0, maxItems }: TestSchema): Json[] {
    const prefix = prefixItems as TestSchema[]
    const most = (maxItems as number | undefined) ?? (items === false ? prefix.length : prefix.length + 2)
    const count = this.#whole(minItems as number, Math.max(minItems as number, most))
    return Array.from({ length: count }, (_, at) => this.value(prefix[at] ?? (items as TestSchema)))
  }

  #properties(schema: TestSchema): Json {
    const { properties = {}, required = [], additionalProperties, patternProperties } = schema
    const names = Object.keys(properties as object)
    const written = names.filter((name) => (required as string[]).includes(name) || this.#chance() < 0.5)
    const entries = written.map((name): [string, Json] => [
      name,
      this.value((properties as { [name: string]: TestSchema })[name]!),
    ])
    const more = (additionalProperties || (patternProperties as TestSchema | undefined)?.['^x[^-]']) as
      | TestSchema
      | undefined
    for (const name of more === undefined ? [] : this.#some(['x1', 'x "2"', 'xé'], 0, 2)) {
      entries.push([name, this.value(more!)])
    }
    return Object.fromEntries(entries)
  }

  #whole(low: number, high: number): number {
    return low + Math.floor(this.#chance() * (high - low + 1))
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#whole(0, list.length - 1)]!
  }

  #some<T>(list: readonly T[], least: number, most: number): T[] {
    const count = this.#whole(least, Math.min(most, list.length))
    return list
      .map((one, index) => ({ one, index, order: this.#chance() }))
      .toSorted((a, b) => a.order - b.order)
      .slice(0, count)
      .toSorted((a, b) => a.index - b.index)
      .map(({ one }) => one)
  }
}

function merged(parts: readonly TestSchema[]): TestSchema {
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => required as string[]),
  }
}
