// Mirostat. In: candidates with their probabilities. Out: a draw whose surprise stays near a target, by
// feedback.
import type { Candidates } from './candidates.ts'
import type { Random } from './random.ts'

/** Number of most likely ids from which version 1 estimates the exponent of Zipf's law. */
const ESTIMATED = 100

/**
 * Basu and others, Mirostat, 2021. `mu` is the most surprise, in bits, that a candidate may have. It begins
 * at 2 * target. After every draw it moves by `rate` times the difference between the draw's surprise and
 * `target`. As in llama.cpp, the surprise is computed among the candidates that were left, not among all.
 */
export class Mirostat {
  mu: number
  readonly #version: 1 | 2
  readonly #target: number
  readonly #rate: number

  constructor(version: 1 | 2, target: number, rate: number) {
    this.#version = version
    this.#target = target
    this.#rate = rate
    this.mu = 2 * target
  }

  /** The drawn entry. */
  draw(set: Candidates, random: Random): number {
    if (this.#version === 1) cutByZipf(set, this.mu)
    else set.floor(Math.min(1, set.total * 2 ** -this.mu))
    const index = set.draw(random.next())
    const surprise = Math.log2(set.total / (set.weights[index] as number))
    this.mu -= this.#rate * (surprise - this.#target)
    return index
  }
}

/**
 * Keeps the k most likely, where k gives the expected surprise `mu` if probabilities fall as rank^-s:
 * k = ((s - 1) 2^mu / (1 - n^(1 - s)))^(1 / s), with s fitted to the most likely 100 by least squares.
 */
function cutByZipf(set: Candidates, mu: number): void {
  let products = 0
  let squares = 0
  for (let i = 0; i < ESTIMATED - 1 && set.has(i + 1); i++) {
    const rank = Math.log((i + 2) / (i + 1))
    products += rank * Math.log((set.weights[i] as number) / (set.weights[i + 1] as number))
    squares += rank * rank
  }
  if (squares === 0) return
  const s = products / squares
  const steepness = s - 1
  const n = set.vocab
  // At s = 1 the formula is 0 / 0; this is its limit.
  const k = s === 1 ? 2 ** mu / Math.log(n) : ((steepness * 2 ** mu) / (1 - n ** -steepness)) ** (1 / s)
  if (!(k < n)) return
  const count = Math.max(1, Math.floor(k))
  if (set.has(count)) set.cut(count)
}
