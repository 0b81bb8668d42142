// Splits. In: random graphs, and randomly chosen foreign nodes. Out: whether every node runs once and after
// its inputs, and whether the stages give the same results as the whole graph.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { Random } from '../../../../test/helpers/random.ts'
import { type Graph, isStored, type Node } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { randomGraph } from '../testing/random-graph.ts'
import { namesOfSizes, type Part, restOf, splitGraph } from './split.ts'

const COUNT = 200

/** A part's outputs, computed from the earlier values. */
function computed(part: Part, values: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> {
  const inputs = part.inputs.map((name) => ({ name }))
  return evaluate({ ...part, name: 'part', inputs }, values)
}

/** All values that the stages produce, and the nodes in the order in which they ran. */
function runInStages(graph: Graph, feeds: ReadonlyMap<string, Tensor>, foreign: ReadonlySet<Node>) {
  const values = new Map(feeds)
  for (const [name, constant] of graph.constants) if (!isStored(constant)) values.set(name, constant)
  const ran: Node[] = []
  let stages = 0
  for (let left: Graph = graph; left.nodes.length > 0; ) {
    const {
      compiled,
      foreign: parts,
      rest,
    } = splitGraph(left, (node) => (foreign.has(node) ? 'foreign' : 'compiled'))
    expect(compiled.nodes.some((node) => foreign.has(node))).toBe(false)
    expect(parts.flatMap(({ nodes }) => nodes).every((node) => foreign.has(node))).toBe(true)
    for (const part of [compiled, ...parts]) {
      // A part sees only its inputs.
      const seen = new Map(part.inputs.map((name) => [name, values.get(name)!]))
      for (const [name, tensor] of computed(part, seen)) values.set(name, tensor)
      ran.push(...part.nodes)
    }
    for (const [index, one] of parts.entries())
      for (const other of parts.slice(index + 1)) {
        const made = new Set([...one.nodes, ...other.nodes].flatMap(({ outputs }) => outputs))
        expect(one.inputs.concat(other.inputs).some((name) => made.has(name))).toBe(false)
      }
    left = restOf(left, rest, () => undefined)
    stages++
  }
  return { values, ran, stages }
}

test('splitting random graphs at random foreign nodes does not change their results', () => {
  const random = new Random(7)
  let most = 0
  let several = 0
  for (let index = 0; index < COUNT; index++) {
    const { graph, feeds } = randomGraph(8, index)
    const share = random.below(4) / 4
    const foreign = new Set(graph.nodes.filter(() => random.unit() < share))
    const { values, ran, stages } = runInStages(graph, feeds, foreign)
    expect(new Set(ran).size).toBe(ran.length)
    expect(ran.length).toBe(graph.nodes.length)
    for (const [name, tensor] of evaluate(graph, feeds)) expect(values.get(name)).toEqual(tensor)
    most = Math.max(most, stages)
    if (stages > 1) several++
  }
  expect(most).toBeGreaterThan(4)
  expect(several).toBeGreaterThan(COUNT / 4)
})

const node = (op: string, inputs: readonly string[], output: string, version = 17): Node => ({
  name: output,
  op,
  domain: '',
  version,
  inputs,
  outputs: [output],
  attributes: new Map(),
})

const graphOf = (nodes: readonly Node[]): Graph => ({
  name: 'graph',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['n', 4] } }],
  outputs: [nodes.at(-1)!.outputs[0]!],
  constants: new Map(),
  nodes,
})

const FOREIGN = ({ op }: Node) => (op === 'Foreign' ? 'foreign' : 'compiled')

test('adjacent foreign nodes form one part, others are separate parts, and their readers wait', () => {
  const nodes = [
    node('Foreign', ['x'], 'a'),
    node('Foreign', ['a'], 'b'),
    node('Foreign', ['x'], 'c'),
    node('Relu', ['x'], 'd'),
    node('Add', ['b', 'c'], 'e'),
    node('Foreign', ['e', 'd'], 'f'),
  ]
  const { compiled, foreign, rest } = splitGraph(graphOf(nodes), FOREIGN)
  const namesOf = (list: readonly Node[]) => list.map(({ name }) => name)
  expect(namesOf(compiled.nodes)).toEqual(['d'])
  expect(foreign.map((part) => namesOf(part.nodes))).toEqual([['a', 'b'], ['c']])
  expect(foreign.map(({ outputs }) => outputs)).toEqual([['b'], ['c']])
  expect(namesOf(rest)).toEqual(['e', 'f'])
  const next = splitGraph(
    restOf(graphOf(nodes), rest, () => undefined),
    FOREIGN,
  )
  expect(namesOf(next.compiled.nodes)).toEqual(['e'])
  expect(next.foreign[0]!.inputs).toEqual(['e', 'd'])
})

test('foreign nodes with two operator-set versions form two parts', () => {
  const nodes = [node('Foreign', ['x'], 'a', 17), node('Foreign', ['a'], 'b', 20)]
  const { foreign, rest } = splitGraph(graphOf(nodes), FOREIGN)
  expect(foreign.map(({ nodes }) => nodes.map(({ name }) => name))).toEqual([['a']])
  expect(rest).toEqual([nodes[1]])
})

test('values that depend only on sizes are known once the sizes are, including the sizes of a foreign value', () => {
  const nodes = [
    node('Foreign', ['x'], 'a'),
    node('Shape', ['a'], 'size'),
    node('Cast', ['size'], 'number'),
    node('Mul', ['number', 'number'], 'square'),
    node('Mul', ['square', 'x'], 'y'),
  ]
  expect([...namesOfSizes(graphOf(nodes))]).toEqual(['size', 'number', 'square'])
})
