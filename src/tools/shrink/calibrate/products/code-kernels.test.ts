// Products of codes. In: random values, some of them large, zero or not finite. Out: whether the module gives
// TypeScript's bits, and how far the products are from those in f64.

import { expect, test } from 'vitest'
import { signedFrom } from '../../../../../test/helpers/random.ts'
import { loadSolver, nodeHost } from '../../../cli/node-host.ts'
import { crewOf, type SolverCrew } from '../solver/solver-crew.ts'
import { MAX_DEPTH, type Operand } from './code-kernels.ts'
import { type CodeMemory, columnsOf } from './code-memory.ts'

const random = signedFrom(11)
const { signal } = new AbortController()
const BYTES = 1 << 22

const crews = async (): Promise<readonly SolverCrew[]> => {
  const shared = { host: nodeHost(), signal, threads: 1 }
  return [crewOf({ ...shared, solver: await loadSolver() }), crewOf(shared)]
}

/** Codes values [depth][width], by columns or, transposed, by rows. */
function coded(memory: CodeMemory, values: Float32Array, width: number, kind: 'columns' | 'rows'): Operand {
  const { space, f32, kernels } = memory
  const depth = values.length / width
  const operand = space.operand(width, depth)
  // Rows are longer than their values, as in an arena.
  const stride = kind === 'columns' ? width + 3 : depth + 1
  const x = space.numbers((kind === 'columns' ? depth : width) * stride, 4)
  for (let at = 0; at < values.length; at++) {
    const [row, column] = [Math.floor(at / width), at % width]
    f32[x / 4 + (kind === 'columns' ? row * stride + column : column * stride + row)] = values[at]!
  }
  if (kind === 'columns') kernels.codeColumns(x, stride, depth, width, operand)
  else kernels.codeRows(x, stride, width, depth, operand)
  return operand
}

interface Problem {
  readonly left: Float32Array
  readonly right: Float32Array
  readonly n: number
  readonly k: number
}

/** The sums that `add` leaves, [n][k]; they start at 1. */
async function products(
  crew: SolverCrew,
  { left, right, n, k }: Problem,
  type: 'sums' | 'rows',
  by: 'columns' | 'rows',
) {
  const memory = await crew.openCodes(BYTES)
  const a = coded(memory, left, n, by)
  const b = coded(memory, right, k, 'columns')
  const stride = columnsOf(k)
  const out = type === 'sums' ? memory.f64 : memory.f32
  const bytes = type === 'sums' ? 8 : 4
  const c = memory.space.numbers(columnsOf(n) * stride, bytes)
  out.fill(1, c / bytes, c / bytes + columnsOf(n) * stride)
  await crew.multiplyCodes([{ a, b, first: 0, step: 1, c, stride, type, isLower: false }], memory)
  return Array.from({ length: n }, (_, i) => [
    ...out.subarray(c / bytes + i * stride, c / bytes + i * stride + k),
  ])
}

const problemOf = (depth: number, n: number, k: number): Problem => {
  const values = (width: number) => Float32Array.from({ length: depth * width }, () => 3 * random() ** 5)
  return { n, k, left: values(n), right: values(k) }
}

test.each([
  [1, 1, 1],
  [2, 8, 8],
  [7, 5, 3],
  [64, 9, 17],
  [511, 12, 20],
  [512, 16, 8],
])('products over %i of [%i, %i] have the bits of TypeScript and are close to f64', async (depth, n, k) => {
  const problem = problemOf(depth, n, k)
  // A column of zeros, and one with a value that dwarfs the others.
  for (let p = 0; p < depth; p++) problem.left[p * n + n - 1] = 0
  problem.right[0] = 4e4
  for (const type of ['sums', 'rows'] as const) {
    for (const by of ['columns', 'rows'] as const) {
      const [module, plain] = await Promise.all(
        (await crews()).map((crew) => products(crew, problem, type, by)),
      )
      expect(module).toEqual(plain)
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < k; j++) {
          let [sum, left, right] = [0, 0, 0]
          for (let p = 0; p < depth; p++) {
            const [x, y] = [problem.left[p * n + i]!, problem.right[p * k + j]!]
            sum += x * y
            left += x * x
            right += y * y
          }
          const norm = Math.sqrt(left * right)
          expect(Math.abs(module![i]![j]! - 1 - sum)).toBeLessThanOrEqual(1e-3 * norm + 1e-6)
        }
      }
      expect(module![n - 1]).toEqual(new Array(k).fill(1))
    }
  }
})

test('sums of the largest codes do not overflow', async () => {
  const ones = new Float32Array(MAX_DEPTH * 8).fill(1)
  const peak = ones.map((_, at) => (at < 8 ? 1 : 0))
  for (const values of [ones, peak]) {
    const problem = { left: values, right: values, n: 8, k: 8 }
    const expected = values.reduce((sum, value) => sum + value, 0) / 8
    for (const crew of await crews()) {
      for (const row of await products(crew, problem, 'sums', 'columns'))
        for (const sum of row) expect((sum - 1) / expected).toBeCloseTo(1, 3)
    }
  }
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'a column with %d makes its products NaN',
  async (value) => {
    const problem = problemOf(20, 8, 8)
    problem.left[3 * 8 + 2] = value
    for (const by of ['columns', 'rows'] as const) {
      for (const crew of await crews()) {
        const rows = await products(crew, problem, 'sums', by)
        expect(rows.map((row) => row.some(Number.isNaN))).toEqual(rows.map((_, i) => i === 2))
        expect(rows[2]).toEqual(new Array(8).fill(Number.NaN))
      }
    }
  },
)
