// Tests padding of reduced values. In: results of reductions, padded along the reduced axis to its old size.
// Out: whether each padded element has the result of its row.
import { expect, test } from 'vitest'
import { bufferSource } from '../../core/base/bytes.ts'
import { tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../onnx/testing/node-writer.ts'
import { modelBytes } from '../onnx/testing/write-model.ts'
import { CompiledGraph } from './compiled-graph.ts'

test.each([1, 2, 5])('padding of %i repeats the mean of its row', async (border) => {
  const g = new NodeWriter()
  const mean = g.op('ReduceMean', ['x', g.ints([1])])
  g.node('Pad', [mean, g.ints([0, 0, 0, border])], ['y'], { mode: { text: 'edge' } })
  const bytes = modelBytes(
    {
      nodes: g.nodes,
      constants: g.constants,
      inputs: [{ name: 'x', type: TYPE.f32, dims: [3, border] }],
      outputs: [{ name: 'y', type: TYPE.f32 }],
    },
    18,
  )
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const rows = [4, -8, 16]
  const x = tensorOf(
    'f32',
    [3, border],
    rows.flatMap((value) => Array.from({ length: border }, () => value)),
  )
  const made = (await new CompiledGraph(graph, { fuse: true }).run(new Map([['x', x]]))).get('y')!
  expect(made.dims).toEqual([3, border + 1])
  expect([...made.data]).toEqual(rows.flatMap((value) => Array.from({ length: border + 1 }, () => value)))
})
