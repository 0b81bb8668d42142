// Wild values. In: NaN, infinities and the largest floats where kernels choose experts, store state or round.
// Out: a completed step with every index in range, because such numbers must never become an address.

import { expect, test } from 'vitest'
import { ACTIVATION, ROWS, SCORING } from '../../src/core/abi/constants.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { layState, layStep } from '../testing/attention.ts'
import { BUILDS, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { routeIn, routeWords } from '../testing/routes.ts'

const WILD = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3.4e38, -3.4e38, 1e-45, -0, 1]
/** Rows with only wild values, with some, and with one kind. */
function wild(machine: Machine, count: number, width: number): Rows {
  const random = randomFrom(count * width)
  const any = () => WILD[Math.floor(random() * WILD.length)]!
  return machine.rows(count, width, (row) =>
    row < WILD.length ? WILD[row]! : random() < 0.5 ? any() : random(),
  )
}
const at = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })

const ROUTERS = [
  { normalize: 1, scale: 1 },
  {
    normalize: 1,
    scale: 1,
    scoring: SCORING.sigmoid,
    isBiased: true,
    groups: 4,
    groups_used: 2,
    group_best: 2,
  },
  { normalize: 0, scale: 2, groups: 2, groups_used: 1, group_best: 1 },
  { normalize: 0, scale: 1, scoring: SCORING.mixer, eps: 0.1 },
] as const
const ROUTED = BUILDS.flatMap((build) => ROUTERS.map((router, rule) => ({ build, rule, router })))

test.each(ROUTED)('$build: rows are routed to existing experts, rule $rule', ({ build, router }) => {
  const machine = plainMachine(build)
  const m = 24
  const experts = 8
  const used = 3
  const n = 64
  const places = m * used
  const logits = wild(machine, m, experts)
  const x = wild(machine, m, n)
  const gathered = machine.rows(places, n)
  const y = machine.rows(m, n)
  const route = machine.allocate(routeWords(experts, places) * 4)
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  const { isBiased, ...rule } = { isBiased: false, ...router }
  const bias = isBiased ? wild(machine, 1, experts).at : 0
  machine.op('route', { ...at('x', logits), experts, used, route, bias, ...rule })
  machine.op('gather', { rows: ROWS.routed + used, ...at('x', x), ...at('y', gathered), n, route, experts })
  machine.op('combine', { ...at('x', gathered), ...at('y', y), n, route, experts, used })
  machine.run()
  const found = routeIn(machine, route, experts, places)
  expect([...found.places].sort((a, b) => a - b)).toEqual(Array.from({ length: places }, (_, place) => place))
  expect(found.rowAt.every((row) => row < m)).toBe(true)
})

test.each(BUILDS)('%s: any keys and values can be stored and attended to', (build) => {
  for (const k of ['f32', 'int8'] as const) {
    for (const v of ['f32', 'int8', 'fp8'] as const) {
      const machine = plainMachine(build)
      const shape = { heads: 4, kvHeads: 2, dim: 32, format: { k, v }, quantized: true, cap: 30 }
      const states = [layState(machine, shape, 140)]
      const { q, y } = layStep(machine, shape, [{ position: 0, rows: 130 }], states)
      const random = randomFrom(5)
      for (let row = 40; row < 130; row++) {
        const lane = Math.floor(random() * 128)
        machine.f32[(q.at + row * q.stride) / 4 + lane] = WILD[row % WILD.length]!
      }
      const fields = machine.ops[0]! / 4
      // The addresses of k and v in the record of rope_kv.
      for (const [from, stride] of [
        [4, 5],
        [6, 7],
      ] as const) {
        for (let row = 40; row < 130; row++) {
          const first = (machine.u32[fields + from]! + row * machine.u32[fields + stride]!) / 4
          machine.f32[first + Math.floor(random() * 64)] = WILD[(row + from) % WILD.length]!
        }
      }
      machine.run()
      // Rows before the first wild row do not read it.
      for (let row = 0; row < 40; row++) expect(machine.floats(y, row).every(Number.isFinite)).toBe(true)
    }
  }
})

test.each(BUILDS)('%s: any rows can be normalised, gated and quantised', (build) => {
  const machine = plainMachine(build)
  const m = 20
  const n = 96
  const x = wild(machine, m, n)
  const up = wild(machine, m, n)
  const weight = machine.rows(1, n, () => 1).at
  const y = machine.rows(m, n)
  const q = machine.a8Rows(m, n)
  const order = machine.rows(1, n, (_, lane) => n - 1 - lane)
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  const rows = { ...at('x', x), weight, n, eps: 1e-6, ...at('y', y), ...at('q', q) }
  machine.op('rmsnorm', { ...rows, parts: 1 })
  machine.op('layernorm', rows)
  machine.op('rescale', { ...at('y', y), n, scale: 2, cap: 30 })
  machine.op('clamp', { ...at('x', x), ...at('y', y), n, least: -1, most: 30 })
  machine.op('gate_rows', { ...at('x', x), ...at('y', y), n, width: 24 })
  machine.op('match_rms', { ...at('x', x), ...at('by', up), ...at('y', y), n, least: 1e-5 })
  machine.op('cut_low', { ...at('x', x), ...at('y', y), n, scale: 1 })
  machine.op('weigh', { ...at('x', x), weight, ...at('y', y), n })
  const streams = { n: 32, apart: 32, streams: 3, inputs: 3, first: 0, offset: 1 }
  machine.op('mix_streams', { ...at('x', x), ...at('z', up), ...at('c', up), ...at('y', y), ...streams })
  const heads = { own: 10, x_dim: 24, y_dim: 24, heads: 4 }
  machine.op('join_heads', { ...at('s', up), shared: 8, ...at('x', x), ...at('y', y), ...heads })
  for (const activation of Object.values(ACTIVATION))
    machine.op('swiglu', { ...at('gate', x), ...at('up', up), n, ...at('y', y), ...at('q', q), activation })
  for (const whole of [0, 1])
    machine.op('quantize', { ...at('x', x), n, ...at('q', q), order: order.at, whole })
  machine.run()
  const last = machine.rowBytes(q, WILD.length - 1, 'a8')
  expect([...last.subarray(0, n)]).toEqual(new Array(n).fill(127))
})
