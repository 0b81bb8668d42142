// In: hand-made logits. Out: whether perplexity scores the same positions as llama.cpp.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../core/base/errors.ts'
import { negativeLogLikelihood, perplexity } from './perplexity.ts'

const VOCAB = 8

/** A model that predicts, with probability `p`, that token n is followed by token (n + 1) % VOCAB. */
function successor(p: number, seen: number[][] = []) {
  return async (tokens: readonly number[], onRow: (position: number, logits: Float32Array) => void) => {
    seen.push([...tokens])
    tokens.forEach((token, position) => {
      const logits = new Float32Array(VOCAB).fill(Math.log((1 - p) / (VOCAB - 1)))
      logits[(token + 1) % VOCAB] = Math.log(p)
      onRow(position, logits)
    })
  }
}
const counting = Array.from({ length: 70 }, (_, index) => index % VOCAB)

test('a model that assigns probability p to every true token has perplexity 1 / p', async () => {
  const result = await perplexity(counting, successor(0.25), { context: 16 })
  expect(result.perplexity).toBeCloseTo(4, 5)
  expect(result.windows).toBe(4)
})

test('only the second half of a window is scored', async () => {
  const result = await perplexity(counting, successor(0.5), { context: 16, chunks: 2 })
  expect(result.scored).toBe(2 * (16 - 8 - 1))
})

test('BOS replaces the first token of each window but is never a target', async () => {
  const seen: number[][] = []
  await perplexity(counting, successor(0.5, seen), { context: 16, bos: 5 })
  expect(seen.map((window) => window[0])).toEqual([5, 5, 5, 5])
  expect(seen.map((window) => window[1])).toEqual([1, 1, 1, 1])
})

test('a text shorter than one window is rejected with both numbers', async () => {
  const failure = await perplexity([1, 2, 3], successor(0.5), { context: 16 }).catch(
    (error: unknown) => error,
  )
  expect(isHalfbyteError(failure)).toBe(true)
  expect(String(failure)).toMatch(/3 tokens.*16/)
})

test('large logits do not overflow', () => {
  expect(negativeLogLikelihood(Float32Array.of(1000, 0), 0)).toBeCloseTo(0, 6)
})
