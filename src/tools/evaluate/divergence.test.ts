// Divergence of two models. In: fixed logits. Out: perplexities, KL divergence and agreement, by definition.
import { expect, test } from 'vitest'
import type { Sequence } from '../../core/generate/schedule/sequence.ts'
import type { ScoringModel } from '../../engine/score/score.ts'
import { divergence } from './divergence.ts'

type Row = readonly number[]

/** Returns `rowOf` for each position that a sequence has not processed yet, and for the last one again. */
function given(rowOf: (position: number, id: number) => Row): ScoringModel {
  return {
    newSequence() {
      let seen = 0
      let ids: readonly number[] = []
      const own = {
        setTokens: (tokens: readonly number[]) => {
          ids = tokens
        },
        rows(onRow: (position: number, row: Float32Array) => void) {
          for (let at = Math.max(0, seen - 1); at < ids.length; at++)
            onRow(at, Float32Array.from(rowOf(at, ids[at]!)))
          seen = ids.length
        },
        release: () => undefined,
      }
      return own as unknown as Sequence
    },
    scheduler: {
      async forward({ sequence, onLogits }) {
        ;(sequence as unknown as { rows(on: typeof onLogits): void }).rows(onLogits)
      },
    },
  }
}

const softmax = (row: Row): number[] => {
  const shares = row.map(Math.exp)
  const sum = shares.reduce((a, b) => a + b)
  return shares.map((share) => share / sum)
}

const noise = (a: number, b: number): number => Math.sin(12.9 * a + 78.2 * b) * 2

test('a model does not differ from itself', async () => {
  const model = given((at) => [noise(at, 1), noise(at, 2), noise(at, 3)])
  const { before, after, change, kl, sameTop, tokens } = await divergence(model, model, {
    windows: [Array.from({ length: 70 }, (_, i) => i % 3)],
  })
  expect({ kl: kl.value, change: change.value, top: sameTop.value, tokens }).toEqual({
    kl: 0,
    change: 0,
    top: 1,
    tokens: 69,
  })
  expect(after).toBe(before)
})

test('losses, KL and agreement match their definitions, in several steps or in one', async () => {
  const before = (at: number, id: number) => Array.from({ length: 5 }, (_, i) => noise(at + id, i))
  const after = (at: number, id: number) => Array.from({ length: 5 }, (_, i) => noise(at + id, i + 0.05))
  const windows = [80, 33].map((length, w) => Array.from({ length }, (_, i) => (i * i + w) % 5))
  const found = await divergence(given(before), given(after), { windows })
  const expected = windows.map((ids) => {
    const sums = { before: 0, after: 0, kl: 0, same: 0 }
    for (const [at, id] of ids.slice(0, -1).entries()) {
      const p = softmax(before(at, id))
      const q = softmax(after(at, id))
      sums.before -= Math.log(p[ids[at + 1]!]!)
      sums.after -= Math.log(q[ids[at + 1]!]!)
      sums.kl += p.reduce((sum, share, i) => sum + share * Math.log(share / q[i]!), 0)
      if (p.indexOf(Math.max(...p)) === q.indexOf(Math.max(...q))) sums.same++
    }
    return { ...sums, tokens: ids.length - 1 }
  })
  const [a, b] = expected as [(typeof expected)[0], (typeof expected)[0]]
  expect(found.tokens).toBe(111)
  expect(found.before).toBeCloseTo(Math.exp((a.before + b.before) / 111), 4)
  expect(found.after).toBeCloseTo(Math.exp((a.after + b.after) / 111), 4)
  expect(found.kl.value).toBeCloseTo((a.kl / a.tokens + b.kl / b.tokens) / 2, 5)
  expect(found.kl.error).toBeCloseTo(Math.abs(a.kl / a.tokens - b.kl / b.tokens) / 2, 5)
  expect(found.sameTop.value).toBeCloseTo((a.same / a.tokens + b.same / b.tokens) / 2, 12)
  expect(found.sameTop.value).toBeLessThan(1)
})

test('a token that the changed model rules out has infinite loss, and NaN is rejected', async () => {
  const model = given(() => [0, 1, 2])
  const windows = [[0, 1, 2, 0]]
  const without = given(() => [0, Number.NEGATIVE_INFINITY, 2])
  expect((await divergence(model, without, { windows })).kl.value).toBe(Number.POSITIVE_INFINITY)
  const broken = given(() => [0, Number.NaN, 2])
  await expect(divergence(model, broken, { windows })).rejects.toMatchObject({ code: 'integrity' })
})
