// Writes FlexAttention as the nodes that define it, with its graphs for scores and probabilities between
// them.
import type { Budget } from '../../../core/base/budget.ts'
import { graphBudget } from '../graph-budget.ts'
import { inferTypes } from '../infer.ts'
import { type Attribute, type Constant, type Graph, type Node, readsOf, sizeOf } from '../ir/graph.ts'
import { floatOf, graphOf, statedDtype, unfit } from '../ir/operator.ts'
import { DTYPE_NUMBERS, type DType, tensorOf } from '../ir/tensor.ts'
import { operatorName } from '../operator-table.ts'
import { type Around, addConstant, freeName, inlined, namesIn } from './branches.ts'
import { type Pass, withNodes } from './pass.ts'
import { STEP_UNITS, VERSION } from './unroll.ts'

const NAME = 'ai.onnx.preview:FlexAttention'

export const expandFlexAttention: Pass = {
  name: 'flexible attention',
  run(graph, budget: Budget = graphBudget()) {
    if (!graph.nodes.some((node) => operatorName(node) === NAME)) return graph
    const types = inferTypes(graph)
    const around = { constants: new Map(graph.constants), names: new Set(namesIn(graph)) }
    const nodes = graph.nodes.flatMap((node) => {
      const given = node.inputs.map((name) => types.get(name))
      const dims = given.map((type) => type?.dims)
      if (operatorName(node) !== NAME || !dims.every(isKnown) || given[0] === undefined) return [node]
      const body = flexGraph(node, given[0].dtype, dims)
      budget.spend(STEP_UNITS * sizeOf(body))
      // Its names are not among those of the graph, which get new ones.
      for (const name of namesIn(body)) around.names.add(name)
      const { nodes: made, outputs } = inlined({ ...node, ...plain('', [], []) }, body, around, node.inputs)
      return [...made, { ...node, ...plain('Identity', [outputs[0]!], node.outputs) }]
    })
    const next = withNodes(graph, nodes)
    return next === graph ? graph : { ...next, constants: around.constants }
  },
}

const isKnown = (dims: readonly unknown[] | undefined): dims is readonly number[] =>
  dims?.every((size) => typeof size === 'number') === true

const plain = (op: string, inputs: readonly string[], outputs: readonly string[]) => ({
  op,
  domain: '',
  version: VERSION,
  attributes: new Map<string, Attribute>(),
  inputs,
  outputs,
})

/** What the node computes for inputs of these sizes. Throws `format` if they do not fit each other. */
export function flexGraph(node: Node, dtype: DType, dims: readonly (readonly number[])[]): Graph {
  const [queries = [], keys = [], values = []] = dims
  const isFit =
    dims.length === 3 &&
    dims.every(({ length }) => length === 4) &&
    queries[3] === keys[3] &&
    [0, 1, 2].every((axis) => keys[axis] === values[axis]) &&
    queries[0] === keys[0] &&
    (queries[1] === keys[1] || queries[1]! % keys[1]! === 0)
  if (!isFit) throw unfit(node, `it attends with shapes [${queries}], [${keys}] and [${values}]`)
  const g = new Writer(node)
  const scale = Math.sqrt(floatOf(node, 'scale', 1 / Math.sqrt(queries[3]!)))
  const factor = g.constant(dtype, [], [scale])
  const repeated = (name: string, sizes: readonly number[]) => g.repeated(name, sizes, queries[1]!)
  const turned = g.op('Transpose', [g.op('Mul', [repeated('k', keys), factor])], {
    perm: { kind: 'ints', value: [0, 1, 3, 2] },
  })
  const scores = g.op('MatMul', [g.op('Mul', ['q', factor]), turned])
  const precision = statedDtype(node, 'softmax_precision') ?? (dtype === 'f64' ? 'f64' : 'f32')
  const changed = g.changed(g.cast(scores, dtype, precision), 'score_mod')
  const probabilities = g.changed(
    g.op('Softmax', [changed], { axis: { kind: 'int', value: -1 } }),
    'prob_mod',
  )
  const output = g.op('MatMul', [g.cast(probabilities, precision, dtype), repeated('v', values)])
  return { name: node.name, inputs: INPUTS, outputs: [output], constants: g.constants, nodes: g.nodes }
}

const INPUTS = [{ name: 'q' }, { name: 'k' }, { name: 'v' }] as const

class Writer implements Around {
  readonly constants = new Map<string, Constant>()
  readonly nodes: Node[] = []
  readonly names: Set<string>
  readonly #node: Node

  /** Its names differ from those of the node's graphs, and of the values that they read. */
  constructor(node: Node) {
    const mods = ['score_mod', 'prob_mod'].flatMap((name) => graphOf(node, name) ?? [])
    this.names = new Set([...readsOf(node), ...mods.flatMap(namesIn), 'q', 'k', 'v'])
    this.#node = node
  }

  op(op: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    const output = freeName(this, `${this.#node.name} ${op}`)
    this.nodes.push({
      ...this.#node,
      ...plain(op, inputs, [output]),
      attributes: new Map(Object.entries(attributes)),
    })
    return output
  }

  constant(dtype: DType, dims: readonly number[], values: readonly number[]): string {
    return addConstant(this, `${this.#node.name} number`, tensorOf(dtype, dims, values))
  }

  cast(name: string, from: DType, to: DType): string {
    if (from === to) return name
    return this.op('Cast', [name], { to: { kind: 'int', value: DTYPE_NUMBERS.get(to)! } })
  }

  /** Each head of keys or values, as often as heads of queries read it. */
  repeated(name: string, [batch = 0, heads = 0, ...rest]: readonly number[], wanted: number): string {
    if (heads === wanted) return name
    const shaped = (op: string, from: string, dims: readonly number[]) =>
      this.op(op, [from, this.constant('i64', [dims.length], dims)])
    const own = shaped('Reshape', name, [batch, heads, 1, ...rest])
    const wide = shaped('Expand', own, [batch, heads, wanted / heads, ...rest])
    return shaped('Reshape', wide, [batch, wanted, ...rest])
  }

  /** What the node's graph of this name makes of a value. */
  changed(name: string, attribute: string): string {
    const graph = graphOf(this.#node, attribute)
    if (graph === undefined) return name
    if (graph.inputs.length !== 1 || graph.outputs.length !== 1)
      throw unfit(this.#node, `its graph ${attribute} has ${graph.inputs.length} inputs`)
    const { nodes, outputs } = inlined({ ...this.#node, ...plain('', [], []) }, graph, this, [name])
    this.nodes.push(...nodes)
    return outputs[0]!
  }
}
