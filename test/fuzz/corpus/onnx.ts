// Past findings: ONNX.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { modelBytes, type WrittenGraph } from '../../../src/network/onnx/testing/write-model.ts'
import { decoderBytes } from '../../conformance/onnx/control/decoder.ts'
import type { DecoderForm } from '../../conformance/onnx/control/form.ts'
import { gateLast } from '../../conformance/onnx/control/kinds.ts'
import type { CorpusEntry } from '../corpus.ts'
import { GRAPH, INPUT, messageOf, NODE, OUTPUT, part, partsOf, textsOf } from '../mutate/proto-parts.ts'

const entry = (title: string, bytes: () => Uint8Array): CorpusEntry => ({
  title,
  input: () => ({ 'model.onnx': bytes() }),
})
const graph = (title: string, written: WrittenGraph): CorpusEntry => entry(title, () => modelBytes(written))

/** A model of one sum, followed by more bytes. */
const withTail = (...tail: readonly number[]): Uint8Array =>
  Uint8Array.of(
    ...modelBytes({
      nodes: [{ op: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
      inputs: ['x'],
      outputs: ['y'],
    }),
    ...tail,
  )

/** Tag of the field `graph`: number 7, with a length. */
const GRAPH_TAG = 0x3a
const I64 = 7
const counts = (...values: readonly number[]) => ({
  dims: [values.length],
  raw: new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer),
})

const BOOL = 9
const F64 = 11
const filled = (name: string) => ({
  op: 'ConstantOfShape',
  inputs: ['shape'],
  outputs: [name],
  attributes: { value: { name: 'fill', type: F64, dims: [1], raw: new Uint8Array(8) } },
})
const NAMES = Array.from({ length: 200 }, (_, at) => `a${at}`)
const half = { name: 'half', type: 1, dims: [1], raw: new Uint8Array(Float32Array.of(0.5).buffer) }

/** The export whose activations have codes with constant scales, and one matrix scale multiplied by 2^16. */
function withLargeScale(): Uint8Array {
  const bytes = readFileSync(join(EXPORTS, 'qdq-static', 'model.onnx'))
  const scale = new Uint8Array(Float32Array.of(SCALE).buffer)
  bytes.set(new Uint8Array(Float32Array.of(SCALE * 2 ** 16).buffer), bytes.indexOf(scale))
  return new Uint8Array(bytes)
}
/** The export whose inputs begin with one of the states; its outputs keep their order. */
export function withStateFirst(): Uint8Array {
  const bytes = readFileSync(join(EXPORTS, 'multi-head-causal', 'model.onnx'))
  const text = bytes.toString('latin1')
  // Tag and length of the input, tag and length of its name, the name, the tag of its type.
  const [first, state] = ['input_ids', 'past_key_values.1.key'].map((name) =>
    text.search(new RegExp(`Z[^]\\n[^]${name}\\x12`)),
  ) as [number, number]
  const end = state + 2 + bytes[state + 1]!
  const order = [
    [0, first],
    [state, end],
    [first, state],
    [end, bytes.length],
  ] as const
  return new Uint8Array(Buffer.concat(order.map(([from, to]) => bytes.subarray(from, to))))
}
/** Its gates are sliced from one product, by `Slice_23`. */
const CUT: DecoderForm = {
  attention: 'group',
  places: 'op',
  layers: 2,
  kvHeads: 1,
  merged: 'slice',
  seed: 24,
  tableRows: 64,
}

/** A decoder that adds its gates (16 columns of a product) instead of the residual. */
export function withSumOfColumns(): Uint8Array {
  const model = partsOf(decoderBytes(CUT))
  const at = model.findIndex(({ number }) => number === GRAPH)
  const nodes = partsOf(model[at]!.value).map((each) => {
    const fields = each.number === NODE ? partsOf(each.value) : []
    if (textsOf(fields, OUTPUT)[0] !== 'Add_29') return each
    const first = fields.findIndex(({ number }) => number === INPUT)
    return part(NODE, messageOf(fields.with(first, part(INPUT, 'Slice_23'))))
  })
  return messageOf(model.with(at, part(GRAPH, messageOf(nodes))))
}
/** With positions along the batch axis, each token of a batch gets the rows of all tokens. */
const belowEachOther: DecoderForm['positions'] = (g, each) =>
  g.op('Transpose', [each], { perm: { ints: [1, 0] } })

const EXPORTS = join(import.meta.dirname, '../../conformance/onnx/exports')
/** One of the scales of the first layer's matrix `down`. */
const SCALE = Math.fround(0.000983503065072)

export const CORPUS: readonly CorpusEntry[] = [
  entry('inputs in another order than outputs', withStateFirst),
  entry('a norm of columns within a product', withSumOfColumns),
  entry('positions along the axis of the batch', () =>
    decoderBytes({ places: 'learned', tableRows: 64, positions: belowEachOther }),
  ),
  entry('a gate at the end of its product', () =>
    decoderBytes({ merged: 'split', tableRows: 64, edit: gateLast }),
  ),
  entry('a length whose varint does not end', () => withTail(GRAPH_TAG, ...Array(11).fill(0xff))),
  entry('a length of eleven bytes', () => withTail(GRAPH_TAG, ...Array(10).fill(0x80), 1)),
  entry('a length past the end', () => withTail(GRAPH_TAG, 0xff, 0xff, 0x7f)),
  entry('a length that is negative as 32 bits', () => withTail(GRAPH_TAG, 0xff, 0xff, 0xff, 0xff, 0x0f)),
  graph('a cycle', {
    nodes: [
      { op: 'Add', inputs: ['x', 'b'], outputs: ['a'] },
      { op: 'Add', inputs: ['a', 'x'], outputs: ['b'] },
    ],
    inputs: ['x'],
    outputs: ['b'],
  }),
  graph('a huge constant, as its shape says', {
    nodes: [{ op: 'ConstantOfShape', inputs: ['shape'], outputs: ['y'] }],
    constants: [{ name: 'shape', type: I64, ...counts(2 ** 30, 2 ** 20) }],
    inputs: [],
    outputs: ['y'],
  }),
  graph('a constant with a negative size', {
    nodes: [
      {
        op: 'ConstantOfShape',
        inputs: ['shape'],
        outputs: ['y'],
        attributes: { value: { name: 'fill', type: I64, ...counts(1) } },
      },
    ],
    constants: [{ name: 'shape', type: I64, ...counts(-1) }],
    inputs: [],
    outputs: ['y'],
  }),
  graph('6.5 GB of constants in 12 kB', {
    nodes: [...NAMES.map(filled), { op: 'Max', inputs: NAMES, outputs: ['y'] }],
    constants: [{ name: 'shape', type: I64, ...counts(2 ** 22) }],
    inputs: ['x'],
    outputs: ['y'],
  }),
  graph('a product of 2048 x 2048 in 119 bytes', {
    nodes: [filled('a'), { op: 'MatMul', inputs: ['a', 'a'], outputs: ['y'] }],
    constants: [{ name: 'shape', type: I64, ...counts(2048, 2048) }],
    inputs: ['x'],
    outputs: ['y'],
  }),
  graph('a slice whose lists have different lengths', {
    nodes: [{ op: 'Slice', inputs: ['x', 'starts', 'ends'], outputs: ['y'] }],
    constants: [
      { name: 'starts', type: I64, ...counts(0, 0) },
      { name: 'ends', type: I64, ...counts(1) },
    ],
    inputs: ['x'],
    outputs: ['y'],
  }),
  graph('a product with one operand', {
    nodes: [{ op: 'Mul', inputs: ['x'], outputs: ['y'] }],
    inputs: ['x'],
    outputs: ['y'],
  }),
  graph('integers concatenated with floats', {
    nodes: [{ op: 'Concat', inputs: ['whole', 'half'], outputs: ['y'], attributes: { axis: 0 } }],
    constants: [{ name: 'whole', type: I64, ...counts(1) }, half],
    inputs: [],
    outputs: ['y'],
  }),
  graph('a choice between an integer and a float', {
    nodes: [{ op: 'Where', inputs: ['is', 'whole', 'half'], outputs: ['y'] }],
    constants: [
      { name: 'is', type: BOOL, dims: [1], raw: new Uint8Array(1) },
      { name: 'whole', type: I64, ...counts(1) },
      half,
    ],
    inputs: [],
    outputs: ['y'],
  }),
  entry('products beyond the range of their codes', withLargeScale),
]
