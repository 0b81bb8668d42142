// In: conversations of known lengths. Out: whether the part that the model reads fits, and is cut rarely.
import { expect, test } from 'vitest'
import { firstThatFits } from './context-window.ts'

/** A counter for messages of these token counts. */
const counter =
  (...tokens: number[]) =>
  async (first: number) =>
    tokens.slice(first).reduce((sum, count) => sum + count, 0)

const window = { contextLength: 100, maxTokens: 50 }

test('a conversation that fits stays whole', async () => {
  expect(await firstThatFits(0, [0, 2], window, counter(20, 30, 25))).toBe(0)
})

test('room for the answer is a quarter of the context, or less when answers are shorter', async () => {
  const count = counter(40, 38, 2)
  expect(await firstThatFits(0, [0, 2], window, count)).toBe(2)
  expect(await firstThatFits(0, [0, 2], { ...window, maxTokens: 10 }, count)).toBe(0)
})

test('the oldest turns go until half of the context is free, and no answer comes first', async () => {
  const count = counter(30, 10, 5, 15, 5, 20, 10)
  expect(await firstThatFits(0, [0, 2, 4, 6], window, count)).toBe(4)
})

test('what was dropped stays dropped while the rest fits', async () => {
  expect(await firstThatFits(4, [0, 2, 4, 6], window, counter(30, 10, 5, 15, 5, 20, 10))).toBe(4)
})

test('the last question is sent even when it does not fit', async () => {
  expect(await firstThatFits(0, [0, 2], window, counter(10, 10, 500))).toBe(2)
  expect(await firstThatFits(0, [0], window, counter(500))).toBe(0)
})
