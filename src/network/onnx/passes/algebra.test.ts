// Algebraic rewrites. In: nodes that change nothing before an output. Out: whether they go, the output keeps
// its name, and its value stays.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes, type WrittenGraph } from '../testing/write-model.ts'
import { simplify } from './algebra.ts'

const X = { dtype: 'f32', dims: [2], data: Float32Array.of(3, 4) } as const

/** The operators that are left; the outputs are compared before. */
async function simplified(graph: WrittenGraph): Promise<readonly string[]> {
  const { graph: read } = await readModel(bufferSource('model.onnx', modelBytes(graph)))
  const after = simplify.run(read)
  const feeds = new Map([['x', X]])
  expect(after.outputs).toEqual(read.outputs)
  expect(evaluate(after, feeds)).toEqual(evaluate(read, feeds))
  return after.nodes.map(({ op }) => op)
}

const node = (op: string, input: string, output: string) => ({ op, inputs: [input], outputs: [output] })

test('the node before a copy makes the output itself, and others read that', async () => {
  const nodes = [
    node('Neg', 'x', 'a'),
    node('Abs', 'a', 'b'),
    node('Identity', 'a', 'y'),
    node('Neg', 'b', 'z'),
  ]
  expect(await simplified({ nodes, inputs: ['x'], outputs: ['y', 'z'] })).toEqual(['Neg', 'Abs', 'Neg'])
})

test('a value that is two outputs has a copy, and so has an input', async () => {
  const nodes = [node('Neg', 'x', 'a'), node('Identity', 'a', 'y'), node('Identity', 'a', 'z')]
  expect(await simplified({ nodes, inputs: ['x'], outputs: ['y', 'z'] })).toEqual(['Neg', 'Identity'])
  expect(await simplified({ nodes: [node('Identity', 'x', 'y')], inputs: ['x'], outputs: ['y'] })).toEqual([
    'Identity',
  ])
})
