// Experts: route, gather, linear_experts, bias_experts, combine. In: router logits, rows, matrices. Out: the
// products of each row with its own experts.

import { describe, expect, test } from 'vitest'
import { ABI, ROWS, SCORING } from '../../src/core/abi/constants.ts'
import {
  a8Stride,
  ENCODINGS,
  type Encoding,
  floatStride,
  isQuantized,
  matrixBytes,
  readsWholeRows,
  roundUp,
} from '../../src/core/abi/encodings.ts'
import type { RouteRule } from '../../src/core/graph/ir.ts'
import { routeOf } from '../../src/core/graph/testing/choices.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, compare, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { routeIn, routeWords } from '../testing/routes.ts'
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
  const rounds = isQuantized(encoding)
  const a8 = machine.a8Rows(m, K)
  const from = rounds ? a8 : x
  const gathered = rounds ? machine.a8Rows(places, K) : machine.rows(places, K)
  const made = machine.rows(places, N)
  const y = machine.rows(m, N)
  const bytes = matrixBytes(encoding, N, K)
  const w = machine.allocate(EXPERTS * bytes)
  for (let e = 0; e < EXPERTS; e++) {
    fillMatrix(encoding, e + 1)(machine.u8.subarray(w + e * bytes, w + (e + 1) * bytes), K)
  }
  const route = machine.scratch(routeWords(EXPERTS, places) * 4)
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  const choice = { experts: EXPERTS, used: USED }
  machine.op('route', {
    x: logits.at,
    x_stride: logits.stride,
    ...choice,
    normalize: normalize ? 1 : 0,
    scale: 1,
    route,
  })
  const routed = { rows: ROWS.routed + USED, route, experts: EXPERTS }
  if (rounds) {
    const rows = { x: x.at, x_stride: x.stride, n: K, q: a8.at, q_stride: a8.stride }
    machine.op('quantize', { ...rows, whole: readsWholeRows(encoding) ? 1 : 0 })
  }
  machine.op('gather', {
    ...routed,
    x: from.at,
    x_stride: from.stride,
    y: gathered.at,
    y_stride: gathered.stride,
    n: (rounds ? a8Stride(K) : floatStride(K)) / 4,
  })
  machine.op('linear_experts', {
    ...routed,
    w,
    n: N,
    k: K,
    x: gathered.at,
    x_stride: gathered.stride,
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

/** A route of `m` rows by a rule. The logits are so far apart that rounding does not change the choice. */
function layRoute(machine: Machine, m: number, rule: RouteRule, hasBias: boolean) {
  const { experts, used, normalize, scoring = 'softmax', groups, scale = 1, epsilon = 0 } = rule
  const random = randomFrom(`${experts} ${scoring}`)
  const logits = machine.rows(m, experts, () => random() * 6 - 3)
  const bias = machine.rows(1, experts, () => random() - 0.5)
  const route = machine.scratch(routeWords(experts, m * used) * 4)
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  machine.op('route', {
    x: logits.at,
    x_stride: logits.stride,
    experts,
    used,
    normalize: normalize ? 1 : 0,
    route,
    bias: hasBias ? bias.at : 0,
    scoring: SCORING[scoring],
    groups: groups?.count ?? 1,
    groups_used: groups?.used ?? 1,
    group_best: groups?.best ?? 1,
    scale,
    eps: epsilon,
  })
  return { logits, bias, route }
}

/** The weight of each expert for a row. 0: the row is not routed to it. */
function weightsIn(machine: Machine, route: number, m: number, { experts, used }: RouteRule): Float64Array[] {
  const { starts, places, weights } = routeIn(machine, route, experts, m * used)
  return Array.from({ length: m }, (_, row) => {
    const made = new Float64Array(experts)
    for (let c = row * used; c < (row + 1) * used; c++)
      made[starts.findLastIndex((start) => start <= places[c]!)] = weights[c]!
    return made
  })
}

const RULES: readonly (readonly [string, RouteRule, boolean])[] = [
  ['sigmoids', { experts: 9, used: 3, normalize: false, scoring: 'sigmoid' }, false],
  [
    'sigmoids with a bias, divided by their sum',
    { experts: 9, used: 3, normalize: true, scoring: 'sigmoid', epsilon: 1e-3, scale: 2.5 },
    true,
  ],
  ['probabilities with a bias', { experts: 33, used: 6, normalize: true }, true],
  [
    'groups by the best of each',
    { experts: 12, used: 4, normalize: false, groups: { count: 4, used: 2, best: 1 }, scale: 1.7 },
    false,
  ],
  [
    'groups by the two best of each',
    {
      ...{ experts: 32, used: 4, normalize: true, scoring: 'sigmoid' },
      groups: { count: 8, used: 3, best: 2 },
    },
    true,
  ],
  ['a mixer', { experts: 16, used: 2, normalize: false, scoring: 'mixer', epsilon: 0.01 }, false],
  [
    'a mixer with wide limits',
    { experts: 16, used: 4, normalize: false, scoring: 'mixer', epsilon: 0.4 },
    false,
  ],
  ['the maximum number of experts', { experts: 1024, used: 8, normalize: true }, true],
]

describe('a router', () => {
  test.each(RULES)('chooses by %s', (_, rule, hasBias) => {
    const m = 40
    const machine = plainMachine('simd128')
    const { logits, bias, route } = layRoute(machine, m, rule, hasBias)
    machine.run()
    const biases = hasBias ? Float64Array.from(machine.floats(bias, 0)) : undefined
    for (const [row, weights] of weightsIn(machine, route, m, rule).entries()) {
      const right = routeOf(rule, Float64Array.from(machine.floats(logits, row)), biases)
      for (const [expert, weight] of right.entries()) expect(weights[expert]).toBeCloseTo(weight, 5)
    }
  })
})

test('each row gets the bias of its expert', () => {
  const m = 13
  const used = 2
  // The first expert and the third have no rows.
  const starts = [0, 0, 9, 9, 10, m * used]
  const experts = starts.length - 1
  let y: Rows | undefined
  const { machine, difference } = compare((each) => {
    const route = each.allocate(routeWords(experts, m * used) * 4)
    each.u32.set(starts, route / 4)
    const width = roundUp(N, ABI.GROUP)
    const bias = each.allocate(experts * width * 4)
    for (let i = 0; i < experts * width; i++)
      each.f32[bias / 4 + i] = 100 * Math.floor(i / width) + (i % width)
    y = each.rows(m * used, N, () => 0.5)
    each.setStep({ sequences: [{ position: 0, rows: m }] })
    const rows = { rows: ROWS.routed + used, route, experts }
    each.op('bias_experts', { ...rows, y: y.at, y_stride: y.stride, n: N, bias })
  })
  expect(difference).toBeUndefined()
  for (let place = 0; place < m * used; place++) {
    const expert = starts.findLastIndex((start) => start <= place)
    const right = Array.from({ length: N }, (_, i) => 100 * expert + i + 0.5)
    expect([...machine.floats(y!, place)]).toEqual(right)
  }
})

describe('experts', () => {
  test.each([
    [1, true],
    [5, false],
    [30, true],
  ])('%i rows go to the experts with their largest logits, normalised %s', (m, normalize) => {
    const machine = plainMachine('relaxed')
    const { logits, route } = lay(machine, 'f32', m, normalize)
    machine.run()
    const count = m * USED
    const { starts, active, rowAt, places, weights } = routeIn(machine, route, EXPERTS, count)
    expect([starts[0], starts[EXPERTS]]).toEqual([0, count])
    const isActive = (expert: number) => starts[expert]! < starts[expert + 1]!
    expect([...active]).toEqual(Array.from({ length: EXPERTS }, (_, expert) => expert).filter(isActive))
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

  test.each(['f32', 'f16', 'bf16', 'w8_g32', 'w4_g32', 'w4m_g32', 'w4_channel', 'w2_g256'] as const)(
    '%s: a row has the same bits alone and among others, in every build',
    (encoding) => {
      const alone = plainMachine('simd128')
      const one = lay(alone, encoding, 1, true)
      alone.run()
      for (const build of BUILDS) {
        // About 17 and 85 rows for each expert: one chunk of rows, and several.
        for (const rows of [40, 200]) {
          const machine = plainMachine(build)
          const many = lay(machine, encoding, rows, true)
          machine.run()
          expect(machine.rowBytes(many.y, 0, 'f32')).toEqual(alone.rowBytes(one.y, 0, 'f32'))
        }
      }
    },
  )

  test('a row is the weighted sum of its experts', () => {
    const machine = plainMachine('relaxed')
    const { logits, x, y } = lay(machine, 'f32', 6, false)
    machine.run()
    // Multiplies by one expert's matrix at a time, with the linear op that every model uses.
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
