// Convolutions whose windows are read in place. In: several small image networks. Out: whether they match the
// evaluator, copy no window, and fuse the following nodes with the product.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph, programFor } from './compiled-graph.ts'
import { reportOf } from './program/report.ts'
import { emitted } from './program/step.ts'
import { STAGES } from './stages.ts'
import { int, ints, namedNode, waves } from './testing/graph-maker.ts'

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
      ['first', waves([8, 3, 2, 5])],
      ['second', waves([6, 8 / group, ...taps], 7)],
      ['bias', waves([6], 3)],
    ]),
    nodes: [
      namedNode('Conv', ['x', 'first'], 'a', form({ dilations: [2, 1] })),
      namedNode('Tanh', ['a'], 'b', new Map()),
      namedNode('Conv', ['b', 'second', 'bias'], 'c', form({ strides, dilations, pads }, group)),
      namedNode('Relu', ['c'], 'y', new Map()),
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
      const feeds = new Map([['x', waves(dims, 5)]])
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
      namedNode('MaxPool', ['c'], 'd', new Map([['kernel_shape', ints([2, 2])]])),
      namedNode('Relu', ['d'], 'y', new Map()),
    ],
  }
  const dims = [1, 3, 12, 14]
  const { program } = programFor(graph, new Map([['x', dims]]))
  const vectors = emitted(program.steps).flatMap(({ call }) => call.streams.map(({ inner }) => inner))
  // Channels are contiguous everywhere except in the input and the output.
  expect(vectors.filter((step) => step > 1).length).toBeLessThanOrEqual(2)
  // Copies the input into the order of channels, the second input into its padding, and the output into the
  // graph's order.
  const copied = countOf([12, 14, 3]) + countOf([10, 10, 8]) + countOf([9, 9, 6])
  expect(reportOf(program).copiedBytes).toBe(8 * copied)
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-4)
})

test('concatenated channels keep their order, so that the next convolution copies no window', async () => {
  const plain = net({ pads: [1, 1, 1, 1] })
  const graph: Graph = {
    ...plain,
    constants: new Map([...plain.constants, ['third', waves([6, 14, 3, 3], 9)]]),
    nodes: [
      ...plain.nodes.slice(0, 3),
      namedNode('Concat', ['b', 'c'], 'd', new Map([['axis', int(1)]])),
      namedNode('Conv', ['d', 'third'], 'y', new Map()),
    ],
  }
  const dims = [1, 3, 12, 14]
  const { program } = programFor(graph, new Map([['x', dims]]))
  // Copies the second input into its padding, the first part, and the output into the graph's order.
  const copied = countOf([10, 10, 8]) + countOf([10, 10, 8]) + countOf([8, 8, 6])
  expect(reportOf(program).copiedBytes).toBeLessThanOrEqual(8 * copied)
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-4)
})

const PLANES: readonly (readonly [
  name: string,
  dims: readonly number[],
  filters: readonly number[],
  form: Form,
])[] = [
  ['of one place, padded', [2, 5, 1, 1], [5, 1, 3, 3], { group: 5, pads: [1, 1, 1, 1] }],
  ['with strides', [2, 9, 12, 11], [9, 1, 3, 3], { group: 9, strides: [2, 1], pads: [0, 1, 1, 0] }],
  ['dilated', [1, 16, 9, 9], [16, 1, 2, 3], { group: 16, dilations: [3, 2] }],
  ['in more than one block of rows', [1, 8, 90, 90], [8, 1, 3, 3], { group: 8 }],
  ['of one channel', [2, 1, 9, 8], [3, 1, 3, 3], { dilations: [1, 2] }],
  ['in groups of one channel', [1, 4, 7, 7], [8, 1, 3, 3], { group: 4 }],
  ['along one axis', [3, 6, 40], [6, 1, 5], { group: 6, strides: [2], dilations: [1], pads: [2, 2] }],
  [
    'along three axes',
    [1, 4, 5, 6, 7],
    [6, 4, 3, 2, 3],
    { strides: [1, 2, 1], dilations: [1, 1, 2], pads: [1, 0, 1, 1, 0, 1] },
  ],
]

test.each(PLANES)('a convolution %s reads its windows in place', async (_, dims, filters, form) => {
  const rank = dims.length - 2
  const { group = 1, strides = Array(rank).fill(1), dilations = Array(rank).fill(1) } = form
  const pads = form.pads ?? Array(2 * rank).fill(0)
  const attributes = new Map([
    ['group', int(group)],
    ...Object.entries({ strides, dilations, pads }).map(([name, list]) => [name, ints(list)] as const),
  ])
  const graph: Graph = {
    name: 'planes',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims } }],
    outputs: ['y'],
    constants: new Map([
      ['w', waves(filters, 7)],
      ['b', waves([filters[0]!], 3)],
    ]),
    nodes: [namedNode('Conv', ['x', 'w', 'b'], 'a', attributes), namedNode('Relu', ['a'], 'y', new Map())],
  }
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  for (const leftOut of [[], ['orders'], ['panels'], STAGES] as const)
    for (const fuse of [true, false]) {
      const compiled = new CompiledGraph(graph, { fuse, leftOut: new Set(leftOut) })
      const found = (await compiled.run(feeds)).get('y')!
      expect(found.dims).toEqual(wanted.dims)
      for (const [at, value] of wanted.data.entries())
        expect(Math.abs(Number(found.data[at]) - Number(value)), `${leftOut} ${at}`).toBeLessThan(1e-4)
    }
  const { program } = programFor(graph, new Map([['x', dims]]))
  const taken = wanted.data.length + countOf(dims.map((size, axis) => size + (axis < 2 ? 0 : 2)))
  expect(reportOf(program).copiedBytes).toBeLessThanOrEqual(8 * taken)
})

test('filters in codes are laid out when they are loaded', async () => {
  const dims = [1, 4, 6, 7]
  const codes = tensorOf(
    'i8',
    [5, 4, 3, 3],
    Array.from({ length: 180 }, (_, at) => ((at * 37) % 255) - 127),
  )
  const graph: Graph = {
    name: 'coded',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims } }],
    outputs: ['y'],
    constants: new Map([
      ['codes', codes],
      ['scale', tensorOf('f32', [5], [0.01, 0.02, 0.03, 0.01, 0.05])],
      ['zero', tensorOf('i8', [5], [1, 2, 0, -3, 4])],
    ]),
    nodes: [
      namedNode('DequantizeLinear', ['codes', 'scale', 'zero'], 'w', new Map([['axis', int(0)]])),
      namedNode('Conv', ['x', 'w'], 'y', new Map()),
    ],
  }
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-4)
  const { steps } = programFor(graph, new Map([['x', dims]])).program
  const products = emitted(steps).flatMap(({ call }) => call.kernel.product ?? [])
  expect(products.map(({ b }) => b)).toEqual(['packed'])
})

test('loops that change the order of axes turn blocks of four by four elements', async () => {
  for (const dims of [
    [1, 3, 9, 10],
    [2, 6, 5, 7],
    [1, 17, 4, 4],
    [3, 2, 2, 3],
  ]) {
    const graph: Graph = {
      name: 'turned',
      inputs: [
        { name: 'x', type: { dtype: 'f32', dims } },
        { name: 'z', type: { dtype: 'f32', dims: [dims[0]!, dims[2]!, dims[3]!, dims[1]!] } },
      ],
      outputs: ['y'],
      constants: new Map([['b', waves([dims[3]!, dims[1]!], 3)]]),
      nodes: [
        namedNode('Transpose', ['x'], 't', new Map([['perm', ints([0, 2, 3, 1])]])),
        namedNode('Mul', ['z', 't'], 'm', new Map()),
        namedNode('Add', ['m', 'b'], 's', new Map()),
        namedNode('Tanh', ['s'], 'y', new Map()),
      ],
    }
    const feeds = new Map(graph.inputs.map(({ name, type }) => [name, waves(type!.dims as number[], 5)]))
    const wanted = evaluate(graph, feeds).get('y')!
    for (const fuse of [true, false]) {
      const found = (await new CompiledGraph(graph, { fuse }).run(feeds)).get('y')!
      for (const [at, value] of wanted.data.entries())
        expect(Math.abs(Number(found.data[at]) - Number(value)), `${dims} ${at}`).toBeLessThan(1e-5)
    }
    const shapes = new Map([...feeds].map(([name, tensor]) => [name, tensor.dims]))
    const { steps } = programFor(graph, shapes).program
    const modes = emitted(steps).flatMap(({ call }) => call.kernel.streams.map(({ mode }) => mode))
    // Fewer than four rows in a row are not turned.
    expect(modes.includes('strided')).toBe(dims[3]! < 4)
    expect(modes.includes('turned')).toBe(dims[3]! >= 4)
  }
})

const SPREAD: readonly (readonly [dims: readonly number[], filters: readonly number[], form: Form])[] = [
  [[2, 4, 5, 6], [4, 8, 2, 2], { strides: [2, 2] }],
  [[1, 4, 5, 6], [4, 3, 3, 3], { strides: [2, 2], pads: [1, 1, 1, 1] }],
  [[1, 6, 4, 5], [6, 2, 3, 2], { strides: [3, 4], group: 3 }],
  [[1, 4, 5, 4], [4, 1, 4, 4], { strides: [2, 2], pads: [1, 1, 1, 1], group: 4 }],
  [[1, 3, 5, 5], [3, 4, 3, 3], { strides: [2, 3], dilations: [2, 2], pads: [1, 0, 2, 1] }],
  [[2, 5, 30], [5, 3, 16], { strides: [8], dilations: [1], pads: [4, 4] }],
  [[1, 2, 3, 4, 3], [2, 3, 2, 3, 2], { strides: [1, 2, 2], dilations: [1, 1, 1], pads: [0, 1, 0, 0, 1, 0] }],
]

test.each(SPREAD)('a transposed convolution of %j by %j inserts no zeros', async (dims, filters, form) => {
  const { group = 1, strides = [1, 1], dilations = [1, 1] } = form
  const pads = form.pads ?? Array(2 * strides.length).fill(0)
  const attributes = new Map([
    ['group', int(group)],
    ...Object.entries({ strides, dilations, pads }).map(([name, list]) => [name, ints(list)] as const),
  ])
  const graph: Graph = {
    name: 'spread',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims } }],
    outputs: ['y'],
    constants: new Map([
      ['w', waves(filters, 7)],
      ['b', waves([filters[1]! * group], 3)],
    ]),
    nodes: [namedNode('ConvTranspose', ['x', 'w', 'b'], 'y', attributes)],
  }
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  for (const leftOut of [[], ['orders'], STAGES] as const) {
    const found = (await new CompiledGraph(graph, { fuse: true, leftOut: new Set(leftOut) }).run(feeds)).get(
      'y',
    )!
    expect(found.dims).toEqual(wanted.dims)
    for (const [at, value] of wanted.data.entries())
      expect(Math.abs(Number(found.data[at]) - Number(value)), `${leftOut} ${at}`).toBeLessThan(1e-4)
  }
  // Multiplies as many numbers as there are pairs of a position and a tap, and copies the padded input and
  // the output in the graph's order.
  const { program } = programFor(graph, new Map([['x', dims]]))
  const multiplied = emitted(program.steps).reduce((sum, { call: { product, outer } }) => {
    return sum + (product === undefined ? 0 : countOf(outer) * product.m * product.n * product.k)
  }, 0)
  expect(multiplied).toBeLessThanOrEqual(2 * countOf(dims) * countOf(filters.slice(1)))
  const around = countOf(dims.map((size, axis) => size + (axis < 2 ? 0 : 2 * filters[axis]!)))
  expect(reportOf(program).copiedBytes).toBeLessThanOrEqual(8 * (wanted.data.length + around))
})

const TURNED: readonly Form[] = [
  { strides: [2, 1] },
  { strides: [2, 3], pads: [1, 1, 0, 2] },
  { dilations: [2, 1], pads: [2, 0, 2, 0], group: 2 },
  { pads: [2, 2, 2, 2] },
]

test.each(TURNED)('a transposed convolution with infinite filters, or computed ones: %j', async (form) => {
  const { group = 1, strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0] } = form
  const filters = waves([4, 3, 3, 3])
  const infinite = { ...filters, data: filters.data.slice() }
  for (let at = 3; at < infinite.data.length; at += 7) infinite.data[at] = Infinity
  infinite.data[11] = Number.NaN
  const x = waves([2, 4, 4, 3], 5)
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
      nodes: [namedNode('ConvTranspose', ['x', 'w'], 'y', attributes)],
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
