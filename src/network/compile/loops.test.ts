// Tests loops. In: graphs with Loop and Scan. Out: whether loops with a known step count match the evaluator,
// and whether other loops are rejected with a stated reason.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../onnx/testing/node-writer.ts'
import { modelBytes, type WrittenGraph } from '../onnx/testing/write-model.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { NOTHING, STAGES } from './stages.ts'

const f32 = (name: string, dims?: readonly (number | string)[]) => ({ name, type: TYPE.f32, dims })
const numbers = (dims: readonly number[]): Tensor =>
  tensorOf(
    'f32',
    dims,
    Array.from({ length: dims.reduce((count, size) => count * size, 1) }, (_, at) => Math.sin(at + 1)),
  )

async function graphOf(g: NodeWriter, rest: Pick<WrittenGraph, 'inputs' | 'outputs'>) {
  const bytes = modelBytes({ nodes: g.nodes, constants: g.constants, ...rest }, 18)
  return (await readModel(bufferSource('model.onnx', bytes))).graph
}

/**
 * state = tanh(state * i + x), which is also an output of each step; it reads `x` from the enclosing graph.
 */
function body(condition: 'kept' | 'computed' = 'kept'): WrittenGraph {
  const b = new NodeWriter('b_')
  const scaled = b.op('Mul', ['state', b.op('Cast', ['i'], { to: TYPE.f32 })])
  const next = b.op('Tanh', [b.op('Add', [scaled, 'x'])])
  const isSmall = b.op('Less', [b.op('ReduceSum', [next], { keepdims: 0 }), b.float(0.5)])
  const goes = condition === 'kept' ? b.op('Identity', ['goes']) : isSmall
  return {
    nodes: b.nodes,
    constants: b.constants,
    inputs: [
      { name: 'i', type: TYPE.i64, dims: [] },
      { name: 'goes', type: TYPE.bool, dims: [] },
      f32('state'),
    ],
    outputs: [{ name: goes, type: TYPE.bool }, f32(next), f32(next)],
  }
}

async function compare(
  graph: Awaited<ReturnType<typeof graphOf>>,
  feeds: ReadonlyMap<string, Tensor>,
): Promise<void> {
  const wanted = evaluate(graph, feeds)
  for (const leftOut of [NOTHING, new Set(STAGES)]) {
    const found = await new CompiledGraph(graph, { fuse: true, leftOut }).run(feeds)
    for (const [name, { dims, data }] of wanted) {
      expect(found.get(name)!.dims).toEqual(dims)
      for (const [at, value] of [...data].entries())
        expect(Math.abs(Number(found.get(name)!.data[at]) - Number(value))).toBeLessThan(1e-5)
    }
  }
}

test.each([1, 5])('a loop of %i steps is unrolled, with the outputs of each step', async (count) => {
  const g = new NodeWriter()
  g.node('Loop', [g.int(count), '', 'x'], ['last', 'all'], { body: body() })
  const graph = await graphOf(g, { inputs: [f32('x', ['rows', 3])], outputs: [f32('last'), f32('all')] })
  await compare(graph, new Map([['x', numbers([2, 3])]]))
})

test('a loop without steps returns its inputs', async () => {
  const g = new NodeWriter()
  const { outputs, ...rest } = body()
  g.node('Loop', [g.int(0), '', 'x'], ['last'], { body: { ...rest, outputs: outputs!.slice(0, 2) } })
  const graph = await graphOf(g, { inputs: [f32('x', [3])], outputs: [f32('last')] })
  await compare(graph, new Map([['x', numbers([3])]]))
})

test("a loop whose count is an input's size runs for every size", async () => {
  const g = new NodeWriter()
  const rows = g.op('Gather', [g.op('Shape', ['x']), g.int(0)])
  g.node('Loop', [rows, '', 'x'], ['last'], { body: body() })
  const graph = await graphOf(g, { inputs: [f32('x', ['rows', 2])], outputs: [f32('last')] })
  for (const size of [1, 3, 7]) await compare(graph, new Map([['x', numbers([size, 2])]]))
})

/** state = state * x[step] + 1; also outputs each step's state. */
function scanned(): WrittenGraph {
  const b = new NodeWriter('s_')
  const next = b.op('Add', [b.op('Mul', ['held', 'row']), b.float(1)])
  return {
    nodes: b.nodes,
    constants: b.constants,
    inputs: [f32('held'), f32('row')],
    outputs: [f32(next), f32(next)],
  }
}

test('a scan iterates over rows, even twice in one graph', async () => {
  const g = new NodeWriter()
  const attributes = { body: scanned(), num_scan_inputs: 1 }
  const start = g.floats([1, 2, 3])
  g.node('Scan', [start, 'x'], ['last', 'all'], attributes)
  g.node('Scan', ['last', 'all'], ['end', 'every'], attributes)
  const graph = await graphOf(g, { inputs: [f32('x', ['rows', 3])], outputs: [f32('end'), f32('every')] })
  for (const size of [1, 6]) await compare(graph, new Map([['x', numbers([size, 3])]]))
})

test('a scan may read and stack along any axis, and backwards', async () => {
  const g = new NodeWriter()
  const attributes = {
    body: scanned(),
    num_scan_inputs: 1,
    scan_input_axes: { ints: [-1] },
    scan_input_directions: { ints: [1] },
    scan_output_axes: { ints: [1] },
    scan_output_directions: { ints: [1] },
  }
  g.node('Scan', [g.floats([1, 2, 3]), 'x'], ['last', 'all'], attributes)
  const graph = await graphOf(g, { inputs: [f32('x', [3, 'steps'])], outputs: [f32('last'), f32('all')] })
  for (const size of [1, 4]) await compare(graph, new Map([['x', numbers([3, size])]]))
  const x = tensorOf('f32', [3, 2], [10, 1, 20, 2, 30, 3])
  const made = evaluate(graph, new Map([['x', x]]))
  // (1, 2, 3) * (1, 2, 3) + 1 comes first and is stacked last.
  expect(made.get('all')).toMatchObject({ dims: [3, 2], data: Float32Array.of(21, 2, 101, 5, 301, 10) })
})

test('a loop without steps has stacked outputs of no rows, in the shape that a step would give', async () => {
  const g = new NodeWriter()
  g.node('Loop', [g.int(0), '', 'x'], ['last', 'all'], { body: body() })
  const graph = await graphOf(g, { inputs: [f32('x', [2, 3])], outputs: [f32('last'), f32('all')] })
  const x = numbers([2, 3])
  const made = evaluate(graph, new Map([['x', x]]))
  expect(made.get('last')).toEqual(x)
  expect(made.get('all')!.dims).toEqual([0, 2, 3])
})

test('a nested loop is unrolled too', async () => {
  const inner = new NodeWriter('in_')
  const sum = inner.op('Add', ['part', 'outer'])
  const outer = new NodeWriter('out_')
  const steps = outer.int(3)
  const doubled = outer.op('Loop', [steps, '', 'outer'], {
    body: {
      nodes: inner.nodes,
      inputs: [
        { name: 'j', type: TYPE.i64, dims: [] },
        { name: 'on', type: TYPE.bool, dims: [] },
        f32('part'),
      ],
      outputs: [{ name: 'on', type: TYPE.bool }, f32(sum)],
    },
  })
  const g = new NodeWriter()
  g.node('Loop', [g.int(2), '', 'x'], ['y'], {
    body: {
      nodes: outer.nodes,
      constants: outer.constants,
      inputs: [
        { name: 'i', type: TYPE.i64, dims: [] },
        { name: 'goes', type: TYPE.bool, dims: [] },
        f32('outer'),
      ],
      outputs: [{ name: 'goes', type: TYPE.bool }, f32(doubled)],
    },
  })
  const graph = await graphOf(g, { inputs: [f32('x', [4])], outputs: [f32('y')] })
  await compare(graph, new Map([['x', numbers([4])]]))
})

test.each<[string, (g: NodeWriter) => void]>([
  [
    'whose condition is computed',
    (g) => g.node('Loop', [g.int(3), '', 'x'], ['y'], { body: body('computed') }),
  ],
  ['with too many steps', (g) => g.node('Loop', [g.ints([2 ** 50], []), '', 'x'], ['y'], { body: body() })],
  [
    'whose count is computed',
    (g) => {
      const count = g.op('Cast', [g.op('ReduceMax', ['x'], { keepdims: 0 })], { to: TYPE.i64 })
      g.node('Loop', [count, '', 'x'], ['y'], { body: body() })
    },
  ],
])('a loop %s is rejected by name', async (_, make) => {
  const g = new NodeWriter()
  make(g)
  const graph = await graphOf(g, { inputs: [f32('x', [2])], outputs: [f32('y')] })
  const run = new CompiledGraph(graph, { fuse: true }).run(new Map([['x', numbers([2])]]))
  await expect(run).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining('(Loop)') })
})
