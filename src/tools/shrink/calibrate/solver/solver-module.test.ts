// The solver's module. In: random problems. Out: whether its products match TypeScript's bit for bit, and
// give the same codes.

import { expect, test } from 'vitest'
import { signedFrom } from '../../../../../test/helpers/random.ts'
import { loadSolver } from '../../../cli/node-host.ts'
import { type Dense, factorBytes, factorize, plainDense, rowsOf, slabBytes } from '../../matrix/factor.ts'
import { gptq } from '../../matrix/gptq.ts'
import { inputStats } from '../../matrix/hessian.ts'
import { driftRows, targetsOf } from '../../matrix/targets.ts'
import { openSolver } from './solver-module.ts'

const random = signedFrom(5)
const filled = (dense: Dense, key: string, length: number, values: Float64Array) => {
  const room = dense.room(key, length)
  room.set(values.subarray(0, length))
  return room
}

test.each([
  [1, 1, 1],
  [4, 2, 32],
  [7, 5, 33],
  [9, 3, 0],
  [33, 32, 65],
])('a product [%i, %i] over %i is bit-identical to TypeScript', async (m, n, depth) => {
  const module = openSolver(await loadSolver(), 1 << 20)
  const [a, b, c] = [m * (depth + 3), n * (depth + 2), m * (n + 5)].map((length) =>
    Float64Array.from({ length }, random),
  )
  const results = [module, plainDense].map((dense) => {
    const out = filled(dense, 'c', c!.length, c!)
    const left = rowsOf(filled(dense, 'a', a!.length, a!), depth + 3)
    const right = rowsOf(filled(dense, 'b', b!.length, b!), depth + 2)
    dense.gemm(left, right, rowsOf(out, n + 5, 2), m, n, depth, -1)
    return [...out]
  })
  expect(results[0]).toEqual(results[1])
})

test.each([
  [1, 1, 1],
  [5, 12, 32],
  [7, 30, 9],
  [64, 111, 32],
  [65, 13, 33],
  [200, 14, 100],
  [3, 25, 0],
])(
  'a product in f32 [%i, %i] over %i with many zeros is bit-identical to TypeScript',
  async (m, n, depth) => {
    const module = openSolver(await loadSolver(), 1 << 20)
    const numbers = (length: number) => Float32Array.from({ length }, random)
    const a = numbers(m * (depth + 1)).map((value) => (Math.abs(value) < 0.4 ? value : 0))
    const [b, c] = [numbers(depth * (n + 3)), numbers(m * (n + 2))]
    // A row without changes, as when a row's sweeps have ended.
    a.fill(0, Math.floor(m / 2) * (depth + 1), (Math.floor(m / 2) + 1) * (depth + 1))
    const results = [module, plainDense].map((dense) => {
      const [left, right, out] = (
        [
          ['a', a],
          ['b', b],
          ['c', c],
        ] as const
      ).map(([key, values]) => {
        const room = dense.floats(key, values.length)
        room.set(values)
        return room
      }) as [Float32Array, Float32Array, Float32Array]
      dense.addProducts(rowsOf(left, depth + 1), rowsOf(right, n + 3), rowsOf(out, n + 2), m, n, depth)
      return [...out]
    })
    expect(results[0]).toEqual(results[1])
    if (depth > 0 && m > 1) expect(results[0]).not.toEqual([...c])
  },
)

test('solving chooses the same codes', async () => {
  const n = 40
  const k = 176
  const inputs = Float32Array.from({ length: 400 * k }, random)
  const weights = Float32Array.from({ length: n * k }, random)
  const drift = Float64Array.from({ length: k * k }, random)
  const bytes = factorBytes(k, true) + slabBytes(n, k)
  const solved = [openSolver(await loadSolver(), bytes), plainDense].map((dense) => {
    const factor = factorize('w', inputStats('w', inputs, k), { dense })
    const targets = targetsOf(weights, n, k, { drift: driftRows(drift, k, dense) }, factor, 0.5)
    return { targets, ...gptq(targets, n, k, 'w4_g32', factor, { sweeps: 2 }) }
  })
  expect(solved[0]).toEqual(solved[1])
})
