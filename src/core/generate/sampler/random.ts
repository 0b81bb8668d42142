// A stream of uniform random numbers from a seed, the same on every machine.

/**
 * xoshiro128** 1.1 (Blackman and Vigna). splitmix32 fills its 128 bits from the seed's low and high words. It
 * uses 32-bit integer operations only, so all JavaScript engines produce the same stream.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #d: number

  /** `seed`: a whole number from 0 to 2^53 - 1. */
  constructor(seed: number) {
    const low = seed >>> 0
    const high = Math.floor(seed / 2 ** 32)
    this.#a = mix(low + GOLDEN)
    this.#b = mix((low + 2 * GOLDEN) ^ high)
    this.#c = mix(low + 3 * GOLDEN)
    this.#d = mix((low + 4 * GOLDEN) ^ high)
  }

  /** The next 32 bits. */
  bits(): number {
    const result = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9) >>> 0
    const t = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= t
    this.#d = rotate(this.#d, 11)
    return result
  }

  /** Uniform in [0, 1), 53 bits. */
  next(): number {
    const high = this.bits() >>> 5
    return (high * 2 ** 26 + (this.bits() >>> 6)) / 2 ** 53
  }
}

/** A random seed, if the caller gives none. */
export function randomSeed(): number {
  const words = crypto.getRandomValues(new Uint32Array(2))
  return ((words[0] ?? 0) >>> 11) * 2 ** 32 + (words[1] ?? 0)
}

/** splitmix32's increment. */
const GOLDEN = 0x9e3779b9

const rotate = (x: number, k: number): number => (x << k) | (x >>> (32 - k))

/** splitmix32's finaliser. */
function mix(z: number): number {
  let x = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}
