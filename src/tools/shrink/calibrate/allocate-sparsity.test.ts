// Allocation on models. In: random models of two kinds, budgets of every kind. Out: sparsities within the
// budget, and whether the packs match the predictions.
import { describe, expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import {
  randomRecurrent,
  recurrentSafetensors,
} from '../../../../test/conformance/testing/random-recurrent.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource } from '../../../core/base/bytes.ts'
import type { Costs } from '../../../core/weights/sparse/cost-table.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../cli/node-host.ts'
import { parsePattern } from '../prune/mask.ts'
import { type AllocateOptions, allocateSparsity, type SparsityBudget } from './allocate-sparsity.ts'
import { pruneModel } from './prune-model.ts'
import { matricesOf, memoryWork } from './work-files.ts'

const { signal } = new AbortController()
const windows = [0, 1, 2].map((w) => Array.from({ length: 60 }, (_, i) => (7 * w + 5 * i * i + 3) % 90))
const prepared = async (files: readonly File[]) =>
  prepareModel(await openModel(files.map((file) => blobSource(file.name, file))), {
    weights: 'w4',
    forPack: true,
  })
/** One unit of time per kept weight; the rest of a token takes as long as 1,000 weights. */
const costs: Costs = {
  machine: 'a counting one',
  restMs: 1000,
  timeOf: (n, k, format, kept) => n * k * (format === undefined ? 1 : kept),
}
const options = (): Omit<AllocateOptions, 'costs' | 'budget'> => ({
  host: nodeHost(),
  threads: 1,
  signal,
  windows,
  work: memoryWork(),
  sparsity: 0,
  sweeps: 0,
  method: 'obs',
  pattern: parsePattern('sv32'),
  format: 'w4_g32',
  sparseFormat: 'sv32',
})

describe.each([
  ['llama', safetensorsFiles(randomLlama({ seed: 3, intermediate: 88 }))],
  ['mamba', recurrentSafetensors(randomRecurrent('mamba', 4))],
])('%s', (_, files) => {
  test('stays within budgets of speed, tokens per second, bytes and loss', async () => {
    const model = await prepared(files)
    const own = options()
    const allocated = (budget: SparsityBudget) => allocateSparsity(model, { ...own, costs, budget })
    const none = (await allocated({ kind: 'speed', times: 1 })).prediction
    expect(none).toMatchObject({ speed: 1, loss: 0, dropped: 0 })
    const fast = await allocated({ kind: 'speed', times: 1.6 })
    expect([...fast.sparsities.keys()].toSorted()).toEqual(matricesOf(model).toSorted())
    expect(fast.prediction.speed).toBeGreaterThanOrEqual(1.6)
    expect(fast.prediction.loss).toBeGreaterThan(0)
    const perSecond = none.denseTokensPerSecond! * 1.3
    expect(
      (await allocated({ kind: 'tokens', perSecond, restMs: 1000 })).prediction.tokensPerSecond,
    ).toBeGreaterThanOrEqual(perSecond)
    const least = (await allocated({ kind: 'loss', share: 0.05 })).prediction
    expect(least.loss).toBeLessThanOrEqual(0.05)
    expect(least.speed).toBeGreaterThan(1)
    const most = Math.round(none.bytes * 0.9)
    const small = await allocated({ kind: 'bytes', most })
    expect(small.prediction.bytes).toBeLessThanOrEqual(most)
    const { contents } = await pruneModel(model, {
      ...own,
      work: memoryWork(),
      sparsities: small.sparsities,
      card: { sparse: (name) => (small.sparse.has(name) ? 'sv32' : 'none') },
    })
    const stored = contents.tensors.reduce((sum, { bytes }) => sum + bytes, 0)
    expect(stored).toBeLessThanOrEqual(most)
    expect(Math.abs(stored / small.prediction.bytes - 1)).toBeLessThan(0.01)
  }, 60_000)

  test('a budget out of reach is rejected with its numbers', async () => {
    const model = await prepared(files)
    const own = options()
    const allocated = (budget: SparsityBudget) => allocateSparsity(model, { ...own, costs, budget })
    await expect(allocated({ kind: 'speed', times: 11 })).rejects.toThrow(
      /the sparsest choices still cost 1\.\d+/,
    )
    await expect(allocated({ kind: 'tokens', perSecond: 1, restMs: 1000 })).rejects.toThrow(
      /1 tokens per second leave 1\.00e\+3 ms for a token, but the unpruned part takes 1\.00e\+3 ms/,
    )
    await expect(allocated({ kind: 'bytes', most: 1000 })).rejects.toThrow(
      /the unpruned part takes \d+ bytes but the limit for the pack is 1000; raise --size/,
    )
  }, 60_000)
})
