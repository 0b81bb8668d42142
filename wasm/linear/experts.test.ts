// Experts: route, gather, linear_experts, combine. In: router logits, rows, matrices. Out: the products of
// each row with its own experts.

import { describe, expect, test } from 'vitest'
import { ROWS } from '../../src/core/abi/constants.ts'
import { ENCODINGS, type Encoding, isQuantized, matrixBytes } from '../../src/core/abi/encodings.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, type Machine, plainMachine } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const EXPERTS = 7
const USED = 3
const N = 40
const K = 64

/** A routed product of `m` rows; row r is the same for every m. */
function lay(machine: Machine, encoding: Encoding, m: number, normalize: boolean) {
  const of = (seed: number) => Array.from({ length: m }, (_, row) => randomFrom(seed + row))
  const forLogits = of(100)
  const forRows = of(200)
  const logits = machine.rows(m, EXPERTS, (row) => forLogits[row]!() * 4)
  const x = machine.rows(m, K, (row) => forRows[row]!() * 2 - 1)
  const places = m * USED
  const gathered = machine.rows(places, K)
  const a8 = machine.a8Rows(places, K)
  const made = machine.rows(places, N)
  const y = machine.rows(m, N)
  const bytes = matrixBytes(encoding, N, K)
  const w = machine.allocate(EXPERTS * bytes)
  for (let e = 0; e < EXPERTS; e++) {
    fillMatrix(encoding, e + 1)(machine.u8.subarray(w + e * bytes, w + (e + 1) * bytes), K)
  }
  const route = machine.scratch((EXPERTS + 1 + 3 * places) * 4)
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  const choice = { experts: EXPERTS, used: USED }
  machine.op('route', {
    x: logits.at,
    x_stride: logits.stride,
    ...choice,
    normalize: normalize ? 1 : 0,
    route,
  })
  const routed = { rows: ROWS.routed + USED, route, experts: EXPERTS }
  machine.op('gather', {
    ...routed,
    x: x.at,
    x_stride: x.stride,
    y: gathered.at,
    y_stride: gathered.stride,
    n: K,
  })
  const input = isQuantized(encoding) ? a8 : gathered
  if (isQuantized(encoding)) {
    const from = { x: gathered.at, x_stride: gathered.stride, n: K, q: a8.at, q_stride: a8.stride }
    machine.op('quantize', { rows: routed.rows, ...from, whole: encoding === 'w4_channel' ? 1 : 0 })
  }
  machine.op('linear_experts', {
    ...routed,
    w,
    n: N,
    k: K,
    x: input.at,
    x_stride: input.stride,
    y: made.at,
    y_stride: made.stride,
    encoding: ENCODINGS[encoding].code,
    expert_bytes: bytes,
  })
  machine.op('combine', {
    x: made.at,
    x_stride: made.stride,
    y: y.at,
    y_stride: y.stride,
    n: N,
    route,
    ...choice,
  })
  return { logits, x, y, route, made }
}

/** The weights that a row's experts should have, by expert. */
function rightWeights(logits: Float32Array, normalize: boolean): Map<number, number> {
  const all = logits.reduce((sum, x) => sum + Math.exp(x), 0)
  const chosen = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, USED)
  const sum = normalize ? chosen.reduce((total, e) => total + Math.exp(logits[e]!) / all, 0) : 1
  return new Map(chosen.map((e) => [e, Math.exp(logits[e]!) / all / sum]))
}

describe('experts', () => {
  test.each([
    [1, true],
    [5, false],
    [30, true],
  ])('%i rows go to the experts with their largest logits, normalised %s', (m, normalize) => {
    const machine = plainMachine('relaxed')
    const { logits, route } = lay(machine, 'f32', m, normalize)
    machine.run()
    const words = machine.u32.subarray(route / 4)
    const starts = words.subarray(0, EXPERTS + 1)
    const count = m * USED
    expect([starts[0], starts[EXPERTS]]).toEqual([0, count])
    const rowAt = words.subarray(EXPERTS + 1, EXPERTS + 1 + count)
    const places = words.subarray(EXPERTS + 1 + count, EXPERTS + 1 + 2 * count)
    const weights = machine.f32.subarray(route / 4 + EXPERTS + 1 + 2 * count)
    expect(new Set(places).size).toBe(count)
    for (let row = 0; row < m; row++) {
      const right = rightWeights(machine.floats(logits, row), normalize)
      for (let c = 0; c < USED; c++) {
        const place = places[row * USED + c]!
        expect(rowAt[place]).toBe(row)
        const expert = starts.findLastIndex((start) => start <= place)
        expect(weights[row * USED + c]).toBeCloseTo(right.get(expert) ?? Number.NaN, 6)
      }
    }
  })

  test.each(['f32', 'f16', 'bf16', 'w8_g32', 'w4_g32', 'w4m_g32', 'w4_channel'] as const)(
    '%s: a row has the same bits alone and among others, in every build',
    (encoding) => {
      const alone = plainMachine('simd128')
      const one = lay(alone, encoding, 1, true)
      alone.run()
      for (const build of BUILDS) {
        const machine = plainMachine(build)
        const many = lay(machine, encoding, 40, true)
        machine.run()
        expect(machine.rowBytes(many.y, 0, 'f32')).toEqual(alone.rowBytes(one.y, 0, 'f32'))
      }
    },
  )

  test('a row is the weighted sum of its experts', () => {
    const machine = plainMachine('relaxed')
    const { logits, x, y } = lay(machine, 'f32', 6, false)
    machine.run()
    // One expert's matrix at a time, by the linear op that every model uses.
    for (let row = 0; row < 6; row++) {
      const expected = new Float64Array(N)
      for (const [expert, weight] of rightWeights(machine.floats(logits, row), false)) {
        const single = plainMachine('relaxed')
        const input = single.rows(1, K, (_, lane) => machine.floats(x, row)[lane]!)
        const out = single.rows(1, N)
        const w = single.matrix('f32', N, K, fillMatrix('f32', expert + 1))
        single.setStep({ sequences: [{ position: 0, rows: 1 }] })
        const rows = { x: input.at, x_stride: input.stride, y: out.at, y_stride: out.stride }
        single.op('linear_f32', { w, bias: 0, n: N, k: K, ...rows, accumulate: 0 })
        single.run()
        for (const [lane, value] of single.floats(out, 0).entries()) expected[lane]! += weight * value
      }
      const made = machine.floats(y, row)
      for (const [lane, value] of expected.entries()) expect(made[lane]).toBeCloseTo(value, 4)
    }
  })
})
