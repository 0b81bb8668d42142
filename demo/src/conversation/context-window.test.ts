// In: conversations of known lengths. Out: whether the part that the model reads fits, and is rarely
// shortened.
import { expect, test } from 'vitest'
import { checkFits, firstForNext, firstThatFits, leftOut } from './context-window.ts'

/** A counter for messages with these token counts and a template that adds no tokens. */
const counter = (...tokens: number[]) => ({
  from: async (first: number) => tokens.slice(first).reduce((sum, count) => sum + count, 0),
  text: async (index: number) => tokens[index] ?? 0,
})

const window = { contextLength: 100, maxTokens: 50 }

test('a conversation that fits stays whole', async () => {
  expect(await firstThatFits(0, [0, 2], window, counter(20, 30, 25))).toBe(0)
})

test('room for the answer is a quarter of the context, or less when answers are shorter', async () => {
  const count = counter(40, 38, 2)
  expect(await firstThatFits(0, [0, 2], window, count)).toBe(2)
  expect(await firstThatFits(0, [0, 2], { ...window, maxTokens: 10 }, count)).toBe(0)
})

test('the oldest turns are dropped until half of the context is free, and the rest never begins with an answer', async () => {
  const count = counter(30, 10, 5, 15, 5, 20, 10)
  expect(await firstThatFits(0, [0, 2, 4, 6], window, count)).toBe(4)
})

test('dropped messages stay dropped as long as the rest fits', async () => {
  expect(await firstThatFits(4, [0, 2, 4, 6], window, counter(30, 10, 5, 15, 5, 20, 10))).toBe(4)
})

test('the last question is sent even if it does not fit', async () => {
  expect(await firstThatFits(0, [0, 2], window, counter(10, 10, 500))).toBe(2)
  expect(await firstThatFits(0, [0], window, counter(500))).toBe(0)
})

test('in a long conversation only messages that may fit are counted, including what the template adds', async () => {
  const counted = { whole: 0, tokens: 0, texts: new Set<number>() }
  const length = 601
  const count = {
    from: async (first: number) => {
      counted.whole++
      counted.tokens += (length - first) * 15
      return (length - first) * 15 + 3
    },
    text: async (index: number) => {
      counted.texts.add(index)
      return 10
    },
  }
  const questions = Array.from({ length: 301 }, (_, index) => 2 * index)
  const first = await firstThatFits(0, questions, { contextLength: 4096, maxTokens: 512 }, count)
  // 136 messages of 15 tokens fit into 2048, and the first of them is a question.
  expect(first).toBe(466)
  expect(counted.whole, 'counts of many messages').toBeLessThan(8)
  expect(counted.tokens, 'tokens in them').toBeLessThan(8 * 4096)
  expect(counted.texts.size, 'texts that were counted').toBeLessThan(400)
})

test.each<[string, string, string, number]>([
  ['all of the conversation', 'abcd', 'abcd', 0],
  ['everything up to the time it was stored', 'ab', 'abcdef', 0],
  ['a conversation without its beginning', 'cdef', 'abcdef', 2],
  ['a part without the beginning, after which the conversation continued', 'cd', 'abcdef', 2],
  ['messages that repeat', 'aba', 'ababab', 0],
  ['messages that an edit has removed', 'cdef', 'abcd', 2],
  ['another conversation', 'xy', 'abcd', 0],
  ['nothing', '', 'abcd', 0],
])('the messages that a stored state omits are counted: %s', (_, kept, messages, count) => {
  expect(leftOut([...kept], [...messages])).toBe(count)
})

test('old turns are dropped in advance if a question of average length would hardly fit', async () => {
  const turns = (count: number) =>
    Array.from({ length: count }, () => [{ role: 'user' }, { role: 'assistant' }]).flat()
  const big = { contextLength: 1000, maxTokens: 500 }
  expect(await firstForNext(turns(2), big, counter(100, 200, 100, 200))).toBe(0)
  // 720 tokens, a question of 120 and an answer of 250 do not fit; 480 and 120 are more than half.
  expect(await firstForNext(turns(3), big, counter(120, 120, 120, 120, 120, 120))).toBe(4)
  // Short questions count as 64 tokens.
  expect(await firstForNext(turns(2), big, counter(2, 340, 2, 340))).toBe(0)
  expect(await firstForNext(turns(2), big, counter(2, 343, 2, 343))).toBe(2)
})

test('the last exchange stays even if it is long, and an empty conversation is left alone', async () => {
  const turns = [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }, { role: 'assistant' }]
  expect(await firstForNext(turns, window, counter(5, 5, 5, 90))).toBe(2)
  expect(await firstForNext([], window, counter())).toBe(0)
})

test('a question that does not fit is rejected with both numbers', () => {
  expect(() => checkFits(99, 100)).not.toThrow()
  expect(() => checkFits(100, 100)).toThrow(/needs 100 tokens and one for the answer.* room for 100/)
})
