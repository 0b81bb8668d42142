// Graphs with nodes that cannot be compiled, at every position, and inputs for them.
import type { NetworkTensor } from '../../../../src/network/api/network.ts'
import { NodeWriter, TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import {
  modelBytes,
  type WrittenGraph,
  type WrittenNode,
  type WrittenValue,
} from '../../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../helpers/random.ts'

const OPSET = 17

export const value = (
  name: string,
  dims?: readonly (number | string)[],
  type: number = TYPE.f32,
): WrittenValue => ({
  name,
  type,
  dims,
})

export interface Case {
  readonly bytes: Uint8Array
  /** Only onnxruntime-web runs one of its nodes. */
  readonly needsFallback?: boolean
  /** Operators that are reported, in the order of the graph. */
  readonly foreign: readonly string[]
  readonly feeds: readonly Readonly<Record<string, NetworkTensor>>[]
}

const random = new Random(33)

export const floats = (...dims: readonly number[]): NetworkTensor => ({
  dtype: 'f32',
  dims,
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => random.signed()),
})

const weights = (writer: NodeWriter, ...dims: readonly number[]): string =>
  writer.floats(floats(...dims).data as Float32Array, dims)

/** A node that cannot be compiled, whose output has the sizes of its input. */
const scaled = (writer: NodeWriter, x: string, name: string): string =>
  writer.node('LpNormalization', [x], [name], { axis: 1 })

export function built(
  write: (writer: NodeWriter) => void,
  inputs: readonly WrittenValue[],
  outputs: readonly WrittenValue[],
): Uint8Array {
  const writer = new NodeWriter()
  write(writer)
  return modelBytes({ nodes: writer.nodes, constants: writer.constants, inputs, outputs }, OPSET)
}

export const X = value('x', ['rows', 8])
const ROWS = [{ x: floats(2, 8) }, { x: floats(5, 8) }, { x: floats(2, 8) }]

export const CASES: Record<string, () => Case> = {
  'at the beginning': () => ({
    bytes: built(
      (to) => {
        scaled(to, 'x', 'unit')
        to.node('Softmax', [to.op('MatMul', ['unit', weights(to, 8, 6)])], ['y'])
      },
      [X],
      [value('y'), value('unit')],
    ),
    foreign: ['LpNormalization'],
    feeds: ROWS,
  }),
  'in the middle': () => ({
    bytes: built(
      (to) => {
        scaled(to, to.op('Relu', [to.op('MatMul', ['x', weights(to, 8, 12)])]), 'unit')
        to.node('LayerNormalization', ['unit', weights(to, 12), weights(to, 12)], ['y'])
      },
      [X],
      [value('y')],
    ),
    foreign: ['LpNormalization'],
    feeds: ROWS,
  }),
  'at the end': () => ({
    bytes: built(
      (to) => {
        scaled(to, to.op('Tanh', [to.op('MatMul', ['x', weights(to, 8, 12)])]), 'unit')
      },
      [X],
      [value('unit')],
    ),
    foreign: ['LpNormalization'],
    feeds: ROWS,
  }),
  'in two branches that meet': () => ({
    bytes: built(
      (to) => {
        const left = to.op('Exp', [scaled(to, to.op('Sin', ['x']), 'left')])
        const right = to.op('Mul', [
          scaled(to, to.op('MatMul', ['x', weights(to, 8, 8)]), 'right'),
          'left_sum',
        ])
        to.nodes.splice(
          to.nodes.findIndex(({ op }) => op === 'Mul'),
          0,
          { op: 'ReduceMax', inputs: ['left'], outputs: ['left_sum'], attributes: { axes: { ints: [1] } } },
        )
        to.node('Concat', [left, right, 'x'], ['y'], { axis: 1 })
      },
      [X],
      [value('y')],
    ),
    foreign: ['LpNormalization', 'LpNormalization'],
    feeds: ROWS,
  }),
  'one after the other, with compiled nodes between them': () => ({
    bytes: built(
      (to) => {
        const first = to.op('Neg', [scaled(to, to.op('Cos', ['x']), 'first')])
        scaled(to, to.op('Add', [first, weights(to, 8)]), 'second')
        to.node('Sigmoid', ['second'], ['y'])
      },
      [X],
      [value('y')],
    ),
    foreign: ['LpNormalization', 'LpNormalization'],
    feeds: ROWS,
  }),
  'everywhere, so that no node is compiled': () => ({
    bytes: built(
      (to) => {
        scaled(to, 'x', 'unit')
        to.node('NonZero', ['unit'], ['places'])
      },
      [X],
      [value('places', undefined, TYPE.i64)],
    ),
    foreign: ['LpNormalization', 'NonZero'],
    feeds: ROWS,
  }),
  'with sizes that depend on computed values': () => {
    const zero = { dtype: 'f32', dims: [2, 8], data: new Float32Array(16) } as const
    return {
      bytes: built(
        (to) => {
          to.node('NonZero', [to.op('Relu', ['x'])], ['places'])
          const count = to.op('Gather', [to.op('Shape', ['places']), to.ints([1])], { axis: 0 })
          const rows = to.op('Cast', [to.op('Transpose', ['places'], { perm: { ints: [1, 0] } })], {
            to: TYPE.f32,
          })
          const list = to.op('Concat', [to.ints([1]), count, to.ints([2])], { axis: 0 })
          const spread = to.op('Reshape', [rows, list], { allowzero: 1 })
          to.node('MatMul', [spread, weights(to, 2, 5)], ['y'])
        },
        [X],
        [value('y')],
      ),
      foreign: ['NonZero'],
      feeds: [...ROWS, { x: zero }],
    }
  },
  'after another one whose sizes depend on computed values': () => ({
    bytes: built(
      (to) => {
        const places = to.op('Abs', [to.op('NonZero', [to.op('Relu', ['x'])])])
        const first = to.op('Compress', [to.cast(places, 'f32'), to.truths([true], [1])], { axis: 1 })
        to.node('Softplus', [first], ['y'])
      },
      [X],
      [value('y')],
    ),
    foreign: ['NonZero', 'Compress'],
    feeds: ROWS,
  }),
  'of boxes': () => ({
    bytes: built(
      (to) => {
        const most = to.ints([3])
        const limits = [to.floats([0.4]), to.floats([0.1])]
        const chosen = to.op('NonMaxSuppression', ['boxes', 'scores', most, ...limits])
        const at = to.op('Gather', [chosen, to.int(2)], { axis: 1 })
        const kept = to.op('Gather', [to.op('Squeeze', ['boxes', to.ints([0])]), at], { axis: 0 })
        to.node('Mul', [kept, to.float(2)], ['y'])
      },
      [value('boxes', [1, 'boxes', 4]), value('scores', [1, 2, 'boxes'])],
      [value('y')],
    ),
    foreign: ['NonMaxSuppression'],
    feeds: [6, 9].map((count) => ({ boxes: boxes(count), scores: positive(1, 2, count) })),
  }),
  'with weights that stay in the file, and a state': () => ({
    bytes: built(
      (to) => {
        const x = to.op('Tanh', ['x'])
        const parts = [weights(to, 1, 4 * 72, 64), weights(to, 1, 4 * 72, 72), weights(to, 1, 8 * 72)]
        const made = to.node('LSTM', [x, ...parts], ['states', 'last'], {
          // A limit that is not compiled.
          clip: { float: 3 },
          hidden_size: 72,
        })
        to.node('Softmax', [to.op('Squeeze', [made, to.ints([1])])], ['y'])
      },
      [value('x', ['steps', 'batch', 64])],
      [value('y'), value('last')],
    ),
    foreign: ['LSTM'],
    feeds: [{ x: floats(4, 2, 64) }, { x: floats(1, 3, 64) }],
  }),
  'that has no evaluator': () => ({
    bytes: built(
      (to) => {
        const x = to.op('Tanh', ['x'])
        to.node('Softmax', [to.node('Inverse', [x], ['inverse'], {}, 'com.microsoft')], ['y'])
      },
      [value('x', ['matrices', 3, 3])],
      [value('y')],
    ),
    foreign: ['Inverse'],
    needsFallback: true,
    feeds: [{ x: floats(4, 3, 3) }, { x: floats(1, 3, 3) }],
  }),
  'with graphs in attributes that read outer values': () => ({
    ...branches(),
    // The branch selected by the values and the loop's three steps are compiled.
    foreign: [],
  }),
  'with a branch selected by an input': () => ({ ...chosen(), foreign: [] }),
  'with a loop whose steps are computed': () => ({ ...counted('steps'), foreign: [] }),
  'with a loop that ends by its own condition': () => ({ ...counted('condition'), foreign: ['Loop'] }),
  'of half floats': () => ({
    bytes: built(
      (to) => {
        const half = to.op('Relu', [to.cast('x', 'f16')])
        const some = to.op('Compress', [half, to.truths([true, false, true], [3])], { axis: 1 })
        to.node('Add', [some, to.halves([0.5], [1])], ['y'])
      },
      [X],
      [value('y', undefined, TYPE.f16)],
    ),
    foreign: ['Compress'],
    feeds: ROWS,
  }),
  'because of a computed number of elements, with two outputs': () => ({
    bytes: built(
      (to) => {
        const sum = to.op('ReduceSum', ['x', to.ints([0, 1])], { keepdims: 0 })
        const one = to.op('Cast', [to.op('Greater', [sum, to.float(0)])], { to: TYPE.i64 })
        const count = to.op('Reshape', [to.op('Add', [one, to.int(2)]), to.ints([1])])
        to.node('TopK', [to.op('Neg', ['x']), count], ['top', 'top_at'])
        to.node('Exp', ['top'], ['y'])
      },
      [X],
      [value('y'), value('top_at', undefined, TYPE.i64)],
    ),
    foreign: ['TopK'],
    feeds: [...ROWS, { x: { ...floats(1, 8), data: new Float32Array(8).fill(4.5) } }],
  }),
  'because of a computed size': () => ({
    bytes: built(
      (to) => {
        const count = to.op('Cast', [to.op('ReduceMax', ['x'], { keepdims: 0 })], { to: TYPE.i64 })
        const list = to.op('Range', [to.int(0), to.op('Add', [to.op('Abs', [count]), to.int(2)]), to.int(1)])
        to.node('Mul', [to.cast(list, 'f32'), to.float(0.5)], ['y'])
      },
      [X],
      [value('y')],
    ),
    foreign: ['Range'],
    feeds: [...ROWS, { x: { ...floats(1, 8), data: new Float32Array(8).fill(4.5) } }],
  }),
}

function boxes(count: number): NetworkTensor {
  const made = floats(1, count, 4)
  for (let at = 0; at < made.data.length; at += 4) {
    made.data[at + 2] = Number(made.data[at]) + 0.5
    made.data[at + 3] = Number(made.data[at + 1]) + 0.5
  }
  return made
}

function positive(...dims: readonly number[]): NetworkTensor {
  const made = floats(...dims)
  return { ...made, data: (made.data as Float32Array).map(Math.abs) }
}

/** A branch chosen by values, and a loop that sums. */
function branches(): Omit<Case, 'foreign'> {
  const to = new NodeWriter()
  const outer = to.op('Exp', ['x'])
  const branch = (op: string, name: string): WrittenGraph => ({
    nodes: [{ op, inputs: [outer, 'x'], outputs: [name] }],
    outputs: [value(name)],
  })
  const sum = to.op('ReduceSum', ['x'], { keepdims: 0 })
  to.node('If', [to.op('Greater', [sum, to.float(0)])], ['chosen'], {
    then_branch: branch('Add', 'sum'),
    else_branch: branch('Sub', 'difference'),
  })
  const body: readonly WrittenNode[] = [
    { op: 'Identity', inputs: ['going'], outputs: ['goes'] },
    { op: 'Add', inputs: ['total', outer], outputs: ['grown'] },
  ]
  to.node('Loop', [to.int(3), '', to.op('Neg', ['chosen'])], ['looped'], {
    body: {
      nodes: body,
      inputs: [value('turn', [], TYPE.i64), value('going', [], TYPE.bool), value('total')],
      outputs: [value('goes', [], TYPE.bool), value('grown')],
    },
  })
  to.node('Sin', ['looped'], ['y'])
  const bytes = modelBytes(
    { nodes: to.nodes, constants: to.constants, inputs: [X], outputs: [value('y')] },
    OPSET,
  )
  const data = (of: number) => ({ x: { ...floats(2, 8), data: new Float32Array(16).fill(of) } })
  return { bytes, feeds: [data(0.25), data(-0.25)] }
}

/** A branch for each of two rates, as in voice detectors. */
function chosen(): Omit<Case, 'foreign'> {
  const to = new NodeWriter()
  const isFast = to.op('Equal', ['rate', to.int(16_000)])
  const branch = (op: string, name: string): WrittenGraph => ({
    nodes: [{ op, inputs: ['x'], outputs: [name] }],
    outputs: [value(name)],
  })
  to.node('If', [isFast], ['sound'], {
    then_branch: branch('Tanh', 'fast'),
    else_branch: branch('Sigmoid', 'slow'),
  })
  to.node('Neg', ['sound'], ['y'])
  const inputs = [X, value('rate', [], TYPE.i64)]
  const bytes = modelBytes({ nodes: to.nodes, constants: to.constants, inputs, outputs: [value('y')] }, OPSET)
  const at = (rate: number) => ({
    x: floats(2, 8),
    rate: { dtype: 'i64', dims: [], data: BigInt64Array.of(BigInt(rate)) } as const,
  })
  return { bytes, feeds: [at(16_000), at(8000), at(16_000)] }
}

/** A loop whose number of steps is the sum of the input, or until the total exceeds it. */
function counted(by: 'steps' | 'condition'): Omit<Case, 'foreign'> {
  const to = new NodeWriter()
  const sum = to.op('ReduceSum', ['x'], { keepdims: 0 })
  const count = to.op('Cast', [to.op('Abs', [sum])], { to: TYPE.i64 })
  const limit = to.float(3)
  const largest: readonly WrittenNode[] = [
    { op: 'ReduceMax', inputs: ['grown'], outputs: ['largest'], attributes: { keepdims: 0 } },
    { op: 'Less', inputs: ['largest', limit], outputs: ['goes'] },
  ]
  const body: WrittenGraph = {
    nodes: [
      { op: 'Add', inputs: ['total', 'x'], outputs: ['grown'] },
      ...(by === 'steps' ? [{ op: 'Identity', inputs: ['going'], outputs: ['goes'] }] : largest),
    ],
    inputs: [value('turn', [], TYPE.i64), value('going', [], TYPE.bool), value('total')],
    outputs: [value('goes', [], TYPE.bool), value('grown')],
  }
  to.node('Loop', [by === 'steps' ? count : to.int(20), '', 'x'], ['y'], { body })
  const bytes = modelBytes(
    { nodes: to.nodes, constants: to.constants, inputs: [X], outputs: [value('y')] },
    OPSET,
  )
  const data = (of: number) => ({ x: { ...floats(2, 8), data: new Float32Array(16).fill(of) } })
  return { bytes, feeds: [data(0.25), data(0.5), data(0.25)] }
}
