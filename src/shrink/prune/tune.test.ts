// Tuning. In: products whose losses multiply or add up. Out: choices beside all others within the budget.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Chosen, type SparsityItem, tune } from './allocate.ts'

const SHARES = [0, 0.25, 0.5, 0.75]
const itemsOf = (count: number): SparsityItem[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `m${at}`,
    choices: SHARES.map((sparsity) => ({ sparsity, cost: 4 - 4 * sparsity, loss: 0 })),
  }))
const costOf = (items: readonly SparsityItem[], chosen: Chosen) =>
  chosen.reduce((sum, index, at) => sum + items[at]!.choices[index]!.cost, 0)
/** A product of rises, as of errors that later layers make larger. */
const multiplied = (weights: readonly number[]) => async (chosen: Chosen) =>
  chosen.reduce((all, index, at) => all * (1 + weights[at]! * SHARES[index]! ** 2), 1)

function* every(count: number): Generator<number[]> {
  for (let code = 0; code < SHARES.length ** count; code++)
    yield Array.from({ length: count }, (_, at) => Math.floor(code / SHARES.length ** at) % SHARES.length)
}

test('no choice within the budget loses less where losses add up', async () => {
  const items = itemsOf(4)
  const product = multiplied([9, 0.1, 3, 1])
  const lossOf = async (chosen: Chosen) => Math.log(await product(chosen))
  const options = { budget: 8, start: [2, 2, 2, 2], rounds: 1, reach: 3, lossOf }
  const { chosen, loss } = await tune(items, options)
  let least = Number.POSITIVE_INFINITY
  for (const each of every(4)) if (costOf(items, each) <= 8) least = Math.min(least, await lossOf(each))
  expect(costOf(items, chosen)).toBeLessThanOrEqual(8)
  expect(loss).toBe(await lossOf(chosen))
  expect(loss).toBeCloseTo(least, 9)
})

test('loses at most what the start does, within the budget and within reach', async () => {
  const drawn = fc.record({
    weights: fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 1, maxLength: 5 }),
    index: fc.integer({ min: 0, max: 3 }),
    reach: fc.integer({ min: 0, max: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(drawn, async ({ weights, index, reach }) => {
      const items = itemsOf(weights.length)
      const lossOf = multiplied(weights)
      const start = weights.map(() => index)
      const budget = costOf(items, start)
      const { chosen, loss } = await tune(items, { budget, start, rounds: 1, reach, lossOf })
      expect(loss).toBeLessThanOrEqual(await lossOf(start))
      expect(costOf(items, chosen)).toBeLessThanOrEqual(budget)
      for (const each of chosen) expect(Math.abs(each - index)).toBeLessThanOrEqual(reach)
    }),
  )
})

test('no round leaves the start', async () => {
  const found = await tune(itemsOf(2), { budget: 8, start: [1, 1], rounds: 0, lossOf: multiplied([1, 2]) })
  expect(found.chosen).toEqual([1, 1])
})
