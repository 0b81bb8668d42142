// Tests programs. In: an encoder exported by torch, and small graphs. Out: whether layouts need no copies,
// groups are as large as allowed, values share memory, and no step reaches outside its values.
import { expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { tensorOf } from '../../onnx/ir/tensor.ts'
import { readModel } from '../../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../../onnx/testing/node-writer.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'
import { CompiledGraph, programFor } from '../compiled-graph.ts'
import type { Part, Stage } from '../stages.ts'
import { randomGraph } from '../testing/random-graph.ts'
import { checkCall } from './check.ts'
import { printProgram } from './print.ts'
import { reportOf } from './report.ts'
import { emitted } from './step.ts'

const SMALL = { layers: 2, hidden: 32, heads: 4, intermediate: 64, vocabulary: 50, positions: 64 }

async function programOfBert(batch: number, tokens: number, leftOut: readonly (Stage | Part)[] = []) {
  const { graph } = await readModel(bufferSource('bert.onnx', bertBytes(SMALL)))
  const shapes = ['input_ids', 'attention_mask', 'token_type_ids'].map(
    (name) => [name, [batch, tokens]] as const,
  )
  return programFor(graph, new Map(shapes), 'f32', new Set(leftOut)).program
}

test('no layout change of an encoder is a copy, and its norms, softmax and sums are in few groups', async () => {
  const program = await programOfBert(2, 5)
  const report = reportOf(program)
  expect(report.viewNodes).toBeGreaterThan(15)
  expect(report.copiedBytes).toBe(0)
  // Embeddings, mask, and per layer: three products, scores, softmax, context, output, norm, up, down, norm.
  expect(program.steps).toHaveLength(2 + 11 * SMALL.layers)
  expect(report.movedBytes).toBeLessThan(report.unfusedBytes / 2)
})

test('a disabled stage does not run', async () => {
  const all = await programOfBert(2, 5)
  const without = (stage: Stage) => programOfBert(2, 5, [stage])
  const isPacked = ({ steps }: typeof all) =>
    emitted(steps).some(({ call }) => call.kernel.product?.b === 'packed')
  expect(reportOf(await without('passes')).loops).toBeGreaterThan(reportOf(all).loops)
  expect(reportOf(await without('views')).copiedBytes).toBeGreaterThan(0)
  expect(reportOf(await without('orders')).copiedBytes).toBeGreaterThan(0)
  const alone = await without('groups')
  expect(reportOf(alone).groups).toBe(reportOf(alone).loops)
  expect(reportOf(alone).movedBytes).toBe(reportOf(alone).unfusedBytes)
  expect([isPacked(all), isPacked(await without('panels'))]).toEqual([true, false])
  expect((await without('places')).arenaBytes).toBeGreaterThan(reportOf(all).valueBytes)
})

test('one emission serves every length and every layer', async () => {
  const keysOf = async (batch: number, tokens: number) => {
    const { steps } = await programOfBert(batch, tokens)
    return new Set(emitted(steps).map(({ key }) => key))
  }
  const keys = await keysOf(2, 5)
  expect(keys.size).toBeLessThanOrEqual(10)
  expect(await keysOf(2, 17)).toEqual(keys)
})

test('without a mapping type, its loops are functions of their own', async () => {
  const all = await programOfBert(1, 16)
  for (const mapping of ['one-to-one', 'many-to-many'] as const) {
    const report = reportOf(await programOfBert(1, 16, [mapping]))
    expect(report.loops, mapping).toBe(reportOf(all).loops)
    expect(report.groups, mapping).toBeGreaterThan(reportOf(all).groups)
    expect(report.movedBytes, mapping).toBeGreaterThan(reportOf(all).movedBytes)
  }
})

test('without folding, floats that depend on constants are computed in each run', () => {
  const node = (op: string, inputs: readonly string[]): Node => ({
    ...{ name: op, op, domain: '', version: 20, inputs, outputs: [op], attributes: new Map() },
  })
  const graph = {
    name: 'folding',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [100] } }] as const,
    outputs: ['Add'],
    constants: new Map([['c', tensorOf('f32', [100], new Float32Array(100).fill(2))]]),
    nodes: [node('Sqrt', ['c']), node('Add', ['x', 'Sqrt'])],
  }
  const loopsOf = (leftOut: readonly Part[]) =>
    reportOf(programFor(graph, new Map([['x', [100]]]), 'f32', new Set(leftOut)).program).loops
  expect([loopsOf([]), loopsOf(['folding'])]).toEqual([1, 2])
})

test('values share memory', async () => {
  const program = await programOfBert(1, 16)
  expect(program.arenaBytes).toBeLessThan(reportOf(program).valueBytes / 3)
})

test('only the input of a chain of convolutions is converted, and sums of two layouts are counted', async () => {
  const conversionsOf = async (outputOf: (g: NodeWriter, x: string) => string) => {
    const g = new NodeWriter()
    const y = outputOf(g, 'x')
    const value = (name: string) => ({ name, type: TYPE.f32, dims: [1, 8, 8, 8] })
    const bytes = modelBytes({
      nodes: g.nodes,
      constants: g.constants,
      inputs: [value('x')],
      outputs: [value(y)],
    })
    const { graph } = await readModel(bufferSource('y.onnx', bytes))
    const { program } = programFor(graph, new Map([['x', [1, 8, 8, 8]]]))
    const { alone, fused } = reportOf(program).conversions
    return [alone.length, fused.length]
  }
  const conv = (g: NodeWriter, x: string) =>
    g.op('Relu', [
      g.op('Conv', [x, g.floats(new Float32Array(8 * 8 * 9).fill(0.1), [8, 8, 3, 3])], {
        pads: { ints: [1, 1, 1, 1] },
      }),
    ])
  const turned = (g: NodeWriter, x: string) => g.op('Transpose', [x], { perm: { ints: [0, 2, 3, 1] } })
  // The output is converted back for the caller.
  expect(await conversionsOf((g, x) => conv(g, conv(g, conv(g, x))))).toEqual([2, 0])
  expect(await conversionsOf((g, x) => g.op('Add', [x, turned(g, x)]))).toEqual([0, 1])
  expect(await conversionsOf((g, x) => g.op('Add', [x, x]))).toEqual([0, 0])
})

test('a step that would reach outside a value is rejected', () => {
  for (let index = 0; index < 20; index++) {
    const { graph, feeds } = randomGraph(3, index)
    const { program } = programFor(graph, new Map([...feeds].map(([name, { dims }]) => [name, dims])))
    for (const { call, nodes } of emitted(program.steps)) {
      if (call.inner === 0 || call.outer.includes(0) || call.product !== undefined) continue
      const longer = { ...call, inner: call.inner + 10_000 }
      const isMoving = call.streams.some(({ at, inner }) => 'value' in at && inner !== 0)
      if (isMoving) expect(() => checkCall(longer, nodes)).toThrow('reaches elements')
    }
  }
})

test('a node that is not compiled is rejected, naming it', () => {
  const node: Node = {
    name: 'the places',
    op: 'NonZero',
    domain: '',
    version: 17,
    inputs: ['x'],
    outputs: ['y'],
    attributes: new Map(),
  }
  const graph = {
    name: 'places',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [8] } }] as const,
    outputs: ['y'],
    constants: new Map(),
    nodes: [node],
  }
  expect(() => programFor(graph, new Map([['x', [8]]]))).toThrow(
    'the places (NonZero): its sizes depend on computed values; set',
  )
})

test('positions that depend only on sizes are constants', async () => {
  const g = new NodeWriter()
  const ones = g.op('ConstantOfShape', [g.op('Shape', ['x'])], {
    value: { name: '', type: TYPE.f32, dims: [1], raw: new Uint8Array(new Float32Array([1]).buffer) },
  })
  const places = g.op('NonZero', [ones])
  const y = g.op('Add', ['x', g.op('Cast', [g.op('Squeeze', [places])], { to: TYPE.f32 })])
  const value = (name: string) => ({ name, type: TYPE.f32, dims: ['size'] })
  const bytes = modelBytes({
    nodes: g.nodes,
    constants: g.constants,
    inputs: [value('x')],
    outputs: [value(y)],
  })
  const { graph } = await readModel(bufferSource('places.onnx', bytes))
  const x = tensorOf('f32', [4], [1, 2, 3, 4])
  const made = await new CompiledGraph(graph, { fuse: true }).run(new Map([['x', x]]))
  expect([...made.get(y)!.data]).toEqual([1, 3, 5, 7])
})

test('a program is printed with its steps, their sizes and bytes, then the totals', async () => {
  const g = new NodeWriter()
  const y = g.op('Softmax', [g.op('MatMul', ['x', g.floats(new Float32Array(32 * 8), [32, 8])])])
  const bytes = modelBytes({
    nodes: g.nodes,
    constants: g.constants,
    inputs: [{ name: 'x', type: TYPE.f32, dims: [5, 32] }],
    outputs: [{ name: y, type: TYPE.f32, dims: [5, 8] }],
  })
  const { graph } = await readModel(bufferSource('y.onnx', bytes))
  expect(printProgram(programFor(graph, new Map([['x', [5, 32]]])).program)).toBe(
    `#  step      sizes       B       units    reads  writes  nodes
0  product   [5, 32, 8]  packed      1  1 664 B   160 B  MatMul_0
1  3 passes  [5, 8]                  5    160 B   160 B  Softmax_1

loops       5 in 2 groups, served by 2 functions
views       0 nodes would move 0 B as copies, but move 0 B when compiled
layouts     0 steps only convert a layout; 0 convert one as they compute
values      unfused loops would read and write 2 864 B; the groups move 2 144 B
arena peak  960 B; all values together take 960 B`,
  )
})
