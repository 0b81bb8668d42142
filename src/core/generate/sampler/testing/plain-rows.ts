// Plain rows for tests. In: rows of logits in any memory. Out: what the kernels return, by definition.
import { brokenLogit, checkMask, type LogitRows, sigmaFloor } from '../logit-rows.ts'

/** Sorts everything and allocates. e^x is accurate to f32, so sums differ from the kernels' by about 1e-7. */
export class PlainRows implements LogitRows {
  readonly vocab: number
  readonly ids: Uint32Array
  readonly logits: Float32Array
  readonly weights: Float32Array
  readonly tally: Uint32Array

  constructor(vocab: number) {
    this.vocab = vocab
    this.ids = new Uint32Array(vocab)
    this.logits = new Float32Array(vocab)
    this.weights = new Float32Array(vocab)
    this.tally = new Uint32Array(vocab)
  }

  reserve(): void {}

  top(row: Float32Array, most: number, least: number): number {
    if (row.some((logit) => !(logit < Number.POSITIVE_INFINITY))) throw brokenLogit(row)
    const best = allowed(row, least)
      .sort((a, b) => row[b]! - row[a]! || a - b)
      .slice(0, most)
    this.ids.set(best)
    this.logits.set(best.map((id) => row[id]! + 0))
    return best.length
  }

  weigh(count: number, scale: number): number {
    let sum = 0
    for (let at = 0; at < count; at++) {
      this.weights[at] = Math.exp((this.logits[at]! - this.logits[0]!) * scale)
      sum += this.weights[at]!
    }
    return sum
  }

  sumExp(row: Float32Array, best: number, scale: number, least: number): number {
    return allowed(row, least).reduce((sum, id) => sum + Math.fround(Math.exp((row[id]! - best) * scale)), 0)
  }

  floorOf(row: Float32Array, sigmas: number): number {
    const values = allowed(row, Number.NEGATIVE_INFINITY).map((id) => row[id]!)
    const sum = (of: (value: number) => number) => values.reduce((total, value) => total + of(value), 0)
    const most = Math.max(...values)
    return sigmaFloor(
      most,
      values.length,
      sum((value) => value),
      sum((value) => value ** 2),
      sigmas,
    )
  }

  guide(row: Float32Array, guide: Float32Array, scale: number): void {
    for (const [id, from] of guide.entries()) row[id] = from + scale * Math.fround(row[id]! - from)
  }

  mask(row: Float32Array, words: Uint32Array): void {
    checkMask(words, this.vocab)
    for (let id = 0; id < this.vocab; id++) {
      if (((words[id >> 5]! >>> (id % 32)) & 1) === 0) row[id] = Number.NEGATIVE_INFINITY
    }
  }

  keep(row: Float32Array): Float32Array {
    return row.slice()
  }
}

const allowed = (row: Float32Array, least: number): number[] =>
  [...row.keys()].filter((id) => row[id]! >= least && row[id]! > Number.NEGATIVE_INFINITY)
