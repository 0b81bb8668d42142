// Chance. In: a seed and the number of an input. Out: the same draws for the same two, on every machine.

/** Draws of one input. Each input has draws of its own, so that any of a million can be made again alone. */
export class Random {
  #state: number

  constructor(seed: number, index = 0) {
    this.#state = (mix(seed) ^ mix(index + 0x9e3779b9)) >>> 0
  }

  /** From 0 to below 1. */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    return mix(this.#state) / 2 ** 32
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.unit() * end)
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  /** 1 most often, sometimes more, at most `most`. */
  few(most = 6): number {
    let count = 1
    while (count < most && this.chance(0.4)) count += 1
    return count
  }
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
  return (mixed ^ (mixed >>> 14)) >>> 0
}
