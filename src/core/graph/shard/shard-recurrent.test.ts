// Tests sharding of recurrent layers. In: random Mamba layers, Mamba-2 layers and short convolutions, shares.
// Out: every weight is on one shard, states are parts of the whole model's, and the shards together produce
// the whole model's logits.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { checkShapes, compile } from '../compile-graph.ts'
import type { Value } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import type { Plan } from '../plan/plan.ts'
import { interpret } from '../testing/interpret.ts'
import { machineOf } from '../testing/models.ts'
import { all, exact, holders, largest, meetAll, sharesOf, weightsOf } from '../testing/shards.ts'

const WIDTH = 24
const VOCAB = 160
const SIZE = { tokens: 4, logitRows: 2 }

type Builder = ReturnType<typeof graphBuilder>
type Layer = (b: Builder, at: string, input: Value) => Value

interface Config {
  /** Channels in groups of 32, or heads of `headDim`. */
  readonly units: number
  readonly headDim: number
  readonly groups: number
  readonly states: number
}

const out = (b: Builder, at: string, made: Value) =>
  b.linear(`${at}.product`, made, matrix(made.shape[1], { [`${at}.out`]: WIDTH }))

const mamba =
  ({ units, states }: Config): Layer =>
  (b, at, input) => {
    // Rows of the two parts are farther apart than the sum of their widths.
    const inner = units * 32
    const rank = 33
    const into = matrix(WIDTH, { [`${at}.x`]: inner, [`${at}.z`]: inner })
    const [first, z] = b.parts(b.linear(`${at}.in`, input, into), into) as [Value, Value]
    const taps = matrix(4, { [`${at}.taps`]: inner })
    const x = b.conv1d(`${at}.conv`, first, taps, vector({ [`${at}.taps.bias`]: inner }))
    const select = matrix(inner, { [`${at}.rank`]: rank, [`${at}.bc`]: 2 * states })
    const [low, between] = b.parts(b.linear(`${at}.select`, x, select), select) as [Value, Value]
    const [enter, leave] = b.columns(between, { b: states, c: states }) as [Value, Value]
    const steps = matrix(rank, { [`${at}.dt`]: inner })
    const dt = b.linear(`${at}.steps`, low, steps, vector({ [`${at}.dt.bias`]: inner }))
    const weights = {
      decay: matrix(states, { [`${at}.decay`]: inner }),
      skip: vector({ [`${at}.skip`]: inner }),
    }
    return out(b, at, b.scan(`${at}.scan`, { x, dt, z, b: enter, c: leave }, weights))
  }

const mamba2 =
  ({ units, headDim, groups, states }: Config): Layer =>
  (b, at, input) => {
    const heads = groups * units * (32 / headDim)
    const inner = heads * headDim
    const channels = inner + 2 * groups * states
    const into = matrix(WIDTH, { [`${at}.z`]: inner, [`${at}.x`]: channels, [`${at}.heads.dt`]: heads })
    const [z, mixed, dt] = b.parts(b.linear(`${at}.in`, input, into), into) as [Value, Value, Value]
    const taps = matrix(3, { [`${at}.taps`]: channels })
    const convolved = b.conv1d(`${at}.conv`, mixed, taps, vector({ [`${at}.taps.bias`]: channels }))
    const widths = { x: inner, b: groups * states, c: groups * states }
    const [x, enter, leave] = b.columns(convolved, widths) as [Value, Value, Value]
    const perHead = (name: string) => vector({ [`${at}.${name}`]: heads })
    const weights = { decay: perHead('decay'), skip: perHead('skip'), dtBias: perHead('dt.bias') }
    const made = b.ssd(`${at}.ssd`, { x, dt, z, b: enter, c: leave }, weights, { heads, groups })
    return out(b, at, b.rmsnorm(`${at}.gate`, made, vector({ [`${at}.gate.norm`]: inner }), 1e-5, groups))
  }

const shortConvolution =
  ({ units }: Config): Layer =>
  (b, at, input) => {
    const inner = units * 32
    const into = matrix(WIDTH, { [`${at}.b`]: inner, [`${at}.c`]: inner, [`${at}.x`]: inner })
    const [before, behind, x] = b.parts(b.linear(`${at}.in`, input, into), into) as [Value, Value, Value]
    const gated = b.swiglu(`${at}.gated`, [before, x], 'none')
    const convolved = b.conv1d(`${at}.conv`, gated, matrix(3, { [`${at}.taps`]: inner }), undefined, 'none')
    return out(b, at, b.swiglu(`${at}.made`, [behind, convolved], 'none'))
  }

const LAYERS = { mamba, mamba2, shortConvolution }
type Kind = keyof typeof LAYERS

/** Two layers of one kind, with attention between them. */
function model(kind: Kind, config: Config): Graph {
  const b = graphBuilder()
  let x = b.embed('embed', matrix(WIDTH, { embed: VOCAB }))
  const add = (at: string, layer: Layer) => {
    const input = b.rmsnorm(`${at}.in`, x, vector({ [`${at}.norm`]: WIDTH }), 1e-5)
    x = b.add(`${at}.sum`, x, layer(b, at, input))
  }
  add('0', LAYERS[kind](config))
  add('1', (_, at, input) => {
    const qkv = matrix(WIDTH, { [`${at}.q`]: 128, [`${at}.k`]: 16, [`${at}.v`]: 16 })
    const shape = { layer: 1, heads: 8, kvHeads: 1, headDim: 16, window: 0 }
    const rope = { table: 0, dims: 0, pairing: 'halves' } as const
    return out(b, at, b.attend(`${at}.attn`, b.parts(b.linear(`${at}.qkv`, input, qkv), qkv), shape, rope))
  })
  add('2', LAYERS[kind](config))
  const last = b.rmsnorm('last', b.takeRows('wanted', x), vector({ 'last.norm': WIDTH }), 1e-5)
  return b.finish(b.linear('logits', last, matrix(WIDTH, { output: VOCAB })), last)
}

const configs: fc.Arbitrary<Config> = fc.record({
  units: fc.integer({ min: 4, max: 7 }),
  headDim: fc.constantFrom(8, 16, 32),
  groups: fc.constantFrom(1, 1, 4, 6),
  states: fc.constantFrom(16, 32),
})

const machine = () => machineOf(exact, [new Float64Array(0)])
const STEP = { ids: [1, 100, VOCAB - 1, 7, 9, 100], position: 0, wanted: [5, 2] }

/** Smallest and largest number of shards that hold any row of a weight. */
function held(name: string, kind: Kind, { groups }: Config, shards: number): [number, number] {
  if (/gate\.norm/.test(name)) return [1, 1]
  // The step sizes of heads, and the only KV head.
  if (/norm|heads\.dt|1\.[kv]$/.test(name)) return [shards, shards]
  // The rows of the single group of B and C come after those of x.
  return kind === 'mamba2' && groups === 1 && /\.(x|taps|taps\.bias)$/.test(name) ? [1, shards] : [1, 1]
}

describe.each(Object.keys(LAYERS) as Kind[])('%s', (kind) => {
  test('puts every weight on one shard, except norms, step sizes of heads, and B and C of one group', () => {
    fc.assert(
      fc.property(configs, sharesOf, (config, shares) => {
        const graph = model(kind, config)
        const shards = all(graph, shares)
        for (const shard of shards) checkShapes(shard)
        for (const [name, found] of holders(graph, shards))
          expect([name, ...found]).toEqual([name, ...held(name, kind, config, shares.length)])
      }),
      { numRuns: 40 },
    )
  })

  test('yields plans with the same records, and states whose parts add up to the whole', () => {
    fc.assert(
      fc.property(configs, sharesOf, (config, shares) => {
        const options = { ...SIZE, encodingOf: exact }
        const graph = model(kind, config)
        const whole = compile(graph, options).pools
        const plans = all(graph, shares).map((shard) => compile(shard, options))
        const records = plans.map(({ ops, exchanges }) => [
          ops.map(({ name }) => name),
          exchanges.map(({ op }) => op),
        ])
        for (const each of records) expect(each[1]).toEqual(records[0]![1])
        for (const each of records) expect(each[0]).toEqual(records[0]![0])
        for (const [
          pool,
          {
            bytes,
            runs: [...all],
          },
        ] of whole.entries()) {
          const counts = new Uint8Array(bytes)
          for (const own of plans.map(({ pools }) => pools[pool]!)) {
            expect(own.wholeBytes).toBe(bytes)
            let end = 0
            for (const [here, there, length] of own.runs) {
              // Each run directly follows the previous one, except for padding to a cache line.
              expect(here - end).toBeGreaterThanOrEqual(0)
              expect(here - end).toBeLessThan(64)
              end = here + length
              for (let at = there; at < there + length; at++) counts[at]!++
            }
            expect(end).toBeLessThanOrEqual(own.bytes)
          }
          for (const [, there, length] of all)
            expect(counts.subarray(there, there + length).every((count) => count > 0)).toBe(true)
        }
      }),
      { numRuns: 20 },
    )
  })

  test('computes the logits of the whole model', () => {
    fc.assert(
      fc.property(configs, sharesOf, (config, shares) => {
        const graph = model(kind, config)
        const whole = interpret(graph, machine(), STEP)
        const together = meetAll(all(graph, shares), (meet) => ({ ...machine(), meet }), STEP)
        expect(largest(whole, together)).toBeLessThan(1e-9)
      }),
      { numRuns: 6 },
    )
  })
})

const CONFIG = { units: 4, headDim: 16, groups: 1, states: 16 }
const meetings = (kind: Kind, config = CONFIG) =>
  all(model(kind, config), [1, 1]).map(
    ({ nodes }) => nodes.filter(({ op }) => op === 'exchange' || op === 'collect').length,
  )

test('shards exchange twice in a Mamba layer and once in the others, whose norm is folded into the product', () => {
  // The embedding, attention and the logits are three exchanges.
  expect(meetings('mamba')).toEqual([7, 7])
  expect(meetings('mamba2')).toEqual([5, 5])
  expect(meetings('mamba2', { ...CONFIG, groups: 4 })).toEqual([5, 5])
  expect(meetings('shortConvolution')).toEqual([5, 5])
})

test('columns of quantised products are split at group boundaries', () => {
  for (const kind of Object.keys(LAYERS) as Kind[]) {
    const shards = all(model(kind, { ...CONFIG, units: 7 }), [5, 3, 2], () => 'w4_g32')
    for (const { columns, k } of shards.flatMap(weightsOf)) {
      if (columns === undefined) continue
      expect(columns.first % 32).toBe(0)
      expect(k % 32).toBe(0)
    }
  }
})

test('groups with their own norms stay whole, and more shards than groups are rejected', () => {
  const graph = model('mamba2', { ...CONFIG, groups: 4 })
  const norms = all(graph, [1, 3]).map(({ nodes }) =>
    nodes.flatMap((node) => (node.op === 'rmsnorm' && /gate/.test(node.output!.label) ? [node.parts] : [])),
  )
  expect(norms).toEqual([
    [1, 1],
    [3, 3],
  ])
  const five = () => all(graph, [1, 1, 1, 1, 1])
  expect(five).toThrow(/32 in units of 8 cannot be split across 5 workers; use at most 4/)
})

test('states that do not fill groups of channels are rejected by name', () => {
  expect(all(model('mamba2', { ...CONFIG, states: 8 }), [1, 1])).toHaveLength(2)
  expect(() => all(model('mamba2', { ...CONFIG, states: 4 }), [1, 1])).toThrow(
    /its conv1d 0.conv has channels that cannot be split into groups of 8; use one thread/,
  )
})

test('a product of several parts is sent as a whole, including the gaps between them', () => {
  const [plan] = all(model('mamba', { ...CONFIG, states: 4 }), [1, 1]).map((shard) =>
    compile(shard, { ...SIZE, encodingOf: exact }),
  )
  const widths = plan!.exchanges.flatMap(({ kind, own }) => (kind === 'sum' ? [own.width] : []))
  expect(widths).toEqual([32, 96, 32, 32, 96, 32])
})

test('a sum whose parts are stored differently is rejected', () => {
  const encodingOf = (name: string) => (/bc/.test(name) ? 'f32' : 'w8_g32')
  expect(() => all(model('mamba', CONFIG), [1, 1], encodingOf)).toThrow(
    /its linear 0.select reads values that are split across shards; use one thread/,
  )
})

test('a norm of parts of a row is rejected unless a product reads it', () => {
  const b = graphBuilder()
  const x = b.embed('embed', matrix(WIDTH, { embed: VOCAB }))
  const up = b.swiglu('up', [b.linear('in', x, matrix(WIDTH, { in: 128 }))])
  const gated = b.swiglu('gated', [b.rmsnorm('norm', up, vector({ norm: 128 }), 1e-5)])
  const last = b.takeRows('wanted', b.add('sum', x, b.linear('out', gated, matrix(128, { out: WIDTH }))))
  const graph = b.finish(
    b.linear(
      'logits',
      b.rmsnorm('last', last, vector({ last: WIDTH }), 1e-5),
      matrix(WIDTH, { output: VOCAB }),
    ),
  )
  expect(() => all(graph, [1, 1])).toThrow(
    /its rmsnorm norm reads values that are split across shards; use one thread/,
  )
})

test('every shard ends an exchange with the same bits, in whatever order rows arrive', () => {
  const shares = [1, 1, 1, 1]
  const options = { ...SIZE, encodingOf: exact }
  const plans = all(model('mamba', CONFIG), shares).map((shard) => compile(shard, options))
  const at = (pointer: unknown) => (pointer as { arena: number }).arena
  /** The result of the additions after an exchange, given one value per shard. */
  const summed = ({ exchanges, ops }: Plan, index: number, made: readonly number[]) => {
    const exchange = exchanges[index]!
    if (exchange.kind !== 'sum') return undefined
    const floats = new Map(exchange.offsets.map((offset, shard) => [offset, made[shard]!]))
    let end = 0
    for (const { name, fields } of ops.slice(exchange.op)) {
      if (name !== 'add' || !floats.has(at(fields['x']))) break
      end = at(fields['y'])
      floats.set(end, Math.fround((floats.get(end) ?? 0) + floats.get(at(fields['x']))!))
    }
    return floats.get(end)
  }
  const floats = fc.array(fc.float({ min: 1, max: 2, noNaN: true }), { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(floats, (made) => {
      const right = made.reduce((sum, each) => Math.fround(sum + each))
      for (const [index, { kind }] of plans[0]!.exchanges.entries()) {
        if (kind === 'sum')
          expect(plans.map((plan) => summed(plan, index, made))).toEqual(made.map(() => right))
      }
    }),
  )
})
