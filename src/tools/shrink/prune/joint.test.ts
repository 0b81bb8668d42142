// Pruning with codes. In: random problems. Out: dropped weights as exact zeros, and whether codes equal
// GPTQ's under other Hessians.
import { describe, expect, test } from 'vitest'
import { decode } from '../codes/coded-matrix.ts'
import { factorize } from '../matrix/factor.ts'
import { gptq } from '../matrix/gptq.ts'
import { inputStats } from '../matrix/hessian.ts'
import { hessianOf, measuredLoss, type Problem, randomProblem, rowLoss } from '../testing/obs.ts'
import { type Coding, solveGroup } from './group-tasks.ts'
import { inverseOf } from './inverse.ts'
import { parsePattern, sparsityOf } from './mask.ts'
import { PRUNE_METHODS, type PruneOptions, pruning } from './prune-matrix.ts'

const DAMP = 0.02
const PATTERNS = ['unstructured', '2:4', '4:8', '3:10', 'sb84', 'sv32'].map(parsePattern)

const statsOf = ({ inputs, k }: Problem) => inputStats('w', inputs, k)
const factorOf = (problem: Problem) => factorize('w', statsOf(problem), { damp: DAMP })

/** Prunes and quantizes with one Hessian. */
function prunedCodes(problem: Problem, options: PruneOptions, coding: Coding) {
  const { n, k, weights } = problem
  const stats = statsOf(problem)
  const factor = factorOf(problem)
  const inverse = inverseOf(factor, 'inverse')
  const steps = pruning(weights, n, k, { ...options, coding }, { stats, factor, inverse })
  let step = steps.next()
  while (step.done !== true) step = steps.next(step.value.map((task) => solveGroup(task, factor, inverse)))
  return { ...step.value, stored: decode(step.value.coded!) }
}

describe('with codes', () => {
  test.each(['w4_g32', 'w8_g32', 'w4_channel'] as const)('%s: dropped weights are exact zeros', (format) => {
    for (const pattern of PATTERNS) {
      for (const method of PRUNE_METHODS) {
        const problem = randomProblem(40, 72, 250, 29, [9])
        const sparsity = sparsityOf(pattern, pattern.nm ? undefined : 0.5)
        const { stored, mask } = prunedCodes(problem, { method, pattern, sparsity }, { format, sweeps: 2 })
        for (let at = 0; at < stored.length; at++) if (mask.kept[at] === 0) expect(stored[at]).toBe(0)
      }
    }
  })

  test.each(['w4_g32', 'w8_g32'] as const)(
    "%s: a mask that keeps everything gives GPTQ's codes",
    (format) => {
      const problem = randomProblem(70, 72, 250, 29)
      const options = { method: 'obs', pattern: PATTERNS[0]!, sparsity: 0 } as const
      const { coded } = prunedCodes(problem, options, { format, sweeps: 3 })
      const reference = gptq(problem.weights, 70, 72, format, factorOf(problem), { sweeps: 3 })
      expect(coded).toEqual(reference.coded)
    },
  )

  test.each(['w4_g32', 'w8_g32'] as const)(
    '%s: kept weights are coded as if the dropped inputs did not exist',
    (format) => {
      const problem = randomProblem(6, 96, 300, 37)
      const options = { method: 'obs', pattern: parsePattern('sv32'), sparsity: 0.5 } as const
      const { values, mask, coded } = prunedCodes(problem, options, { format, sweeps: 2 })
      // In this Hessian, each dropped input is independent: no error flows to or from it.
      const stats = statsOf(problem)
      for (let a = 0; a < 96; a++)
        for (let b = 0; b < a; b++) if (mask.kept[a] === 0 || mask.kept[b] === 0) stats.gram[a * 96 + b] = 0
      const alone = factorize('w', stats, { damp: DAMP })
      expect(coded).toEqual(gptq(values, 6, 96, format, alone, { sweeps: 2 }).coded)
    },
  )

  test('errors flow only to kept weights, so codes lose less than rounding the remaining weights', () => {
    const problem = randomProblem(64, 96, 300, 31)
    const options = { method: 'obs', pattern: parsePattern('sv32'), sparsity: 0.5 } as const
    const { values, mask, stored } = prunedCodes(problem, options, { format: 'w4_g32' })
    const pruned: Problem = { ...problem, weights: Float32Array.from(values) }
    const naive = gptq(pruned.weights, 64, 96, 'w4_g32', factorOf(problem)).coded
    const masked = decode(naive).map((v, at) => v * mask.kept[at]!)
    expect(measuredLoss(problem, stored)).toBeLessThan(measuredLoss(problem, masked))
    // At the optimum, the loss is the sum of two parts: dropping weights, and coding the rest.
    const h = hessianOf(problem, DAMP)
    for (const row of [0, 40]) {
      const whole = rowLoss(problem, stored, h, row)
      const parts = rowLoss(problem, values, h, row) + rowLoss(pruned, stored, h, row)
      expect(whole / parts).toBeCloseTo(1, 4)
    }
  })
})
