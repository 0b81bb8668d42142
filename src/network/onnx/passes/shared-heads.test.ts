// Heads that share keys and values. In: attention in primitive operators, as written by exporters. Out:
// whether values are unchanged, whether products read keys without repeating them, and which graphs are left
// alone.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import type { Attribute, Graph, Node } from '../ir/graph.ts'
import { countOf, tensorOf } from '../ir/tensor.ts'
import { runPasses } from './pass.ts'
import { removeDead } from './redundant.ts'
import { shareHeads } from './shared-heads.ts'

const BATCH = 2
const SHARED = 2
const EACH = 3
const ROWS = 4
const KEYS = 5
const WIDTH = 6
const HEADS = SHARED * EACH

const floats = (dims: readonly number[], seed = 1) =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => Math.sin(seed + at * at)),
  )
const list = (dims: readonly number[]) => tensorOf('i64', [dims.length], dims.map(BigInt))
const ints = (value: readonly number[]): Attribute => ({ kind: 'ints', value })

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, Attribute>> = {},
): Node => ({
  ...{ name: output, op, domain: '', version: 17, inputs, outputs: [output] },
  attributes: new Map(Object.entries(attributes)),
})

/** Keys or values [batch, shared, keys, width] for all heads, [batch, heads, keys, width]. */
const repeated = (name: string): readonly Node[] => [
  node('Reshape', [name, 'one each'], `${name} 1`),
  node('Expand', [`${name} 1`, 'all each'], `${name} 2`),
  node('Reshape', [`${name} 2`, 'heads'], `${name} 3`),
]

const CONSTANTS: Graph['constants'] = new Map([
  ['one each', list([BATCH, SHARED, 1, KEYS, WIDTH])],
  ['all each', list([BATCH, SHARED, EACH, KEYS, WIDTH])],
  ['heads', list([BATCH, HEADS, KEYS, WIDTH])],
  ['rows', list([BATCH, ROWS, HEADS * WIDTH])],
  ['scale', floats([], 2)],
  ['mask', floats([ROWS, KEYS], 3)],
  ['mask per text', floats([BATCH, 1, 1, KEYS], 4)],
  ['mask per head', floats([1, HEADS, ROWS, KEYS], 5)],
])

const attention = (masks: readonly string[], outputs = ['y']): Graph => ({
  name: 'attention',
  inputs: [
    { name: 'q', type: { dtype: 'f32', dims: [BATCH, HEADS, ROWS, WIDTH] } },
    ...['k', 'v'].map((name) => ({
      name,
      type: { dtype: 'f32', dims: [BATCH, SHARED, KEYS, WIDTH] } as const,
    })),
  ],
  outputs,
  constants: CONSTANTS,
  nodes: [
    ...repeated('k'),
    ...repeated('v'),
    node('Transpose', ['k 3'], 'columns', { perm: ints([0, 1, 3, 2]) }),
    node('MatMul', ['q', 'columns'], 'scores'),
    node('Mul', ['scores', 'scale'], 'masked 0'),
    ...masks.map((mask, at) => node('Add', [mask, `masked ${at}`], `masked ${at + 1}`)),
    node('Softmax', [`masked ${masks.length}`], 'shares', { axis: { kind: 'int', value: 3 } }),
    node('MatMul', ['shares', 'v 3'], 'made'),
    node('Transpose', ['made'], 'turned', { perm: ints([0, 2, 1, 3]) }),
    node('Reshape', ['turned', 'rows'], 'y'),
  ],
})

const feeds = new Map([
  ['q', floats([BATCH, HEADS, ROWS, WIDTH], 7)],
  ['k', floats([BATCH, SHARED, KEYS, WIDTH], 8)],
  ['v', floats([BATCH, SHARED, KEYS, WIDTH], 9)],
])
const shared = (graph: Graph): Graph => runPasses(graph, [shareHeads, removeDead]).graph

for (const masks of [[], ['mask'], ['mask per text', 'mask'], ['mask per head']]) {
  test(`keys of shared heads are not repeated, with ${masks.length === 0 ? 'no mask' : masks.join(' and ')}`, () => {
    const graph = attention(masks)
    const after = shared(graph)
    expect(evaluate(after, feeds).get('y')).toEqual(evaluate(graph, feeds).get('y'))
    const names = after.nodes.flatMap(({ outputs }) => outputs)
    expect(names).not.toContain('k 3')
    expect(names).not.toContain('v 3')
    // Nothing between the products is merged and then split again.
    expect(after.nodes.filter(({ op }) => op === 'Reshape').length).toBeLessThan(6 + masks.length)
    expect(runPasses(after, [shareHeads, removeDead]).graph).toBe(after)
  })
}

test('a value with other readers keeps its name and value', () => {
  const graph = attention(['mask'], ['y', 'k 3', 'scores'])
  const after = shared(graph)
  const [wanted, found] = [graph, after].map((each) => evaluate(each, feeds))
  for (const [name, tensor] of wanted!) expect(found!.get(name)).toEqual(tensor)
})

test('a graph is unchanged if no product reads repeated rows along its batch', () => {
  const { nodes, ...rest } = attention([])
  const ends = { ...rest, outputs: ['k 3'] }
  const cases: readonly Graph[] = [
    { ...ends, nodes: repeated('k') },
    // This repeats a product's rows, not its batch.
    {
      ...rest,
      constants: new Map([...CONSTANTS, ['heads', list([BATCH, SHARED, EACH * KEYS, WIDTH])]]),
      nodes: [...repeated('k'), node('MatMul', ['k 3', 'w'], 'y')],
      inputs: [...rest.inputs, { name: 'w', type: { dtype: 'f32', dims: [WIDTH, 2] } }],
    },
    // This repeats each key once.
    {
      ...rest,
      constants: new Map([...CONSTANTS, ['heads', list([BATCH, SHARED, KEYS, WIDTH])]]),
      nodes: [node('Expand', ['k', 'heads'], 'k 2'), node('MatMul', ['k 2', 'w'], 'y')],
      inputs: [...rest.inputs, { name: 'w', type: { dtype: 'f32', dims: [WIDTH, 2] } }],
    },
  ]
  for (const graph of cases) expect(shareHeads.run(graph)).toBe(graph)
})
