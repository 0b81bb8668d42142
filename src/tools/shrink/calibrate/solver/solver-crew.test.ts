// The crew of solvers. In: a random problem. Out: the same bits for any number of threads, and what happens
// when a run is aborted or a thread exits.

import { afterEach, describe, expect, test } from 'vitest'
import { signedFrom } from '../../../../../test/helpers/random.ts'
import { loadSolver, startSolver } from '../../../cli/node-host.ts'
import { factorize } from '../../matrix/factor.ts'
import type { Slab } from '../../matrix/gptq.ts'
import { inputStats } from '../../matrix/hessian.ts'
import { parsePattern } from '../../prune/mask.ts'
import { type Pruned, prune, pruneBytes, pruning } from '../../prune/prune-matrix.ts'
import { type CrewOptions, SolverCrew } from './solver-crew.ts'

const random = signedFrom(9)
// Large enough for several slabs and several shared factor steps.
const n = 150
const k = 608
const inputs = Float32Array.from({ length: 700 * k }, random)
const drift = Float64Array.from({ length: k * k }, random)
const stats = { ...inputStats('w', inputs, k), drift }
const matrix: Slab = {
  n,
  k,
  options: { format: 'w4_g32', sweeps: 1, share: 0.5 },
  weights: Float32Array.from({ length: n * k }, random),
  behind: Float64Array.from({ length: n * k }, random),
}

const few = inputStats('w', inputs.subarray(0, 400 * 160), 160)

const crews: SolverCrew[] = []
afterEach(() => {
  for (const crew of crews.splice(0)) crew.dispose()
})

async function crewOf(options: Partial<CrewOptions> = {}): Promise<SolverCrew> {
  const crew = new SolverCrew({
    solver: await loadSolver(),
    startSolver,
    threads: 2,
    signal: new AbortController().signal,
    yieldTask: () => Promise.resolve(),
    ...options,
  })
  crews.push(crew)
  return crew
}

async function solved(options: Partial<CrewOptions>) {
  const crew = await crewOf(options)
  const known = await crew.know('w', stats, {})
  return { ...(await crew.solve(matrix, known)), triangle: known.factor.triangle.slice() }
}

/**
 * Two matrices pruned and coded by groups: one with groups larger than a task, one with small groups.
 */
async function pruned(options: Partial<CrewOptions>) {
  const crew = await crewOf(options)
  const found: Pruned[] = []
  for (const [name, sparsity, coding] of [
    ['unstructured', 0, { format: 'w8_g32' }],
    ['sv32', 0.4, undefined],
    ['sb84', 0.6, { format: 'w4_g32', sweeps: 1 }],
  ] as const) {
    const known = await crew.knowForGroups('w', few, { bytes: pruneBytes(100, few.k), withInverse: true })
    const how = { method: 'obs', pattern: parsePattern(name), sparsity, coding } as const
    const steps = pruning(matrix.weights.subarray(0, 100 * few.k), 100, few.k, how, { stats: few, ...known })
    found.push(await crew.solveGroups(steps, known))
  }
  return found
}

describe('a crew', () => {
  test('solves groups to the same values and codes with any number of threads, and without the module', async () => {
    const alone = await pruned({ threads: 1 })
    expect(alone.map(({ coded }) => coded !== undefined)).toEqual([true, false, true])
    for (const options of [{ threads: 2 }, { threads: 3 }, { solver: undefined }])
      expect(await pruned(options)).toEqual(alone)
    const { mask, values } = alone[1] as Pruned
    const how = { method: 'obs', pattern: parsePattern('sv32'), sparsity: 0.4 } as const
    const factor = factorize('w', few)
    const plain = prune(matrix.weights.subarray(0, 100 * few.k), 100, few.k, how, { stats: few, factor })
    expect(plain).toMatchObject({ mask, values })
  }, 60_000)

  test('chooses the same codes with any number of threads, and without the module', async () => {
    const alone = await solved({ threads: 1 })
    expect(alone.loss).toBeLessThan(alone.lossBefore)
    for (const options of [{ threads: 2 }, { threads: 3 }, { solver: undefined }])
      expect(await solved(options)).toEqual(alone)
  }, 60_000)

  test('reuses its memory, and allocates a new memory for larger products', async () => {
    const crew = await crewOf()
    const alone = await solved({ threads: 1 })
    const small = { ...matrix, n: 3, k: 32, weights: matrix.weights.slice(0, 96), behind: undefined }
    const narrow = inputStats('s', inputs.slice(0, 64 * 32), 32)
    for (let round = 0; round < 2; round++) {
      await crew.solve(small, await crew.know('s', narrow, {}))
      const { coded } = await crew.solve(matrix, await crew.know('w', stats, {}))
      expect(coded).toEqual(alone.coded)
    }
  }, 60_000)

  test('reports which output has a NaN weight, in whichever slab', async () => {
    const crew = await crewOf()
    const weights = matrix.weights.slice()
    weights[140 * k + 7] = Number.NaN
    const known = await crew.know('w', stats, {})
    await expect(crew.solve({ ...matrix, weights }, known)).rejects.toMatchObject({
      code: 'format',
      message: expect.stringMatching(/output 140 and input 7 is NaN/),
    })
  }, 60_000)

  test('rethrows what a thread throws', async () => {
    const crew = await crewOf()
    const known = await crew.know('w', stats, {})
    const weights = matrix.weights.map((weight) => weight * 1e7)
    await expect(crew.solve({ ...matrix, weights }, known)).rejects.toMatchObject({
      code: 'format',
      message: expect.stringMatching(/has a scale or minimum of/),
    })
  }, 60_000)

  test('stops at once if the run is aborted', async () => {
    const controller = new AbortController()
    const crew = await crewOf({ signal: controller.signal })
    const known = await crew.know('w', stats, {})
    const solving = crew.solve(matrix, known)
    controller.abort(new Error('enough'))
    await expect(solving).rejects.toThrow('enough')
    await expect(crew.know('w', stats, {})).rejects.toThrow('enough')
  }, 60_000)

  test('a thread that exits causes an error with a next step', async () => {
    let lost: (error: Error) => void = () => undefined
    const crew = await crewOf({
      startSolver() {
        const port = startSolver()
        return {
          ...port,
          onError(listener) {
            lost = listener
          },
        }
      },
    })
    const known = await crew.know('w', stats, {})
    const solving = crew.solve(matrix, known)
    lost(new Error('it ended with code 9'))
    await expect(solving).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/a thread of the solver ended: it ended with code 9; .* --resume/),
    })
  }, 60_000)
})
