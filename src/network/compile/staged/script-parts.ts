// Runs parts of a graph in TypeScript, node by node: nodes whose outputs have sizes that depend on values,
// and rare operators without loops.
import { Budget } from '../../../core/base/budget.ts'
import { evaluateInSteps } from '../../onnx/evaluate.ts'
import { beyond, NETWORK_LIMITS, type NetworkLimits } from '../../onnx/graph-budget.ts'
import type { Constant, Graph, Node, Type } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { whyUnclaimed } from '../../onnx/operators.ts'
import { constantTensor } from '../run/constant-tensor.ts'
import type { Part } from './split.ts'

/** Whether the node, and every node of the graphs in its attributes, has an evaluator. */
export const isScripted = (node: Node, types: ReadonlyMap<string, Type> = new Map()): boolean =>
  whyUnclaimed(
    node,
    node.inputs.map((name) => types.get(name)?.dtype),
  ) === undefined && graphsOf(node).every(({ nodes }) => nodes.every((each) => isScripted(each)))

const graphsOf = ({ attributes }: Node): readonly Graph[] =>
  [...attributes.values()].flatMap((each) => (each.kind === 'graph' ? [each.value] : []))

/**
 * The part's outputs. Throws `format` for values that a node rejects, `out-of-memory` if the work or the
 * values exceed the limits, and the signal's reason.
 */
export async function runScript(
  { nodes, inputs, outputs, constants }: Part,
  values: ReadonlyMap<string, Tensor>,
  limits: NetworkLimits = {},
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Tensor>> {
  const held = new Map<string, Constant>()
  for (const [name, constant] of constants) held.set(name, await constantTensor(name, constant, signal))
  const graph: Graph = {
    name: 'script',
    nodes,
    outputs,
    constants: held,
    inputs: inputs.map((name) => ({ name })),
  }
  const budget = scriptBudget(limits, signal)
  const { EVALUATORS: evaluators } = await import('../../onnx/evaluators.ts')
  const steps = evaluateInSteps(graph, values, { budget, evaluators })
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await budget.turn()
  }
}

function scriptBudget({ planning, bytes }: NetworkLimits, signal: AbortSignal | undefined): Budget {
  return new Budget({
    work: planning ?? NETWORK_LIMITS.planning,
    bytes: bytes ?? NETWORK_LIMITS.bytes,
    signal,
    refuse: ({ what, asked, most }) =>
      what === 'work'
        ? beyond('planning', `its nodes without loops take ${asked} units of work`, asked, most)
        : beyond('bytes', `its nodes without loops hold ${asked} bytes`, asked, most),
  })
}
