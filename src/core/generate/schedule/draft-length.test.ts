// Tests draft lengths. In: step durations and draft acceptance rates. Out: as many drafts as pay off, even on
// noisy clocks.

import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { DraftLength, GRADES } from './speculation.ts'
import { StepCost } from './step-cost.ts'

/** The number of drafts of one grade that is worth its rows. */
function choose(
  length: DraftLength,
  most: number,
  grade: number,
  step: { rows: number; tokens: number },
  draft: { lanes: number; msPerDraft: number },
  cost: StepCost,
): number {
  const choice = { count: 0, perMs: step.tokens / cost.ms(step.rows) }
  length.improve(choice, most, { gradeAt: () => grade }, step, draft, cost)
  return choice.count
}

describe('the cost of steps', () => {
  test('is learned, interpolated, and never decreases with more rows', () => {
    const cost = new StepCost()
    expect(cost.ms(1)).toBe(0)
    cost.observe(1, 10)
    expect([cost.ms(1), cost.ms(2), cost.ms(11)]).toEqual([10, 11, 20])
    cost.observe(5, 40)
    expect(cost.ms(3)).toBeGreaterThan(cost.ms(2))
    expect(cost.ms(5)).toBeGreaterThan(30)
    for (let round = 0; round < 60; round++) {
      cost.observe(1, 10)
      cost.observe(5, 40)
      cost.observe(9, 20)
    }
    expect(cost.ms(1)).toBeCloseTo(10, 0)
    // Five rows cannot take longer than nine: the true time is assumed to be in between.
    expect(cost.ms(9)).toBeCloseTo(30, 0)
    expect(cost.ms(5)).toBe(cost.ms(9))
    expect(cost.ms(128)).toBeGreaterThan(cost.ms(64))
  })

  test('is not spoiled by one slow step, and a general slowdown affects all estimates', () => {
    const cost = new StepCost()
    for (let round = 0; round < 30; round++) for (const rows of [1, 2, 3, 4]) cost.observe(rows, 10 + rows)
    cost.observe(2, 500)
    expect(cost.ms(2)).toBeLessThan(15)
    for (let round = 0; round < 60; round++) cost.observe(1, 22)
    expect(cost.ms(4)).toBeGreaterThan(17.5)
  })
})

describe('the length of drafts', () => {
  const cost = new StepCost()
  for (let rows = 1; rows <= 16; rows++) cost.observe(rows, 10 + rows)
  const step = { rows: 1, tokens: 1 }
  const free = { lanes: 1, msPerDraft: 0 }
  const chosen = (length: DraftLength, most: number, grade = 0, at = step, draft = free, known = cost) =>
    choose(length, most, grade, at, draft, known)

  test('grows with how often drafts are right', () => {
    const lengths = [0, 0.5, 0.8, 1].map((rate) => {
      const length = new DraftLength()
      for (let index = 0; index < 300; index++) length.observe(2, (index * 0.618) % 1 < rate)
      return chosen(length, 15, 2)
    })
    expect(lengths[0]).toBe(0)
    expect(lengths[1]).toBeGreaterThan(0)
    expect(lengths[2]).toBeGreaterThan(lengths[1]!)
    expect(lengths[3]).toBe(15)
  })

  test('shrinks with the drafts’ cost, the rows that share the step, and the remaining space', () => {
    const length = new DraftLength()
    const alone = chosen(length, 15)
    expect(alone).toBeGreaterThan(1)
    expect(chosen(length, 15, 0, step, { lanes: 1, msPerDraft: 3 })).toBeLessThan(alone)
    expect(chosen(length, 15, 0, step, { lanes: 4, msPerDraft: 0 })).toBeLessThan(alone)
    expect(chosen(length, 15, 0, { rows: 8, tokens: 8 })).toBeLessThan(alone)
    expect(chosen(length, 1)).toBe(1)
    expect(chosen(length, 15, 0, step, free, new StepCost())).toBe(0)
  })
})

describe('drafts of a chosen length', () => {
  /** Milliseconds of a step by its number of rows, for a kernel that is slower if its tiles are not full. */
  const KINKED = [0, 11, 16.2, 19.3, 24.9, 33.8, 37, 42, 47.7]
  const line = (share: number) => (rows: number) => 30 * (1 + share * (rows - 1))
  const kinked = (rows: number) => KINKED[rows] ?? 47.7 + 5.4 * (rows - 8)

  /**
   * Times for `texts` texts: without drafts, with a chosen length, and with the fixed length that turns out
   * best.
   */
  function run(msOf: (rows: number) => number, rate: number, texts = 40, tokens = 100) {
    const random = randomFrom(7)
    // Times vary by a quarter, and one in fifty is far too long.
    const clock = (rows: number) => msOf(rows) * (0.75 + random() / 2) * (random() < 0.02 ? 2.5 : 1)
    const cost = new StepCost()
    const free = { lanes: 1, msPerDraft: 0 }
    const best = new Float64Array(16)
    let plain = 0
    let chosen = 0
    const step = (rows: number) => {
      const ms = clock(rows)
      cost.observe(rows, ms)
      return ms
    }
    for (let text = 0; text < texts; text++) {
      const isRight = Array.from({ length: tokens + 16 }, () => random() < rate)
      const picked = (at: number, drafts: number) => {
        let count = 0
        while (count < drafts && isRight[at + count]) count++
        return count + 1
      }
      for (let at = 0; at < tokens; at++) plain += step(1)
      for (let drafts = 0; drafts < best.length; drafts++) {
        for (let at = 0; at < tokens; at += picked(at, drafts)) best[drafts]! += msOf(1 + drafts)
      }
      const length = new DraftLength()
      for (let at = 0; at < tokens; ) {
        const drafts = choose(length, 15, GRADES.model, { rows: 1, tokens: 1 }, free, cost)
        chosen += step(1 + drafts)
        const count = picked(at, drafts)
        for (let index = 0; index < count && (index === 0 || isRight[at + index - 1]); index++) {
          length.observe(GRADES.model, isRight[at + index]!)
        }
        at += count
      }
    }
    return { speedup: plain / chosen, possible: best[0]! / Math.min(...best) }
  }

  test.each([
    ['cheap rows', line(0.05)],
    ['rows cost a sixth of a step', line(0.17)],
    ['rows cost a third of a step', line(0.33)],
    ['rows cost what they do in kernels', kinked],
    ['rows cost as much as steps', line(1)],
  ])('come close to the best length, and never cost more than a twentieth: %s', (_, msOf) => {
    for (const rate of [0, 0.3, 0.5, 0.8, 0.95]) {
      const { speedup, possible } = run(msOf, rate)
      expect(speedup, `right at ${rate}`).toBeGreaterThan(0.93 * possible)
      expect(speedup).toBeGreaterThan(0.95)
    }
  })
})
