// Slices. In: constraints that take long to compile. Out: the same grammars and errors as without pauses;
// turns of the event loop in between, and cancelled work that ends with its slice.
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../test/helpers/random.ts'
import { patternWork } from './refuse.ts'
import { RandomSchema } from './testing/random-schema.ts'
import { writeGrammar, writeGrammarInSlices } from './write-grammar.ts'
import type { ConstraintSpec, WrittenGrammar } from './written-grammar.ts'

const schema = (value: unknown): ConstraintSpec => ({ type: 'schema', schema: value })

/** A schema with `count` patterns, each within its own limits; `at` makes them differ from earlier ones. */
function patterns(count: number, at: number): ConstraintSpec {
  const pattern = (times: number) => ({ type: 'string', pattern: `^(?!.*x{${times}}[ab]{9}).*a[ab]{9}$` })
  const names = Array.from({ length: count }, (_, index) => [`p${at} ${index}`, pattern(index + 1)])
  return schema({ type: 'object', properties: Object.fromEntries(names) })
}

async function outcome(write: () => unknown): Promise<unknown> {
  try {
    return await write()
  } catch (error) {
    return String(error)
  }
}

/**
 * A compilation in slices, and how often it checked whether it is still wanted. `most`: the number of checks
 * after which it is cancelled.
 */
async function sliced(spec: ConstraintSpec, most = Number.POSITIVE_INFINITY) {
  let asked = 0
  const units: number[] = []
  const result = await outcome(() =>
    writeGrammarInSlices(spec, () => {
      if (asked > 0) units.push(patternWork.spentUnits)
      asked += 1
      return asked <= most
    }),
  )
  return { result, asked, units }
}

/** The grammar as text, without the key. */
const textOf = (grammar: unknown) =>
  Object.entries(grammar as WrittenGrammar)
    .map(([name, value]) => (name === 'key' ? '' : `${name}: ${String(value)}`))
    .join('\n')

/** Compiled again, without pauses. */
const atOnce = (spec: ConstraintSpec) => textOf(writeGrammar({ ...spec, note: 'again' } as never))

const isSame = (result: unknown, spec: ConstraintSpec) => textOf(result) === atOnce(spec)

describe('compiling in slices gives the same result as compiling in one go', () => {
  test.each<[string, ConstraintSpec]>([
    ['patterns', patterns(3, 0)],
    [
      'patterns that meet, exclude and name keys',
      schema({
        type: 'object',
        patternProperties: { '^x.*y$': { type: 'string', pattern: '^(?!.*a{3}[ab]{8}).*a[ab]{8}$' } },
        propertyNames: { pattern: '^[a-z]*[ab][a-z]{9}$' },
        minProperties: 2,
        properties: {
          unique: { type: 'array', items: { type: 'string', pattern: '^[ab]*a[ab]{9}$' }, uniqueItems: true },
          other: {
            ...{ type: 'string', pattern: '[ab]*a[ab]{9}c' },
            ...{ not: { pattern: '^[ab]*b[ab]{9}$' }, maxLength: 40 },
          },
        },
      }),
    ],
    ['one pattern', { type: 'pattern', pattern: '(?!.*x)[ab]*a[ab]{10}' }],
  ])('%s', async (_, spec) => {
    const { result, asked } = await sliced(spec)
    expect(asked).toBeGreaterThan(1)
    expect(isSame(result, spec)).toBe(true)
  })

  test('random schemas', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const spec = schema(new RandomSchema(randomFrom(seed)).schema(2))
      const { result } = await sliced(spec)
      expect(isSame(result, spec)).toBe(true)
    }
  })
})

test.each<[string, ConstraintSpec]>([
  ['too many patterns', patterns(101, 1)],
  ['counts within counts', schema({ type: 'string', pattern: '^(.{0,120}){0,80}$', maxLength: 5000 })],
])(
  '%s are rejected in slices just as in one go',
  async (_, spec) => {
    const { result, asked } = await sliced(spec)
    expect(result).toBe(await outcome(() => writeGrammar(spec)))
    expect(result).toMatch(/needs more than/)
    expect(asked).toBeGreaterThan(4)
  },
  60_000,
)

test('cancelled work ends with its slice, and each slice is bounded', async () => {
  const { result, asked, units } = await sliced(patterns(20, 2), 5)
  expect(result).toBeUndefined()
  expect(asked).toBe(6)
  const steps = units.map((unit, at) => unit - (units[at - 1] ?? 0))
  expect(steps).toHaveLength(5)
  // A slice runs to the end of its last step.
  for (const step of steps) expect(step).toBeLessThan(2 ** 17 * 1.5)
})

test('events are handled between slices', async () => {
  let events = 0
  const timer = setInterval(() => (events += 1))
  const abort = new AbortController()
  setTimeout(() => abort.abort())
  const { asked } = await sliced(patterns(3, 3))
  clearInterval(timer)
  expect(asked).toBeGreaterThan(3)
  expect(events).toBeGreaterThanOrEqual(2)
  expect(await writeGrammarInSlices(patterns(3, 4), () => !abort.signal.aborted)).toBeUndefined()
})

test('two concurrent compilations do not interfere', async () => {
  const specs = [patterns(2, 5), patterns(3, 6)]
  const together = await Promise.all(specs.map((spec) => sliced(spec)))
  for (const [at, { result }] of together.entries()) {
    expect(isSame(result, specs[at]!)).toBe(true)
  }
})
