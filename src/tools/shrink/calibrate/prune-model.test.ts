// Pruning models. In: random models of two kinds, windows of ids. Out: zeros in every matrix, and predicted
// losses compared with measured ones on a walk's inputs.
import { expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import {
  randomRecurrent,
  recurrentSafetensors,
} from '../../../../test/conformance/testing/random-recurrent.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { blobSource } from '../../../core/base/bytes.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { loadSolver, nodeHost, startSolver } from '../../cli/node-host.ts'
import { factorize } from '../matrix/factor.ts'
import { maskOf, parsePattern } from '../prune/mask.ts'
import { plainScores, pruneLoss } from '../prune/prune-matrix.ts'
import { obsLosses, obsUpdate } from '../testing/obs-update.ts'
import { readMatrix } from './gram.ts'
import { type PruneModelOptions, pruneModel } from './prune-model.ts'
import { walk } from './walk.ts'
import { matricesOf, memoryWork, readWork } from './work-files.ts'

const { signal } = new AbortController()
const windows = [0, 1, 2].map((w) => Array.from({ length: 60 }, (_, i) => (7 * w + 5 * i * i + 3) % 90))
const models = {
  llama: safetensorsFiles(randomLlama({ seed: 3, intermediate: 88 })),
  mamba: recurrentSafetensors(randomRecurrent('mamba', 4)),
}
const prepared = async (files: readonly File[]) =>
  prepareModel(await openModel(files.map((file) => blobSource(file.name, file))), {
    weights: 'w4',
    forPack: true,
  })
const shared = () => ({ host: nodeHost(), threads: 1, signal, windows, work: memoryWork() })

test.each(Object.entries(models))('%s: every matrix has the requested zeros', async (_, files) => {
  const model = await prepared(files)
  const { matrices, tensors, contents } = await pruneModel(model, {
    ...shared(),
    method: 'obs',
    pattern: parsePattern('2:4'),
    sparsity: 0.5,
    format: 'w4_g32',
    sweeps: 0,
  })
  expect(matrices.map(({ name }) => name)).toEqual(matricesOf(model))
  expect(contents.tensors.map(({ name }) => name)).toEqual(expect.arrayContaining([...tensors.keys()]))
  for (const { name, shape, loss = 0, energy = 0 } of matrices) {
    const [, k] = shape
    const stored = await readMatrix(tensors.get(name)!, signal)
    for (let at = 0; at < stored.length; at += 4) {
      const zeros = stored.subarray(at, at + Math.min(4, k - (at % k))).filter((value) => value === 0)
      expect(zeros.length).toBeGreaterThanOrEqual(k % 4 === 0 ? 2 : 0)
    }
    expect(loss).toBeLessThan(energy)
  }
})

test('with per-row masks, 8-bit codes are rounded to nearest: zeros stay, and other weights match f32', async () => {
  const pruned = async (format: 'f32' | 'w8_g32') => {
    const pattern = parsePattern('unstructured')
    const options = { ...shared(), method: 'obs', pattern, sparsity: 0.1, sweeps: 0 } as const
    const { tensors, matrices } = await pruneModel(await prepared(models.llama), { ...options, format })
    const [{ name } = { name: '' }] = matrices
    return readMatrix(tensors.get(name)!, signal)
  }
  // The inputs of the first matrix do not depend on the codes of other matrices.
  const [float, coded] = await Promise.all([pruned('f32'), pruned('w8_g32')])
  expect(float.filter((value) => value === 0).length / float.length).toBeCloseTo(0.1, 1)
  const most = float.reduce((peak, value) => Math.max(peak, Math.abs(value)), 0)
  for (const [at, value] of float.entries()) {
    if (value === 0) expect(coded[at]).toBe(0)
    expect(Math.abs(coded[at]! - value)).toBeLessThan(most / 127)
  }
})

test.each(['obs', 'sparsegpt-obs', 'sparsegpt', 'wanda', 'magnitude'] as const)(
  '%s: two threads give the same bytes as one',
  async (method) => {
    const model = await prepared(models.llama)
    const run = async (threads: Partial<PruneModelOptions>) => {
      const work = memoryWork()
      const { matrices } = await pruneModel(model, {
        ...shared(),
        work,
        method,
        pattern: parsePattern('sv32'),
        sparsity: 0.5,
        ...threads,
        format: 'w4_g32',
        sweeps: 1,
        solver: await loadSolver(),
      })
      const files = matrices.map(({ name }) => readWork(work, `${name}.codes`))
      return { matrices, files: await Promise.all(files) }
    }
    const alone = await run({ threads: 1 })
    expect(alone.files.every((file) => file !== undefined)).toBe(true)
    expect(await run({ threads: 2, startSolver })).toEqual(alone)
  },
  60_000,
)

test("equation 24 matches the measured loss on the layers' inputs within 1e-4", async () => {
  const model = await prepared(models.llama)
  let products = 0
  await walk(model, {
    ...shared(),
    async visit({ name, parts, k }, stats) {
      const found = await stats()
      const factor = factorize(name, found)
      for (const { name: matrix, n } of parts) {
        const weights = await readMatrix(weightOf(model.weights, matrix), signal)
        const pattern = parsePattern('unstructured')
        const mask = maskOf(plainScores(weights, n, k, pattern), n, k, pattern, 0.5, 'row')
        const values = obsUpdate(weights, mask, factor)
        const losses = obsLosses(weights, values, mask, factor)
        const damped = values.reduce((sum, v, at) => sum + factor.added[at % k]! * (v - weights[at]!) ** 2, 0)
        const measured = pruneLoss(weights, values, n, found) + damped
        expect(Math.abs(losses.reduce((sum, loss) => sum + loss, 0) / measured - 1)).toBeLessThan(1e-4)
      }
      products++
      return undefined
    },
  })
  expect(products).toBe(8)
})
