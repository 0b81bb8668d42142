// Vector search. In: random, equal, huge and tiny vectors, and damaged bytes. Out: the same results as a full
// search in f32, and typed errors.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Random } from '../../../test/helpers/random.ts'
import { type FoundVector, VectorIndex } from './vector-index.ts'

/** Computed by definition. */
function fullSearch(vectors: ReadonlyMap<number, Float32Array>, query: Float32Array, k: number) {
  const all = [...vectors].map(([id, vector]): FoundVector => {
    let score = 0
    for (const [at, value] of query.entries()) score += value * vector[at]!
    return { id, score }
  })
  return all.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, k)
}

/** Vectors of length 1, close to each other if `spread` is small. */
function drawn(random: Random, dimensions: number, spread = 1): Float32Array {
  const values = Float64Array.from(
    { length: dimensions },
    (_, at) => (at === 0 ? 1 : 0) + spread * random.signed(),
  )
  const length = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / length)
}

test.each([
  [1, 30, 1],
  [7, 200, 1],
  [64, 500, 0.001],
  [384, 300, 0.1],
])('%d dimensions: finds the same best of %d vectors as a full search', (dimensions, count, spread) => {
  const random = new Random(dimensions)
  const index = new VectorIndex(dimensions)
  const vectors = Array.from({ length: count }, () => drawn(random, dimensions, spread))
  const ids = index.add(vectors)
  const kept = new Map(ids.map((id, at) => [id, vectors[at]!]))
  for (const id of ids.filter((_, at) => at % 3 === 1)) {
    expect(index.remove(id)).toBe(true)
    kept.delete(id)
  }
  expect(index.size).toBe(kept.size)
  for (const k of [1, 5, count]) {
    const query = drawn(random, dimensions, spread)
    expect(index.search(query, k)).toEqual(fullSearch(kept, query, k))
  }
})

const value = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 1e-45, 1e38, 0.5, 127, 128),
)
const vector = fc.array(value, { minLength: 3, maxLength: 3 }).map((values) => Float32Array.from(values))
const step = fc.oneof(
  fc.record({ add: fc.array(vector, { maxLength: 8 }) }),
  fc.record({ remove: fc.nat(40) }),
  fc.record({ search: vector, k: fc.integer({ min: 1, max: 12 }) }),
  fc.constant({ saved: true }),
)

test('any vectors, in any order of calls, are found as in a full search', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let index = new VectorIndex(3)
      const model = new Map<number, Float32Array>()
      for (const each of steps) {
        if ('add' in each) for (const [at, id] of index.add(each.add).entries()) model.set(id, each.add[at]!)
        else if ('remove' in each) expect(index.remove(each.remove)).toBe(model.delete(each.remove))
        else if ('saved' in each) index = VectorIndex.fromBytes(index.toBytes())
        else expect(index.search(each.search, each.k)).toEqual(fullSearch(model, each.search, each.k))
        expect(index.size).toBe(model.size)
      }
    }),
    { seed: 1, numRuns: 300 },
  )
})

test('an id is not reused, even after saving', () => {
  const index = new VectorIndex(1)
  index.add([Float32Array.of(1), Float32Array.of(2)])
  index.remove(1)
  expect(VectorIndex.fromBytes(index.toBytes()).add([Float32Array.of(3)])).toEqual([2])
})

/** The index as an older release wrote it, without a checksum. */
function withoutSum(index: VectorIndex): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(index.toBytes().slice(0, -16))
  new DataView(bytes.buffer).setUint32(4, 1, true)
  return bytes
}

test('bytes with any flipped bit are rejected', () => {
  const index = new VectorIndex(3)
  index.add([Float32Array.of(1, 2, -3), Float32Array.of(3, 4, 0.5), Float32Array.of(0, -0, 1e-9)])
  const bytes = new Uint8Array(index.toBytes())
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const copy = bytes.slice()
    copy[bit >> 3]! ^= 1 << (bit & 7)
    expect(() => VectorIndex.fromBytes(copy), `bit ${bit}`).toThrow(
      expect.objectContaining({ code: 'format' }),
    )
  }
})

test('bytes of an older release are read', () => {
  const index = new VectorIndex(2)
  index.add([Float32Array.of(1, 2), Float32Array.of(3, 4)])
  const again = VectorIndex.fromBytes(withoutSum(index))
  expect(new Uint8Array(again.toBytes())).toEqual(new Uint8Array(index.toBytes()))
})

test('truncated or changed bytes are rejected, and nothing is read past their end', () => {
  const index = new VectorIndex(2)
  index.add([Float32Array.of(1, 2), Float32Array.of(3, 4)])
  const bytes = new Uint8Array(index.toBytes())
  for (let end = 0; end < bytes.length; end++)
    expect(() => VectorIndex.fromBytes(bytes.subarray(0, end))).toThrow(/the file is corrupt or truncated/)
  const plain = withoutSum(index)
  const changed = (at: number, word: number) => {
    const copy = plain.slice()
    new DataView(copy.buffer).setUint32(at, word, true)
    return () => VectorIndex.fromBytes(copy)
  }
  expect(changed(0, 7)).toThrow(/does not start with HBVI/)
  expect(changed(4, 3)).toThrow(/version is 3/)
  expect(changed(8, 0)).toThrow(/vectors have 0 values/)
  expect(changed(12, 0xffffffff)).toThrow(/4294967295 vectors of 2 values take/)
  expect(changed(16, 1)).toThrow(/not distinct numbers below 1/)
  expect(changed(24, 0)).toThrow(/not distinct numbers below 2/)
  expect(changed(28, 0x7fc00000)).toThrow(/value 0 of its vectors is NaN/)
  const moved = new Uint8Array(bytes.length + 1)
  moved.set(bytes, 1)
  expect(VectorIndex.fromBytes(moved.subarray(1)).search(Float32Array.of(1, 0), 1)).toEqual([
    { id: 1, score: 3 },
  ])
})

test('a wrong vector is not added, and each mistake is named', () => {
  const index = new VectorIndex(2)
  const right = Float32Array.of(1, 2)
  expect(() => index.add([right, Float32Array.of(1)])).toThrow(/vectors\[1\] is .*a Float32Array of 1/)
  expect(() => index.add([right, Float32Array.of(1, Number.NaN)])).toThrow(/vectors\[1\]\[1\] is NaN/)
  expect(index.size).toBe(0)
  expect(() => index.search([1, 2] as unknown as Float32Array, 1)).toThrow(/query is \[1,2\] but must be/)
  expect(() => index.search(right, 0)).toThrow(/k is 0 but must be/)
  expect(() => new VectorIndex(0)).toThrow(/dimensions is 0 but must be/)
  expect(() => new VectorIndex(70_000)).toThrow(/from 1 to 65536/)
})
