// Tests rows. In: rows of all sizes, signs and ties, in both builds. Out: the same bits as by definition, and
// errors that say what is wrong.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BUILDS } from '../../../../wasm/testing/machine.ts'
import type { LogitRows } from './logit-rows.ts'
import { engineRows } from './testing/engine-rows.ts'
import { PlainRows } from './testing/plain-rows.ts'

/** Few distinct values, so that there are many ties, with some bans and edge cases. */
const logit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -9, max: 9 }).map((value) => Math.fround(value / 3)) },
  { weight: 2, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true }) },
  fc.constantFrom(-0, Number.NEGATIVE_INFINITY, -3.4028234663852886e38, 1e-45),
)
const anyRow = fc.array(logit, { minLength: 1, maxLength: 400 })

const found = (rows: LogitRows, count: number) => ({
  ids: Array.from(rows.ids.subarray(0, count)),
  logits: Array.from(rows.logits.subarray(0, count)),
})

describe.each(BUILDS)('%s', (build) => {
  test('the best ids match a stable sort for any row, count and threshold', () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 1, max: 450 }), logit, (values, most, least) => {
        const { rows, put } = engineRows(build, values.length)
        const plain = new PlainRows(values.length)
        for (const floor of [Number.NEGATIVE_INFINITY, least]) {
          const expected = found(plain, plain.top(Float32Array.from(values), most, floor))
          expect(found(rows, rows.top(put(values), most, floor))).toEqual(expected)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('the best ids match a stable sort for long rows too: rising, falling, flat and mixed', () => {
    const vocab = 20_011
    const { rows, put } = engineRows(build, vocab)
    const plain = new PlainRows(vocab)
    const shapes: ((id: number) => number)[] = [
      (id) => id / 7,
      (id) => -id,
      () => 2.5,
      (id) => Math.sin(id * id) * 8,
      (id) => (id % 64 < 16 ? 5 : Math.cos(id)),
    ]
    for (const shape of shapes) {
      const values = Float32Array.from({ length: vocab }, (_, id) => shape(id))
      for (const most of [1, 2, 40, 256, 1251, vocab]) {
        const expected = found(plain, plain.top(values, most, Number.NEGATIVE_INFINITY))
        expect(found(rows, rows.top(put(values), most, Number.NEGATIVE_INFINITY))).toEqual(expected)
      }
    }
  })

  test('sums, weights, guidance and masks match their definitions bit for bit', () => {
    fc.assert(
      fc.property(anyRow, fc.float({ min: -8, max: 8, noNaN: true }), logit, (values, scale, least) => {
        const vocab = values.length
        const { rows, exports, put, other, arena } = engineRows(build, vocab)
        const row = put(values)
        const best = Math.max(...values, -50)
        const a = row.byteOffset
        expect(rows.sumExp(row, best, Math.abs(scale), least)).toBe(
          exports.logits_sum_exp_reference(a, vocab, best, Math.abs(scale), least),
        )
        const [mine, its] = [0, 1].map(() => arena.allocate(vocab * 4 + 64, 'out'))
        const bytes = (at: number, length: number) => Array.from(arena.u8.subarray(at, at + length))
        exports.logits_spread(a, vocab, mine!)
        exports.logits_spread_reference(a, vocab, its!)
        expect(bytes(mine!, 32)).toEqual(bytes(its!, 32))
        expect(exports.logits_weigh(a, vocab, scale, mine!)).toEqual(
          exports.logits_weigh_reference(a, vocab, scale, its!),
        )
        expect(bytes(mine!, vocab * 4)).toEqual(bytes(its!, vocab * 4))

        const guide = other()
        guide.set(values.map((value, id) => (id % 3 === 0 ? -value : 0.5)))
        const copy = arena.allocate(vocab * 4, 'a copy')
        arena.f32.set(row, copy / 4)
        rows.guide(row, guide, scale)
        exports.logits_guide_reference(copy, guide.byteOffset, vocab, scale)
        expect(bytes(a, vocab * 4)).toEqual(bytes(copy, vocab * 4))
      }),
      { numRuns: 200 },
    )
  })

  test('a mask bans exactly the ids whose bit is 0', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.array(fc.nat(2 ** 32 - 1)), (vocab, some) => {
        const words = Uint32Array.from(
          { length: Math.ceil(vocab / 32) },
          (_, word) => some[word] ?? (word % 2) * 0xffffffff,
        )
        const { rows, put } = engineRows(build, vocab)
        const values = Float32Array.from({ length: vocab }, (_, id) => id - 100)
        const row = put(values)
        rows.mask(row, words)
        new PlainRows(vocab).mask(values, words)
        expect(Array.from(row)).toEqual(Array.from(values))
      }),
    )
  })

  test('the scalar definition finds the same best ids', () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 1, max: 40 }), logit, (values, most, least) => {
        const { rows, exports, put, arena } = engineRows(build, values.length)
        const row = put(values)
        const [logits, ids] = [0, 1].map(() => arena.allocate(40 * 4, 'out')) as unknown as [number, number]
        const count = exports.logits_top_reference(row.byteOffset, values.length, most, least, logits, ids)
        expect(rows.top(row, most, least)).toBe(count)
        expect(Array.from(arena.u32.subarray(ids / 4, ids / 4 + count))).toEqual(found(rows, count).ids)
        expect(Array.from(arena.f32.subarray(logits / 4, logits / 4 + count))).toEqual(
          found(rows, count).logits,
        )
      }),
    )
  })
})

test('both builds give the same bits', () => {
  const values = Float32Array.from({ length: 5003 }, (_, id) => Math.sin(id * 1.7) * 9)
  const [a, b] = BUILDS.map((build) => {
    const { rows, put } = engineRows(build, values.length)
    const count = rows.top(put(values), 1000, -2)
    const sums = [rows.sumExp(put(values), 9, 1.3, -4), rows.weigh(count, 0.7), rows.floorOf(put(values), 1)]
    return { ...found(rows, count), weights: Array.from(rows.weights.subarray(0, count)), sums }
  })
  expect(a).toEqual(b)
})

test('a scale of 1e30 keeps only the best, and nothing becomes NaN', () => {
  const { rows, put } = engineRows('relaxed', 4)
  rows.top(put([1, 3, Number.NEGATIVE_INFINITY, 2]), 4, Number.NEGATIVE_INFINITY)
  expect(rows.weigh(3, 1e30)).toBeCloseTo(1)
  expect(rows.weights[0]).toBe(1)
})

test.each([
  ['NaN at the start', [Number.NaN, 1, 2, 3], /id 0 is NaN/],
  ['NaN at the end', [1, 2, 3, Number.NaN], /id 3 is NaN/],
  ['infinity', [1, 2, Number.POSITIVE_INFINITY, 0], /id 2 is Infinity/],
])('%s is a typed error', (_, values, message) => {
  for (const build of BUILDS) {
    const { rows, put } = engineRows(build, values.length)
    const top = () => rows.top(put(values), 2, Number.NEGATIVE_INFINITY)
    expect(top).toThrow(message)
    expect(top).toThrow(expect.objectContaining({ code: 'integrity' }))
  }
})

test('a row with a different length or in another memory is rejected', () => {
  const { rows } = engineRows('relaxed', 8)
  expect(() => rows.top(new Float32Array(8), 1, 0)).toThrow(/8 logits/)
  expect(() => rows.mask(new Float32Array(8), new Uint32Array(2))).toThrow(/2 words but 8 ids need 1/)
})

test('views are recreated after memory has grown', () => {
  const { rows, arena, put } = engineRows('relaxed', 100)
  arena.allocate(16 << 20, 'growth')
  const row = put(Float32Array.from({ length: 100 }, (_, id) => -id))
  expect(found(rows, rows.top(row, 3, Number.NEGATIVE_INFINITY)).ids).toEqual([0, 1, 2])
  expect(Array.from(rows.keep(row))).toEqual(Array.from(row))
})
