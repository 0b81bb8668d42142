// Cascaded slices. In: a slice of a slice. Out: whether one slice is left, with the same output.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes } from '../testing/write-model.ts'
import { mergeSlices } from './algebra.ts'

const I64 = 7
const LARGEST = 2n ** 63n - 1n
const list = (name: string, values: readonly bigint[]) => ({
  name,
  type: I64,
  dims: [values.length],
  raw: new Uint8Array(new BigInt64Array(values).buffer),
})

test('slices to the end, as written by exporters, are unchanged', async () => {
  const bytes = modelBytes({
    nodes: [
      { op: 'Slice', inputs: ['x', 'from', 'end'], outputs: ['a'] },
      { op: 'Slice', inputs: ['a', 'zero', 'end'], outputs: ['y'] },
    ],
    constants: [list('from', [1n]), list('zero', [0n]), list('end', [LARGEST])],
    inputs: ['x'],
    outputs: ['y'],
  })
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const x = { dtype: 'f32', dims: [2], data: Float32Array.of(3, 4) } as const
  const merged = mergeSlices.run(graph)
  expect(merged.nodes).toHaveLength(1)
  for (const each of [graph, merged])
    expect(evaluate(each, new Map([['x', x]])).get('y')?.data).toEqual(Float32Array.of(4))
})
