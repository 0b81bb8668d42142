// Mixed precision. In: what each product would lose in each format, a budget of bytes. Out: a format
// for each.
import { HalfbyteError } from '../../base/errors.ts'
import { decode, type Format } from '../codes/coded-matrix.ts'
import type { InputStats } from './hessian.ts'
import { rtn } from './rtn.ts'
import { energy, sampledRows, takeRows } from './sampled-loss.ts'

/** From the smallest up. */
export const MIXED_FORMATS = ['w4_g32', 'w4m_g32', 'w8_g32'] as const satisfies Format[]
export type MixedFormat = (typeof MIXED_FORMATS)[number]

export type Losses = Readonly<Record<MixedFormat, number>>

/**
 * The error of the products in each format, as a share of their energy: sum e H e^T / sum w H w^T over
 * sampled outputs of all matrices, rounded to nearest.
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

export interface MixedProduct {
  readonly name: string
  readonly losses: Losses
  readonly bytes: Readonly<Record<MixedFormat, number>>
}

/**
 * Begins with the smallest format everywhere. Then takes, again and again, the step that lowers the loss most
 * for its bytes, among those that fit. Throws `unsupported` when not even the smallest fits.
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
      `the matrices take ${budgetBytes - left} bytes as w4 and the budget leaves ${Math.max(0, budgetBytes)} for them; raise --budget by ${-left} bytes or more`,
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
