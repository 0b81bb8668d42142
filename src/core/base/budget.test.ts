// Tests budgets. In: charges for work and bytes. Out: whether and when the limit applies.
import { expect, test } from 'vitest'
import { Budget, type Limits } from './budget.ts'
import { HalfbyteError } from './errors.ts'

const budgetOf = (limits: Omit<Limits, 'refuse'>) =>
  new Budget({
    ...limits,
    refuse: ({ what, asked, most }) => new HalfbyteError('out-of-memory', 'too much', { what, asked, most }),
  })

test('once over the limit, all work is rejected until the budget is renewed', () => {
  const budget = budgetOf({ work: 10 })
  budget.spend(10)
  budget.check()
  const excess = expect.objectContaining({ detail: { what: 'work', asked: 11, most: 10 } })
  expect(() => budget.spend(1)).toThrow(excess)
  expect(() => budget.check()).toThrow(excess)
  budget.renew()
  budget.check()
  budget.spend(10)
})

test('released bytes can be held again', () => {
  const budget = budgetOf({ work: 0, bytes: 10 })
  for (let time = 0; time < 5; time++) {
    budget.hold(10)
    budget.release(10)
  }
  budget.hold(6)
  expect(() => budget.hold(5)).toThrow(
    expect.objectContaining({ detail: { what: 'bytes', asked: 11, most: 10 } }),
  )
})

test('a count of NaN is rejected', () => {
  expect(() => budgetOf({ work: 10 }).spend(Number.NaN)).toThrow(HalfbyteError)
  expect(() => budgetOf({ work: 10, bytes: 10 }).hold(Number.NaN)).toThrow(HalfbyteError)
})

test('the budget yields to the event loop, so an abort can end the work with its reason', async () => {
  const abort = new AbortController()
  const budget = budgetOf({ work: Infinity, signal: abort.signal })
  setTimeout(() => abort.abort(new Error('cancelled')))
  const work = async () => {
    for (;;) {
      budget.spend(1 << 18)
      await budget.turn()
    }
  }
  await expect(work()).rejects.toThrow('cancelled')
  expect(() => budget.spend(0)).toThrow('cancelled')
})
