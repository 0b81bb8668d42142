// Bombs. In: small ONNX files that need a lot of work or memory. Out: whether the budget stops each one, with
// the units and bytes it has counted.
import { describe, expect, test } from 'vitest'
import { Budget } from '../../core/base/budget.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { graphBuilder } from '../../core/graph/builder.ts'
import { evaluate, evaluateInSteps } from './evaluate.ts'
import { graphBudget } from './graph-budget.ts'
import { zeros } from './ir/tensor.ts'
import { openOnnx } from './open-model.ts'
import { runPasses } from './passes/pass.ts'
import { PASSES } from './passes.ts'
import { readModel } from './read-model.ts'
import { modelBytes, type WrittenGraph, type WrittenNode, type WrittenTensor } from './testing/write-model.ts'

const BOOL = 9
const F64 = 11
const I64 = 7
const whole = (name: string, ...values: readonly number[]): WrittenTensor => ({
  name,
  type: I64,
  dims: [values.length],
  raw: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
})
const number = (name: string, value: number): WrittenTensor => ({ ...whole(name, value), dims: [] })
const yes: WrittenTensor = { name: 'yes', type: BOOL, dims: [], raw: Uint8Array.of(1) }

const read = async (graph: WrittenGraph) =>
  (await readModel(bufferSource('model.onnx', modelBytes(graph)))).graph

/** A loop that runs `nodes` 65,536 times, each time computing `out` from `x`. */
const looped = (nodes: readonly WrittenNode[], constants: readonly WrittenTensor[] = []): WrittenNode => ({
  op: 'Loop',
  inputs: ['trip', 'yes', 'x'],
  outputs: ['y'],
  attributes: {
    body: { nodes, constants, inputs: ['i', 'goes', 'x'], outputs: ['goes', 'out'] },
  },
})
const graphOf = (...nodes: readonly WrittenNode[]): WrittenGraph => ({
  nodes,
  constants: [number('trip', 65_536), yes],
  inputs: ['x'],
  outputs: ['y'],
})

/** A budget with these limits that rejects as a file's budget does. */
const limited = (work: number, bytes: number) =>
  new Budget({
    work,
    bytes,
    refuse: ({ what, asked, most }) => new HalfbyteError('out-of-memory', `${what} ${asked} of ${most}`),
  })
const refused = (what: 'work' | 'bytes') =>
  expect.objectContaining({ code: 'out-of-memory', detail: expect.objectContaining({ what }) })
const feeds = new Map([['x', zeros('f32', [2])]])

describe('folding', () => {
  const filled = (name: string): WrittenNode => ({
    op: 'ConstantOfShape',
    inputs: ['shape'],
    outputs: [name],
    attributes: { value: { name: 'value', type: F64, dims: [1], raw: new Uint8Array(8) } },
  })

  test.each([
    ['that one node reads exceed the budget of live bytes', 'bytes'],
    ['that nobody reads exceed the work budget', 'work'],
  ] as const)('200 constants of 32 MB %s', async (_, what) => {
    const names = Array.from({ length: 200 }, (_, at) => `a${at}`)
    const reader = { op: 'Max', inputs: what === 'bytes' ? names : ['x'], outputs: ['y'] }
    const graph = await read({
      nodes: [...names.map(filled), reader],
      constants: [whole('shape', 2 ** 22)],
      inputs: ['x'],
      outputs: ['y'],
    })
    expect(() => runPasses(graph, PASSES)).toThrow(refused(what))
  })

  test.each([
    ['MatMul', { op: 'MatMul', inputs: ['a', 'a'], outputs: ['y'] }],
    ['Gemm', { op: 'Gemm', inputs: ['a', 'a'], outputs: ['y'] }],
  ] as const)('a %s of 2048 x 2048 is rejected before it is computed', async (_, node) => {
    const graph = await read({
      nodes: [{ op: 'ConstantOfShape', inputs: ['shape'], outputs: ['a'] }, node],
      constants: [whole('shape', 2048, 2048)],
      inputs: ['x'],
      outputs: ['y'],
    })
    const budget = graphBudget()
    expect(() => runPasses(graph, PASSES, { budget })).toThrow(refused('work'))
    expect(budget.spentUnits).toBeGreaterThan(2048 ** 3)
  })

  test('a chain of 100 constants holds two of them at a time and frees their bytes', async () => {
    const chain = Array.from({ length: 100 }, (_, at) => ({
      op: 'Neg',
      inputs: [`a${at}`],
      outputs: [`a${at + 1}`],
    }))
    const graph = await read({
      nodes: [{ op: 'ConstantOfShape', inputs: ['shape'], outputs: ['a0'] }, ...chain],
      constants: [whole('shape', 2 ** 16)],
      inputs: ['x'],
      outputs: ['a100'],
    })
    const budget = limited(2 ** 26, 2 * 4 * 2 ** 16 + 8)
    const { graph: folded } = runPasses(graph, PASSES, { budget })
    expect(folded.nodes).toHaveLength(0)
    expect([...folded.constants.keys()]).toEqual(['a100'])
    expect(budget.heldBytes).toBe(0)
  })
})

describe('loops', () => {
  test('nested loops stop at the work budget', async () => {
    const inner = looped([{ op: 'Neg', inputs: ['x'], outputs: ['out'] }])
    const outer = looped([inner, { op: 'Identity', inputs: ['y'], outputs: ['out'] }])
    const graph = await read(graphOf(outer))
    const budget = limited(2 ** 22, 2 ** 20)
    expect(() => evaluate(graph, feeds, { budget })).toThrow(/work/)
    expect(budget.heldBytes).toBe(0)
  })

  test('a loop that adds an axis in each step stops at the maximum number of axes', async () => {
    const graph = await read(
      graphOf(looped([{ op: 'Unsqueeze', inputs: ['x', 'axis'], outputs: ['out'] }], [whole('axis', 0)])),
    )
    expect(() => evaluate(graph, feeds)).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringContaining('65 axes') }),
    )
  })

  test('a loop that doubles its value stops at the maximum number of elements', async () => {
    const graph = await read(
      graphOf(looped([{ op: 'Concat', inputs: ['x', 'x'], outputs: ['out'], attributes: { axis: 0 } }])),
    )
    expect(() => evaluate(graph, feeds)).toThrow(expect.objectContaining({ code: 'out-of-memory' }))
  })

  test('a loop that transposes a matrix in each step stops at the work budget', async () => {
    const turned = looped([{ op: 'Transpose', inputs: ['x'], outputs: ['out'] }])
    const { constants = [], ...rest } = graphOf(
      { op: 'Expand', inputs: ['x', 'shape'], outputs: ['wide'] },
      { ...turned, inputs: ['trip', 'yes', 'wide'] },
    )
    const graph = await read({ ...rest, constants: [...constants, whole('shape', 256, 2)] })
    const budget = limited(2 ** 22, 2 ** 20)
    expect(() => evaluate(graph, feeds, { budget })).toThrow(/work/)
  })

  test('a loop’s state is held once, and its outputs are held until they are joined', async () => {
    const bytes = 4 * 1024
    const body = { nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['out'] }], inputs: ['i', 'goes', 'x'] }
    const loop = (outputs: readonly string[], made: readonly string[]): WrittenGraph => ({
      nodes: [
        {
          op: 'Loop',
          inputs: ['trip', 'yes', 'x'],
          outputs,
          attributes: { body: { ...body, outputs: ['goes', ...made] } },
        },
      ],
      constants: [number('trip', 50), yes],
      inputs: ['x'],
      outputs: outputs.slice(-1),
    })
    const given = new Map([['x', zeros('f32', [1024])]])
    const carried = await read(loop(['y'], ['out']))
    const listed = await read(loop(['y', 'all'], ['out', 'out']))
    const small = limited(2 ** 26, 3 * bytes)
    expect(evaluate(carried, given, { budget: small }).get('y')?.dims).toEqual([1024])
    expect(small.heldBytes).toBe(0)
    expect(() => evaluate(listed, given, { budget: limited(2 ** 26, 3 * bytes) })).toThrow(/bytes/)
    expect(evaluate(listed, given, { budget: limited(2 ** 26, 101 * bytes) }).get('all')?.dims).toEqual([
      50, 1024,
    ])
  })
})

test('an einsum is charged for its products', async () => {
  const graph = await read({
    nodes: [
      { op: 'Expand', inputs: ['x', 'shape'], outputs: ['a'] },
      { op: 'Einsum', inputs: ['a', 'a'], outputs: ['y'], attributes: { equation: { text: 'ab,cd->' } } },
    ],
    constants: [whole('shape', 1024, 2)],
    inputs: ['x'],
    outputs: ['y'],
  })
  expect(() => evaluate(graph, feeds, { budget: limited(2 ** 22, 2 ** 20) })).toThrow(/work/)
})

test('a chain of nodes whose rank grows is rejected before anything is computed', async () => {
  const nodes = Array.from({ length: 100 }, (_, at) => ({
    op: 'Unsqueeze',
    inputs: [`x${at || ''}`, 'axis'],
    outputs: [`x${at + 1}`],
  }))
  const bytes = modelBytes({ nodes, constants: [whole('axis', 0)], inputs: ['x'], outputs: ['x100'] })
  await expect(
    openOnnx([bufferSource('model.onnx', bytes)], { newGraph: graphBuilder }),
  ).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining('65 axes') })
})

test('evaluation stops after each node, and an abort stops it', async () => {
  const nodes = Array.from({ length: 10 }, (_, at) => ({
    op: 'Neg',
    inputs: [`x${at || ''}`],
    outputs: [`x${at + 1}`],
  }))
  const graph = await read({ nodes, inputs: ['x'], outputs: ['x10'] })
  const abort = new AbortController()
  const steps = evaluateInSteps(graph, feeds, { budget: graphBudget(abort.signal) })
  for (let step = 0; step < 4; step++) expect(steps.next().done).toBe(false)
  abort.abort(new Error('cancelled'))
  expect(() => steps.next()).toThrow('cancelled')
})
