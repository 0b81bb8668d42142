// Convolutions in tiles. In: 3 x 3 convolutions of even and odd sizes. Out: whether they match the evaluator,
// and which of them multiply tiles.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph } from '../../../onnx/ir/graph.ts'
import { tensorOf } from '../../../onnx/ir/tensor.ts'
import { CompiledGraph, programFor } from '../../compiled-graph.ts'
import { emitted } from '../../program/step.ts'
import { NOTHING } from '../../stages.ts'
import { int, ints, namedNode, waves } from '../../testing/graph-maker.ts'

interface Form {
  readonly channels?: number
  readonly count?: number
  readonly group?: number
  readonly strides?: readonly number[]
  readonly pads?: readonly number[]
}

/** A convolution with a bias, and another one that reads its result. */
function net({ channels = 24, count = 27, group = 1, strides = [1, 1], pads = [1, 1, 1, 1] }: Form): Graph {
  const form = new Map([
    ['group', int(group)],
    ['strides', ints(strides)],
    ['pads', ints(pads)],
  ])
  return {
    name: 'net',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['batch', channels, 'height', 'width'] } }],
    outputs: ['y'],
    constants: new Map([
      ['first', waves([count, channels / group, 3, 3])],
      ['bias', waves([count], 3)],
      ['second', waves([2, count, 1, 1], 7)],
    ]),
    nodes: [
      namedNode('Conv', ['x', 'first', 'bias'], 'a', form),
      namedNode('Relu', ['a'], 'b', new Map()),
      namedNode('Conv', ['b', 'second'], 'y', new Map()),
    ],
  }
}

/** Batches of 16 products in the program. */
function tiledIn(graph: Graph, dims: readonly number[], leftOut = NOTHING): number {
  const { steps } = programFor(graph, new Map([['x', dims]]), 'f32', leftOut).program
  return emitted(steps).filter(({ call }) => call.product !== undefined && call.outer[0] === 16).length
}

const FORMS: Readonly<Record<string, readonly [form: Form, size: readonly number[]]>> = {
  'of an even size': [{}, [1, 12, 14]],
  'of odd sizes': [{}, [2, 11, 9]],
  'without a border': [{ pads: [0, 0, 0, 0] }, [1, 14, 12]],
  'with another border on each side': [{ pads: [0, 1, 2, 3] }, [1, 13, 10]],
  'with fewer filters than channels': [{ channels: 40, count: 24 }, [1, 10, 10]],
}

for (const [name, [form, [batch, ...sizes]]] of Object.entries(FORMS))
  test(`a convolution ${name} multiplies tiles`, async () => {
    const graph = net(form)
    const dims = [batch!, form.channels ?? 24, ...sizes]
    expect(tiledIn(graph, dims)).toBe(1)
    const feeds = new Map([['x', waves(dims, 5)]])
    const wanted = evaluate(graph, feeds).get('y')!
    const largest = Math.max(...[...wanted.data].map((value) => Math.abs(Number(value))))
    for (const leftOut of [NOTHING, new Set(['orders'] as const), new Set(['groups', 'places'] as const)])
      for (const fuse of [true, false]) {
        const found = (await new CompiledGraph(graph, { fuse, leftOut }).run(feeds)).get('y')!
        expect(found.dims).toEqual(wanted.dims)
        for (const [at, value] of wanted.data.entries())
          expect(Math.abs(Number(found.data[at]) - Number(value)), `${at}`).toBeLessThan(4e-6 * largest)
      }
  })

test('other windows, few channels, few or very many places and computed filters are multiplied as they are', () => {
  const wide = [1, 24, 12, 12]
  expect(tiledIn(net({}), wide)).toBe(1)
  expect(tiledIn(net({}), wide, new Set(['tiles']))).toBe(0)
  expect(tiledIn(net({ strides: [2, 1] }), wide)).toBe(0)
  expect(tiledIn(net({ group: 2, count: 26 }), wide)).toBe(0)
  expect(tiledIn(net({ count: 23 }), wide)).toBe(0)
  expect(tiledIn(net({}), [1, 24, 8, 10])).toBe(0)
  // The matrices of tiles would take 80 MB.
  expect(tiledIn(net({}), [1, 24, 312, 320])).toBe(0)
  expect(tiledIn(net({}), [1, 24, 240, 320])).toBe(1)
  const graph = net({})
  const computed = { ...graph, nodes: [namedNode('Tanh', ['w'], 'first', new Map()), ...graph.nodes] }
  const constants = new Map([...graph.constants].filter(([name]) => name !== 'first'))
  const inputs = [...graph.inputs, { name: 'w', type: { dtype: 'f32', dims: [27, 24, 3, 3] } } as const]
  const { steps } = programFor(
    { ...computed, constants, inputs },
    new Map([
      ['x', wide],
      ['w', [27, 24, 3, 3]],
    ]),
  ).program
  expect(emitted(steps).some(({ call }) => call.outer[0] === 16)).toBe(false)
})

test('filters in 8 bits multiply tiles', async () => {
  const codes = tensorOf(
    'i8',
    [27, 24, 3, 3],
    Array.from({ length: 27 * 24 * 9 }, (_, at) => ((at * 37) % 255) - 127),
  )
  const scale = Array.from({ length: 27 }, (_, at) => 0.001 * (1 + at))
  const plain = net({})
  const graph: Graph = {
    ...plain,
    constants: new Map([...plain.constants, ['codes', codes], ['scale', tensorOf('f32', [27], scale)]]),
    nodes: [
      namedNode('DequantizeLinear', ['codes', 'scale'], 'w', new Map([['axis', int(0)]])),
      namedNode('Conv', ['x', 'w', 'bias'], 'a', new Map([['pads', ints([1, 1, 1, 1])]])),
      ...plain.nodes.slice(1),
    ],
  }
  const dims = [1, 24, 10, 12]
  expect(tiledIn(graph, dims)).toBe(1)
  const feeds = new Map([['x', waves(dims, 5)]])
  const wanted = evaluate(graph, feeds).get('y')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  const largest = Math.max(...[...wanted.data].map((value) => Math.abs(Number(value))))
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value)), `${at}`).toBeLessThan(4e-6 * largest)
})

test('a number that is not finite reaches at most the tiles whose windows read it', async () => {
  const graph = net({})
  const dims = [1, 24, 12, 12]
  const plain = waves(dims, 5)
  const data = Float32Array.from(plain.data as Float32Array)
  data[5 * 12 + 5] = Number.POSITIVE_INFINITY
  const run = async (x: Float32Array) =>
    (await new CompiledGraph(graph, { fuse: true }).run(new Map([['x', tensorOf('f32', dims, x)]]))).get('y')!
      .data
  const wanted = await run(plain.data as Float32Array)
  const found = await run(data)
  const isNear = (place: number) => Math.abs(place - 5) <= 2
  for (const [at, value] of found.entries()) {
    const [row, column] = [Math.floor((at % 144) / 12), at % 12]
    if (!isNear(row) || !isNear(column)) expect(value, `${row} ${column}`).toBe(wanted[at])
  }
})
