// RoPE tables. In: cosines and sines of known frequencies, rounded as in files. Out: the base that is
// recognised.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { floatToHalf, halfToFloat } from '../../../core/base/half.ts'
import { frequenciesOf, recogniseRope } from './rope-table.ts'

type Round = (value: number) => number

const f16: Round = (value) => halfToFloat(floatToHalf(value))
const words = new Uint32Array(1)
const float = new Float32Array(words.buffer)
const bf16: Round = (value) => {
  float[0] = value
  words[0] = (words[0]! + 0x8000) & 0xffff0000
  return float[0]!
}

interface Form {
  readonly theta: (position: number) => number
  readonly half: number
  /** The table's factor; default 1. */
  readonly magnitude?: number
  /** How the tables are rounded, and how positions, frequencies and angles are. */
  readonly table: Round
  readonly angle: Round
}

function recognised({ theta, half, table, angle, magnitude = 1 }: Form, positions = 1024) {
  const values = (from: number, to: number, wave: Round) =>
    Float32Array.from({ length: (to - from) * half }, (_, at) => {
      const position = from + Math.floor(at / half)
      const frequency = angle(theta(position) ** (-(at % half) / half))
      return table(magnitude * wave(angle(angle(position) * frequency)))
    })
  return recogniseRope({
    half,
    positions,
    rows: async (from, to) => ({ cos: values(from, to, Math.cos), sin: values(from, to, Math.sin) }),
  })
}

const shape = fc.record({
  base: fc.constantFrom(10_000, 100_000, 500_000, 1_000_000),
  half: fc.integer({ min: 2, max: 64 }),
})

test.each<[string, Round, Round]>([
  ['f32 tables', Math.fround, Math.fround],
  ['f16 tables of f32 angles', f16, Math.fround],
  ['bf16 tables of f32 angles', bf16, Math.fround],
])('the base of %s is recognised', async (_, table, angle) => {
  await fc.assert(
    fc.asyncProperty(shape, async ({ base, half }) => {
      const found = await recognised({ theta: () => base, half, table, angle })
      return found?.theta === base && found.scaling === undefined
    }),
    { numRuns: 12 },
  )
})

test.each([
  ['f32', Math.fround],
  ['f16', f16],
])("YaRN's magnitude is recognised in %s tables", async (_, table) => {
  const form = { theta: () => 10_000, half: 16, table, angle: Math.fround, magnitude: 1.25 }
  expect(await recognised(form)).toMatchObject({
    theta: 10_000,
    scaling: { type: 'factors', factors: Array(16).fill(1), magnitude: 1.25 },
  })
})

test('f16 frequencies are kept exactly, even if they are not powers of a base', async () => {
  await fc.assert(
    fc.asyncProperty(shape, async ({ base, half }) => {
      const found = await recognised({ theta: () => base, half, table: f16, angle: f16 })
      if (found === undefined) return false
      return frequenciesOf(half, found).every(
        (frequency, pair) => Math.abs(frequency / f16(base ** (-pair / half)) - 1) < 2 ** -8,
      )
    }),
    { numRuns: 12 },
  )
})

test.each<[string, Round]>([
  ['f32', Math.fround],
  ['f16', f16],
  ['bf16', bf16],
])('%s tables whose base changes at some position are not a rotation', async (_, table) => {
  const theta = (position: number) => (position < 700 ? 10_000 : 40_000)
  expect(await recognised({ theta, half: 16, table, angle: Math.fround })).toBeUndefined()
})
