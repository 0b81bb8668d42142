// Plans. In: an encoder as torch exports it, and small graphs. Out: whether layouts cost no copies, groups
// are as large as they may be, values share places, and no step reaches outside of its values.
import { expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { PlanBudget } from '../../onnx/graph-budget.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { tensorOf } from '../../onnx/ir/tensor.ts'
import { readModel } from '../../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../../onnx/testing/node-writer.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'
import { CompiledGraph, planGraph } from '../compiled-graph.ts'
import type { Stage } from '../stages.ts'
import { randomGraph } from '../testing/random-graph.ts'
import { checkCall } from './check.ts'
import { planMemory } from './memory.ts'
import { emitted } from './plan.ts'

const SMALL = { layers: 2, hidden: 32, heads: 4, intermediate: 64, vocabulary: 50, positions: 64 }

async function planOfBert(batch: number, tokens: number, leftOut: readonly Stage[] = []) {
  const { graph } = await readModel(bufferSource('bert.onnx', bertBytes(SMALL)))
  const shapes = ['input_ids', 'attention_mask', 'token_type_ids'].map(
    (name) => [name, [batch, tokens]] as const,
  )
  return planGraph(graph, new Map(shapes), 'f32', new Set(leftOut)).plan
}

test('no layout of an encoder is copied, and its norms, softmax and sums are in few groups', async () => {
  const { report, steps } = await planOfBert(2, 5)
  expect(report.viewNodes).toBeGreaterThan(15)
  expect(report.copiedBytes).toBe(0)
  // Embeddings, mask, and per layer: three products, scores, softmax, context, output, norm, up, down, norm.
  expect(steps).toHaveLength(2 + 11 * SMALL.layers)
  expect(report.movedBytes).toBeLessThan(report.unfusedBytes / 2)
})

test('a disabled stage is not run', async () => {
  const all = await planOfBert(2, 5)
  const without = (stage: Stage) => planOfBert(2, 5, [stage])
  const isPacked = ({ steps }: typeof all) =>
    emitted(steps).some(({ call }) => call.kernel.product?.b === 'packed')
  expect((await without('passes')).report.loops).toBeGreaterThan(all.report.loops)
  expect((await without('views')).report.copiedBytes).toBeGreaterThan(0)
  expect((await without('orders')).report.copiedBytes).toBeGreaterThan(0)
  const alone = await without('groups')
  expect(alone.report.groups).toBe(alone.report.loops)
  expect(alone.report.movedBytes).toBe(alone.report.unfusedBytes)
  expect([isPacked(all), isPacked(await without('panels'))]).toEqual([true, false])
  expect((await without('places')).arenaBytes).toBeGreaterThan(all.report.valueBytes)
})

test('one emission serves every length and every layer', async () => {
  const keysOf = async (batch: number, tokens: number) => {
    const { steps } = await planOfBert(batch, tokens)
    return new Set(emitted(steps).map(({ key }) => key))
  }
  const keys = await keysOf(2, 5)
  expect(keys.size).toBeLessThanOrEqual(10)
  expect(await keysOf(2, 17)).toEqual(keys)
})

test('values share places, but never while both are needed', async () => {
  const { report, arenaBytes } = await planOfBert(1, 16)
  expect(arenaBytes).toBeLessThan(report.valueBytes / 3)
  const intervals = Array.from({ length: 40 }, (_, at) => ({
    bytes: 100 + ((at * 37) % 900),
    from: at,
    to: at + ((at * 7) % 5),
  }))
  const { offsets, bytes } = planMemory(intervals, new PlanBudget())
  for (const [at, { from, to, bytes: size }] of intervals.entries()) {
    expect(offsets[at]! + size).toBeLessThanOrEqual(bytes)
    for (const [other, each] of intervals.entries()) {
      const isApart = offsets[at]! + size <= offsets[other]! || offsets[other]! + each.bytes <= offsets[at]!
      expect(other === at || each.from > to || from > each.to || isApart).toBe(true)
    }
  }
})

test('a step that would reach outside of a value is rejected', () => {
  for (let index = 0; index < 20; index++) {
    const { graph, feeds } = randomGraph(3, index)
    const { plan } = planGraph(graph, new Map([...feeds].map(([name, { dims }]) => [name, dims])))
    for (const { call, nodes } of emitted(plan.steps)) {
      if (call.inner === 0 || call.outer.includes(0) || call.product !== undefined) continue
      const longer = { ...call, inner: call.inner + 10_000 }
      const isMoving = call.streams.some(({ at, inner }) => 'value' in at && inner !== 0)
      if (isMoving) expect(() => checkCall(longer, nodes)).toThrow('reaches elements')
    }
  }
})

test('a node that is not compiled is rejected by its name', () => {
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
  expect(() => planGraph(graph, new Map([['x', [8]]]))).toThrow(
    'the places (NonZero): its sizes depend on what is computed; set',
  )
})

test('positions that follow from the sizes are constants', async () => {
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
