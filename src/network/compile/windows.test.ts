// Convolutions whose windows are read in place. In: several small image networks. Out: whether they match the
// evaluator, copy no window, and fuse the following nodes with the product.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph, programFor } from './compiled-graph.ts'
import { emitted } from './program/program.ts'
import { int, ints } from './testing/graph-maker.ts'

const floats = (dims: readonly number[], seed = 1) =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => Math.sin(seed + at * at)),
  )

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Node['attributes'],
): Node => ({
  ...{ name: output, op, domain: '', version: 20, inputs, outputs: [output], attributes },
})

interface Form {
  readonly group?: number
  readonly strides?: readonly number[]
  readonly dilations?: readonly number[]
  readonly pads?: readonly number[]
  /** Kernel of the second convolution, whose input has its channels last. Default: 3 x 3. */
  readonly taps?: readonly number[]
}

/** Two convolutions of 8 and 6 filters, each followed by an activation. */
function net({
  group = 1,
  strides = [1, 1],
  dilations = [1, 1],
  pads = [0, 0, 0, 0],
  taps = [3, 3],
}: Form): Graph {
  const form = (entries: Readonly<Record<string, readonly number[]>>, of = 1) =>
    new Map([
      ['group', int(of)],
      ...Object.entries(entries).map(([name, list]) => [name, ints(list)] as const),
    ])
  return {
    name: 'net',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['batch', 3, 'height', 'width'] } }],
    outputs: ['y'],
    constants: new Map([
      ['first', floats([8, 3, 2, 5])],
      ['second', floats([6, 8 / group, ...taps], 7)],
      ['bias', floats([6], 3)],
    ]),
    nodes: [
      node('Conv', ['x', 'first'], 'a', form({ dilations: [2, 1] })),
      node('Tanh', ['a'], 'b', new Map()),
      node('Conv', ['b', 'second', 'bias'], 'c', form({ strides, dilations, pads }, group)),
      node('Relu', ['c'], 'y', new Map()),
    ],
  }
}

const FORMS: Readonly<Record<string, Form>> = {
  plain: {},
  'in groups': { group: 2 },
  'with a border': { pads: [1, 2, 0, 1] },
  'with strides': { strides: [2, 3] },
  'spread along rows': { dilations: [2, 1] },
  'spread along both axes': { dilations: [2, 2] },
  'with one tap and strides': { taps: [1, 1], strides: [2, 2] },
  'with one row of taps': { taps: [1, 4] },
}

for (const [name, form] of Object.entries(FORMS)) {
  test(`windows ${name} are multiplied in place`, async () => {
    const graph = net(form)
    for (const dims of [
      [1, 3, 9, 13],
      [3, 3, 8, 11],
    ]) {
      const feeds = new Map([['x', floats(dims, 5)]])
      const wanted = evaluate(graph, feeds).get('y')!
      for (const fuse of [true, false]) {
        const found = (await new CompiledGraph(graph, { fuse }).run(feeds)).get('y')!
        expect(found.dims).toEqual(wanted.dims)
        for (const [at, value] of wanted.data.entries())
          expect(Math.abs(Number(found.data[at]) - Number(value)), `${dims} ${at}`).toBeLessThan(1e-4)
      }
      const { steps } = programFor(graph, new Map([['x', dims]])).program
      const products = emitted(steps).filter(({ call }) => call.product !== undefined)
      expect(products.map(({ call }) => call.kernel.product?.isWindowed)).toEqual([true, true])
    }
  })
}

test('one image: activations and pools follow the channels, and no window is copied', async () => {
  const graph: Graph = {
    ...net({ pads: [1, 1, 1, 1] }),
    nodes: [
      ...net({ pads: [1, 1, 1, 1] }).nodes.slice(0, 3),
      node('MaxPool', ['c'], 'd', new Map([['kernel_shape', ints([2, 2])]])),
      node('Relu', ['d'], 'y', new Map()),
    ],
  }
  const dims = [1, 3, 12, 14]
  const { program } = programFor(graph, new Map([['x', dims]]))
  const vectors = emitted(program.steps).flatMap(({ call }) => call.streams.map(({ inner }) => inner))
  // Channels are contiguous everywhere except in the input and the output.
  expect(vectors.filter((step) => step > 1).length).toBeLessThanOrEqual(1)
  // Copies the second input into its padding, and the output into the graph's order.
  expect(program.report.copiedBytes).toBe(8 * (countOf([10, 10, 8]) + countOf([9, 9, 6])))
  const feeds = new Map([['x', floats(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-4)
})

test('concatenated channels keep their order, so that the next convolution copies no window', async () => {
  const plain = net({ pads: [1, 1, 1, 1] })
  const graph: Graph = {
    ...plain,
    constants: new Map([...plain.constants, ['third', floats([6, 14, 3, 3], 9)]]),
    nodes: [
      ...plain.nodes.slice(0, 3),
      node('Concat', ['b', 'c'], 'd', new Map([['axis', int(1)]])),
      node('Conv', ['d', 'third'], 'y', new Map()),
    ],
  }
  const dims = [1, 3, 12, 14]
  const { program } = programFor(graph, new Map([['x', dims]]))
  // Copies the second input into its padding, the first part, and the output into the graph's order.
  const copied = countOf([10, 10, 8]) + countOf([10, 10, 8]) + countOf([8, 8, 6])
  expect(program.report.copiedBytes).toBeLessThanOrEqual(8 * copied)
  const feeds = new Map([['x', floats(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-4)
})

const TURNED: readonly Form[] = [
  { strides: [2, 1] },
  { strides: [2, 3], pads: [1, 1, 0, 2] },
  { dilations: [2, 1], pads: [2, 0, 2, 0], group: 2 },
  { pads: [2, 2, 2, 2] },
]

test.each(TURNED)('a transposed convolution with infinite filters, or computed ones: %j', async (form) => {
  const { group = 1, strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0] } = form
  const filters = floats([4, 3, 3, 3])
  const infinite = { ...filters, data: filters.data.slice() }
  for (let at = 3; at < infinite.data.length; at += 7) infinite.data[at] = Infinity
  infinite.data[11] = Number.NaN
  const x = floats([2, 4, 4, 3], 5)
  x.data[2] = -Infinity
  const attributes = new Map([
    ['group', int(group)],
    ...Object.entries({ strides, dilations, pads }).map(([name, list]) => [name, ints(list)] as const),
  ])
  for (const given of [infinite, filters]) {
    const graph: Graph = {
      name: 'turned',
      inputs: ['x', 'w'].map((name, at) => ({
        name,
        type: { dtype: 'f32', dims: (at === 0 ? x : given).dims },
      })),
      outputs: ['y'],
      constants: new Map(),
      nodes: [node('ConvTranspose', ['x', 'w'], 'y', attributes)],
    }
    const constant: Graph = { ...graph, inputs: graph.inputs.slice(0, 1), constants: new Map([['w', given]]) }
    const wanted = evaluate(constant, new Map([['x', x]])).get('y')!
    const feeds = new Map([['x', x]])
    for (const made of [
      await new CompiledGraph(constant, { fuse: true }).run(feeds),
      await new CompiledGraph(graph, { fuse: false }).run(new Map([...feeds, ['w', given]])),
    ])
      for (const [at, value] of made.get('y')!.data.entries()) {
        const due = Number(wanted.data[at])
        if (Number.isFinite(due)) expect(Math.abs(Number(value) - due)).toBeLessThan(1e-4)
        else expect(value).toBe(due)
      }
  }
})
