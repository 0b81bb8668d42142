// Allocation. In: small problems. Out: whether the result is the best of all combinations within the budget.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocate, type SparsityItem } from './allocate.ts'

const choice = (cost: fc.Arbitrary<number>) =>
  fc.record({
    sparsity: fc.double({ min: 0, max: 1, noNaN: true }),
    cost,
    loss: fc.double({ min: 0, max: 9, noNaN: true }),
  })
const itemsOf = (cost: fc.Arbitrary<number>) =>
  fc
    .array(fc.array(choice(cost), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
    .map((lists): SparsityItem[] => lists.map((choices, index) => ({ name: `m${index}`, choices })))

/** Least loss of all combinations; infinite if none fits. */
function leastOf([item, ...others]: readonly SparsityItem[], budget: number): number {
  if (budget < -1e-9) return Number.POSITIVE_INFINITY
  if (item === undefined) return 0
  return Math.min(...item.choices.map(({ cost, loss }) => loss + leastOf(others, budget - cost)))
}

const sum = (chosen: ReturnType<typeof allocate>, what: 'cost' | 'loss') =>
  [...chosen.values()].reduce((total, each) => total + each[what], 0)

test('finds the best of all combinations of integer costs', () => {
  fc.assert(
    fc.property(
      itemsOf(fc.integer({ min: 0, max: 20 })),
      fc.integer({ min: 1, max: 60 }),
      (items, budget) => {
        const least = leastOf(items, budget)
        if (!Number.isFinite(least)) {
          expect(() => allocate(items, budget)).toThrow(/the sparsest choices still cost .* of the budget/)
          return
        }
        const chosen = allocate(items, budget)
        expect(sum(chosen, 'cost')).toBeLessThanOrEqual(budget)
        expect(sum(chosen, 'loss')).toBeCloseTo(least, 9)
      },
    ),
  )
})

test('with other costs it stays within the budget, and loses no more than a slightly smaller one allows', () => {
  fc.assert(
    fc.property(itemsOf(fc.double({ min: 0, max: 20, noNaN: true })), (items) => {
      const budget = 30.5
      const smaller = leastOf(items, budget * (1 - 6 / 8192))
      if (!Number.isFinite(smaller)) return
      const chosen = allocate(items, budget)
      expect(sum(chosen, 'cost')).toBeLessThanOrEqual(budget + 1e-6)
      expect(sum(chosen, 'loss')).toBeLessThanOrEqual(smaller + 1e-9)
    }),
  )
})
