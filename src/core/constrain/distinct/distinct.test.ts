// Unique items and names. In: schemas and random walks over masks. Out: every reply is valid, no walk gets
// stuck, and unsatisfiable schemas are rejected when they are compiled.
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { ConstraintCompiler } from '../compile.ts'
import { type Chance, RandomSchema, type TestSchema } from '../testing/random-schema.ts'
import { validator } from '../testing/validate.ts'
import { allowed, smallVocabulary } from '../testing/vocabulary.ts'
import { writeGrammar } from '../write-grammar.ts'
import type { TokenConstraint } from '../written-grammar.ts'

/**
 * Tokens that end one value and begin the next, spell a character as an escape, or contain several values.
 */
const VOCABULARY = smallVocabulary([
  ...['","', '"],["', '",', '["', '"]', '{"', '":', '":"', '"}', '"},{"', 'a"', 'a","a', '"a"', '"b","'],
  ...['1,', '1,1', '[1,1', '1,1]', ',1', '0,', '1.0', '1e0', '10', ', ', '],[', '[[', ']]', '},{'],
  ...['\\u00', '\\u0061', '61"', '\\u0061","', 'true', 'false', 'null', 'true,', 'null,null', 'ab', 'red"'],
  ...['{"a":1', '"a":1,"a"', ',"a":', 'x1', '"x1":', 'é', 'é"', '\\ud83d', '\\ude00', '😀', '  ', '\n'],
])
const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
const begin = (schema: unknown) => compiler.constrain(writeGrammar({ type: 'schema', schema }))

function run(constraint: TokenConstraint, text: string): TokenConstraint {
  for (const id of VOCABULARY.encode(text)) {
    expect(allowed(constraint.mask()), `${text}, ${id}`).toContain(id)
    constraint.accept(id)
  }
  return constraint
}

/** Whether this text can be written after the text so far, byte by byte. */
function mayFollow(constraint: TokenConstraint, text: string): boolean {
  const copy = constraint.copy()
  for (const byte of new TextEncoder().encode(text)) {
    if (!allowed(copy.mask()).includes(byte)) return false
    copy.accept(byte)
  }
  return true
}

const CLOSING = new Set(Array.from('"]},', (char) => char.charCodeAt(0)))
const MAX_TOKENS = 400

/**
 * A reply of random tokens, with forks that diverge and are dropped; undefined if it does not end in time.
 */
function randomReply(constraint: TokenConstraint, chance: Chance): string | undefined {
  const ids: number[] = []
  let at = constraint
  while (ids.length < MAX_TOKENS) {
    const mask = allowed(at.mask())
    if (at.canEnd && (at.mustEnd || chance() < 0.3)) return textOf(ids)
    const choices = mask.filter((id) => !VOCABULARY.endIds.has(id))
    if (choices.length === 0) throw new Error(`stuck after ${textOf(ids)}`)
    const fork = at.copy()
    const id = pick(choices, ids.length, chance)
    at.accept(id)
    ids.push(id)
    if (chance() < 0.3) {
      // Like a rejected draft: the fork accepts tokens, while its original stays unchanged.
      const other = fork.copy()
      for (let step = 0; step < 3 && !other.mustEnd; step++) {
        const drafts = allowed(other.mask()).filter((draft) => !VOCABULARY.endIds.has(draft))
        if (drafts.length === 0) break
        other.accept(pick(drafts, ids.length, chance))
      }
      expect(allowed(fork.mask())).toEqual(mask)
      fork.accept(id)
      at = fork
    }
  }
  return undefined
}

function pick(choices: readonly number[], length: number, chance: Chance): number {
  const closing = choices.filter((id) => CLOSING.has(id))
  const long = choices.filter((id) => id >= 256)
  const isClosing = closing.length > 0 && chance() < Math.min(0.9, 0.15 + length / 100)
  const from = isClosing ? closing : long.length > 0 && chance() < 0.6 ? long : choices
  return from[Math.floor(chance() * from.length)]!
}

function textOf(ids: readonly number[]): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(
    Uint8Array.from(ids.flatMap((id) => [...VOCABULARY.tokenBytes(id)])),
  )
}

const unique = (items: object, more: object = {}) => ({ type: 'array', items, uniqueItems: true, ...more })
const free = (value: object, more: object = {}) => ({ type: 'object', additionalProperties: value, ...more })
const bit = { type: 'integer', minimum: 0, maximum: 1 }
const letters = (pattern: string) => ({ type: 'string', pattern })

/** Random walks per schema, checked by ajv. */
const SCHEMAS: Readonly<Record<string, TestSchema>> = {
  'free texts': unique({ type: 'string' }, { minItems: 3 }),
  'short texts': unique({ type: 'string', maxLength: 2 }, { minItems: 4 }),
  'all texts of a pattern': unique(letters('^[ab]{0,2}$'), { minItems: 7 }),
  numbers: unique({ type: 'number' }, { minItems: 4 }),
  'ten digits, all of them': unique({ type: 'integer', minimum: 0, maximum: 9 }, { minItems: 10 }),
  'steps of a quarter': unique({ type: 'number', multipleOf: 0.25, minimum: 0, maximum: 1 }, { minItems: 5 }),
  'three of three': unique({ enum: ['red', 'green', 'blue'] }, { minItems: 3 }),
  'twelve of twelve': unique({ enum: Array.from({ length: 12 }, (_, at) => at) }, { minItems: 12 }),
  'types together': unique({ type: ['boolean', 'null', 'integer'], minimum: 0, maximum: 2 }, { minItems: 6 }),
  'arrays of bits': unique({ type: 'array', items: bit, minItems: 2, maxItems: 2 }, { minItems: 4 }),
  'unique arrays of bits': unique(unique(bit, { minItems: 1 }), { maxItems: 2 }),
  'objects of bits': unique(
    { type: 'object', properties: { a: bit, b: bit }, required: ['a', 'b'], additionalProperties: false },
    { minItems: 4 },
  ),
  'objects of texts': unique(
    { type: 'object', properties: { a: { type: 'string' }, b: bit }, required: ['a'] },
    { minItems: 2 },
  ),
  'a prefix and others': {
    ...{ type: 'array', uniqueItems: true, minItems: 4, items: bit, maxItems: 4 },
    prefixItems: [{ const: 'a' }, { type: 'string' }],
  },
  'a contained value': unique(
    { type: 'integer', minimum: 0, maximum: 5 },
    { contains: { const: 3 }, minItems: 6 },
  ),
  'any value': unique({}, { minItems: 2 }),
  'or a list that repeats': { anyOf: [unique(bit), { type: 'array', items: { type: 'string' } }] },
  'names and values': free({ type: 'integer' }, { minProperties: 3 }),
  'all names of a pattern': {
    ...{ type: 'object', patternProperties: { '^[ab]$': bit, '^c?$': { type: 'null' } } },
    ...{ additionalProperties: false, minProperties: 4 },
  },
  'named ones and others': free(bit, {
    properties: { a: bit },
    required: ['a', 'b'],
    propertyNames: { pattern: '^[a-d]$' },
    minProperties: 4,
  }),
  'any JSON': {},
}

describe('every walk ends in a valid reply', () => {
  test.each(Object.entries(SCHEMAS))('%s', (name, schema) => {
    const chance = randomFrom(name.length)
    const isValid = validator(schema)
    let complete = 0
    for (let count = 0; count < 12; count++) {
      const text = randomReply(begin(schema), chance)
      if (text === undefined) continue
      complete += 1
      expect(isValid(JSON.parse(text)), text).toBe(true)
      expect(repeatedKey(text), text).toBe(undefined)
    }
    expect(complete).toBeGreaterThan(3)
  })

  test('of random schemas', () => {
    let complete = 0
    for (let seed = 0; seed < 60; seed++) {
      const chance = randomFrom(seed)
      const inner = new RandomSchema(chance).schema(seed % 2)
      const schema = [unique(inner), unique(inner, { minItems: 2 }), free(inner, { minProperties: 2 })][
        seed % 3
      ]!
      const isValid = validator(schema)
      let constraint: TokenConstraint
      try {
        constraint = begin(schema)
      } catch (error) {
        // The list has too few values, such as an enum of one.
        expect(error).toMatchObject({ code: 'unsupported' })
        continue
      }
      for (let count = 0; count < 3; count++) {
        const text = randomReply(constraint.copy(), chance)
        if (text === undefined) continue
        complete += 1
        expect(isValid(JSON.parse(text)), `${JSON.stringify(schema)} ${text}`).toBe(true)
        expect(repeatedKey(text), text).toBe(undefined)
      }
    }
    expect(complete).toBeGreaterThan(80)
  })
})

/** A key that occurs twice in an object. */
function repeatedKey(text: string): string | undefined {
  const open: Set<string>[] = []
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[[\]{}]/g)) {
    if (part === '{' || part === '[') open.push(new Set())
    else if (part === '}' || part === ']') open.pop()
    else if (part.endsWith(':')) {
      const key = JSON.parse(part.slice(0, -1)) as string
      if (open.at(-1)!.has(key)) return key
      open.at(-1)!.add(key)
    }
  }
  return undefined
}

describe('values are compared', () => {
  const texts = unique({ type: 'string' })
  const numbers = unique({ type: 'number' })
  test.each<[string, TestSchema, string, readonly string[], readonly string[]]>([
    ['as texts with escapes resolved', texts, '["a","', ['b"', 'aa"', '\\u0061a"'], ['a"', '\\u0061"']],
    ['as characters outside the Basic Multilingual Plane', texts, '["😀","', ['😀😀"'], ['\\ud83d\\ude00"']],
    ['as numbers by value', numbers, '[1,', ['10]', '1.5]', '-1]'], ['1]', '1.0]', '1e0]', '1,']],
    ['by their type', unique({ type: ['string', 'number'] }), '["1",', ['1]'], ['"1"']],
    ['as arrays', unique({ type: 'array', items: bit }), '[[1, 0],', ['[1]', '[1,0,0]'], ['[1,0]', '[ 1,0]']],
    [
      'as objects, whatever the order of their properties',
      unique(free(bit)),
      '[{"a":1,"b":0},',
      ['{"b":0}', '{"b":0,"a":0}'],
      ['{"b":0,"a":1}', '{"a": 1, "b": 0}'],
    ],
    ['as keys', free(bit), '{"a":1,', ['"b":'], ['"a"']],
    ['as keys of the same object', free(free(bit)), '{"a":{"a":1},"b":{', ['"a":1}'], []],
  ])('%s', (_, schema, start, inside, outside) => {
    const constraint = run(begin(schema), start)
    for (const text of inside) expect(mayFollow(constraint, text), text).toBe(true)
    for (const text of outside) expect(mayFollow(constraint, text), text).toBe(false)
  })
})

test('no token contains a value and its repetition', () => {
  const ids = allowed(run(begin(unique({ type: 'number' })), '[').mask())
  expect(ids).toContain(VOCABULARY.idOf('1,'))
  expect(ids).toContain(VOCABULARY.idOf('1,1'))
  expect(ids).not.toContain(VOCABULARY.idOf('1,1]'))
})

test('a prefix that only leads to used values is not entered', () => {
  const constraint = run(begin(unique(letters('^(ab|ac|b)$'), { minItems: 3 })), '["ab","ac",')
  expect(mayFollow(constraint, '"a')).toBe(false)
  expect(mayFollow(constraint, '"b"]')).toBe(true)
})

describe('too few values are rejected when the schema is compiled', () => {
  const names = { patternProperties: { '^[ab]$': bit }, additionalProperties: false }
  test.each<[string, TestSchema, RegExp]>([
    ['four of an enum of three', unique({ enum: ['a', 'b', 'c'] }, { minItems: 4 }), /matches no text/],
    [
      'twenty of an enum of twelve',
      unique({ enum: Array.from({ length: 12 }, (_, at) => at) }, { minItems: 20 }),
      /uniqueItems, which asks for 20 different items, but only 12 are guaranteed to exist/,
    ],
    [
      'eleven digits',
      unique({ type: 'integer', minimum: 0, maximum: 9 }, { minItems: 11 }),
      /11 .* only 10 /,
    ],
    ['eight texts of seven', unique(letters('^[ab]{0,2}$'), { minItems: 8 }), /8 .* only 7 /],
    [
      'a second item whose only value the first may take',
      { type: 'array', prefixItems: [{ type: 'string' }, { const: 'a' }], uniqueItems: true, minItems: 2 },
      /2 .* only 1 /,
    ],
    ['three properties of two names', { type: 'object', ...names, minProperties: 3 }, /matches no text/],
  ])('%s', (_, schema, sentence) => {
    const compile = () => begin(schema)
    expect(compile).toThrow(sentence)
    expect(compile).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })
})

describe('every order of all values may be written', () => {
  const pairs = [0, 1].flatMap((one) => [0, 1].map((other) => [one, other]))
  test.each<[string, TestSchema, readonly unknown[]]>([
    ['of a pattern', unique(letters('^(a|ab|b)$'), { minItems: 3 }), ['a', 'ab', 'b']],
    ['of pairs', unique({ type: 'array', items: bit, minItems: 2, maxItems: 2 }, { minItems: 4 }), pairs],
    ['of a range', unique({ type: 'integer', minimum: 9, maximum: 12 }, { minItems: 4 }), [9, 10, 11, 12]],
  ])('%s', (_, schema, values) => {
    for (const order of orders(values)) {
      const text = JSON.stringify(order)
      expect(mayFollow(begin(schema), text), text).toBe(true)
    }
  })
})

function orders<Value>(values: readonly Value[]): Value[][] {
  if (values.length === 0) return [[]]
  return values.flatMap((value, at) => orders(values.toSpliced(at, 1)).map((rest) => [value, ...rest]))
}

test('a long list continues in a new automaton', () => {
  const constraint = begin(unique({ type: 'integer' }))
  run(constraint, '[')
  for (let item = 0; item < 300; item++) {
    const text = `${item},`
    const again = `${item}]`
    const before = constraint.copy()
    run(constraint, text)
    expect(mayFollow(constraint, again)).toBe(false)
    expect(mayFollow(before, again)).toBe(true)
  }
})
