// Tests sharding. In: random models, shares and encodings. Out: every weight is on one shard, and the shards
// together produce the whole model's logits.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { checkShapes, compile } from '../compile-graph.ts'
import { biasColumns, divide, type Value } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import { interpret } from '../testing/interpret.ts'
import { frequenciesOf, machineOf } from '../testing/models.ts'
import { all, exact, holders, largest, meetAll, sharesOf, weightsOf } from '../testing/shards.ts'
import { shardGraph } from './shard.ts'

interface Config {
  readonly kvHeads: number
  readonly ratio: number
  readonly headDim: number
  readonly inner: number
  readonly vocab: number
  readonly tied: boolean
  /** Whether intermediate values are clamped to a range that they would exceed. */
  readonly limited?: boolean
  /** Whether the scores of the first layer have biases by distance. */
  readonly biased?: boolean
}

const WIDTH = 24
/** The last position that a row may have if scores have biases. */
const REACH = 20

/** Two layers, built like those of every family; Q, K and V have biases. */
function model({ kvHeads, ratio, headDim, inner, vocab, tied, limited, biased }: Config): Graph {
  const b = graphBuilder()
  const range = limited ? { least: -0.3, most: 0.2 } : undefined
  const within = (value: Value) => (range ? b.clamp(`${value.label}.limited`, value, range) : value)
  const limits = { q: range, k: range, scores: range }
  const heads = kvHeads * ratio
  const table = matrix(WIDTH, { embed: vocab })
  let x = b.embed('embed', table)
  for (const layer of [0, 1]) {
    const q = heads * headDim
    const kv = kvHeads * headDim
    const parts = (kind: string) => ({
      [`${layer}.q${kind}`]: q,
      [`${layer}.k${kind}`]: kv,
      [`${layer}.v${kind}`]: kv,
    })
    const qkv = matrix(WIDTH, parts(''))
    const norm = (name: string) => vector({ [`${layer}.${name}.norm`]: WIDTH })
    const input = b.rmsnorm(`${layer}.in`, x, norm('in'), 1e-5)
    const products = b.linear(`${layer}.qkv`, within(input), qkv, vector(parts('.bias')))
    const made = b.parts(products, qkv).map(within)
    const shape = { layer, heads, kvHeads, headDim, window: layer === 0 ? 0 : 3 }
    const rope = { table: 0, dims: headDim, pairing: 'halves' } as const
    const table = vector({ [`${layer}.distances`]: heads * biasColumns(REACH) })
    const bias = biased && layer === 0 ? { table, reach: REACH } : undefined
    const attended = within(b.attend(`${layer}.attn`, made, shape, rope, { limits, bias }))
    const joined = b.linear(`${layer}.o`, attended, matrix(q, { [`${layer}.o`]: WIDTH }))
    x = b.add(`${layer}.sum`, x, within(joined))
    const gateUp = matrix(WIDTH, { [`${layer}.gate`]: inner, [`${layer}.up`]: inner })
    const read = b.rmsnorm(`${layer}.mid`, x, norm('mid'), 1e-5)
    const halves = b.parts(b.linear(`${layer}.gate_up`, within(read), gateUp), gateUp)
    const gated = within(b.swiglu(`${layer}.act`, halves.map(within)))
    x = b.add(
      `${layer}.out`,
      x,
      within(b.linear(`${layer}.down`, gated, matrix(inner, { [`${layer}.down`]: WIDTH }))),
    )
  }
  const last = b.rmsnorm('last', b.takeRows('wanted', x), vector({ 'last.norm': WIDTH }), 1e-5)
  return b.finish(within(b.linear('logits', last, tied ? table : matrix(WIDTH, { output: vocab }))), last)
}

const configs: fc.Arbitrary<Config> = fc.record({
  kvHeads: fc.constantFrom(1, 2, 3, 4),
  ratio: fc.constantFrom(4, 5, 7),
  headDim: fc.constantFrom(8, 16, 32),
  inner: fc.integer({ min: 128, max: 300 }),
  vocab: fc.integer({ min: 128, max: 260 }),
  tied: fc.boolean(),
  limited: fc.boolean(),
  biased: fc.boolean(),
})
describe('divide', () => {
  test('splits at units, gives every share at least one, and leaves nothing over', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 32 }),
        sharesOf,
        (size, unit, shares) => {
          fc.pre(Math.ceil(size / unit) >= shares.length)
          const ranges = divide(size, unit, shares)
          let end = 0
          for (const { first, count } of ranges) {
            expect(first).toBe(end)
            expect(first % unit).toBe(0)
            expect(count).toBeGreaterThan(0)
            end += count
          }
          expect(end).toBe(size)
        },
      ),
    )
  })
  test('follows the shares to the nearest unit', () => {
    expect(divide(14, 1, [3, 1]).map(({ count }) => count)).toEqual([11, 3])
    expect(divide(4864, 32, [1, 1]).map(({ count }) => count)).toEqual([2432, 2432])
  })
  test('rejects more shares than units and names both numbers', () => {
    expect(() => divide(60, 32, [1, 1, 1])).toThrow(/60 in units of 32 .* 3 workers; use at most 2/)
  })
})

describe('shardGraph', () => {
  test('puts every weight on one shard, except norms and KV heads that span a boundary', () => {
    fc.assert(
      fc.property(configs, sharesOf, (config, shares) => {
        const graph = model(config)
        const shards = all(graph, shares)
        for (const shard of shards) checkShapes(shard)
        for (const [name, [least, most]] of holders(graph, shards)) {
          if (/norm/.test(name)) expect([name, least, most]).toEqual([name, shares.length, shares.length])
          else if (/\.[kv](\.bias)?$/.test(name)) expect(least).toBeGreaterThanOrEqual(1)
          else expect([name, least, most]).toEqual([name, 1, 1])
        }
      }),
      { numRuns: 60 },
    )
  })

  test('splits quantised columns at group boundaries', () => {
    const config = { kvHeads: 2, ratio: 4, headDim: 8, inner: 172, vocab: 512, tied: true }
    const shards = all(model(config), [1, 1], () => 'w8_g32')
    const cuts = shards.flatMap(weightsOf).flatMap(({ columns }) => columns?.first ?? [])
    expect(cuts).toEqual([0, 0, 0, 0, 32, 96, 32, 96])
  })

  test('cuts columns of 2-bit weights only between scales, or not at all', () => {
    const config = { kvHeads: 4, ratio: 2, headDim: 64, inner: 1024, vocab: 512, tied: true }
    const shards = all(model(config), [1, 3], () => 'w2_g256')
    const cuts = shards.flatMap(weightsOf).flatMap(({ columns }) => columns?.first ?? [])
    expect(cuts).toEqual([0, 0, 0, 0, 256, 256, 256, 256])
    const narrow = () => all(model({ ...config, kvHeads: 2 }), [1, 1], () => 'w2_g256')
    expect(narrow).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })

  test('splits rows at panel boundaries, even if heads end within a panel', () => {
    for (const [ratio, shares] of [
      [3, [1, 1]],
      [2, [1, 1]],
      [3, [1, 1, 1]],
    ] as const) {
      const config = { kvHeads: 2, ratio, headDim: 12, inner: 96, vocab: 128, tied: true }
      const graph = model(config)
      const shards = all(graph, shares)
      for (const { parts } of shards.flatMap(weightsOf)) {
        for (const run of parts.flatMap(({ rows }) => rows?.runs ?? [])) expect(run.first % 8).toBe(0)
      }
      const step = { ids: [1, 100, 7], position: 0, wanted: [2] }
      const whole = interpret(graph, machine(config), step)
      const together = meetAll(shards, (meet) => ({ ...machine(config), meet }), step)
      expect(largest(whole, together)).toBeLessThan(1e-9)
    }
  })

  test.each([false, true])('yields plans with the same records on every shard, limited %s', (limited) => {
    const graph = model({ kvHeads: 2, ratio: 7, headDim: 32, inner: 256, vocab: 256, tied: true, limited })
    const plans = all(graph, [2, 1, 1], () => 'w4_g32').map((shard) =>
      compile(shard, { encodingOf: () => 'w4_g32', tokens: 4, logitRows: 2 }),
    )
    const names = plans.map(({ ops }) => ops.map(({ name }) => name))
    expect(names[1]).toEqual(names[0])
    expect(names[2]).toEqual(names[0])
    expect(plans.map(({ exchanges }) => exchanges.map(({ op }) => op))).toEqual(
      Array(3).fill(plans[0]!.exchanges.map(({ op }) => op)),
    )
    // One exchange after the embedding, two in each layer, one for the logits.
    expect(plans[0]!.exchanges).toHaveLength(6)
    expect(plans[0]!.logits.width).toBe(256)
  })

  test('computes the logits of the whole model', () => {
    fc.assert(
      fc.property(configs, sharesOf, (config, shares) => {
        const graph = model(config)
        const step = { ids: [1, 100, config.vocab - 1, 7, 9], position: 0, wanted: [4, 2] }
        const whole = interpret(graph, machine(config), step)
        const together = meetAll(all(graph, shares), (meet) => ({ ...machine(config), meet }), step)
        expect(largest(whole, together)).toBeLessThan(1e-9)
      }),
      { numRuns: 8 },
    )
  })

  test('clamps a worker’s part of a value, and completes sums before clamping them', () => {
    const config = { kvHeads: 2, ratio: 4, headDim: 8, inner: 172, vocab: 130, tied: false, limited: true }
    const step = { ids: [1, 100, 7], position: 0, wanted: [2] }
    const whole = interpret(model(config), machine(config), step)
    const free = interpret(model({ ...config, limited: false }), machine(config), step)
    expect(largest(whole, free)).toBeGreaterThan(0.1)
    const together = meetAll(all(model(config), [3, 1, 1]), (meet) => ({ ...machine(config), meet }), step)
    expect(largest(whole, together)).toBeLessThan(1e-9)
  })

  test('names what it cannot split', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(32, { embed: 64 }))
    const odd = b.finish(
      b.linear('logits', b.linear('alone', x, matrix(32, { w: 32 })), matrix(32, { out: 64 })),
    )
    expect(() => shardGraph(odd, { shares: [1, 1], shard: 0, encodingOf: exact })).toThrow(
      /its linear alone produces values that linear reads; use one thread/,
    )
  })
})

const machine = ({ headDim }: Config) => machineOf(exact, [frequenciesOf(headDim)])
