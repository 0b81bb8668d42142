// Tests that rounds are dropped in the right order, and no more than necessary.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENGINES } from './engines.ts'
import { cellsOf, fitRounds, rotated, shareOf, type TimedCell } from './schedule.ts'

const cell = (engine: TimedCell['engine'], prompt: number, rounds: number, seconds: number): TimedCell => ({
  engine,
  prompt,
  rounds,
  seconds,
  decode: 32,
})
const roundsOf = (cells: readonly TimedCell[]) => cells.map(({ rounds }) => rounds)

test('nothing is dropped if everything fits', () => {
  const cells = [cell('halfbyte', 64, 5, 1), cell('wllama-3', 64, 3, 5)]
  expect(fitRounds(cells, 20)).toEqual(cells)
})

test('the longest cell loses rounds first, and is dropped only when all cells have one round', () => {
  const cells = [cell('halfbyte', 64, 5, 1), cell('wllama-3', 64, 3, 10), cell('wllama-3', 512, 3, 100)]
  expect(roundsOf(fitRounds(cells, 140))).toEqual([5, 3, 1])
  expect(roundsOf(fitRounds(cells, 112))).toEqual([2, 1, 1])
  expect(roundsOf(fitRounds(cells, 50))).toEqual([1, 1, 0])
})

test('Halfbyte is dropped last', () => {
  const cells = [cell('halfbyte', 64, 5, 9), cell('halfbyte', 512, 1, 30), cell('wllama-2', 64, 3, 1)]
  expect(roundsOf(fitRounds(cells, 39))).toEqual([1, 1, 0])
  expect(roundsOf(fitRounds(cells, 10))).toEqual([1, 0, 0])
})

test('nothing is left to run when the time is up', () => {
  const cells = [cell('halfbyte', 64, 5, 9), cell('wllama-2', 64, 3, 1)]
  expect(roundsOf(fitRounds(cells, 0.5))).toEqual([0, 0])
  expect(roundsOf(fitRounds(cells, -20))).toEqual([0, 0])
})

test('nothing is added, and the result fits', () => {
  const cells = fc.array(
    fc.record({
      engine: fc.constantFrom(...ENGINES.map(({ name }) => name)),
      prompt: fc.constantFrom(64, 512),
      decode: fc.constant(32),
      rounds: fc.integer({ min: 0, max: 5 }),
      seconds: fc.double({ min: 0.1, max: 100, noNaN: true }),
    }),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(cells, fc.double({ min: -50, max: 500, noNaN: true }), (given, seconds) => {
      const fitted = fitRounds(given, seconds)
      for (const [index, { rounds }] of fitted.entries()) {
        expect(rounds).toBeLessThanOrEqual(given[index]!.rounds)
        expect(rounds).toBeGreaterThanOrEqual(0)
      }
      const total = fitted.reduce((sum, each) => sum + each.rounds * each.seconds, 0)
      expect(total).toBeLessThanOrEqual(Math.max(0, seconds))
    }),
  )
})

test('flags limit prompts, rounds and tokens, and finished rounds are not repeated', () => {
  const slow = ENGINES.find(({ name }) => name === 'wllama-3')!
  expect(cellsOf(slow, {}, () => 0).map(({ prompt, rounds, decode }) => [prompt, rounds, decode])).toEqual([
    [64, 3, 32],
    [512, 3, 32],
  ])
  const cut = cellsOf(slow, { prompts: [512, 2048], rounds: 2, decode: 8 }, () => 1)
  expect(cut).toEqual([{ engine: 'wllama-3', prompt: 512, decode: 8, rounds: 1 }])
  expect(cellsOf(slow, { rounds: 2 }, () => 5).map(({ rounds }) => rounds)).toEqual([0, 0])
})

test('the time that one group leaves is shared among later groups', () => {
  expect(shareOf(100, [1, 1, 2])).toBe(25)
  expect(shareOf(90, [1, 2])).toBe(30)
  expect(shareOf(90, [2])).toBe(90)
})

test('each round begins with a different engine', () => {
  expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual([
    'abc',
    'bca',
    'cab',
    'abc',
  ])
  expect(rotated([], 3)).toEqual([])
})
