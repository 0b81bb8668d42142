// Algebraic rewrites. In: no-op nodes before an output. Out: whether they are removed, the output keeps its
// name, and its value is unchanged.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes, type WrittenGraph } from '../testing/write-model.ts'
import { simplify } from './algebra.ts'

const X = { dtype: 'f32', dims: [2], data: Float32Array.of(3, 4) } as const

/** The remaining operators, after comparing the outputs. */
async function simplified(graph: WrittenGraph): Promise<readonly string[]> {
  const { graph: read } = await readModel(bufferSource('model.onnx', modelBytes(graph)))
  const after = simplify.run(read)
  const feeds = new Map([['x', X]])
  expect(after.outputs).toEqual(read.outputs)
  expect(evaluate(after, feeds)).toEqual(evaluate(read, feeds))
  return after.nodes.map(({ op }) => op)
}

const node = (op: string, input: string, output: string) => ({ op, inputs: [input], outputs: [output] })

test('the node before a copy produces the output itself, which other readers then use', async () => {
  const nodes = [
    node('Neg', 'x', 'a'),
    node('Abs', 'a', 'b'),
    node('Identity', 'a', 'y'),
    node('Neg', 'b', 'z'),
  ]
  expect(await simplified({ nodes, inputs: ['x'], outputs: ['y', 'z'] })).toEqual(['Neg', 'Abs', 'Neg'])
})

test('a value or input that is also an output is copied', async () => {
  const nodes = [node('Neg', 'x', 'a'), node('Identity', 'a', 'y'), node('Identity', 'a', 'z')]
  expect(await simplified({ nodes, inputs: ['x'], outputs: ['y', 'z'] })).toEqual(['Neg', 'Identity'])
  expect(await simplified({ nodes: [node('Identity', 'x', 'y')], inputs: ['x'], outputs: ['y'] })).toEqual([
    'Identity',
  ])
})
