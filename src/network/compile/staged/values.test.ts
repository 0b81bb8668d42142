// Tests values that are not tensors of numbers. In: graphs with sequences, optional values and strings. Out:
// whether networks give the evaluator's values, run sequences of known length as tensors, and name the node
// of each mistake.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { NONE, sequenceOf, stringTensor, textsOf } from '../../onnx/ir/values.ts'
import { readModel } from '../../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../../onnx/testing/node-writer.ts'
import { modelBytes, type WrittenGraph } from '../../onnx/testing/write-model.ts'
import { StagedGraph } from './staged-graph.ts'

const floats = (...values: readonly number[]) => tensorOf('f32', [values.length], [...values])
const int = (value: number) => tensorOf('i64', [], [value])
const f32 = (name: string) => ({ name, type: TYPE.f32 })
const i64 = (name: string) => ({ name, type: TYPE.i64, dims: [] })
const list = (name: string) => ({ name, type: TYPE.f32, form: 'sequence' }) as const

async function graphOf(g: NodeWriter, rest: Pick<WrittenGraph, 'inputs' | 'outputs'>) {
  const bytes = modelBytes({ nodes: g.nodes, constants: g.constants, ...rest }, 18)
  return (await readModel(bufferSource('model.onnx', bytes))).graph
}

/** Comparable: numbers or strings with their dims. */
const plain = (value: Tensor | undefined): unknown => {
  if (value?.items !== undefined) return value.items.map(plain)
  if (value === undefined) return undefined
  return [value.dtype, value.dims, value.dtype === 'string' ? textsOf(value) : [...value.data].map(Number)]
}

/** Runs the graph twice, for stages that are planned and those that are known. Returns the outputs. */
async function run(
  graph: Awaited<ReturnType<typeof graphOf>>,
  feeds: Readonly<Record<string, Tensor>>,
  expected: readonly string[] = [],
): Promise<Readonly<Record<string, unknown>>> {
  const given = new Map(Object.entries(feeds))
  const absent = graph.inputs.filter(({ name, isOptional }) => isOptional && !given.has(name))
  const wanted = evaluate(graph, new Map([...given, ...absent.map(({ name }) => [name, NONE] as const)]))
  const network = await StagedGraph.open(graph, { fuse: true })
  let found: Readonly<Record<string, unknown>> = {}
  for (const _ of [1, 2]) {
    const made = await network.run(given)
    found = Object.fromEntries([...made].map(([name, value]) => [name, plain(value)]))
    for (const [name, value] of wanted)
      expect(found[name]).toEqual(value.dtype === 'none' ? undefined : plain(value))
  }
  expect(network.foreign.map(({ op }) => op)).toEqual(expected)
  await network.dispose()
  return found
}

test('a sequence of known length is compiled as its tensors', async () => {
  const g = new NodeWriter()
  const more = g.op('SequenceInsert', ['list', 'x', g.int(-1)])
  const fewer = g.op('SequenceErase', [more, g.int(0)])
  g.node('ConcatFromSequence', [fewer], ['joined'], { axis: 0 })
  g.node('ConcatFromSequence', [g.op('SplitToSequence', ['joined', g.int(1)])], ['stacked'], {
    axis: 1,
    new_axis: 1,
  })
  g.node('Relu', [g.op('SequenceAt', [fewer, g.int(-1)])], ['last'])
  g.node('SequenceLength', [fewer], ['count'])
  const graph = await graphOf(g, {
    inputs: [list('list'), f32('x')],
    outputs: ['joined', 'stacked', 'last', 'count'].map(f32),
  })
  const found = await run(graph, { list: sequenceOf([floats(1, 2), floats(-3, 4, 5)]), x: floats(6) })
  expect(found).toEqual({
    joined: ['f32', [4], [6, -3, 4, 5]],
    stacked: ['f32', [1, 4], [6, -3, 4, 5]],
    last: ['f32', [3], [0, 4, 5]],
    count: ['i64', [], [2]],
  })
})

test('sequences with equally many tensors in all have plans of their own', async () => {
  const g = new NodeWriter()
  g.node('SequenceLength', ['a'], ['first'])
  g.node('SequenceLength', ['b'], ['second'])
  g.node('ConcatFromSequence', ['a'], ['joined'], { axis: 0 })
  const graph = await graphOf(g, {
    inputs: [list('a'), list('b')],
    outputs: ['first', 'second', 'joined'].map(f32),
  })
  const network = await StagedGraph.open(graph, { fuse: true })
  const two = sequenceOf([floats(1), floats(2)])
  const one = sequenceOf([floats(3)])
  for (const [a, b, joined] of [
    [two, one, [1, 2]],
    [one, two, [3]],
  ] as const) {
    const made = await network.run(
      new Map([
        ['a', a],
        ['b', b],
      ]),
    )
    expect(plain(made.get('first'))).toEqual(['i64', [], [a.items!.length]])
    expect(plain(made.get('second'))).toEqual(['i64', [], [b.items!.length]])
    expect(plain(made.get('joined'))).toEqual(['f32', [joined.length], joined])
  }
  await network.dispose()
})

/** Inserts the number of each step into a sequence. */
function collecting(g: NodeWriter, condition: string): void {
  const b = new NodeWriter('b_')
  const number = b.op('Cast', ['i'], { to: TYPE.f32 })
  const next = b.op('SequenceInsert', ['items', b.op('Mul', [number, 'x'])])
  const goes = condition === 'kept' ? b.op('Identity', ['goes']) : b.op('Less', ['i', 'limit'])
  g.node('Loop', ['count', '', g.op('SequenceEmpty', [])], ['all'], {
    body: {
      nodes: b.nodes,
      constants: b.constants,
      inputs: [i64('i'), { name: 'goes', type: TYPE.bool, dims: [] }, list('items')],
      outputs: [{ name: goes, type: TYPE.bool }, list(next)],
    },
  })
  g.node('ConcatFromSequence', ['all'], ['y'], { axis: 0 })
}

test('a loop collects tensors in a sequence, whose length is known before the run or during it', async () => {
  const kept = new NodeWriter()
  collecting(kept, 'kept')
  const inputs = [i64('count'), i64('limit'), f32('x')]
  const feeds = { count: int(3), limit: int(1), x: floats(1, 2) }
  const graph = await graphOf(kept, { inputs: inputs.toSpliced(1, 1), outputs: [f32('y')] })
  expect(await run(graph, { count: int(3), x: floats(1, 2) })).toEqual({
    y: ['f32', [6], [0, 0, 1, 2, 2, 4]],
  })
  const computed = new NodeWriter()
  collecting(computed, 'computed')
  const other = await graphOf(computed, { inputs, outputs: [f32('y'), list('all')] })
  // The step that ends the loop counts too.
  expect(await run(other, feeds, ['SequenceEmpty', 'Loop', 'ConcatFromSequence'])).toMatchObject({
    y: ['f32', [4], [0, 0, 1, 2]],
  })
})

test('SequenceMap runs its body for each element, and outputs may be sequences', async () => {
  const b = new NodeWriter('b_')
  const graph = await graphOf(
    (() => {
      const g = new NodeWriter()
      const made = b.op('Add', ['item', 'y'])
      g.node('SequenceMap', ['list', 'x'], ['sums', 'sizes'], {
        body: {
          nodes: [...b.nodes, { op: 'Shape', inputs: ['item'], outputs: ['size'] }],
          inputs: [f32('item'), f32('y')],
          outputs: [f32(made), i64('size')],
        },
      })
      return g
    })(),
    { inputs: [list('list'), f32('x')], outputs: [list('sums'), list('sizes')] },
  )
  const given = { list: sequenceOf([floats(1), floats(2, 3)]), x: floats(10) }
  expect(await run(graph, given, ['SequenceConstruct', 'SequenceConstruct'])).toEqual({
    sums: [
      ['f32', [1], [11]],
      ['f32', [2], [12, 13]],
    ],
    sizes: [
      ['i64', [1], [1]],
      ['i64', [1], [2]],
    ],
  })
  expect(await run(graph, { ...given, list: sequenceOf([]) }, ['SequenceEmpty', 'SequenceEmpty'])).toEqual({
    sums: [],
    sizes: [],
  })
})

test('an optional value is absent or present, as an input and as an output', async () => {
  const g = new NodeWriter()
  g.node('OptionalHasElement', ['x'], ['has'])
  const branch = (op: string, from: string, to: string) => ({
    nodes: [{ op, inputs: [from], outputs: [to] }],
    outputs: [f32(to)],
  })
  g.node('If', ['has'], ['y'], {
    then_branch: branch('OptionalGetElement', 'x', 'own'),
    else_branch: branch('Neg', 'other', 'negated'),
  })
  g.node('Identity', ['x'], ['same'])
  const graph = await graphOf(g, {
    inputs: [{ ...f32('x'), form: 'optional' }, f32('other')],
    outputs: [{ name: 'has', type: TYPE.bool }, f32('y'), { ...f32('same'), form: 'optional' }],
  })
  expect(await run(graph, { x: floats(1), other: floats(2) })).toMatchObject({ y: ['f32', [1], [1]] })
  const without = await run(graph, { other: floats(2) }, ['Optional'])
  expect(without).toEqual({ has: ['bool', [], [0]], y: ['f32', [1], [-2]] })
})

test('strings pass through operators that move, choose and compare elements', async () => {
  const g = new NodeWriter()
  g.constants.push({ name: 'names', type: TYPE.string, dims: [3], strings: ['ä', 'b', ''] })
  const picked = g.op('Gather', ['names', 'ids'])
  const table = g.op('Reshape', [g.op('Concat', ['x', picked], { axis: 0 }), g.ints([2, -1])])
  g.node('Transpose', [table], ['y'], { perm: { ints: [1, 0] } })
  g.node('Equal', [picked, 'x'], ['same'])
  g.node('Where', ['same', 'x', picked], ['chosen'])
  g.node('SequenceAt', [g.op('SplitToSequence', ['x']), g.int(1)], ['second'])
  g.node('Constant', [], ['words'], { value_strings: { texts: ['one', 'two'] } })
  const text = (name: string) => ({ name, type: TYPE.string })
  const graph = await graphOf(g, {
    inputs: [text('x'), { name: 'ids', type: TYPE.i64 }, text('unused')],
    outputs: ['y', 'same', 'chosen', 'second', 'words'].map(text),
  })
  const feeds = {
    x: stringTensor([2], ['b', 'c']),
    ids: tensorOf('i64', [2], [1, 0]),
    unused: stringTensor([], ['']),
  }
  const network = await StagedGraph.open(graph, { fuse: true })
  const made = await network.run(new Map(Object.entries(feeds)))
  await network.dispose()
  const wanted = evaluate(graph, new Map(Object.entries(feeds)))
  for (const [name, value] of wanted) expect(plain(made.get(name))).toEqual(plain(value))
  expect(plain(made.get('y'))).toEqual(['string', [2, 2], ['b', 'b', 'c', 'ä']])
  expect(plain(made.get('same'))).toEqual(['bool', [2], [1, 0]])
  expect(plain(made.get('second'))).toEqual(['string', [1], ['c']])
  expect(plain(made.get('words'))).toEqual(['string', [2], ['one', 'two']])
})

test.each([
  ['a place outside of a sequence', 'SequenceAt', ['list', 'place'], {}, 'format'],
  ['a place outside of a sequence', 'SequenceErase', ['list', 'place'], {}, 'format'],
  ['a place outside of a sequence', 'SequenceInsert', ['list', 'x', 'place'], {}, 'format'],
  ['parts that are not the axis', 'SplitToSequence', ['x', 'places'], { axis: 0 }, 'format'],
  ['an axis that does not exist', 'SplitToSequence', ['x'], { axis: 3 }, 'format'],
  ['a sequence where a tensor is due', 'Relu', ['list'], {}, 'unsupported'],
  ['a tensor where a sequence is due', 'SequenceLength', ['x'], {}, 'unsupported'],
  ['strings where numbers are due', 'Cast', ['text'], { to: TYPE.f32 }, 'unsupported'],
  ['numbers that become strings', 'Cast', ['x'], { to: TYPE.string }, 'unsupported'],
] as const)('%s is an error that names the node: %s', async (_, op, inputs, attributes, code) => {
  const g = new NodeWriter()
  g.node(op, inputs, ['y'], attributes)
  const graph = await graphOf(g, {
    inputs: [
      list('list'),
      f32('x'),
      i64('place'),
      { name: 'places', type: TYPE.i64, dims: [2] },
      { name: 'text', type: TYPE.string },
    ].filter(({ name }) => (inputs as readonly string[]).includes(name)),
    outputs: [f32('y')],
  })
  const feeds = new Map<string, Tensor>([
    ['list', sequenceOf([floats(1)])],
    ['x', floats(1, 2)],
    ['place', int(7)],
    ['places', tensorOf('i64', [2], [1, 5])],
    ['text', stringTensor([1], ['1'])],
  ])
  const opened = StagedGraph.open(graph, { fuse: true }).then((network) => network.run(feeds))
  await expect(opened).rejects.toMatchObject({ code, message: expect.stringContaining(`(${op})`) })
})

test('a sequence beyond the budget is an error', async () => {
  const g = new NodeWriter()
  g.node('SequenceLength', [g.op('SplitToSequence', ['x'], { axis: 1 })], ['y'])
  const graph = await graphOf(g, { inputs: [f32('x')], outputs: [i64('y')] })
  const network = await StagedGraph.open(graph, { fuse: true })
  const empty: Tensor = { dtype: 'f32', dims: [0, 2 ** 40], data: new Float32Array(0) }
  await expect(network.run(new Map([['x', empty]]))).rejects.toMatchObject({ code: 'out-of-memory' })
  await network.dispose()
})

test('a name that an element of an input needs is an error', async () => {
  const g = new NodeWriter()
  g.node('SequenceLength', ['list'], ['list[0]'])
  const graph = await graphOf(g, { inputs: [list('list')], outputs: [i64('list[0]')] })
  const network = await StagedGraph.open(graph, { fuse: true })
  const run = network.run(new Map([['list', sequenceOf([floats(1)])]]))
  await expect(run).rejects.toMatchObject({ code: 'format', message: expect.stringContaining('list[0]') })
  await network.dispose()
})
