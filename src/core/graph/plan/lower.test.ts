// Tests lowering and printing. In: small graphs. Out: records with the fields of wasm/core/abi.h, slots,
// totals, a page of text.
import { describe, expect, test } from 'vitest'
import { ENCODINGS, type Encoding, sparseTableBytes } from '../../abi/encodings.ts'
import { OPS } from '../../abi/ops.ts'
import { slotBytes } from '../../weights/testing/slot-bytes.ts'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { compile } from '../compile-graph.ts'
import { EXACT_KV } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import { planTotals } from './cost.ts'
import { blockBytes, layerOffsets } from './layouts.ts'
import type { Plan } from './plan.ts'
import { printPlan } from './print.ts'

const HIDDEN = 64
const INNER = 80
const VOCAB = 100

/** A Llama-like model with two layers, heads of 32, and tied embeddings. */
function model(windows: readonly number[] = [0, 0]): Graph {
  const b = graphBuilder()
  const norm = vector({ 'norm.weight': HIDDEN })
  const table = matrix(HIDDEN, { 'embed.weight': VOCAB })
  let x = b.embed('embed', table)
  for (const [layer, window] of windows.entries()) {
    const qkvSizes = { [`${layer}.q`]: 64, [`${layer}.k`]: 32, [`${layer}.v`]: 32 }
    const qkv = matrix(HIDDEN, qkvSizes)
    const bias = vector(Object.fromEntries(Object.entries(qkvSizes).map(([name, n]) => [`${name}.bias`, n])))
    const shape = { layer, heads: 2, kvHeads: 1, headDim: 32, window }
    const rope = { table: 0, dims: 16, pairing: 'interleaved' } as const
    const normed = b.rmsnorm(`${layer}.norm`, x, norm, 1e-5)
    const attended = b.attend(
      `${layer}.attn`,
      b.parts(b.linear(`${layer}.qkv`, normed, qkv, bias), qkv),
      shape,
      rope,
    )
    x = b.add(`${layer}.o`, x, b.linear('product', attended, matrix(64, { [`${layer}.o`]: HIDDEN })))
    const gateUp = matrix(HIDDEN, { [`${layer}.gate`]: INNER, [`${layer}.up`]: INNER })
    const inner = b.linear(`${layer}.gate_up`, b.rmsnorm(`${layer}.norm2`, x, norm, 1e-5), gateUp)
    const act = b.swiglu(`${layer}.act`, b.parts(inner, gateUp))
    x = b.add(`${layer}.down`, x, b.linear('product', act, matrix(INNER, { [`${layer}.down`]: HIDDEN })))
  }
  return b.finish(b.linear('logits', b.rmsnorm('norm', b.takeRows('wanted', x), norm, 1e-5), table))
}

const planOf = (encoding: Encoding, graph = model()): Plan =>
  compile(graph, { encodingOf: () => encoding, tokens: 16, logitRows: 2 })

const names = (plan: Plan) => plan.ops.map(({ name }) => name)

describe('lower', () => {
  test('turns a quantised layer into eight ops, a float one into nine, and slices, taken rows or residual sums into none', () => {
    const layer = [
      'rmsnorm',
      'linear_w4a8_g32',
      'rope_kv',
      'attention',
      'linear_w4a8_g32',
      'rmsnorm',
      'linear_swiglu_w4a8_g32',
      'linear_w4a8_g32',
    ]
    expect(names(planOf('w4_g32'))).toEqual(['embed', ...layer, ...layer, 'rmsnorm', 'linear_w4a8_g32'])
    expect(names(planOf('f16'))).toHaveLength(21)
  })

  test.each(['f32', 'bf16', 'w8_g32', 'w4m_g32'] as const)(
    'gives every record of %s the fields of its struct',
    (encoding) => {
      for (const { name, fields } of planOf(encoding).ops) {
        expect(Object.keys(fields).sort()).toEqual(['rows', ...OPS[name].fields].sort())
      }
    },
  )

  test('keeps every pointer inside the arena or the slots', () => {
    const plan = planOf('w4_g32')
    for (const value of plan.ops.flatMap(({ fields }) => Object.values(fields))) {
      if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true)
      else if ('slot' in value) expect(plan.slots[value.slot]).toBeDefined()
      else expect(value.arena).toBeLessThan(plan.arenaBytes)
    }
    expect(plan.logits).toMatchObject({ stride: 512, width: VOCAB })
  })

  test('stores a tied table once, fed by quantised rows of the last norm', () => {
    const plan = planOf('w8_g32')
    const embed = plan.ops[0]
    const norm = plan.ops.at(-2)
    const logits = plan.ops.at(-1)
    expect(embed?.fields['table']).toEqual(logits?.fields['w'])
    expect(norm?.fields).toMatchObject({ rows: 1, y: 0, q: logits?.fields['x'] })
    expect(logits?.fields).toMatchObject({ rows: 1, n: VOCAB, k: HIDDEN })
  })

  test('reads sparse matrices with the sparse linears, whose slots hold the strips and a table', () => {
    const encodingOf = (name: string) => (/norm|embed/.test(name) ? 'w4_g32' : 'w4_g32_sb84')
    const plan = compile(model(), { encodingOf, stripBytesOf: () => 1600, tokens: 16, logitRows: 4 })
    const sparse = plan.ops.filter(({ name }) => name.endsWith('_sparse'))
    expect(new Set(sparse.map(({ name }) => name))).toEqual(
      new Set(['linear_sparse', 'linear_swiglu_sparse']),
    )
    for (const { fields } of sparse) expect(fields['encoding']).toBe(ENCODINGS.w4_g32_sb84.code)
    for (const { encoding, ref, n, bytes } of plan.slots) {
      if (encoding === 'w4_g32_sb84') expect(bytes).toBe(sparseTableBytes(n) + 1600 * ref.parts.length)
    }
  })

  test('does not read embeddings from a sparse matrix', () => {
    const options = {
      encodingOf: () => 'w8_g32_sv32' as const,
      stripBytesOf: () => 1600,
      tokens: 16,
      logitRows: 4,
    }
    expect(() => compile(model(), options)).toThrow(
      expect.objectContaining({
        code: 'unsupported',
        message: 'embeddings cannot be read from w8_g32_sv32; convert embed.weight to a dense encoding',
      }),
    )
  })

  test('sizes slots as the packer fills them, with parts at multiples of 32', () => {
    const plan = planOf('w4_g32')
    for (const { ref, encoding, bytes, n } of plan.slots) {
      expect(n % 32).toBe(0)
      if (ref.kind === 'matrix') expect(bytes).toBe(slotBytes(encoding as Encoding, ref.parts, ref.k))
      else expect([bytes, encoding]).toEqual([n * 4, 'f32'])
    }
    const gateUp = plan.slots.find(({ ref }) => ref.parts[0]?.name === '0.gate')
    expect(gateUp?.n).toBe(192)
    const gateUpOf = (encoding: Encoding, label: string) =>
      planOf(encoding).ops.find((op) => op.label.startsWith(label))?.fields
    expect(gateUpOf('f16', '0.gate_up')).toMatchObject({ n: 96 + INNER, y_stride: 192 * 4 })
    expect(gateUpOf('w4_g32', '0.act')).toMatchObject({ n: INNER, q_stride: 96 + 8 * 3 + 8 })
  })

  test('finds each layer in its state group', () => {
    const plan = planOf('f32', model([0, 128, 0]))
    expect(plan.stateGroups.map(({ layers, window }) => [layers, window])).toEqual([
      [[0, 2], 0],
      [[1], 128],
    ])
    const states = plan.ops
      .filter(({ name }) => name === 'rope_kv')
      .map(({ fields }) => [fields['group'], fields['k_offset'], fields['v_offset']])
    const half = 32 * 64 * 4
    expect(states).toEqual([
      [0, 0, half],
      [1, 0, half],
      [0, 2 * half, 3 * half],
    ])
  })

  test('adds to the operand that is not read again, whichever side it is on', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(32, { embed: VOCAB }))
    const y = b.rmsnorm('y', x, vector({ norm: 32 }), 1e-5)
    const sum = b.add('sum', x, y)
    const plan = planOf('f32', b.finish(b.add('again', sum, x)))
    const [first, second] = plan.ops.filter(({ name }) => name === 'add')
    const [embed, norm] = plan.ops
    expect(first?.fields).toMatchObject({ x: embed?.fields['y'], y: norm?.fields['y'] })
    expect(second?.fields).toMatchObject({ x: embed?.fields['y'], y: norm?.fields['y'] })
  })

  test('rejects more kinds of state than the engine has tables', () => {
    expect(() => planOf('f32', model([0, 64, 128, 192, 256]))).toThrow(
      /5 kinds of layers with state .* supports at most 4/,
    )
  })

  test('rejects taken rows that no norm reads', () => {
    const b = graphBuilder()
    const taken = b.takeRows('wanted', b.embed('embed', matrix(32, { embed: VOCAB })))
    const graph = b.finish(b.linear('logits', taken, matrix(32, { output: VOCAB })))
    expect(() => planOf('f32', graph)).toThrow(/a norm gathers them/)
  })
})

describe('state layout', () => {
  const group = { kvHeads: 2, headDim: 8, window: 0, format: EXACT_KV, layers: [1, 4] }

  test('has the keys and values of every layer one after another', () => {
    expect(blockBytes(group)).toBe(2 * 2 * 2 * 8 * 64 * 4)
    expect(layerOffsets(group, 4)).toEqual({ k: 2 * 4096, v: 3 * 4096 })
    expect(() => layerOffsets(group, 2)).toThrow(/layer 2 is not in/)
  })

  test('has the words of each position after the codes, for int8 and fp8', () => {
    const int8 = { ...group, format: { k: 'int8', v: 'int8' } } as const
    expect(layerOffsets(int8, 1)).toEqual({ k: 0, v: 2 * 64 * (8 + 12) })
    expect(blockBytes(int8)).toBe(2 * 2 * 64 * (8 + 12 + 8 + 8))
    expect(blockBytes({ ...group, format: { k: 'f32', v: 'fp8' } })).toBe(2 * 2 * 64 * (32 + 8 + 4))
  })

  test('matches the format that the plan is compiled for', () => {
    const kvCache = { k: 'int8', v: 'fp8' } as const
    const plan = compile(model(), { encodingOf: () => 'f32', tokens: 16, logitRows: 2, kvCache })
    const [first, second] = plan.ops.filter(({ name }) => name === 'attention')
    expect(first?.fields).toMatchObject({ k_format: 1, v_format: 2, k_offset: 0, v_offset: 64 * 44 })
    expect(second?.fields).toMatchObject({ k_offset: 64 * (44 + 36) })
    expect(planTotals(plan).blockBytes).toEqual([2 * 64 * (44 + 36)])
  })
})

describe('printPlan', () => {
  test('shows each op with shapes, bytes and places, then the totals', () => {
    const page = printPlan(planOf('w4_g32', model([0])))
    expect(page).toBe(
      ` #  op                      output                    reads                    writes            encoding  weights  state
 0  embed                   embed [tokens, 64]                                 y 53248           w4_g32    4 608 B
 1  rmsnorm                 0.norm [tokens, 64]       x 53248                  q 0               f32         256 B
 2  linear_w4a8_g32         0.qkv [tokens, 128]       x 0                      y 45056           w4_g32    5 120 B
 3  rope_kv                 0.attn_rope [tokens, 64]  q 45056 k 45312 v 45440  q 45056                              group 0 at 0
 4  attention               0.attn [tokens, 64]       q 45056                  a8 57344 parts 0                     group 0 at 0
 5  linear_w4a8_g32         0.o [tokens, 64]          x 57344                  y 53248 +=        w4_g32    2 304 B
 6  rmsnorm                 0.norm2 [tokens, 64]      x 53248                  q 2048            f32         256 B
 7  linear_swiglu_w4a8_g32  0.act [tokens, 80]        x 2048                   q 0               w4_g32    6 912 B
 8  linear_w4a8_g32         0.down [tokens, 64]       x 0                      y 53248 +=        w4_g32    3 456 B
 9  rmsnorm                 norm [logitRows, 64]      x 53248                  q 1024            f32         256 B
10  linear_w4a8_g32         logits [logitRows, 100]   x 1024                   y 0               w4_g32    4 608 B

weights        22 656 B in 7 slots
arena peak     58 624 B for 16 tokens, 2 rows of logits
state group 0  16 384 B per 64 positions: layers 1, KV heads 1, head dim 32, K f32, V f32, all positions
decode reads   23 204 B of weights, 16 384 B of state per 64 positions`,
    )
  })

  test('counts the reads of a decode step: one row of a table, all of a matrix', () => {
    const tied = planTotals(planOf('w8_g32'))
    expect(tied.weightBytes).toBe(planOf('w8_g32').slots.reduce((sum, { bytes }) => sum + bytes, 0))
    expect(tied.blockBytes).toEqual([2 * 2 * 32 * 64 * 4])
    // Five norms share norm weights here, and one more row of the table is read.
    expect(tied.decodeBytes).toBe(tied.weightBytes + 4 * 256 + 68)
  })
})
