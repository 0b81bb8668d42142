// Tests costs. In: a small hand-built model. Out: bytes and operations that match the shapes.
import { expect, test } from 'vitest'
import { type Encoding, groupEncoding } from '../../abi/encodings.ts'
import type { OpName } from '../../abi/ops.ts'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { compile } from '../compile-graph.ts'
import { type OpCost, planCosts, type StepShape } from './cost.ts'

const HIDDEN = 64
const INNER = 96
const VOCAB = 100
const LAYERS = 2

/** Two layers, two heads of 32 that share one KV head, tied embeddings. */
function costs(encoding: Encoding, shape: StepShape, window = 0): { name: OpName; cost: OpCost }[] {
  const b = graphBuilder()
  const norm = vector({ 'norm.weight': HIDDEN })
  const table = matrix(HIDDEN, { 'embed.weight': VOCAB })
  let x = b.embed('embed', table)
  for (let layer = 0; layer < LAYERS; layer++) {
    const sizes = { [`${layer}.q`]: 64, [`${layer}.k`]: 32, [`${layer}.v`]: 32 }
    const qkv = matrix(HIDDEN, sizes)
    const bias = vector(Object.fromEntries(Object.entries(sizes).map(([name, n]) => [`${name}.bias`, n])))
    const attention = { layer, heads: 2, kvHeads: 1, headDim: 32, window }
    const rope = { table: 0, dims: 32, pairing: 'halves' } as const
    const projected = b.linear(`${layer}.qkv`, b.rmsnorm(`${layer}.norm`, x, norm, 1e-5), qkv, bias)
    const attended = b.attend(`${layer}.attn`, b.parts(projected, qkv), attention, rope)
    x = b.add(`${layer}.o`, x, b.linear('product', attended, matrix(64, { [`${layer}.o`]: HIDDEN })))
    const gateUp = matrix(HIDDEN, { [`${layer}.gate`]: INNER, [`${layer}.up`]: INNER })
    const inner = b.linear(`${layer}.gate_up`, b.rmsnorm(`${layer}.norm2`, x, norm, 1e-5), gateUp)
    const gated = b.swiglu(`${layer}.act`, b.parts(inner, gateUp))
    x = b.add(`${layer}.down`, x, b.linear('product', gated, matrix(INNER, { [`${layer}.down`]: HIDDEN })))
  }
  const graph = b.finish(b.linear('logits', b.rmsnorm('norm', b.takeRows('wanted', x), norm, 1e-5), table))
  // Tables have scales per group.
  const encodingOf = (name: string) => (/^embed/.test(name) ? groupEncoding(encoding) : encoding)
  const plan = compile(graph, { encodingOf, tokens: 16, logitRows: 2 })
  const found = planCosts(plan, shape)
  return plan.ops.map(({ name }, index) => ({ name, cost: found[index] as OpCost }))
}

const DECODE: StepShape = { tokens: 1, logitRows: 1, position: 9 }
/** Keys and values of a position in one layer. */
const POSITION_BYTES = 2 * 32 * 4

const only = (all: ReturnType<typeof costs>, name: OpName) =>
  all.filter((each) => each.name === name).map(({ cost }) => cost)

test('a linear reads its weights once and does two operations per weight and row', () => {
  for (const tokens of [1, 8]) {
    const [qkv] = only(costs('w4_g32', { ...DECODE, tokens }), 'linear_w4a8_g32')
    // 128 x 64 weights in blocks of 8 x 32 at 144 bytes, and 128 biases.
    expect(qkv?.weightBytes).toBe((128 / 8) * 2 * 144 + 128 * 4)
    // 64 codes, 2 scales and 2 sums in; 128 floats out.
    expect(qkv?.activationBytes).toBe(tokens * (64 + 16 + 128 * 4))
    expect(qkv?.ops).toBe(tokens * 2 * 128 * 64)
    expect([qkv?.kind, qkv?.unit]).toEqual(['linear', 'integer'])
  }
})

test('a gated linear computes the product of both sides and writes only int8 rows', () => {
  const [gated] = only(costs('w8_g32', { ...DECODE, tokens: 3 }), 'linear_swiglu_w8a8_g32')
  expect(gated).toMatchObject({
    kind: 'linear',
    unit: 'integer',
    weightBytes: ((2 * INNER) / 8) * 2 * 272,
    // 64 codes, 2 scales and 2 sums in; 96 codes, 3 scales and 3 sums out, in rows of whole 16 bytes.
    activationBytes: 3 * (80 + 128),
    ops: 3 * 2 * (2 * INNER) * HIDDEN,
  })
})

test('a residual is read before it is written', () => {
  const [, output] = only(costs('f32', DECODE), 'linear_f32')
  expect(output).toMatchObject({
    unit: 'float',
    weightBytes: 64 * 64 * 4,
    activationBytes: 64 * 4 + 2 * 64 * 4,
  })
})

test('the logits cost only the wanted rows', () => {
  const logits = only(costs('w4_g32', { tokens: 8, logitRows: 2, position: 0 }), 'linear_w4a8_g32').at(-1)
  expect(logits?.ops).toBe(2 * 2 * VOCAB * HIDDEN)
})

test('attention reads every earlier position of its own layer once', () => {
  const [decode] = only(costs('f32', DECODE), 'attention')
  expect(decode).toMatchObject({ kind: 'attention', stateBytes: 10 * POSITION_BYTES, ops: 4 * 64 * 10 })
  const [chunk] = only(costs('f32', { tokens: 3, logitRows: 1, position: 9 }), 'attention')
  expect(chunk).toMatchObject({ stateBytes: 12 * POSITION_BYTES, ops: 4 * 64 * (10 + 11 + 12) })
})

test('a window bounds what attention reads', () => {
  const [decode] = only(costs('f32', DECODE, 4), 'attention')
  expect(decode).toMatchObject({ stateBytes: 4 * POSITION_BYTES, ops: 4 * 64 * 4 })
  const [chunk] = only(costs('f32', { tokens: 3, logitRows: 1, position: 9 }, 4), 'attention')
  expect(chunk).toMatchObject({ stateBytes: 6 * POSITION_BYTES, ops: 4 * 64 * 12 })
})

test('a KV write costs the bytes of its rows', () => {
  const [write] = only(costs('f32', { tokens: 3, logitRows: 1, position: 0 }), 'rope_kv')
  expect(write).toMatchObject({ kind: 'other', stateBytes: 3 * POSITION_BYTES })
})

test('an embedding costs a row of its table per token', () => {
  const [embed] = only(costs('f32', { tokens: 5, logitRows: 1, position: 0 }), 'embed')
  expect(embed).toMatchObject({ weightBytes: 5 * HIDDEN * 4, activationBytes: 5 * HIDDEN * 4 })
})

test('every op of a step costs something', () => {
  for (const encoding of ['f32', 'f16', 'w8_g32', 'w4_g32', 'w4m_g32', 'w4_channel', 'w2_g256'] as const) {
    for (const { cost } of costs(encoding, DECODE)) {
      expect(cost.activationBytes).toBeGreaterThan(0)
      expect(cost.ops).toBeGreaterThan(0)
    }
  }
})
