// Random numbers, the same on every machine for the same seed and input number.
//
// All tests, fuzzers, soaks and benches use this generator. Two files use an older one, because golden values
// depend on its numbers: test/conformance/testing/writers/random-tensor.ts (the weights behind
// golden/families.json) and src/core/formats/testing/random-blocks.ts (the hashes of llama.cpp's values).

/**
 * The random numbers of one input. Each input has its own sequence, so that any one of a million inputs can
 * be reproduced alone.
 */
export class Random {
  #state: number

  /** A text seed is hashed to a number. */
  constructor(seed: number | string, index = 0) {
    const number = typeof seed === 'string' ? hashed(seed) : seed
    this.#state = (mix(number) ^ mix(index + 0x9e3779b9)) >>> 0
  }

  /** 32 random bits (mulberry32). */
  word(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    return mix(this.#state)
  }

  /** A number from 0 to below 1. */
  unit(): number {
    return this.word() / 2 ** 32
  }

  /** A number from -1 to below 1. */
  signed(): number {
    return this.word() / 2 ** 31 - 1
  }

  /** A whole number from 0 up to, but excluding, `end`. */
  below(end: number): number {
    return Math.floor(this.unit() * end)
  }

  /** A whole number, including both ends. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  /** A whole number: usually 1, sometimes more, at most `most`. */
  few(most = 6): number {
    let count = 1
    while (count < most && this.chance(0.4)) count += 1
    return count
  }
}

/** A function that returns numbers from 0 up to, but excluding, 1. */
export function randomFrom(seed: number | string): () => number {
  const random = new Random(seed)
  return () => random.unit()
}

/** A function that returns numbers from -1 up to, but excluding, 1. */
export function signedFrom(seed: number | string): () => number {
  const random = new Random(seed)
  return () => random.signed()
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
  return (mixed ^ (mixed >>> 14)) >>> 0
}

/** FNV-1a. */
function hashed(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}
