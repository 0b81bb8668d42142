// Constant folding. In: nodes of constants that cannot be computed. Out: whether they stay in the graph.
import { expect, test } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes } from '../testing/write-model.ts'
import { foldConstants } from './fold.ts'

const I64 = 7
const list = (name: string, values: readonly bigint[]) => ({
  name,
  type: I64,
  dims: [values.length],
  raw: new Uint8Array(new BigInt64Array(values).buffer),
})

test('an index outside of its table stays in the graph, and what can be computed is a constant', async () => {
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
