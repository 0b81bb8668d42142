// Checks that a branch that is always taken replaces its If, and that the outputs stay the same.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import type { Graph } from '../ir/graph.ts'
import { tensorOf } from '../ir/tensor.ts'
import { PASSES } from '../passes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes, type WrittenGraph } from '../testing/write-model.ts'
import { withCache } from './branches.ts'
import { runPasses } from './pass.ts'

const BOOL = 9
const F32 = 1
const node = (op: string, inputs: readonly string[], output: string) => ({ op, inputs, outputs: [output] })
const number = (name: string, value: number) => ({
  name,
  type: F32,
  dims: [1],
  raw: new Uint8Array(Float32Array.of(value).buffer),
})

/** Both branches have values and constants with the same name. */
const branch = (op: string, value: number): WrittenGraph => ({
  nodes: [node(op, ['x', 'c'], 'made'), node('Add', ['made', 'd'], 'end')],
  constants: [number('c', value)],
  outputs: ['end'],
})
const chosenBy = (condition: string, output: string) => ({
  op: 'If',
  inputs: [condition],
  outputs: [output],
  attributes: { then_branch: branch('Mul', 3), else_branch: branch('Add', 5) },
})
const read = async (graph: WrittenGraph): Promise<Graph> =>
  (await readModel(bufferSource('model.onnx', modelBytes(graph)))).graph

const X = { name: 'x', type: F32, dims: [1] }
const feeds = (graph: Graph) =>
  new Map(
    graph.inputs.map(({ name }) => [
      name,
      tensorOf(name === 'x' ? 'f32' : 'bool', [1], [name === 'x' ? 4 : 1]),
    ]),
  )
const results = (graph: Graph) =>
  [...evaluate(graph, feeds(graph))].map(([name, { data }]) => [name, ...(data as Float32Array)])

test('the branch of a constant condition replaces the node, whatever its names', async () => {
  const graph = await read({
    nodes: [
      node('Not', ['is'], 'is_not'),
      node('Mul', ['x', 'd'], 'made'),
      chosenBy('is', 'a'),
      chosenBy('is_not', 'b'),
    ],
    constants: [number('d', 10), { name: 'is', type: BOOL, dims: [1], raw: Uint8Array.of(1) }],
    inputs: [X],
    outputs: ['a', 'b', 'made'],
  })
  const after = runPasses(graph, PASSES).graph
  expect(after.nodes.map(({ op }) => op)).not.toContain('If')
  expect(results(graph)).toEqual([
    ['a', 22],
    ['b', 19],
    ['made', 40],
  ])
  expect(results(after)).toEqual(results(graph))
})

test('an If whose condition depends on an input stays', async () => {
  const graph = await read({
    nodes: [chosenBy('is', 'a')],
    constants: [number('d', 10)],
    inputs: [X, { name: 'is', type: BOOL, dims: [1] }],
    outputs: ['a'],
  })
  expect(withCache(graph)).toBe(graph)
  expect(runPasses(graph, PASSES).graph.nodes.map(({ op }) => op)).toEqual(['If'])
})

test('a merged decoder becomes its branch with a cache', async () => {
  const graph = await read({
    nodes: [chosenBy('use_cache_branch', 'a')],
    constants: [number('d', 10)],
    inputs: [X, { name: 'use_cache_branch', type: BOOL, dims: [1] }],
    outputs: ['a'],
  })
  const after = runPasses(withCache(graph), PASSES).graph
  expect(after.inputs.map(({ name }) => name)).toEqual(['x'])
  expect(results(after)).toEqual(results(graph))
})

test('a branch does not reuse names from another node whose branch is chosen at run time', async () => {
  const graph = await read({
    nodes: [
      { ...chosenBy('yes', 'first') },
      { ...chosenBy('given', 'second') },
      node('Add', ['first', 'second'], 'y'),
    ],
    constants: [number('d', 2), { name: 'yes', type: BOOL, dims: [], raw: Uint8Array.of(1) }],
    inputs: [X, { name: 'given', type: BOOL, dims: [1] }],
    outputs: ['y'],
  })
  const { graph: after } = runPasses(graph, PASSES)
  expect(after.nodes.filter(({ op }) => op === 'If')).toHaveLength(1)
  const names = after.nodes.flatMap(({ outputs }) => outputs)
  expect(names.filter((name) => ['made', 'end', 'c'].includes(name))).toEqual([])
  expect(results(after)).toEqual(results(graph))
})
