// Chooses a format for each product within a byte budget, based on what each would lose.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { decode, type Format } from '../codes/coded-matrix.ts'
import { rtn } from './grid.ts'
import type { InputStats } from './hessian.ts'

/** Maximum multiply-adds per estimate. */
const WORK = 2e8
const MIN_ROWS = 8

/** An evenly spread sample of the outputs [0, n), smaller if a row costs more. */
export function sampledRows(n: number, k: number): number[] {
  const count = Math.min(n, Math.max(MIN_ROWS, Math.floor(WORK / (k * k))))
  return Array.from({ length: count }, (_, index) => Math.floor((index * n) / count))
}

/** sum over `rows` of v H v^T, where v are rows of `values`, [rows.length][k]. */
export function energy(values: Float64Array, { k, gram }: Pick<InputStats, 'k' | 'gram'>): number {
  let total = 0
  for (let at = 0; at < values.length; at += k) {
    for (let j = 0; j < k; j++) {
      const value = values[at + j]!
      if (value === 0) continue
      let sum = 0
      const row = j * k
      for (let i = 0; i < j; i++) sum += values[at + i]! * gram[row + i]!
      total += value * (2 * sum + value * gram[row + j]!)
    }
  }
  return total
}

/** The rows of a matrix, [rows.length][k]. */
export function takeRows(weights: ArrayLike<number>, rows: readonly number[], k: number): Float64Array {
  const taken = new Float64Array(rows.length * k)
  for (const [index, row] of rows.entries()) {
    for (let i = 0; i < k; i++) taken[index * k + i] = weights[row * k + i]!
  }
  return taken
}

/** Smallest first. */
export const MIXED_FORMATS = ['w4_g32', 'w4m_g32', 'w8_g32'] as const satisfies Format[]
export type MixedFormat = (typeof MIXED_FORMATS)[number]

export type Losses = Readonly<Record<MixedFormat, number>>

/**
 * The error of the products in each format, relative to their energy: sum e H e^T / sum w H w^T over sampled
 * outputs of all matrices, rounded to nearest.
 */
export function lossesOf(
  matrices: readonly { readonly weights: ArrayLike<number>; readonly n: number }[],
  stats: InputStats,
): Losses {
  const { k } = stats
  const samples = matrices.map(({ weights, n }) => takeRows(weights, sampledRows(n, k), k))
  const whole = samples.reduce((sum, sample) => sum + energy(sample, stats), 0)
  const lossIn = (format: Format): number => {
    const loss = samples.reduce((sum, sample) => {
      const stored = decode(rtn(sample, sample.length / k, k, format))
      return (
        sum +
        energy(
          stored.map((value, at) => value - sample[at]!),
          stats,
        )
      )
    }, 0)
    return whole > 0 ? loss / whole : 0
  }
  return { w4_g32: lossIn('w4_g32'), w4m_g32: lossIn('w4m_g32'), w8_g32: lossIn('w8_g32') }
}

interface MixedProduct {
  readonly name: string
  readonly losses: Losses
  readonly bytes: Readonly<Record<MixedFormat, number>>
}

/**
 * Starts with the smallest format everywhere. Then repeatedly takes, among the steps that fit, the one that
 * lowers the loss most per byte. Throws `unsupported` if not even the smallest fits.
 */
export function chooseFormats(
  products: readonly MixedProduct[],
  budgetBytes: number,
): ReadonlyMap<string, MixedFormat> {
  const chosen = new Map<string, MixedFormat>(products.map(({ name }) => [name, 'w4_g32']))
  let left = budgetBytes - products.reduce((sum, { bytes }) => sum + bytes.w4_g32, 0)
  if (left < 0) {
    throw new HalfbyteError(
      'unsupported',
      `the matrices take ${budgetBytes - left} bytes as w4 but the budget leaves ${Math.max(0, budgetBytes)} for them; raise --budget by ${-left} bytes or more`,
      { bytes: budgetBytes - left, budget: budgetBytes },
    )
  }
  for (;;) {
    let best: { name: string; format: MixedFormat; gain: number; cost: number } | undefined
    for (const { name, losses, bytes } of products) {
      const now = chosen.get(name)!
      for (const format of MIXED_FORMATS) {
        const cost = bytes[format] - bytes[now]
        if (cost <= 0 || cost > left) continue
        const gain = (losses[now] - losses[format]) / cost
        if (gain > 0 && (best === undefined || gain > best.gain)) best = { name, format, gain, cost }
      }
    }
    if (best === undefined) return chosen
    chosen.set(best.name, best.format)
    left -= best.cost
  }
}
