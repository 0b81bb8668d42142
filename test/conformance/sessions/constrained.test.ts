// Constrained replies. In: the small Llama and 200 schemas. Out: whether every finished reply is valid, and
// no unfinished reply is reported as finished.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gbnf, jsonSchema } from '../../../src/core/constrain/testing/language.ts'
import { validator } from '../../../src/core/constrain/testing/validate.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerateOptions, GenerationResult } from '../../../src/engine/api/types.ts'
import { TINY_PATH } from '../testing/golden.ts'
import { openEngine, repositoryFile } from '../testing/node-engine.ts'
import { SCHEMAS } from '../testing/schemas.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openEngine([repositoryFile(TINY_PATH)])
})
afterAll(() => engine.dispose())

const ask = (options: GenerateOptions): Promise<GenerationResult> =>
  engine.createSession().send('Tell me about a cat.', { maxTokens: 96, ...options }).result

const HALVES = [SCHEMAS.slice(0, 100), SCHEMAS.slice(100)]

describe('of 200 schemas', () => {
  test('there are 200, all different', () => {
    expect(new Set(SCHEMAS.map(({ schema }) => JSON.stringify(schema))).size).toBe(200)
  })

  test.each(HALVES)(
    'every finished reply is valid, and none that was cut off is reported as finished',
    async (...half) => {
      let finished = 0
      for (const [seed, { name, schema }] of half.entries()) {
        const sampling = seed % 4 === 0 ? { temperature: 0 } : { temperature: 1, seed }
        const { text, finishReason } = await ask({ schema, maxTokens: 200, ...sampling })
        const language = jsonSchema(schema)
        expect(language.begins(text), `${name} ${text}`).toBe(true)
        if (finishReason === 'stop') {
          finished += 1
          expect(validator(schema)(JSON.parse(text)), `${name} ${text}`).toBe(true)
        } else {
          expect(finishReason).toBe('length')
          // A complete number might have continued. Any other complete value has ended.
          if (!/\d$/.test(text)) expect(language.has(text), `${name} ${text}`).toBe(false)
        }
      }
      expect(finished).toBeGreaterThan(65)
    },
  )
})

describe('a reply', () => {
  test('is one of the choices, however it is sampled', async () => {
    const choices = ['yes', 'no', 'never again', 'é😀']
    const seen = new Set<string>()
    for (let seed = 0; seed < 24; seed++) {
      const { text, finishReason } = await ask({ choices, temperature: 5, topK: 0, minP: 0, topP: 1, seed })
      expect(finishReason).toBe('stop')
      expect(choices).toContain(text)
      seen.add(text)
    }
    expect(seen.size).toBeGreaterThan(1)
  })

  test('matches its pattern and its grammar', async () => {
    const pattern = '(The|A) [a-z]{2,9}( [a-z]{1,9}){1,4}\\.'
    const one = await ask({ pattern, seed: 3 })
    expect(one).toMatchObject({
      finishReason: 'stop',
      text: expect.stringMatching(new RegExp(`^${pattern}$`)),
    })
    const grammar = 'root ::= ("- " item){3}\nitem ::= [a-z ]{3,12} "\\n"'
    const other = await ask({ grammar, seed: 3 })
    expect(other.finishReason).toBe('stop')
    expect(gbnf(grammar).has(other.text)).toBe(true)
  })

  test('that is cut by a limit or a stop text is not reported as finished', async () => {
    const schema = { type: 'array', items: { type: 'integer' }, minItems: 20 }
    expect(await ask({ schema, maxTokens: 8 })).toMatchObject({ finishReason: 'length' })
    const cut = await ask({ schema, stop: [','], seed: 1 })
    expect(cut.finishReason).toBe('length')
    expect(cut.text).not.toContain(',')
  })

  test('is the same with and without drafts', async () => {
    const schema = { type: 'array', items: { enum: ['a cat', 'a dog'] }, minItems: 6, maxItems: 6 }
    const plain = await ask({ schema, speculation: 'off', seed: 5 })
    const drafted = await ask({ schema, speculation: 'lookup', seed: 5 })
    expect(drafted.tokens).toEqual(plain.tokens)
    expect(drafted.finishReason).toBe('stop')
  })

  test('streams the text of its result, in parallel with others', async () => {
    const schemas = SCHEMAS.slice(40, 48).map(({ schema }) => schema)
    const alone = []
    for (const schema of schemas) alone.push((await ask({ schema, temperature: 0 })).text)
    const together = await Promise.all(schemas.map((schema) => ask({ schema, temperature: 0 })))
    expect(together.map(({ text }) => text)).toEqual(alone)
  })

  test.each([
    ['two constraints', { choices: ['a'], pattern: 'a' }, /choices/],
    ['an unsupported keyword', { schema: { type: 'array', unevaluatedItems: false } }, /unevaluatedItems/],
    ['a grammar that cannot be read', { grammar: 'root = "a"' }, /::=/],
    ['a pattern that is not regular', { pattern: '(a)\\1' }, /back-reference/],
    ['an empty list of choices', { choices: [] }, /no choices/],
    ['a value of another type', { pattern: 3 as unknown as string }, /must be a text/],
  ])('is rejected for %s, and the next one works', async (_, options, message) => {
    await expect(ask(options)).rejects.toThrow(message)
    await expect(ask(options)).rejects.toMatchObject({ code: 'unsupported' })
    expect((await ask({ choices: ['ok'] })).text).toBe('ok')
  })
})
