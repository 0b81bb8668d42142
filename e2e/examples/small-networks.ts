// Networks that stand in for those of the examples. They have the same inputs and outputs, and their results
// follow directly from the picture or the signal.
import { NodeWriter, TYPE } from '../../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../src/network/onnx/testing/write-model.ts'

type Dims = readonly (number | string)[]

/** A network of one input and one output. `build` adds its nodes and returns the last value. */
function network(
  dims: Dims,
  build: (to: NodeWriter, input: string) => string,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const to = new NodeWriter()
  const last = build(to, 'x')
  to.node('Identity', [last], ['y'])
  const graph = {
    nodes: to.nodes,
    constants: to.constants,
    inputs: [{ name: 'x', type: TYPE.f32, dims }],
    outputs: [{ name: 'y', type: TYPE.f32 }],
  }
  return modelBytes(graph, 17, 8, metadata)
}

const mean = (to: NodeWriter, input: string, axes: readonly number[], keepdims = 0) =>
  to.op('ReduceMean', [input], { axes: { ints: axes }, keepdims })

/** 1 where a value is negative, as dark pixels are after normalization. */
const dark = (to: NodeWriter, input: string) => to.cast(to.op('Less', [input, to.float(0)]), 'f32')

/** Three classes, scored by the amount of red, green and blue. */
export const colourClassifier = (): Uint8Array => network([1, 3, 224, 224], (to, x) => mean(to, x, [2, 3]))

/** Marks dark pixels as text. */
export const darkDetector = (): Uint8Array =>
  network([1, 3, 'height', 'width'], (to, x) => dark(to, mean(to, x, [1], 1)))

/** Two classes, upright and upside down; every line is classified as upright. */
export const uprightClassifier = (): Uint8Array =>
  network([1, 3, 48, 192], (to, x) => {
    const nothing = to.op('Mul', [mean(to, x, [2, 3], 0), to.float(0)])
    const each = to.op('ReduceSum', [nothing, to.ints([1])], { keepdims: 1 })
    return to.op('Add', [each, to.floats([0.9, 0.1], [1, 2])])
  })

/** Reads each stretch of dark columns as the first of two characters. */
export const columnReader = (): Uint8Array =>
  network(
    [1, 3, 48, 'width'],
    (to, x) => {
      // A line has a margin.
      const tone = to.op('Sub', [mean(to, x, [1, 2]), to.float(0.5)])
      const column = to.op('Reshape', [dark(to, tone), to.ints([1, -1, 1])])
      const blank = to.op('Sub', [to.float(1), column])
      const other = to.op('Mul', [column, to.float(0)])
      return to.op('Concat', [blank, column, other], { axis: 2 })
    },
    { character: 'a' },
  )

/** The names of the given ids. */
export const nameLookup = (): Uint8Array =>
  modelBytes({
    nodes: [{ op: 'Gather', inputs: ['names', 'ids'], outputs: ['labels'] }],
    inputs: [
      { name: 'ids', type: TYPE.i64, dims: ['count'] },
      { name: 'names', type: TYPE.string, dims: ['names'] },
    ],
    outputs: [{ name: 'labels', type: TYPE.string }],
  })

/** Like Silero VAD 5: the probability of speech is the loudest sample. */
export function loudnessDetector(): Uint8Array {
  const to = new NodeWriter()
  const loud = to.op('Abs', ['input'])
  to.node('ReduceMax', [loud], ['output'], { axes: { ints: [1] }, keepdims: 1 })
  to.node('Identity', ['state'], ['stateN'])
  return modelBytes({
    nodes: to.nodes,
    constants: to.constants,
    inputs: [
      { name: 'input', type: TYPE.f32, dims: ['batch', 'samples'] },
      { name: 'state', type: TYPE.f32, dims: [2, 'batch', 128] },
      { name: 'sr', type: TYPE.i64, dims: [] },
    ],
    outputs: [
      { name: 'output', type: TYPE.f32 },
      { name: 'stateN', type: TYPE.f32 },
    ],
  })
}
