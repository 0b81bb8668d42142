// Tuples of unique items. In: random lists of values for each item. Out: exactly the arrays that ajv accepts,
// or only lengths that can certainly be reached, checked by exhaustive search.
import { expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { ConstraintCompiler } from '../compile.ts'
import { mostTaken } from '../schema/unique.ts'
import type { Chance } from '../testing/random-schema.ts'
import { validator } from '../testing/validate.ts'
import { allowed, smallVocabulary } from '../testing/vocabulary.ts'
import { writeGrammar } from '../write-grammar.ts'
import type { TokenConstraint } from '../written-grammar.ts'

const VOCABULARY = smallVocabulary([])
const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)
const begin = (schema: unknown) => compiler.constrain(writeGrammar({ type: 'schema', schema, compact: true }))

const POOL: readonly unknown[] = [0, 1, 'a', 'b', null, true, [0], { x: 1 }]

const some = (pool: readonly unknown[], most: number, chance: Chance): unknown[] => {
  const list = Array.from({ length: 1 + Math.floor(chance() * most) }, () =>
    Math.floor(chance() * pool.length),
  )
  return [...new Set(list)].map((at) => pool[at])
}
const tuple = (lists: readonly (readonly unknown[])[], more: object) => ({
  ...{ type: 'array', uniqueItems: true, prefixItems: lists.map((list) => ({ enum: list })) },
  ...{ items: false, ...more },
})

/** All values that the constraint allows; nothing else can be written under it. */
function written(constraint: TokenConstraint, text = ''): string[] {
  const found = constraint.canEnd ? [JSON.stringify(JSON.parse(text))] : []
  const ids = allowed(constraint.mask()).filter((id) => !VOCABULARY.endIds.has(id))
  if (ids.length === 0 && found.length === 0) throw new Error(`stuck after ${text}`)
  return found.concat(
    ids.flatMap((id) => {
      const next = constraint.copy()
      next.accept(id)
      return written(next, text + String.fromCharCode(id))
    }),
  )
}

/** Arrays of up to `length` values. */
function arrays(values: readonly unknown[], length: number): unknown[][] {
  if (length === 0) return [[]]
  const shorter = arrays(values, length - 1)
  const longest = shorter.filter((list) => list.length === length - 1)
  return [...shorter, ...longest.flatMap((list) => values.map((value) => [...list, value]))]
}

test('with few values: exactly the arrays that ajv accepts, or an error if there are none', () => {
  let refused = 0
  for (let seed = 0; seed < 40; seed++) {
    const chance = randomFrom(seed)
    const pool = some(POOL, 5, chance)
    const lists = Array.from({ length: 1 + Math.floor(chance() * 4) }, () => some(pool, 3, chance))
    const minItems = Math.floor(chance() * (lists.length + 1))
    const items = chance() < 0.5 ? false : { enum: some(pool, 2, chance) }
    const schema = tuple(lists, { minItems, items, maxItems: 4 })
    const isValid = validator(schema)
    const expected = arrays(pool, 4)
      .filter((list) => isValid(list))
      .map((list) => JSON.stringify(list))
    if (expected.length === 0) {
      refused += 1
      expect(() => begin(schema)).toThrow(expect.objectContaining({ code: 'unsupported' }))
    } else expect(written(begin(schema)).sort(), JSON.stringify(schema)).toEqual(expected.sort())
  }
  expect(refused).toBeGreaterThan(2)
})

/** The first item that may be left without a value after some choice of earlier ones. */
function firstStuck(lists: readonly (readonly unknown[])[], taken: readonly unknown[] = []): number {
  const at = taken.length
  if (at === lists.length) return at
  const left = lists[at]!.filter((value) => !taken.includes(value))
  if (left.length === 0) return at
  return Math.min(...left.map((value) => firstStuck(lists, [...taken, value])))
}

test('with many values: as many items as can certainly be reached, and every walk ends in a valid array', () => {
  /** Too many values for the grammar to track which remain. They are disjoint from all other items. */
  const others = Array.from({ length: 9 }, (_, at) => 100 + at)
  let beyondRivals = 0
  for (let seed = 0; seed < 60; seed++) {
    const chance = randomFrom(seed)
    const pool = Array.from({ length: 7 }, (_, at) => at)
    const lists = Array.from({ length: 5 }, () => some(pool, 4, chance))
    const most = 1 + firstStuck(lists)
    const rivals = lists.findIndex(
      (list, at) =>
        lists.slice(0, at).filter((other) => other.some((each) => list.includes(each))).length >= list.length,
    )
    if (rivals >= 0 && rivals + 1 < most) beyondRivals += 1
    const of = (minItems: number) => tuple([others, ...lists], { minItems })
    if (most < 6)
      expect(() => begin(of(most + 1))).toThrow(new RegExp(`only ${most} are guaranteed to exist`))
    const isValid = validator(of(most))
    for (let walk = 0; walk < 3; walk++) {
      const constraint = begin(of(most))
      let text = ''
      while (!constraint.mustEnd) {
        const ids = allowed(constraint.mask()).filter((id) => !VOCABULARY.endIds.has(id))
        expect(ids.length, `stuck after ${text}`).toBeGreaterThan(0)
        const id = ids[Math.floor(chance() * ids.length)]!
        constraint.accept(id)
        text += String.fromCharCode(id)
      }
      expect(isValid(JSON.parse(text)), text).toBe(true)
    }
  }
  expect(beyondRivals).toBeGreaterThan(5)
})

test('items after a tuple are limited to values that the tuple cannot use up', () => {
  const values = Array.from({ length: 10 }, (_, at) => at)
  // Four items share values with the others, but together they can use at most two.
  const lists = [[0], [0, 100, 101], [1, 102, 103], [1, 104]]
  const of = (minItems: number) => tuple(lists, { minItems, items: { enum: values } })
  expect(() => begin(of(12))).not.toThrow()
  expect(() => begin(of(13))).toThrow(/asks for 13 different items, but only 12 are guaranteed to exist/)
})

test('a maximum matching reassigns items that an earlier value took', () => {
  for (let seed = 0; seed < 200; seed++) {
    const chance = randomFrom(seed)
    const edges = Array.from({ length: 5 }, () => Array.from({ length: 5 }, () => chance() < 0.35))
    const best = (value: number, used: readonly number[]): number => {
      if (value === 5) return 0
      const taking = edges[value]!.map((has, item) =>
        has && !used.includes(item) ? 1 + best(value + 1, [...used, item]) : 0,
      )
      return Math.max(best(value + 1, used), ...taking)
    }
    expect(mostTaken(5, 5, (value, item) => edges[value]![item]!)).toBe(best(0, []))
  }
})
