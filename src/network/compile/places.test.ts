// Tests positions. In: scatters with equal indices, and top-k of rows with equal numbers. Out: whether
// compiled graphs match the evaluator on one thread and on two; errors.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import type { Attribute, Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { int, text } from './testing/graph-maker.ts'

const OPSET = 23
const host = nodeHost()

interface Made {
  readonly op: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, Attribute>>
}

function graphOf(
  nodes: readonly Made[],
  feeds: ReadonlyMap<string, Tensor>,
  constants: Graph['constants'],
): Graph {
  return {
    name: 'places',
    inputs: [...feeds].map(([name, { dtype, dims }]) => ({ name, type: { dtype, dims } })),
    outputs: nodes.flatMap(({ outputs }) => outputs),
    constants,
    nodes: nodes.map(
      ({ op, inputs, outputs, attributes = {} }, at): Node => ({
        ...{ name: `${op} ${at}`, op, domain: '', version: OPSET, inputs, outputs },
        attributes: new Map(Object.entries(attributes)),
      }),
    ),
  }
}

/** Expects the same results from the evaluator, one thread and two threads. */
async function expectSame(
  nodes: readonly Made[],
  feeds: ReadonlyMap<string, Tensor>,
  constants: Graph['constants'] = new Map(),
): Promise<void> {
  const graph = graphOf(nodes, feeds, constants)
  const wanted = evaluate(graph, feeds)
  for (const threads of [1, 2]) {
    const compiled = new CompiledGraph(graph, {
      fuse: true,
      loadKernels: () => host.loadModule('relaxed', threads > 1 ? 'shared' : 'plain'),
      workers: threads > 1 ? { threads, start: host.startWorker! } : undefined,
    })
    expect(await compiled.run(feeds)).toEqual(wanted)
    compiled.dispose()
  }
}

const floats = (dims: readonly number[], at: (index: number) => number): Tensor =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, index) => at(index)),
  )
const indices = (dims: readonly number[], values: readonly number[]): Tensor =>
  tensorOf('i64', dims, values.map(BigInt))

test('the last of several updates to a position wins, on any number of threads', async () => {
  const rows = 400
  const at = Array.from({ length: rows }, (_, row) => (row * 7) % 5)
  const feeds = new Map([
    ['data', floats([6, 33], (each) => each)],
    ['at', indices([rows, 1], at)],
    ['updates', floats([rows, 33], (each) => -each)],
  ])
  const node = { op: 'ScatterND', inputs: ['data', 'at', 'updates'] }
  await expectSame([{ ...node, outputs: ['y'] }], feeds)
  await expectSame([{ ...node, outputs: ['y'], attributes: { reduction: text('add') } }], feeds)
})

test("an index shared by a row's elements writes all of them to one position", async () => {
  const feeds = new Map([
    ['data', floats([3, 5], (each) => each)],
    ['at', indices([3, 1], [4, -5, 1])],
    ['updates', floats([3, 5], (each) => 10 + each)],
  ])
  const constants = new Map([['shape', indices([2], [3, 5])]])
  const scatters = ['none', 'add', 'mul', 'min', 'max'].map(
    (reduction): Made => ({
      op: 'ScatterElements',
      inputs: ['data', 'all', 'updates'],
      outputs: [reduction],
      attributes: { axis: int(1), reduction: text(reduction) },
    }),
  )
  const expand = { op: 'Expand', inputs: ['at', 'shape'], outputs: ['all'] }
  await expectSame([expand, ...scatters], feeds, constants)
})

test('consecutive scatters whose data other nodes also read give the right results', async () => {
  const feeds = new Map([
    ['x', floats([4, 8], (each) => each / 3)],
    ['at', indices([2, 1], [3, 0])],
    ['updates', floats([2, 8], (each) => -each)],
  ])
  await expectSame(
    [
      { op: 'Neg', inputs: ['x'], outputs: ['data'] },
      { op: 'ScatterND', inputs: ['data', 'at', 'updates'], outputs: ['first'] },
      { op: 'Trilu', inputs: ['first'], outputs: ['triangle'] },
      {
        op: 'ScatterND',
        inputs: ['first', 'at', 'updates'],
        outputs: ['second'],
        attributes: { reduction: text('add') },
      },
      { op: 'Add', inputs: ['first', 'second'], outputs: ['sum'] },
      { op: 'Add', inputs: ['data', 'second'], outputs: ['other'] },
    ],
    feeds,
  )
})

test.each([
  [2, 0],
  [2, -3],
  [-4, 1],
])('an index outside the data causes a format error (%d, %d)', async (row, column) => {
  const feeds = new Map([
    ['data', floats([2, 2], (each) => each)],
    ['at', indices([1, 2], [row, column])],
    ['updates', floats([1], () => 1)],
  ])
  const graph = graphOf(
    [{ op: 'ScatterND', inputs: ['data', 'at', 'updates'], outputs: ['y'] }],
    feeds,
    new Map(),
  )
  await expect(new CompiledGraph(graph, { fuse: true }).run(feeds)).rejects.toMatchObject({ code: 'format' })
})

test('equal numbers keep their order, both zeros are equal, and NaN is the largest', async () => {
  const special = [1, Number.NaN, -0, 0, -Infinity, Infinity, 1, -1, -0, Number.NaN, 1e-45, -1e-45]
  const feeds = new Map([['x', floats([2, 12], (each) => special[(each * 5) % 12]!)]])
  const counts = [0, 1, 5, 12]
  const nodes = counts.flatMap((k) =>
    [0, 1].map(
      (largest): Made => ({
        op: 'TopK',
        inputs: ['x', `k ${k}`],
        outputs: [`most ${k} ${largest}`, `at ${k} ${largest}`],
        attributes: { largest: int(largest) },
      }),
    ),
  )
  await expectSame(nodes, feeds, new Map(counts.map((k) => [`k ${k}`, indices([1], [k])])))
})

test('top-k works along any axis, for floats and integers, for large rows', async () => {
  const value = (each: number): number => Math.round(1000 * Math.sin(each * each)) / 10
  const feeds = new Map([
    ['x', floats([3, 700, 4], value)],
    [
      'n',
      indices(
        [3, 700, 4],
        Array.from({ length: 8400 }, (_, each) => Math.round(value(each))),
      ),
    ],
  ])
  const attributes = { axis: int(1), largest: int(0) }
  await expectSame(
    [
      { op: 'TopK', inputs: ['x', 'k'], outputs: ['least', 'least at'], attributes },
      { op: 'TopK', inputs: ['n', 'k'], outputs: ['first', 'first at'], attributes },
    ],
    feeds,
    new Map([['k', indices([1], [333])]]),
  )
})
