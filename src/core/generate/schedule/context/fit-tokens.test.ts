// Fitting tokens into a context. In: texts of messages, each with an end token. Out: what is dropped.
import { describe, expect, test } from 'vitest'
import { excessOf, fitTokens, runAfterGap } from './fit-tokens.ts'

const END = 1000
const USER = [1, 2, 3]
const MODEL = [1, 4, 3]
const ends = new Set([END])
const message = (header: readonly number[], length: number) => [
  ...header,
  ...Array<number>(length).fill(50),
  END,
]
/** Questions of 10 tokens and answers of 20, after a system message of 10, and the header of an answer. */
const chat = (turns: number) => [
  ...message([1, 5, 3], 6),
  ...Array.from({ length: turns }, () => [...message(USER, 6), ...message(MODEL, 16)]).flat(),
  ...message(USER, 6),
  ...MODEL,
]
const rules = { keep: 10, contextLength: 110, room: 1, ends }

describe('a conversation that is longer than the context', () => {
  test('loses whole messages, so that the rest begins with a question', () => {
    const ids = chat(4)
    const { ids: rest, dropped } = fitTokens(ids, rules, [])
    // At most 60 tokens may stay, which is reached in the middle of the third answer.
    expect(dropped).toHaveLength(90)
    expect(rest).toEqual([...ids.slice(0, 10), ...ids.slice(100)])
    expect(rest.slice(10, 13)).toEqual(USER)
  })

  test('loses part of a message if the last one is too long', () => {
    const ids = [...message([1, 5, 3], 6), ...message(USER, 200), ...MODEL]
    expect(fitTokens(ids, rules, []).ids).toHaveLength(60)
  })

  test('loses the same tokens again, and more only when they are not enough', () => {
    const first = fitTokens(chat(4), rules, [])
    const next = fitTokens(chat(5), rules, first.dropped)
    expect([next.before, next.dropped.length]).toEqual([90, 90])
    expect(fitTokens(chat(8), rules, first.dropped).dropped.length).toBeGreaterThan(90)
  })

  test('leaves as much room as the caller asks for', () => {
    expect(fitTokens(chat(2), rules, []).dropped).toEqual([])
    expect(fitTokens(chat(2), { ...rules, room: 60 }, []).ids.length).toBeLessThanOrEqual(50)
  })

  test('loses whole messages in the middle of an answer', () => {
    const tokens = [...chat(2), ...Array<number>(27).fill(50)]
    expect(excessOf(tokens, 110, 111, rules)).toBe(60)
    expect(excessOf(tokens.slice(0, 20), 20, 111, { ...rules, ends: new Set() })).toBe(10)
  })
})

describe('a run after a gap', () => {
  const tokens = Array.from({ length: 100 }, (_, id) => id)

  test('is found where the later text begins again', () => {
    const ids = [...tokens.slice(0, 20), ...tokens.slice(60, 90), 7]
    expect(runAfterGap(tokens, 100, ids, 20)).toEqual({ drop: 40, length: 30 })
    expect(runAfterGap(tokens, 80, ids, 20)).toEqual({ drop: 40, length: 20 })
  })

  test('is the longest of several', () => {
    const twice = [...tokens.slice(0, 20), ...tokens.slice(40, 60), 7, ...tokens.slice(40, 80)]
    expect(runAfterGap(twice, twice.length, [...tokens.slice(0, 20), ...tokens.slice(40, 80)], 20)).toEqual({
      drop: 21,
      length: 40,
    })
  })

  test('does not exist if only a few tokens are equal', () => {
    expect(runAfterGap(tokens, 100, [...tokens.slice(0, 20), ...tokens.slice(90, 100)], 20)).toBeUndefined()
  })
})
