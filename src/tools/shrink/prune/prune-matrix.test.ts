// Pruning one matrix. In: random problems. Out: comparisons of updates with constrained least squares, of
// equation 24 with the measured loss, and of methods with each other.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { type Dense, factorize, plainDense } from '../matrix/factor.ts'
import { inputStats } from '../matrix/hessian.ts'
import {
  hessianOf,
  inverseOf as invert,
  measuredLoss,
  type Problem,
  randomProblem,
  rowLoss,
} from '../testing/obs.ts'
import { obsLosses, obsUpdate } from '../testing/obs-update.ts'
import { groupBytes, groupTasks, reserveGroup, solveGroup } from './group-tasks.ts'
import { inverseOf } from './inverse.ts'
import { droppedShare, type Mask, type Pattern, parsePattern, rowGroups, sparsityOf } from './mask.ts'
import { PRUNE_METHODS, prune, pruneLoss } from './prune-matrix.ts'
import { sparseGpt } from './sparsegpt.ts'

const DAMP = 0.02
const PATTERNS = ['unstructured', '2:4', '4:8', '3:10', 'sb84', 'sv32'].map(parsePattern)

const statsOf = ({ inputs, k }: Problem) => inputStats('w', inputs, k)
const factorOf = (problem: Problem, damp = DAMP) => factorize('w', statsOf(problem), { damp })
const knownOf = (problem: Problem) => ({ stats: statsOf(problem), factor: factorOf(problem) })

/** A random mask of whole units. */
function randomMask(n: number, k: number, { rows, inputs }: Pattern, share: number, seed: number): Mask {
  const random = new Random(seed)
  const drops = new Map<string, boolean>()
  const kept = Uint8Array.from({ length: n * k }, (_, at) => {
    const unit = `${Math.floor(Math.floor(at / k) / rows)},${Math.floor((at % k) / inputs)}`
    if (!drops.has(unit)) drops.set(unit, random.chance(share))
    return drops.get(unit) === true ? 0 : 1
  })
  return { n, k, kept }
}

/** Rows that solve min sum ((w - v) x)^2 + g |w - v|^2 with v_P = 0, from its KKT system. */
function constrained(
  { n, k, weights }: Problem,
  { kept }: Mask,
  h: readonly (readonly number[])[],
): Float64Array {
  const values = new Float64Array(n * k)
  for (let row = 0; row < n; row++) {
    const dropped = Array.from({ length: k }, (_, i) => i).filter((i) => kept[row * k + i] === 0)
    const size = k + dropped.length
    // 2 H d + E l = 0 and E^T d = -w_P.
    const system = Array.from({ length: size }, (_, a) =>
      Array.from({ length: size }, (_, b) => {
        if (a < k && b < k) return 2 * h[a]![b]!
        if (a >= k && b >= k) return 0
        return Math.min(a, b) === dropped[Math.max(a, b) - k] ? 1 : 0
      }),
    )
    const inverse = invert(system)
    for (let i = 0; i < k; i++) {
      const step = dropped.reduce((sum, p, index) => sum - inverse[i]![k + index]! * weights[row * k + p]!, 0)
      values[row * k + i] = kept[row * k + i] === 1 ? weights[row * k + i]! + step : 0
    }
  }
  return values
}

const zeroed = ({ weights }: Problem, { kept }: Mask) => Float64Array.from(weights, (w, at) => w * kept[at]!)

describe('the OBS update', () => {
  test.each(PATTERNS.map((pattern) => [pattern.name, pattern] as const))(
    '%s: equals constrained least squares within 1e-6, whichever side is factored',
    (_, pattern) => {
      for (const share of [0.2, 0.5, 0.8]) {
        const problem = randomProblem(40, 36, 120, 7 + share * 10, [5])
        const mask = randomMask(40, 36, pattern, share, 3)
        const factor = factorOf(problem)
        const reference = constrained(problem, mask, hessianOf(problem, DAMP))
        for (const inverse of [undefined, inverseOf(factor, 'inverse')]) {
          const values = obsUpdate(problem.weights, mask, factor, inverse)
          for (let at = 0; at < values.length; at++)
            expect(Math.abs(values[at]! - reference[at]!)).toBeLessThan(1e-6)
        }
      }
    },
  )

  test('equation 24 equals the measured loss plus damping, within 1e-9', () => {
    const problem = randomProblem(16, 40, 200, 21)
    const factor = factorOf(problem)
    for (const share of [0.1, 0.3, 0.6, 0.9]) {
      const mask = randomMask(16, 40, PATTERNS[0]!, share, 5)
      for (const inverse of [undefined, inverseOf(factor, 'inverse')]) {
        const values = obsUpdate(problem.weights, mask, factor, inverse)
        const losses = obsLosses(problem.weights, values, mask, factor)
        const predicted = losses.reduce((sum, loss) => sum + loss, 0)
        const change = values.reduce((sum, v, at) => sum + (v - problem.weights[at]!) ** 2, 0)
        const measured = measuredLoss(problem, values) + factor.added[0]! * change
        expect(Math.abs(predicted / measured - 1)).toBeLessThan(1e-9)
      }
    }
  })

  test('a mask that keeps everything changes nothing, and one that keeps nothing loses everything', () => {
    const problem = randomProblem(3, 8, 60, 2)
    const [all, none] = [1, 0].map((kept) => ({ n: 3, k: 8, kept: new Uint8Array(24).fill(kept) })) as [
      Mask,
      Mask,
    ]
    expect(obsUpdate(problem.weights, all, factorOf(problem))).toEqual(Float64Array.from(problem.weights))
    const lost = obsUpdate(problem.weights, none, factorOf(problem))
    const losses = obsLosses(problem.weights, lost, none, factorOf(problem))
    expect(lost).toEqual(new Float64Array(24))
    const h = hessianOf(problem, DAMP)
    for (const row of [0, 1, 2]) expect(losses[row]).toBeCloseTo(rowLoss(problem, lost, h, row), 9)
  })
})

describe('updates under one mask', () => {
  const drawn = fc.record({
    seed: fc.integer({ min: 1, max: 1e6 }),
    n: fc.integer({ min: 1, max: 36 }),
    k: fc.integer({ min: 2, max: 34 }),
    share: fc.constantFrom(0.1, 0.5, 0.9),
    pattern: fc.constantFrom(...PATTERNS),
  })

  test('OBS loses no more in any row than SparseGPT or no update', () => {
    fc.assert(
      fc.property(drawn, ({ seed, n, k, share, pattern }) => {
        const problem = randomProblem(n, k, 2 * k + 5, seed)
        const mask = randomMask(n, k, pattern, share, seed)
        const factor = factorOf(problem)
        const h = hessianOf(problem, DAMP)
        const best = obsUpdate(problem.weights, mask, factor)
        const sequential = sparseGpt(problem.weights, n, k, factor, mask).values
        const none = zeroed(problem, mask)
        for (let row = 0; row < n; row++) {
          const [own, gpt, plain] = [best, sequential, none].map((values) => rowLoss(problem, values, h, row))
          expect(own!).toBeLessThanOrEqual(gpt! * (1 + 1e-9) + 1e-12)
          expect(own!).toBeLessThanOrEqual(plain! * (1 + 1e-9) + 1e-12)
        }
      }),
      { numRuns: 150 },
    )
  })

  test("SparseGPT's update helps overall, but can harm a row whose later inputs are dropped", () => {
    let harmed = 0
    let rows = 0
    let gpt = 0
    let plain = 0
    for (let seed = 1; seed <= 30; seed++) {
      const problem = randomProblem(12, 24, 80, seed)
      const mask = randomMask(12, 24, PATTERNS[0]!, 0.5, seed)
      const h = hessianOf(problem, DAMP)
      const { values } = sparseGpt(problem.weights, 12, 24, factorOf(problem), mask)
      for (let row = 0; row < 12; row++) {
        const own = rowLoss(problem, values, h, row)
        const none = rowLoss(problem, zeroed(problem, mask), h, row)
        rows++
        gpt += own
        plain += none
        if (own > none) harmed++
      }
    }
    expect(gpt).toBeLessThan(plain)
    expect(harmed).toBeGreaterThan(0)
    expect(harmed).toBeLessThan(0.5 * rows)
  })

  test('SparseGPT’s update equals elimination from the explicit inverse, input by input', () => {
    const problem = randomProblem(3, 150, 400, 4)
    const mask = randomMask(3, 150, PATTERNS[0]!, 0.4, 9)
    const { values } = sparseGpt(problem.weights, 3, 150, factorOf(problem), mask)
    for (let row = 0; row < 3; row++) {
      const w = Array.from(problem.weights.subarray(row * 150, (row + 1) * 150))
      const inverse = invert(hessianOf(problem, DAMP))
      for (let j = 0; j < 150; j++) {
        if (mask.kept[row * 150 + j] === 0) {
          const error = w[j]! / inverse[j]![j]!
          for (let i = j; i < 150; i++) w[i]! -= error * inverse[j]![i]!
          w[j] = 0
        }
        const column = inverse[j]!.slice()
        for (let a = j; a < 150; a++)
          for (let b = j; b < 150; b++) inverse[a]![b]! -= (column[a]! * column[b]!) / column[j]!
      }
      for (let j = 0; j < 150; j++) expect(values[row * 150 + j]).toBeCloseTo(w[j]!, 8)
    }
  })
})

describe.each(PRUNE_METHODS)('%s', (method) => {
  test.each(PATTERNS.map((pattern) => [pattern.name, pattern] as const))(
    '%s: drops the requested share',
    (_, pattern) => {
      const n = 70
      const k = 90
      const problem = randomProblem(n, k, 250, 11, [7])
      const sparsity = sparsityOf(pattern, pattern.nm ? undefined : 0.6)
      const { values, mask } = prune(problem.weights, n, k, { method, pattern, sparsity }, knownOf(problem))
      expect(Math.abs(droppedShare(mask) - sparsity)).toBeLessThan(
        pattern.nm || pattern.rows > 1 ? 0.05 : 0.02,
      )
      for (let at = 0; at < n * k; at++) {
        if (mask.kept[at] === 0) expect(values[at]).toBe(0)
        const row = Math.floor(at / k)
        const input = at % k
        const top = row - (row % pattern.rows)
        const left = input - (input % pattern.inputs)
        expect(mask.kept[at]).toBe(mask.kept[top * k + left])
      }
      if (pattern.nm === undefined) return
      const { keep, of } = pattern.nm
      for (let at = 0; at < n * k; at += k) {
        for (let i = 0; i < k; i += of) {
          const own = mask.kept.subarray(at + i, at + Math.min(k, i + of))
          expect(own.reduce((sum, each) => sum + each, 0)).toBe(Math.min(keep, own.length))
        }
      }
    },
  )
})

test('methods that use input statistics lose less, and OBS loses less than SparseGPT', () => {
  for (const pattern of PATTERNS) {
    const problem = randomProblem(64, 96, 300, 17)
    const sparsity = sparsityOf(pattern, pattern.nm ? undefined : 0.5)
    const [obs = 0, both = 0, sparsegpt = 0, wanda = 0, magnitude = 0] = PRUNE_METHODS.map((method) => {
      const { values } = prune(problem.weights, 64, 96, { method, pattern, sparsity }, knownOf(problem))
      const loss = pruneLoss(problem.weights, values, 64, statsOf(problem))
      expect(loss / measuredLoss(problem, values)).toBeCloseTo(1, 6)
      return loss
    })
    expect(wanda).toBeLessThan(magnitude)
    expect(sparsegpt).toBeLessThan(wanda)
    expect(obs).toBeLessThan(sparsegpt)
    expect(both).toBeLessThan(sparsegpt)
  }
})

test("sparsegpt-obs is the OBS update under SparseGPT's mask", () => {
  const problem = randomProblem(40, 72, 250, 41, [9])
  for (const pattern of PATTERNS) {
    const sparsity = sparsityOf(pattern, pattern.nm ? undefined : 0.5)
    const [both, sequential] = (['sparsegpt-obs', 'sparsegpt'] as const).map((method) =>
      prune(problem.weights, 40, 72, { method, pattern, sparsity }, knownOf(problem)),
    )
    expect(both!.mask).toEqual(sequential!.mask)
    const best = obsUpdate(problem.weights, sequential!.mask, factorOf(problem))
    for (const [at, value] of both!.values.entries()) expect(value).toBeCloseTo(best[at]!, 9)
    expect(both!.work).toBeGreaterThan(0)
  }
})

test('by default, each output drops the same share of single weights, but strips compete', () => {
  const problem = randomProblem(64, 40, 200, 29)
  const keptOf = (pattern: Pattern, scope?: 'row' | 'matrix') => {
    const options = { method: 'obs', pattern, sparsity: 0.5, scope } as const
    const { kept } = prune(problem.weights, 64, 40, options, knownOf(problem)).mask
    return Array.from({ length: 64 }, (_, row) =>
      kept.subarray(row * 40, row * 40 + 40).reduce((a, b) => a + b),
    )
  }
  const single = parsePattern('unstructured')
  const strips = parsePattern('sv32')
  expect(keptOf(single)).toEqual(Array(64).fill(20))
  expect(keptOf(single, 'matrix')).not.toEqual(keptOf(single))
  expect(keptOf(strips)).toEqual(keptOf(strips, 'matrix'))
  expect(keptOf(strips, 'row')).toEqual(Array(64).fill(20))
})

test('dead inputs are dropped first', () => {
  const problem = randomProblem(32, 40, 200, 23, [3, 17, 30, 31])
  for (const method of ['obs', 'sparsegpt-obs', 'sparsegpt', 'wanda'] as const) {
    const options = { method, pattern: PATTERNS[0]!, sparsity: 0.1 }
    const { mask } = prune(problem.weights, 32, 40, options, knownOf(problem))
    for (let row = 0; row < 32; row++)
      for (const i of [3, 17, 30, 31]) expect(mask.kept[row * 40 + i]).toBe(0)
  }
})

test("a thread's buffers never grow, in whatever order groups are solved", () => {
  const k = 96
  const problem = randomProblem(24, k, 300, 31)
  const { factor } = knownOf(problem)
  const sizes = new Map<string, number>()
  let isReserved = false
  const dense: Dense = {
    ...plainDense,
    room(key, length) {
      if (isReserved) expect(length, key).toBeLessThanOrEqual(sizes.get(key) ?? 0)
      else sizes.set(key, Math.max(length, sizes.get(key) ?? 0))
      return new Float64Array(length)
    },
  }
  reserveGroup({ ...factor, dense })
  isReserved = true
  expect(8 * [...sizes.values()].reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(groupBytes(k))
  for (const [share, isUpdated] of [
    [0.9, true],
    [0.5, false],
    [0.1, true],
    [0.1, false],
  ] as const) {
    const mask = randomMask(24, k, parsePattern('sb84'), share, 3)
    const tasks = groupTasks(problem.weights, mask, { isUpdated, coding: { format: 'w4_g32', sweeps: 2 } })
    for (const task of tasks) solveGroup(task, { ...factor, dense }, undefined)
  }
})

test('rows that share a mask are one group', () => {
  const mask = randomMask(70, 40, parsePattern('sv32'), 0.5, 1)
  expect(rowGroups(mask).map(({ rows }) => rows.length)).toEqual([32, 32, 6])
})

test('conflicting patterns and sparsities are rejected', () => {
  expect(() => parsePattern('4:2')).toThrow(/^4:2 is not a pattern; choose unstructured, sb84, sv32, or N:M/)
  expect(() => parsePattern('2:400')).toThrow(/M <= 64/)
  expect(() => sparsityOf(parsePattern('sv32'), undefined)).toThrow(/give --sparsity, like --sparsity 0.5/)
  expect(() => sparsityOf(parsePattern('2:4'), 0.7)).toThrow(
    /2:4 drops 0.5 of the weights, but the sparsity is 0.7/,
  )
  expect(sparsityOf(parsePattern('2:4'), 0.5)).toBe(0.5)
})
