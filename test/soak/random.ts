// Randomness. In: a seed. Out: the same choices each time for the same seed.
import { randomWords } from '../conformance/testing/writers/random-tensor.ts'

export class Random {
  readonly #word: () => number

  constructor(seed: number) {
    this.#word = randomWords(seed)
    // The first words of neighbouring seeds are similar.
    for (let skipped = 0; skipped < 16; skipped++) this.#word()
  }

  /** A whole number from 0, below `end`. */
  below(end: number): number {
    return this.#word() % end
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.#word() < share * 2 ** 32
  }

  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** As many of `words`, one after the other. */
  text(words: readonly string[], count: number): string {
    return Array.from({ length: count }, () => this.pick(words)).join(' ')
  }
}
