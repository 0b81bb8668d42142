// Faults in values. In: schemas, values. Out: the message that says what is wrong, and agreement with ajv.
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { RandomSchema } from '../testing/random-schema.ts'
import { validator } from '../testing/validate.ts'
import { faultFinder } from './faults.ts'

const PLACE = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2 },
    days: { type: 'integer', minimum: 1, exclusiveMaximum: 8 },
    units: { enum: ['metric', 'imperial'] },
    near: { type: 'array', items: { $ref: '#/$defs/point' }, maxItems: 2 },
    note: { type: ['string', 'null'] },
    when: { type: 'string', format: 'date' },
  },
  required: ['city'],
  additionalProperties: false,
  $defs: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
}

describe('a fault names the part of the value and the requirement', () => {
  const fault = faultFinder(PLACE, 'the arguments')
  test.each([
    [7, 'the arguments is 7 but must be an object'],
    [{}, 'city is missing'],
    [{ city: 3 }, 'city is 3 but must be a text'],
    [{ city: 'A' }, 'city has 1 characters but must have at least 2'],
    [{ city: 'Oslo', days: 0 }, 'days is 0 but must be at least 1'],
    [{ city: 'Oslo', days: 8 }, 'days is 8 but must be below 8'],
    [{ city: 'Oslo', days: 1.5 }, 'days is 1.5 but must be a whole number'],
    [{ city: 'Oslo', days: '2' }, 'days is "2" but must be a whole number'],
    [{ city: 'Oslo', units: 'kelvin' }, 'units is "kelvin" but must be "metric" or "imperial"'],
    [{ city: 'Oslo', near: [{ x: 1 }, { x: 'a' }] }, 'near[1].x is "a" but must be a number'],
    [{ city: 'Oslo', near: [{}] }, 'near[0].x is missing'],
    [{ city: 'Oslo', near: [1, 2, 3] }, 'near has 3 items but must have 0 to 2'],
    [{ city: 'Oslo', note: 1 }, 'note is 1 but must be a text or null'],
    [{ city: 'Oslo', when: 'today' }, 'when is "today", which its schema does not allow'],
    [{ city: 'Oslo', town: 'Oslo' }, 'town is not one of its properties; leave it out'],
  ])('%j: %s', (value, sentence) => {
    expect(fault(value)).toBe(sentence)
  })

  test('there is no fault if the schema allows the value', () => {
    expect(fault({ city: 'Oslo', days: 7, units: 'metric', near: [{ x: 1 }], note: null })).toBeUndefined()
  })
})

test('a keyword that cannot be enforced is rejected when the schema is read', () => {
  expect(() => faultFinder({ type: 'object', unevaluatedItems: false }, 'x')).toThrow(/unevaluatedItems/)
})

test.each([0, 1, 2, 3])('random schemas of level %d find faults where ajv does', (level) => {
  const counts = { right: 0, wrong: 0 }
  for (let seed = 0; seed < 60; seed++) {
    const random = new RandomSchema(randomFrom(seed * 4 + level))
    const schema = random.schema(level)
    const fault = faultFinder(schema, 'it')
    const isValid = validator(schema)
    const values = Array.from({ length: 12 }, () => random.value(random.schema(level)))
    for (const value of [random.value(schema), ...values]) {
      const isRight = isValid(value)
      counts[isRight ? 'right' : 'wrong']++
      expect(fault(value) === undefined, `${JSON.stringify(schema)} ${JSON.stringify(value)}`).toBe(isRight)
    }
  }
  expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(50)
})
