// Recurrent layers whose weights are 8-bit codes. In: a layer with codes, scales and zero points, one per
// direction or per column. Out: an LSTM with the same outputs as one with decoded weights.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../../test/conformance/onnx/verify/evaluate.ts'
import { Random } from '../../../../../test/helpers/random.ts'
import type { Graph, Node } from '../../ir/graph.ts'
import { countOf, type Tensor, tensorOf } from '../../ir/tensor.ts'
import { decodeLayers } from './layers.ts'

const [STEPS, BATCH, WIDTH, HIDDEN, DIRECTIONS] = [3, 2, 5, 4, 2]
const random = new Random(11)

const tensor = (dtype: Tensor['dtype'], dims: readonly number[], of: () => number): Tensor =>
  tensorOf(dtype, dims, Array.from({ length: countOf(dims) }, of))
const byte = () => random.below(256) - 128
const small = () => random.signed() / 100

const X = tensor('f32', [STEPS, BATCH, WIDTH], () => random.signed())
const CODES = {
  w: tensor('i8', [DIRECTIONS, WIDTH, 4 * HIDDEN], byte),
  r: tensor('i8', [DIRECTIONS, HIDDEN, 4 * HIDDEN], byte),
}
const BIAS = tensor('f32', [DIRECTIONS, 8 * HIDDEN], small)

/** The same weights as floats, transposed. */
function decoded(codes: Tensor, scale: Tensor, zero: Tensor): Tensor {
  const [, rows = 0, columns = 0] = codes.dims
  const own = scale.data.length / DIRECTIONS
  return tensorOf(
    'f32',
    [DIRECTIONS, columns, rows],
    Array.from({ length: codes.data.length }, (_, at) => {
      const direction = Math.floor(at / (rows * columns))
      const column = Math.floor(at / rows) % columns
      const place = direction * own + (own === 1 ? 0 : column)
      const code = Number(codes.data[(direction * rows + (at % rows)) * columns + column])
      return (code - Number(zero.data[place])) * Number(scale.data[place])
    }),
  )
}

const graphOf = (node: Partial<Node>, constants: Record<string, Tensor>): Graph => ({
  name: 'layer',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: X.dims } }],
  outputs: ['y'],
  constants: new Map(Object.entries(constants)),
  nodes: [
    {
      name: 'layer',
      op: 'LSTM',
      domain: '',
      version: 14,
      inputs: ['x', 'w', 'r', 'b'],
      outputs: ['y'],
      attributes: new Map([['direction', { kind: 'string', value: 'bidirectional' }]]),
      ...node,
    },
  ],
})

test.each([
  ['direction', [DIRECTIONS]],
  ['column', [DIRECTIONS, 4 * HIDDEN]],
])('weights with one scale per %s are decoded', (_, dims) => {
  const scales = [0, 1].map(() => tensor('f32', dims, () => 0.01 + random.unit() / 100))
  const zeros = [0, 1].map(() => tensor('i8', dims, byte))
  const [ws, rs] = scales as [Tensor, Tensor]
  const [wz, rz] = zeros as [Tensor, Tensor]
  const coded = graphOf(
    {
      op: 'DynamicQuantizeLSTM',
      domain: 'com.microsoft',
      version: 1,
      inputs: ['x', 'w', 'r', 'b', '', '', '', '', 'ws', 'wz', 'rs', 'rz'],
    },
    { ...CODES, b: BIAS, ws, wz, rs, rz },
  )
  const plain = graphOf({}, { w: decoded(CODES.w, ws, wz), r: decoded(CODES.r, rs, rz), b: BIAS })
  const feeds = new Map([['x', X]])
  const made = decodeLayers.run(coded)
  expect(made.nodes.at(-1)).toMatchObject({ op: 'LSTM', domain: '', outputs: ['y'] })
  const [found, due] = [made, plain].map((graph) => evaluate(graph, feeds).get('y')!)
  expect(found!.dims).toEqual(due!.dims)
  for (const [at, value] of due!.data.entries()) expect(found!.data[at]).toBeCloseTo(Number(value), 5)
})
