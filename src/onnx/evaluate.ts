// The evaluator. In: a graph and tensors for its inputs. Out: its outputs, computed node by node in plain
// TypeScript. It is the definition of the dialect; models run as plans.
import { HalfbyteError } from '../base/errors.ts'
import { type Graph, isStored, type Node } from './ir/graph.ts'
import { type Evaluate, type Operator, unclaimed, unfit } from './ir/operator.ts'
import { rounder, type Tensor } from './ir/tensor.ts'
import { operatorOf, whyUnclaimed } from './operators.ts'

/** A name's value, in a graph or in the graphs around it. */
type Lookup = (name: string) => Tensor | undefined

/** Evaluators of operators whose entries have none. */
export type Evaluators = ReadonlyMap<Operator, Evaluate>
const NONE: Evaluators = new Map()

/**
 * The outputs, in the graph's order. Throws `unsupported` for a node that no operator covers, `format` for
 * inputs that do not fit or are not given, `out-of-memory` for a value of more than `MOST_ELEMENTS`.
 */
export function evaluate(
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  evaluators = NONE,
): ReadonlyMap<string, Tensor> {
  const made = run(graph, (name) => feeds.get(name), evaluators)
  return new Map(graph.outputs.map((name, index) => [name, made[index]!]))
}

/** One node's outputs. `lookup` has the values that graphs of its attributes may see. */
export function evaluateNode(
  node: Node,
  inputs: readonly (Tensor | undefined)[],
  lookup: Lookup = () => undefined,
  evaluators = NONE,
): readonly (Tensor | undefined)[] {
  const why = whyUnclaimed(
    node,
    inputs.map((input) => input?.dtype),
  )
  if (why !== undefined) throw unclaimed(node, why)
  const operator = operatorOf(node)!
  const compute = operator.evaluate ?? evaluators.get(operator)
  if (compute === undefined) throw unclaimed(node, 'it is not computed while a model is read')
  const made = compute({
    node,
    inputs,
    run(graph, given) {
      const named = new Map(graph.inputs.map(({ name }, index) => [name, given[index]]))
      return run(graph, (name) => named.get(name) ?? lookup(name), evaluators)
    },
  })
  return made.map((tensor) => tensor && rounded(tensor))
}

function run(graph: Graph, outer: Lookup, evaluators: Evaluators): readonly Tensor[] {
  const values = new Map<string, Tensor>()
  const lookup: Lookup = (name) => {
    const constant = graph.constants.get(name)
    if (constant !== undefined && isStored(constant)) throw stored(name)
    return values.get(name) ?? outer(name) ?? constant
  }
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((name) => {
      if (name === '') return undefined
      const value = lookup(name)
      if (value === undefined) throw unfit(node, `it reads ${name}, which nothing before it makes`)
      return value
    })
    const made = evaluateNode(node, inputs, lookup, evaluators)
    for (const [index, name] of node.outputs.entries()) {
      const tensor = made[index]
      if (name === '' || tensor === undefined) continue
      values.set(name, tensor)
    }
  }
  return graph.outputs.map((name) => {
    const value = lookup(name)
    if (value !== undefined) return value
    throw new HalfbyteError(
      'format',
      `graph ${graph.name}: nothing makes its output ${name}; export it again`,
      {
        output: name,
      },
    )
  })
}

function rounded(tensor: Tensor): Tensor {
  if (tensor.dtype !== 'f16' && tensor.dtype !== 'bf16') return tensor
  return { ...tensor, data: (tensor.data as Float32Array).map(rounder(tensor.dtype)) }
}

const stored = (name: string): HalfbyteError =>
  new HalfbyteError('internal', `the weight ${name} lies in its file and is not read by the evaluator`, {
    name,
  })
