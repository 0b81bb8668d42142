import { expect, test } from 'vitest'
import { Random, randomSeed } from './random.ts'

// splitmix32 and xoshiro128** 1.1 in 64-bit integer arithmetic, straight from the reference C.
function* reference(seed: bigint): Generator<number> {
  const M = 0xffffffffn
  const mix = (z: bigint) => {
    let x = ((z ^ (z >> 16n)) * 0x21f0aaadn) & M
    x = ((x ^ (x >> 15n)) * 0x735a2d97n) & M
    return x ^ (x >> 15n)
  }
  const rotl = (x: bigint, k: bigint) => ((x << k) | (x >> (32n - k))) & M
  const low = seed & M
  const high = seed >> 32n
  const s = [1n, 2n, 3n, 4n].map((i) => mix(((low + i * 0x9e3779b9n) & M) ^ (i % 2n === 0n ? high : 0n)))
  let [a, b, c, d] = s as [bigint, bigint, bigint, bigint]
  for (;;) {
    yield Number((rotl((b * 5n) & M, 7n) * 9n) & M)
    const t = (b << 9n) & M
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = rotl(d, 11n)
  }
}

test.each([0, 1, 42, 2 ** 32, 2 ** 53 - 1])('seed %d produces the reference stream', (seed) => {
  const random = new Random(seed)
  const expected = reference(BigInt(seed))
  for (let i = 0; i < 1000; i++) expect(random.bits()).toBe(expected.next().value)
})

test('uniform numbers stay in [0, 1) and fill it evenly', () => {
  const random = new Random(7)
  const bins = new Array<number>(10).fill(0)
  for (let i = 0; i < 100_000; i++) {
    const u = random.next()
    expect(u >= 0 && u < 1).toBe(true)
    bins[Math.floor(u * 10)]!++
  }
  for (const bin of bins) expect(Math.abs(bin - 10_000)).toBeLessThan(500)
})

test('random seeds are valid seeds and differ', () => {
  const seeds = Array.from({ length: 20 }, randomSeed)
  expect(new Set(seeds).size).toBe(20)
  for (const seed of seeds) expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true)
})
