// Tests passes. In: random graphs, encodings and tokens. Out: the same logits before and after, with less
// work.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Encoding } from '../../abi/encodings.ts'
import { graphBuilder, matrix, vector } from '../builder.ts'
import { checkShapes, optimize } from '../compile-graph.ts'
import type { Value } from '../ir.ts'
import type { Graph } from '../nodes.ts'
import { interpret } from '../testing/interpret.ts'
import { frequenciesOf, HEAD_DIM, machineOf, randomGraph, VOCAB } from '../testing/models.ts'
import { fuseGates, fuseResiduals } from './fuse.ts'
import { quantizeActivations } from './quantize-activations.ts'
import { type EncodingOf, splitMixed } from './split.ts'

const ENCODINGS: readonly Encoding[] = ['f32', 'f16', 'w8_g32', 'w4_g32', 'w4m_g32', 'w4_channel']

const choices = fc.array(fc.nat(1000), { maxLength: 12 })

/** Any encoding for any weight; the same name always has the same encoding. */
const encodings: fc.Arbitrary<EncodingOf> = fc
  .array(fc.constantFrom(...ENCODINGS), { minLength: 7, maxLength: 7 })
  .map((list) => (name) => {
    const sum = [...name].reduce((total, letter) => total + letter.charCodeAt(0), 0)
    return list[sum % list.length] as Encoding
  })

/** A prefill of four tokens, then two more tokens. */
function logitsOf(graph: Graph, encodingOf: EncodingOf): number[][] {
  const machine = machineOf(encodingOf, [frequenciesOf(HEAD_DIM)])
  const prefill = interpret(graph, machine, { ids: [1, 2, 30, VOCAB - 1], position: 0, wanted: [3, 1] })
  const decode = interpret(graph, machine, { ids: [7, 8], position: 4, wanted: [0, 1] })
  return [...prefill, ...decode].map((row) => [...row])
}

const PASSES: Readonly<Record<string, (graph: Graph, encodingOf: EncodingOf) => Graph>> = {
  splitMixed,
  fuseResiduals: (graph) => fuseResiduals(graph),
  quantizeActivations: (graph, encodingOf) => quantizeActivations(splitMixed(graph, encodingOf), encodingOf),
  fuseGates: (graph, encodingOf) =>
    fuseGates(quantizeActivations(splitMixed(graph, encodingOf), encodingOf), encodingOf),
  'all of them': optimize,
}

describe.each(Object.entries(PASSES))('%s', (_, pass) => {
  test('leaves every logit unchanged', () => {
    fc.assert(
      fc.property(choices, encodings, (list, encodingOf) => {
        const graph = randomGraph(list)
        const changed = pass(graph, encodingOf)
        checkShapes(changed)
        expect(logitsOf(changed, encodingOf)).toEqual(logitsOf(graph, encodingOf))
      }),
      { numRuns: 60 },
    )
  })
})

const ops = (graph: Graph) => graph.nodes.map(({ op }) => op)

/** An attention block and a sum, each two groups wide. */
function block(headDim: number): Graph {
  const b = graphBuilder()
  const x = b.embed('embed', matrix(64, { embed: VOCAB }))
  const weight = matrix(64, { q: 64, k: headDim, v: headDim })
  const qkv = b.linear('qkv', b.rmsnorm('norm', x, vector({ norm: 64 }), 1e-5), weight)
  const attention = { layer: 0, heads: 64 / headDim, kvHeads: 1, headDim, window: 0 }
  const rope = { table: 0, dims: headDim, pairing: 'halves' } as const
  const attended = b.attend('attn', b.parts(qkv, weight), attention, rope)
  const sum = b.add('sum', x, b.linear('o', attended, matrix(64, { o: 64 })))
  const last = b.rmsnorm('last', b.takeRows('wanted', sum), vector({ last: 64 }), 1e-5)
  return b.finish(b.linear('logits', last, matrix(64, { output: VOCAB })))
}

describe('splitMixed', () => {
  test('keeps neighbours with the same encoding merged and splits where the encoding changes', () => {
    const split = splitMixed(block(32), (name) => (name === 'v' ? 'w8_g32' : 'w4_g32'))
    const linears = split.nodes.filter((node) => node.op === 'linear')
    expect(linears.map(({ weight }) => weight.parts.map(({ name }) => name))).toEqual([
      ['q', 'k'],
      ['v'],
      ['o'],
      ['output'],
    ])
    expect(ops(split).filter((op) => op === 'slice')).toHaveLength(2)
  })
})

describe('fuseResiduals', () => {
  test('leaves no separate add in a residual stream', () => {
    expect(ops(fuseResiduals(block(32)))).not.toContain('add')
  })
  test('keeps the add if the residual is read again later', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(8, { embed: VOCAB }))
    const product = b.linear('o', b.rmsnorm('norm', x, vector({ norm: 8 }), 1e-5), matrix(8, { o: 8 }))
    const sum = b.add('sum', b.add('sum', x, product), b.rmsnorm('again', x, vector({ norm: 8 }), 1e-5))
    expect(ops(fuseResiduals(b.finish(sum))).filter((op) => op === 'add')).toHaveLength(2)
  })
  test('keeps the add if the product is computed from the residual itself', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(8, { embed: VOCAB }))
    const graph = b.finish(b.add('sum', x, b.linear('o', x, matrix(8, { o: 8 }))))
    expect(ops(fuseResiduals(graph))).toContain('add')
  })
  test('keeps the add if the residual is a slice of a wider value', () => {
    const b = graphBuilder()
    const weight = matrix(8, { left: 8, right: 8 })
    const [left, right] = b.parts(b.linear('both', b.embed('e', matrix(8, { e: VOCAB })), weight), weight)
    const product = b.linear('o', right as Value, matrix(8, { o: 8 }))
    expect(ops(fuseResiduals(b.finish(b.add('sum', left as Value, product))))).toContain('add')
  })
  test('keeps the add if the residual is read between the product and the sum', () => {
    const b = graphBuilder()
    const x = b.embed('embed', matrix(8, { embed: VOCAB }))
    const product = b.linear('o', b.rmsnorm('norm', x, vector({ norm: 8 }), 1e-5), matrix(8, { o: 8 }))
    const other = b.rmsnorm('other', x, vector({ norm: 8 }), 1e-5)
    const graph = b.finish(b.add('sum', b.add('first', x, product), other))
    expect(ops(fuseResiduals(graph)).filter((op) => op === 'add')).toHaveLength(2)
  })
})

describe('quantizeActivations', () => {
  const w4: EncodingOf = () => 'w4_g32'

  test('lets norms and attention write the a8 rows, and drops f32 rows that nobody reads', () => {
    const { nodes } = quantizeActivations(block(32), w4)
    expect(nodes.map(({ op }) => op)).not.toContain('quantize')
    const makers = nodes.filter((node) => node.op === 'rmsnorm' || node.op === 'attention')
    expect(makers.map(({ output, quantized }) => [output, quantized?.form])).toEqual([
      [undefined, 'a8'],
      [undefined, 'a8'],
      [undefined, 'a8'],
    ])
  })
  test('quantises whole rows in a separate op, once for all readers', () => {
    const { nodes } = optimize(block(32), (name) => (name === 'k' ? 'w4_g32' : 'w4_channel'))
    expect(nodes.flatMap((node) => (node.op === 'quantize' ? [[node.input.label, node.whole]] : []))).toEqual(
      [
        ['norm', true],
        ['attn', true],
        ['last', true],
      ],
    )
    const norm = nodes.find(({ op }) => op === 'rmsnorm')
    // The norm itself quantises `k` in groups.
    expect(norm?.op === 'rmsnorm' && [norm.output?.form, norm.quantized?.form]).toEqual(['f32', 'a8'])
  })
  test('quantises in a separate op if a group would span two heads', () => {
    expect(ops(quantizeActivations(block(16), w4)).filter((op) => op === 'quantize')).toHaveLength(1)
  })
  test('produces both forms if both are read', () => {
    const b = graphBuilder()
    const normed = b.rmsnorm('norm', b.embed('e', matrix(32, { e: VOCAB })), vector({ norm: 32 }), 1e-5)
    const graph = b.finish(b.add('sum', b.linear('o', normed, matrix(32, { o: 32 })), normed))
    const norm = quantizeActivations(graph, w4).nodes.find((node) => node.op === 'rmsnorm')
    expect([norm?.output?.form, norm?.quantized?.form]).toEqual(['f32', 'a8'])
  })
  test.each([
    ['w4_g32', ['rmsnorm', 'linear', 'route', 'gather', 'linearExperts'], 'a8'],
    ['w4_channel', ['rmsnorm', 'linear', 'route', 'gather', 'quantize', 'linearExperts'], 'f32'],
  ] as const)(
    'quantises rows before they are copied to their experts, in groups: %s',
    (encoding, ends, form) => {
      const b = graphBuilder()
      const normed = b.rmsnorm('norm', b.embed('e', matrix(64, { e: VOCAB })), vector({ norm: 64 }), 1e-5)
      const router = b.linear('router', normed, matrix(64, { router: 2 }))
      const choice = { experts: 2, used: 1, normalize: false }
      const y = b.routed('mlp', normed, router, choice, (rows, linear) =>
        linear('down', rows, matrix(64, { 'experts.0': 64, 'experts.1': 64 })),
      )
      const { nodes } = optimize(b.finish(y), (name) => (name.startsWith('experts') ? encoding : 'f32'))
      expect(nodes.map(({ op }) => op)).toEqual(['embed', ...ends, 'combine'])
      const gather = nodes.find((node) => node.op === 'gather')
      expect([gather?.input.form, gather?.output.form]).toEqual([form, form])
    },
  )
  test('changes nothing if every weight is a float', () => {
    const graph = block(32)
    expect(quantizeActivations(graph, () => 'f16')).toEqual(graph)
  })
})

describe('fuseGates', () => {
  const w4: EncodingOf = () => 'w4_g32'

  /** A gated block. `also`: adds further readers of its values. */
  function gatedBlock(also: (parts: Value[], act: Value) => Value = (_, act) => act): Graph {
    const b = graphBuilder()
    const up = 40
    const weight = matrix(64, { gate: up, up })
    const parts = b.parts(b.linear('inner', b.embed('e', matrix(64, { e: VOCAB })), weight), weight)
    const act = b.swiglu('act', parts)
    const product = b.linear('down', act, matrix(up, { down: up }))
    const other = also(parts, act)
    return b.finish(other === act ? product : b.add('sum', product, other))
  }
  const fuse = (graph: Graph, encodingOf: EncodingOf) =>
    ops(fuseGates(quantizeActivations(graph, encodingOf), encodingOf))

  test('fuses a linear, its parts and their gate into one node', () => {
    expect(fuse(gatedBlock(), w4)).toEqual(['embed', 'quantize', 'linearSwiglu', 'linear'])
  })
  test('leaves float linears unchanged', () => {
    expect(fuse(gatedBlock(), () => 'f16')).toContain('swiglu')
  })
  test('keeps the gate if a float linear reads it', () => {
    expect(fuse(gatedBlock(), (name) => (name === 'down' ? 'f16' : 'w4_g32'))).toContain('swiglu')
  })
  test('keeps the gate if its f32 rows or a part of the product are also read', () => {
    expect(
      fuse(
        gatedBlock((parts) => parts[0] as Value),
        w4,
      ),
    ).toContain('swiglu')
    const b = graphBuilder()
    const weight = matrix(32, { gate: 32, up: 32 })
    const act = b.swiglu(
      'act',
      b.parts(b.linear('inner', b.embed('e', matrix(32, { e: VOCAB })), weight), weight),
    )
    const graph = b.finish(b.add('sum', b.linear('down', act, matrix(32, { down: 32 })), act))
    expect(fuse(graph, w4)).toContain('swiglu')
  })
  test('keeps a gate whose sides are in the opposite order', () => {
    const b = graphBuilder()
    const weight = matrix(32, { up: 32, gate: 32 })
    const [up, gate] = b.parts(b.linear('inner', b.embed('e', matrix(32, { e: VOCAB })), weight), weight)
    const act = b.swiglu('act', [gate as Value, up as Value])
    expect(fuse(b.finish(b.linear('down', act, matrix(32, { down: 32 }))), w4)).toContain('swiglu')
  })
})

describe('shapes', () => {
  const b = graphBuilder()
  const x = b.embed('embed', matrix(8, { embed: VOCAB }))

  test('name both shapes if they do not match', () => {
    expect(() => b.linear('o', x, matrix(12, { o: 8 }))).toThrow(/embed \[tokens, 8\] meets o: 12/)
    expect(() => b.rmsnorm('n', x, vector({ n: 9 }), 1e-5)).toThrow(/embed \[tokens, 8\] meets n: 9/)
    const wide = b.embed('wide', matrix(16, { wide: VOCAB }))
    expect(() => b.add('sum', x, wide)).toThrow(/embed \[tokens, 8\] meets wide \[tokens, 16\]/)
  })
  test('reject a value that is read before it is produced', () => {
    const graph = block(32)
    const [first, ...rest] = graph.nodes
    expect(() => checkShapes({ ...graph, nodes: first === undefined ? [] : [...rest, first] })).toThrow(
      /before it is produced/,
    )
  })
  test('reject a graph whose output differs in shape from its node', () => {
    const graph = block(32)
    const nodes = graph.nodes.map((node) =>
      node.op === 'embed' ? { ...node, table: { ...node.table, k: 60 } } : node,
    )
    expect(() => checkShapes({ ...graph, nodes })).toThrow(/embed \[tokens, 64\] is produced by embed as/)
  })
})
