// How far a graph's outputs move when its numbers are rounded differently. In: a graph and its inputs. Out:
// the largest change of each output element.

import { Random } from '../../../../test/helpers/random.ts'
import { evaluateNode } from '../../onnx/evaluate.ts'
import { EVALUATORS } from '../../onnx/evaluators.ts'
import type { Graph } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'

/** Relative size of a change: two f32 rounding errors. */
const ROUNDING = 2 ** -23
/** How many times the graph is computed, each time with different rounding. */
const TRIALS = 4

/** Nested graphs are computed without perturbation. */
export function roundingSpread(
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
): ReadonlyMap<string, Float64Array> {
  const exact = computed(graph, feeds, (tensor) => tensor)
  const spread = new Map([...exact].map(([name, { data }]) => [name, new Float64Array(data.length)]))
  for (let trial = 0; trial < TRIALS; trial++) {
    const random = new Random(241, trial)
    const moved = computed(graph, feeds, (tensor) => rounded(tensor, random))
    for (const [name, { data }] of exact) {
      const most = spread.get(name)!
      for (let at = 0; at < data.length; at++)
        most[at] = Math.max(most[at]!, Math.abs(Number(moved.get(name)!.data[at]) - Number(data[at])))
    }
  }
  return spread
}

function computed(
  { nodes, constants, outputs }: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  change: (tensor: Tensor) => Tensor,
): ReadonlyMap<string, Tensor> {
  const values = new Map([...feeds].map(([name, tensor]) => [name, change(tensor)]))
  for (const [name, constant] of constants) values.set(name, constant as Tensor)
  for (const node of nodes) {
    const made = evaluateNode(
      node,
      node.inputs.map((name) => (name === '' ? undefined : values.get(name))),
      { evaluators: EVALUATORS },
      (name) => values.get(name),
    )
    for (const [index, name] of node.outputs.entries()) {
      const tensor = made[index]
      if (name !== '' && tensor !== undefined) values.set(name, change(tensor))
    }
  }
  return new Map(outputs.map((name) => [name, values.get(name)!]))
}

function rounded(tensor: Tensor, random: Random): Tensor {
  if (tensor.dtype !== 'f32') return tensor
  const data = (tensor.data as Float32Array).map((value) => value * (1 + ROUNDING * random.signed()))
  return { ...tensor, data }
}
