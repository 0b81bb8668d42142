// A group-query attention layer as in exports for transformers.js, as an ONNX file: lengths are computed from
// the mask, and the state is an input and an output.
import {
  modelBytes,
  type WrittenAttribute,
  type WrittenNode,
  type WrittenTensor,
} from '../../../../src/network/onnx/testing/write-model.ts'

export const HEADS = 4
export const SHARED = 2
export const SIZE = 16
const POSITIONS = 32
const I32 = 6
const I64 = 7

const node = (op: string, inputs: string[], output: string, attributes = {}): WrittenNode => ({
  op,
  inputs,
  outputs: [output],
  attributes,
})

function whole(name: string, values: number[], dims = [values.length]): WrittenTensor {
  return { name, type: I64, dims, raw: new Uint8Array(BigInt64Array.from(values, BigInt).buffer) }
}

const short = (name: string, value: number): WrittenTensor => ({
  name,
  type: I32,
  dims: [],
  raw: new Uint8Array(Int32Array.of(value).buffer),
})

function table(name: string, turn: (angle: number) => number): WrittenTensor {
  const half = SIZE / 2
  const values = Float32Array.from({ length: POSITIONS * half }, (_, at) =>
    turn(Math.floor(at / half) * 100 ** (-(at % half) / half)),
  )
  return { name, dims: [POSITIONS, half], raw: new Uint8Array(values.buffer) }
}

/** Axes, which are symbols unless a form gives sizes. */
type Axis = 'batch' | 'new' | 'past' | 'total'

export interface Form {
  /** With sizes, the mask is i32 and the total length a constant, so that nothing is cast. */
  readonly sizes?: Readonly<Record<Axis, number>>
  readonly isPacked?: boolean
  readonly attributes?: Readonly<Record<string, WrittenAttribute>>
}

/** Computes the operator's lengths from the numbers of ones in the mask. */
const OPEN_LENGTHS = {
  constants: [whole('one', [1], []), whole('axis', [1], [])],
  nodes: [
    node('Sub', ['counts', 'one'], 'lasts'),
    node('Cast', ['lasts'], 'lengths', { to: I32 }),
    node('Shape', ['mask'], 'sizes'),
    node('Gather', ['sizes', 'axis'], 'size'),
    node('Cast', ['size'], 'whole', { to: I32 }),
  ],
}

const fixedLengths = (total: number): typeof OPEN_LENGTHS => ({
  constants: [short('one', 1), short('whole', total)],
  nodes: [node('Sub', ['counts', 'one'], 'lengths')],
})

/** Lengths are the numbers of ones in the mask, and the total length is the mask's. */
export function layer({ isPacked = false, attributes = {}, sizes }: Form): Uint8Array {
  const axis = (name: Axis) => sizes?.[name] ?? name
  const rows = (name: string, heads: number) => ({
    name,
    type: 1,
    dims: [axis('batch'), axis('new'), heads * SIZE],
  })
  const state = (name: string, size: Axis) => ({
    name,
    type: 1,
    dims: [axis('batch'), SHARED, axis(size), SIZE],
  })
  const given = isPacked
    ? [rows('qkv', HEADS + 2 * SHARED)]
    : [rows('q', HEADS), rows('k', SHARED), rows('v', SHARED)]
  const lengths = sizes === undefined ? OPEN_LENGTHS : fixedLengths(sizes.total)
  const names = isPacked ? ['qkv', '', ''] : ['q', 'k', 'v']
  return modelBytes({
    inputs: [
      ...given,
      ...[state('past.key', 'past'), state('past.value', 'past')],
      { name: 'mask', type: sizes === undefined ? I64 : I32, dims: [axis('batch'), axis('total')] },
    ],
    outputs: [rows('y', HEADS), ...[state('present.key', 'total'), state('present.value', 'total')]],
    constants: [whole('last', [1]), ...lengths.constants, table('cos', Math.cos), table('sin', Math.sin)],
    nodes: [
      node('ReduceSum', ['mask', 'last'], 'counts', { keepdims: 0 }),
      ...lengths.nodes,
      {
        op: 'GroupQueryAttention',
        domain: 'com.microsoft',
        inputs: [...names, 'past.key', 'past.value', 'lengths', 'whole', 'cos', 'sin'],
        outputs: ['y', 'present.key', 'present.value'],
        attributes: { num_heads: HEADS, kv_num_heads: SHARED, do_rotary: 1, ...attributes },
      },
    ],
  })
}
