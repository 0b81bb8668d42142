// AWQ: searches a scale for each input. Matrices are multiplied by it before they are rounded, and the
// producer of the inputs is divided by it.
//
//   s_i = a_i^alpha, over the root of the largest times the smallest      a_i  root mean square of input i
//
// Inputs of large activations get large scales, so their weights are rounded finely. alpha is searched on a
// grid from 0 (no scaling) to 1, for the least error of the products. Source: Lin et al., AWQ (2023), 3.2;
// its a_i is the mean magnitude.
import { decode, type Format } from '../codes/coded-matrix.ts'
import { rtn } from './grid.ts'
import type { InputStats } from './hessian.ts'
import { energy, sampledRows, takeRows } from './mixed.ts'

export interface ScaleSearch {
  /** s, [k]. */
  readonly scales: Float64Array
  readonly exponent: number
  /** Errors of the products from sampled outputs, with the scales and without. */
  readonly loss: number
  readonly lossBefore: number
}

const STEPS = 20
/** A scale of an input that is nearly dead would make its weights vanish. */
const LEAST = 1e-4

/** `matrices`: those that read the same inputs. */
export function searchScales(
  matrices: readonly { readonly weights: ArrayLike<number>; readonly n: number }[],
  stats: InputStats,
  format: Format,
): ScaleSearch {
  const { k } = stats
  const sizes = rootMeanSquares(stats)
  const samples = matrices.map(({ weights, n }) => takeRows(weights, sampledRows(n, k), k))
  const lossOf = (scales: Float64Array): number => {
    const importance = importanceOf(stats, scales)
    return samples.reduce((sum, sample) => {
      const scaled = sample.map((value, at) => value * scales[at % k]!)
      const errors = decode(rtn(scaled, sample.length / k, k, format, importance))
      for (let at = 0; at < errors.length; at++) errors[at] = errors[at]! / scales[at % k]! - sample[at]!
      return sum + energy(errors, stats)
    }, 0)
  }
  const none = new Float64Array(k).fill(1)
  const lossBefore = lossOf(none)
  let best: ScaleSearch = { scales: none, exponent: 0, loss: lossBefore, lossBefore }
  for (let step = 1; step <= STEPS; step++) {
    const exponent = step / STEPS
    const scales = scalesOf(sizes, exponent)
    const loss = lossOf(scales)
    if (loss < best.loss) best = { scales, exponent, loss, lossBefore }
  }
  return best
}

/** How much an error in each weight counts when grids are fitted to scaled weights. */
export const importanceOf = ({ k, gram }: InputStats, scales: Float64Array): Float64Array =>
  scales.map((scale, i) => gram[i * k + i]! / (scale * scale))

const rootMeanSquares = ({ k, rows, gram }: InputStats): Float64Array =>
  Float64Array.from({ length: k }, (_, i) => Math.sqrt(gram[i * k + i]! / Math.max(1, rows)))

function scalesOf(sizes: Float64Array, exponent: number): Float64Array {
  const scales = sizes.map((size) => Math.max(LEAST, size ** exponent))
  const middle = Math.sqrt(Math.max(...scales) * Math.min(...scales))
  return scales.map((scale) => scale / middle)
}
