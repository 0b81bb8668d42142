// Forged files. In: graphs that contradict themselves or need too much. Out: whether each is rejected with a
// typed error that gives the reason, before memory is allocated.
import { expect, test } from 'vitest'
import { bufferSource } from '../../core/base/bytes.ts'
import { evaluate } from './evaluate.ts'
import { runPasses } from './passes/pass.ts'
import { PASSES } from './passes.ts'
import { type ReadOptions, readModel } from './read-model.ts'
import { modelBytes, type WrittenGraph, type WrittenTensor } from './testing/write-model.ts'

const add = (inputs: readonly string[], output: string) => ({ op: 'Add', inputs, outputs: [output] })
const read = (graph: WrittenGraph, options: ReadOptions = {}, opset?: number) =>
  readModel(bufferSource('model.onnx', modelBytes(graph, opset)), options)
const withConstant = (constant: Omit<WrittenTensor, 'name'>): WrittenGraph => ({
  nodes: [add(['x', 'w'], 'y')],
  constants: [{ name: 'w', ...constant }],
  inputs: ['x'],
  outputs: ['y'],
})
const two = new Uint8Array(new Float32Array([3, 4]).buffer)

test('a valid file is read and computed', async () => {
  const { graph } = await read(withConstant({ dims: [2], raw: two }))
  const x = { dtype: 'f32', dims: [2], data: Float32Array.of(1, 2) } as const
  expect(evaluate(graph, new Map([['x', x]])).get('y')?.data).toEqual(Float32Array.of(4, 6))
})

test('nodes may come in any order, even in an attribute', async () => {
  const branch = { nodes: [add(['c', 'd'], 'e'), add(['b', 'b'], 'd')], inputs: [], outputs: ['e'] }
  const chosen = {
    op: 'If',
    inputs: ['is'],
    outputs: ['y'],
    attributes: { then_branch: branch, else_branch: branch },
  }
  const nodes = [chosen, add(['b', 'a'], 'c'), add(['a', 'x'], 'b'), add(['x', 'x'], 'a')]
  const constants = [{ name: 'is', type: 9, dims: [], raw: Uint8Array.of(1) }]
  const { graph } = await read({ nodes, constants, inputs: ['x'], outputs: ['y'] })
  expect(graph.nodes.map(({ outputs }) => outputs[0])).toEqual(['a', 'b', 'c', 'y'])
  const x = { dtype: 'f32', dims: [1], data: Float32Array.of(1) } as const
  expect(evaluate(graph, new Map([['x', x]])).get('y')?.data).toEqual(Float32Array.of(11))
})

test.each<[string, WrittenGraph, RegExp]>([
  [
    'a cycle',
    { nodes: [add(['x', 'b'], 'a'), add(['a', 'x'], 'b')], inputs: ['x'], outputs: ['b'] },
    /reads a, which no earlier node produces/,
  ],
  [
    'a name defined twice',
    { nodes: [add(['x', 'x'], 'a'), add(['x', 'x'], 'a')], inputs: ['x'], outputs: ['a'] },
    /name a is defined twice/,
  ],
  [
    'an output that no node produces',
    { nodes: [], inputs: ['x'], outputs: ['y'] },
    /no node produces its output y/,
  ],
  ['dims of 2^60', withConstant({ dims: [2 ** 60, 2 ** 60], raw: two }), /impossible shape/],
  [
    'dims whose product is not a safe number',
    withConstant({ dims: [2 ** 30, 2 ** 30], raw: two }),
    /impossible shape/,
  ],
  ['too few bytes', withConstant({ dims: [3], raw: two }), /8 bytes, but its shape \[3\] needs 12/],
  ['a giant constant without bytes', withConstant({ dims: [2 ** 40] }), /0 elements, but its shape/],
  ['17 dimensions', withConstant({ dims: Array(17).fill(1), raw: two }), /17 dimensions/],
])('%s is a format error', async (_, graph, message) => {
  await expect(read(graph)).rejects.toMatchObject({ code: 'format', message: expect.stringMatching(message) })
})

const WEIGHTS = bufferSource('w.bin', new Uint8Array(64))
const find = async (name: string) => (name === 'w.bin' ? WEIGHTS : undefined)

test.each<[string, Record<string, string>, string, RegExp]>([
  ['a path that leaves the folder', { location: '../w.bin' }, 'format', /consists of dots/],
  ['an absolute path', { location: '/etc/passwd' }, 'format', /starts at the root/],
  ['a path that leaves the folder midway', { location: 'a/../../w.bin' }, 'format', /consists of dots/],
  ['a drive', { location: 'C:\\w.bin' }, 'format', /contains the character/],
  ['an address', { location: 'https://x/w.bin' }, 'format', /contains the character :/],
  [
    'an offset past the end',
    { location: 'w.bin', offset: '60' },
    'format',
    /ends at byte 68 of w\.bin, which has 64/,
  ],
  ['a negative offset', { location: 'w.bin', offset: '-8' }, 'format', /is not a valid count/],
  [
    'an offset of 2^70',
    { location: 'w.bin', offset: '1180591620717411303424' },
    'format',
    /is not a valid count/,
  ],
  [
    'a wrong length',
    { location: 'w.bin', length: '4' },
    'format',
    /4 bytes in w\.bin, but its shape needs 8/,
  ],
  [
    'a file that does not exist',
    { location: 'v.bin' },
    'unsupported',
    /v\.bin, which is not among the files/,
  ],
])('external data with %s is rejected', async (_, external, code, message) => {
  const graph = withConstant({ dims: [2], external })
  await expect(read(graph, { find })).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
})

test('external data is read from its place', async () => {
  const graph = withConstant({ dims: [2], external: { location: './w.bin', offset: '8', length: '8' } })
  expect((await read(graph, { find })).graph.constants.get('w')).toMatchObject({ dims: [2], dtype: 'f32' })
})

test('too deeply nested graphs are rejected', async () => {
  let graph: WrittenGraph = { nodes: [], outputs: [] }
  for (let depth = 0; depth < 100; depth++)
    graph = { nodes: [{ op: 'If', inputs: [], outputs: [], attributes: { body: graph } }] }
  await expect(read(graph)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/nested deeper/),
  })
})

test('a value larger than memory is rejected before it is created', async () => {
  const shape = new Uint8Array(BigInt64Array.of(1n << 40n).buffer)
  const { graph } = await read({
    nodes: [{ op: 'ConstantOfShape', inputs: ['n'], outputs: ['y'] }],
    constants: [{ name: 'n', type: 7, dims: [1], raw: shape }],
    outputs: ['y'],
  })
  expect(() => evaluate(graph, new Map())).toThrow(expect.objectContaining({ code: 'out-of-memory' }))
  expect(runPasses(graph, PASSES).graph.nodes).toHaveLength(1)
})

test('an old opset and an unknown data type are named in the error', async () => {
  const good = withConstant({ dims: [2], raw: two })
  await expect(read(good, {}, 6)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/opset 6/),
  })
  for (const type of [14, 99]) {
    const graph = withConstant({ type, dims: [2], raw: two })
    await expect(read(graph)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(`data type ${type}`),
    })
  }
})

test('every truncated file causes a format error', async () => {
  const bytes = modelBytes(withConstant({ dims: [2], raw: two }))
  for (let end = 0; end < bytes.length; end++) {
    const cut = readModel(bufferSource('model.onnx', bytes.slice(0, end)))
    // Cutting exactly before the last field, the opset, leaves a complete file.
    await cut.catch((error) => expect(error).toMatchObject({ code: 'format' }))
  }
})
