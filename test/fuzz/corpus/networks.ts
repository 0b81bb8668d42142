// Past findings: graphs whose compilation gave a wrong answer, never ended, or threw an internal error.
import { NodeWriter, TYPE } from '../../../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../../src/network/onnx/testing/write-model.ts'
import type { CorpusEntry } from '../corpus.ts'
import { MODEL } from '../onnx-seeds.ts'

/** A graph with an input `x` of these sizes. `make` returns the name of the output. */
const entry = (
  title: string,
  dims: readonly (number | string)[],
  make: (g: NodeWriter) => string,
): CorpusEntry => ({
  title,
  input: () => {
    const g = new NodeWriter()
    const made = make(g)
    const inputs = [{ name: 'x', type: TYPE.f32, dims }]
    const outputs = [{ name: made, type: TYPE.f32 }]
    const { nodes, constants } = g
    return { [MODEL]: modelBytes({ nodes, constants, inputs, outputs }, 20, 10), change: title }
  },
})

export const CORPUS: readonly CorpusEntry[] = [
  entry('a shape for another number of elements', ['rows', 4], (g) => g.op('Reshape', ['x', g.ints([5, 7])])),
  entry('an extension of an axis of more than one element', [2, 3], (g) =>
    g.op('Expand', ['x', g.ints([2, 5])]),
  ),
  entry('an axis that is reduced twice', [2, 3], (g) =>
    g.op('ReduceMax', ['x', g.ints([1, -1])], { keepdims: 0 }),
  ),
  entry('parts of different ranks', [3, 2, 9], (g) =>
    g.op('Concat', ['x', g.floats([1, 2, 3, 4])], { axis: 1 }),
  ),
  entry('a number as a part', [2], (g) => g.op('Concat', ['x', g.float(1)], { axis: 0 })),
  entry('parts of different types', [2], (g) => g.op('Concat', ['x', g.ints([1, 2])], { axis: 0 })),
  entry('limits of a type different from the number’s', [2], (g) =>
    g.op('Add', ['x', g.op('Clip', [g.ints([9]), g.float(-4), g.float(4)])]),
  ),
  entry('a product without its first input', [2], (g) => g.op('Mul', ['', 'x'])),
  entry('limits without a number', [2], (g) =>
    g.op('Add', ['x', g.op('Clip', ['', g.float(-4), g.float(4)])]),
  ),
  entry('a cast without a number', [2], (g) => g.op('Add', ['x', g.op('Cast', [''], { to: TYPE.f32 })])),
  entry('a product of two empty values', [1, 4, 3], (g) => {
    const none = g.op('Slice', ['x', g.ints([1]), g.ints([1]), g.ints([0])])
    return g.op('MatMul', [none, g.op('Transpose', [none], { perm: { ints: [0, 2, 1] } })])
  }),
]
