// Constant folding. In: nodes that read constants but cannot be computed, and sizes that depend on computed
// sizes. Out: the remaining graph, and the number of rounds.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../core/base/bytes.ts'
import { PASSES } from '../passes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes } from '../testing/write-model.ts'
import { foldConstants } from './fold.ts'
import { runPasses } from './pass.ts'

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
