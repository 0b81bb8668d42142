// Tests static pairs. In: graphs with biases on keys. Out: the same logits and smaller keys, or unchanged
// layers where the pass does not apply.
import { describe, expect, test } from 'vitest'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { compile } from '../compile-graph.ts'
import type { HeadNorms, KvFormat } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import { shardGraph } from '../shard/shard.ts'
import { interpret } from '../testing/interpret.ts'
import { machineOf, VOCAB } from '../testing/models.ts'
import { subtractStaticBias } from './quantize-activations.ts'

const WIDTH = 32
const HEADS = 4
const KV_HEADS = 2
const DIM = 8
/** The last two pairs turn by less than a radian over 32,768 positions. */
const FREQUENCIES = Float64Array.of(1, 0.1, 3e-5, 1e-6)
const BIAS_OF_KEYS = 'k.bias'
const BIAS = 200

interface Changes {
  readonly cap?: number
  readonly norms?: HeadNorms
  readonly dims?: number
  readonly bias?: boolean
}

function attentionOf({ cap = 0, norms, dims = DIM, bias = true }: Changes = {}): Graph {
  const b = graphBuilder()
  const rows = { q: HEADS * DIM, k: KV_HEADS * DIM, v: KV_HEADS * DIM }
  const named = (kind: string) =>
    Object.fromEntries(Object.entries(rows).map(([name, n]) => [`${name}.${kind}`, n]))
  const weight = matrix(WIDTH, named('weight'))
  const x = b.embed('embed', matrix(WIDTH, { embed: VOCAB }))
  const qkv = b.linear('qkv', x, weight, bias ? vector(named('bias')) : undefined)
  const shape = { layer: 0, heads: HEADS, kvHeads: KV_HEADS, headDim: DIM, window: 0 }
  const rope = { table: 0, dims, pairing: 'halves' } as const
  const attended = b.attend('attn', b.parts(qkv, weight), shape, rope, { cap, norms })
  const product = b.linear('product', attended, matrix(HEADS * DIM, { product: WIDTH }))
  const sum = b.add('sum', x, product)
  return b.finish(b.linear('logits', sum, matrix(WIDTH, { output: VOCAB })))
}

/** The logits of six tokens, and the largest element of a stored key. */
function run(graph: Graph): { logits: number[]; largestKey: number } {
  const machine = machineOf(() => 'f32', [FREQUENCIES])
  const biased = {
    ...machine,
    weightOf: (name: string, n: number, k: number) => {
      const values = machine.weightOf(name, n, k)
      return name === BIAS_OF_KEYS ? values.map((_, i) => (i % DIM > 5 ? BIAS : 0.1)) : values
    },
  }
  const logits = interpret(graph, biased, { ids: [1, 5, 9, 2, 30, 7], position: 0, wanted: [0, 3, 5] })
  const keys = biased.state.get(0)!.k
  return {
    logits: logits.flatMap((row) => [...row]),
    largestKey: Math.max(...keys.flatMap((key) => [...key].map(Math.abs))),
  }
}

const changed = (graph: Graph): Graph => subtractStaticBias(graph, [FREQUENCIES])
const staticBiasesOf = (graph: Graph) =>
  graph.nodes.flatMap((node) =>
    node.op === 'ropeKv' && node.staticBias !== undefined ? [node.staticBias] : [],
  )

describe('keys without the bias of their static pairs', () => {
  test.each([
    ['all dimensions rotated', {}, 2],
    ['half of the dimensions rotated', { dims: 4 }, 2],
  ])('yield the same logits and are far smaller: %s', (_, changes, from) => {
    const graph = attentionOf(changes)
    const before = run(graph)
    const after = run(changed(graph))
    expect(staticBiasesOf(changed(graph))).toEqual([
      { bias: vector({ [BIAS_OF_KEYS]: KV_HEADS * DIM }), from },
    ])
    for (const [i, logit] of after.logits.entries()) expect(logit).toBeCloseTo(before.logits[i]!, 9)
    expect(before.largestKey).toBeGreaterThan(BIAS / 2)
    expect(after.largestKey).toBeLessThan(5)
  })

  const norm = {
    q: vector({ 'q.norm': DIM }),
    k: vector({ 'k.norm': DIM }),
    over: 'head',
    epsilon: 1e-5,
  } as const
  test.each([
    ['scores are capped', { cap: 50 }],
    ['a norm follows the bias', { norms: norm }],
    ['there is no bias', { bias: false }],
  ])('stay unchanged if %s', (_, changes) => {
    const graph = attentionOf(changes)
    expect(changed(graph).nodes).toEqual(graph.nodes)
    expect(changed(graph).stateGroups).toEqual(graph.stateGroups)
  })

  test('stay unchanged if every pair turns', () => {
    expect(staticBiasesOf(subtractStaticBias(attentionOf(), [Float64Array.of(1, 0.5, 0.1, 0.01)]))).toEqual(
      [],
    )
  })

  test('are planned for int8 keys only, and mark their state', () => {
    const planOf = (kvCache?: KvFormat) =>
      compile(attentionOf(), {
        tokens: 4,
        logitRows: 4,
        encodingOf: () => 'f32' as const,
        frequencies: [FREQUENCIES],
        ...(kvCache && { kvCache }),
      })
    const marks = [undefined, { k: 'f32', v: 'int8' }, { k: 'int8', v: 'f32' }].map((format) => {
      const { ops, stateGroups } = planOf(format as KvFormat | undefined)
      const { fields } = ops.find(({ name }) => name === 'rope_kv')!
      return [fields.k_bias === 0, stateGroups[0]!.lessBias]
    })
    expect(marks).toEqual([
      [true, undefined],
      [true, undefined],
      [false, true],
    ])
  })

  test('are split along with the heads of a shard', () => {
    const shares = [1, 1]
    const parts = shares.map((_, shard) =>
      staticBiasesOf(changed(shardGraph(attentionOf(), { shares, shard, encodingOf: () => 'f32' }))),
    )
    const rows = parts.map(([found]) => found?.bias.parts[0]?.rows)
    expect(rows).toEqual([
      { whole: 16, runs: [{ first: 0, count: 8 }] },
      { whole: 16, runs: [{ first: 8, count: 8 }] },
    ])
  })
})
