// The evaluator with every operator, which defines what a graph computes.
import { evaluate as evaluateGraph, type Resources } from '../../../../src/network/onnx/evaluate.ts'
import { EVALUATORS } from '../../../../src/network/onnx/evaluators.ts'
import type { Graph } from '../../../../src/network/onnx/ir/graph.ts'
import type { Tensor } from '../../../../src/network/onnx/ir/tensor.ts'

/** Throws the same errors as the evaluator in src/. */
export const evaluate = (
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  resources: Omit<Resources, 'evaluators'> = {},
): ReadonlyMap<string, Tensor> => evaluateGraph(graph, feeds, { ...resources, evaluators: EVALUATORS })
