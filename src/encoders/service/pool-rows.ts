// Pools the hidden states of a text into one vector, shortens it and scales it to length 1.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { DenseHead } from '../families/dense-head.ts'
import type { Pooling } from './embed-settings.ts'

export interface VectorOptions {
  readonly normalize: boolean
  /** Number of leading values to keep. Default: all. */
  readonly dimensions?: number | undefined
  /** Modules that are applied to the pooled vector before it is shortened, in order. */
  readonly heads: readonly Pick<DenseHead, 'apply'>[]
}

/**
 * The rows [first, end) that a pooling method reads. The text has `rows` rows; the first `skipped` are a
 * prompt.
 */
export function pooledRows(pooling: Pooling, rows: number, skipped: number): readonly [number, number] {
  if (pooling === 'cls') return [0, 1]
  if (pooling === 'last') return [rows - 1, rows]
  return [Math.min(skipped, rows - 1), rows]
}

/** Sums in f64, row by row. */
export class RowPool {
  readonly #pooling: Pooling
  readonly #sum: Float64Array
  #weights = 0

  constructor(pooling: Pooling, width: number) {
    this.#pooling = pooling
    this.#sum = new Float64Array(width).fill(pooling === 'max' ? Number.NEGATIVE_INFINITY : 0)
  }

  // hot
  /** Adds the row at `position` of its text. */
  add(row: Float32Array, position: number): void {
    const sum = this.#sum
    if (this.#pooling === 'max') {
      for (let i = 0; i < sum.length; i++) if (row[i]! > sum[i]!) sum[i] = row[i]!
      this.#weights = 1
      return
    }
    const weight = this.#pooling === 'weighted-mean' ? position + 1 : 1
    for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + weight * row[i]!
    this.#weights += weight
  }

  /** Throws `integrity` if the embedding has NaN or an infinity. */
  vector({ normalize, dimensions, heads }: VectorOptions): Float32Array {
    const isPlain = heads.length === 0
    const mean = isPlain ? this.#sum : this.#sum.map((value) => value / this.#weights)
    const kept = heads.reduce((x, head) => head.apply(x), mean).subarray(0, dimensions)
    let squares = 0
    for (const value of kept) squares += value * value
    const length = Math.sqrt(squares)
    if (!Number.isFinite(length)) {
      throw new HalfbyteError(
        'integrity',
        "the embedding is not a number, so the model's weights are corrupt; remove the stored model and download it again",
      )
    }
    const divisor = normalize && length > 0 ? length : isPlain ? this.#weights : 1
    return Float32Array.from(kept, (value) => value / divisor)
  }
}
