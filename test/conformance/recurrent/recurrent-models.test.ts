// Conformance of recurrent families. In: random models in every format. Out: whether all of them give
// llama.cpp's probabilities.
import { describe, expect, test } from 'vitest'
import { llamaCppAddon, llamaCppLogProbabilities, logProbabilities } from '../testing/llama-cpp.ts'
import { largestDifference, logitsOf, relativeError, withBuilt } from '../testing/node-engine.ts'
import {
  type RecurrentFamily,
  randomRecurrent,
  recurrentGguf,
  recurrentSafetensors,
} from '../testing/random-recurrent.ts'

const TOKENS = Array.from({ length: 64 }, (_, index) => (index * 37 + ((index * index) % 11)) % 260)
const addon = llamaCppAddon()
if (addon === undefined)
  console.warn('skipped: the comparison with llama.cpp needs @node-llama-cpp/linux-x64')

const CASES: readonly { family: RecurrentFamily; groups: number }[] = [
  { family: 'mamba', groups: 1 },
  { family: 'mamba2', groups: 1 },
  { family: 'mamba2', groups: 4 },
  { family: 'granitehybrid', groups: 1 },
]

const logits = (files: readonly File[], weights: 'auto' | 'w8' | 'w4' = 'auto') =>
  withBuilt(files, { weights }, (built) => logitsOf(built, TOKENS))

const best = (row: ArrayLike<number>): number => Array.from(row).indexOf(Math.max(...Array.from(row)))

describe.each(CASES)('$family with $groups groups', ({ family, groups }) => {
  const model = randomRecurrent(family, 5, groups)

  test.skipIf(addon === undefined)('gives llama.cpp’s probabilities at 64 positions', async () => {
    const file = await recurrentGguf(model)
    const right = await llamaCppLogProbabilities(file, TOKENS, addon ?? '')
    const ours = (await logits([file])).map(logProbabilities)
    expect(largestDifference(ours, right)).toBeLessThan(2e-2)
    for (const [position, row] of ours.entries()) expect(best(row)).toBe(best(right[position]!))
  })

  test('is the same with names of Hugging Face, with names of mamba_ssm, and from GGUF', async () => {
    const gguf = await logits([await recurrentGguf(model)])
    expect(largestDifference(gguf, await logits(recurrentSafetensors(model)))).toBeLessThan(1e-4)
    if (family === 'granitehybrid') return
    expect(largestDifference(gguf, await logits(recurrentSafetensors(model, 'mamba_ssm')))).toBeLessThan(1e-4)
  })

  test.each([
    ['w8', 0.06],
    ['w4', 0.5],
  ] as const)('in %s stays close to its logits in f32', async (weights, bound) => {
    const file = await recurrentGguf(model)
    const error = relativeError(await logits([file], weights), await logits([file]))
    expect(error).toBeGreaterThan(1e-4)
    expect(error).toBeLessThan(bound)
  })
})
