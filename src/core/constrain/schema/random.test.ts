// Random schemas against ajv. In: seeds. Out: every value that a schema allows is accepted, and every
// generated text is allowed.

import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { jsonSchema } from '../testing/language.ts'
import { RandomSchema } from '../testing/random-schema.ts'
import { validator } from '../testing/validate.ts'
import { randomText } from '../testing/walk.ts'

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed)

describe.each([0, 1, 2, 3])('schemas of level %d', (level) => {
  test('accept every value they allow, byte by byte', () => {
    for (const seed of SEEDS) {
      const random = new RandomSchema(randomFrom(seed * 4 + level))
      const schema = random.schema(level)
      const language = jsonSchema(schema)
      const isValid = validator(schema)
      for (let count = 0; count < 8; count++) {
        const value = random.value(schema)
        expect(isValid(value), `${JSON.stringify(schema)} ${JSON.stringify(value)}`).toBe(true)
        for (const indent of [undefined, 2, '\t']) {
          const text = JSON.stringify(value, undefined, indent)
          expect(language.has(text), `${JSON.stringify(schema)} ${text}`).toBe(true)
        }
      }
    }
  })

  test('accept no value that they forbid', () => {
    let forbidden = 0
    for (const seed of SEEDS) {
      const random = new RandomSchema(randomFrom(seed * 4 + level))
      const schema = random.schema(level)
      const language = jsonSchema(schema)
      const isValid = validator(schema)
      for (let count = 0; count < 12; count++) {
        const value = random.value(random.schema(level))
        const isAllowed = isValid(value)
        forbidden += Number(!isAllowed)
        const text = JSON.stringify(value)
        if (!isAllowed) expect(language.has(text), `${JSON.stringify(schema)} ${text}`).toBe(false)
      }
    }
    expect(forbidden).toBeGreaterThan(250)
  })

  test('generate nothing that they forbid and never get stuck', () => {
    let complete = 0
    for (const seed of SEEDS) {
      const chance = randomFrom(seed * 4 + level)
      const schema = new RandomSchema(chance).schema(level)
      const language = jsonSchema(schema)
      const isValid = validator(schema)
      for (let count = 0; count < 4; count++) {
        const text = randomText(language, chance)
        if (text === undefined) continue
        complete += 1
        expect(isValid(JSON.parse(text)), `${JSON.stringify(schema)} ${text}`).toBe(true)
      }
    }
    expect(complete).toBeGreaterThan(200)
  })
})
