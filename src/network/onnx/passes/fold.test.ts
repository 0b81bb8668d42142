// Constant folding. In: nodes that read constants but cannot be computed, and sizes that depend on computed
// sizes. Out: the remaining graph, and the number of rounds.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../core/base/bytes.ts'
import { PASSES } from '../passes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes } from '../testing/write-model.ts'
import { foldConstants } from './fold.ts'
import { runPasses } from './pass.ts'

const F32 = 1
const I64 = 7
const list = (name: string, values: readonly bigint[]) => ({
  name,
  type: I64,
  dims: [values.length],
  raw: new Uint8Array(new BigInt64Array(values).buffer),
})

test('an index outside its table stays in the graph, and values that can be computed become constants', async () => {
  const bytes = modelBytes({
    nodes: [
      { op: 'Gather', inputs: ['left', 'right'], outputs: ['wrong'] },
      { op: 'Add', inputs: ['left', 'left'], outputs: ['known'] },
      { op: 'Add', inputs: ['known', 'wrong'], outputs: ['y'] },
    ],
    constants: [list('left', [1n]), list('right', [7n])],
    inputs: ['x'],
    outputs: ['y'],
  })
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const folded = foldConstants.run(graph)
  expect(folded.nodes.map(({ outputs }) => outputs[0])).toEqual(['wrong', 'y'])
  expect(folded.constants.get('known')).toMatchObject({ dims: [1] })
})

test('a range of floats becomes a constant, unless its step is 0', async () => {
  const scalar = (name: string, value: number) => ({
    name,
    type: F32,
    dims: [],
    raw: new Uint8Array(Float32Array.of(value).buffer),
  })
  const bytes = modelBytes({
    nodes: [
      { op: 'Range', inputs: ['zero', 'two', 'half'], outputs: ['up'] },
      { op: 'Range', inputs: ['two', 'zero', 'half'], outputs: ['none'] },
      { op: 'Range', inputs: ['zero', 'two', 'zero'], outputs: ['endless'] },
      { op: 'Concat', inputs: ['up', 'none', 'endless'], outputs: ['y'], attributes: { axis: 0 } },
    ],
    constants: [scalar('zero', 0), scalar('half', 0.75), scalar('two', 2)],
    inputs: ['x'],
    outputs: ['y'],
  })
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const { nodes, constants } = foldConstants.run(graph)
  expect(nodes.map(({ outputs }) => outputs[0])).toEqual(['endless', 'y'])
  expect(constants.get('up')).toMatchObject({ dims: [3], data: Float32Array.of(0, 0.75, 1.5) })
  expect(constants.get('none')).toMatchObject({ dims: [0] })
})

test('sizes that depend on other sizes, layer after layer, are known after one pass', async () => {
  const LAYERS = 12
  const layers = Array.from({ length: LAYERS }, (_, at) => [
    { op: 'Shape', inputs: [`x${at}`], outputs: [`shape${at}`] },
    // Inference does not track this value's elements, so it is computed from constants.
    { op: 'Mod', inputs: [`shape${at}`, 'large'], outputs: [`size${at}`] },
    { op: 'Reshape', inputs: [`x${at}`, `size${at}`], outputs: [`flat${at}`] },
    { op: 'Sqrt', inputs: [`flat${at}`], outputs: [`x${at + 1}`] },
  ])
  const bytes = modelBytes({
    nodes: layers.flat(),
    constants: [list('large', [1000n])],
    inputs: [{ name: 'x0', type: 1, dims: [2, 3] }],
    outputs: [`x${LAYERS}`],
  })
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const folded = foldConstants.run(graph)
  expect(folded.nodes.map(({ op }) => op)).toEqual(layers.flatMap(() => ['Reshape', 'Sqrt']))
  const { reports } = runPasses(graph, PASSES)
  expect(reports.filter(({ pass }) => pass === foldConstants.name)).toHaveLength(1)
})
