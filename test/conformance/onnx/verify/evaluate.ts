// The evaluator with every operator, which defines what a graph computes. Operators that are never evaluated
// while a model is read have their evaluators in this folder, so that pages do not load them.
import {
  type Evaluators,
  evaluate as evaluateGraph,
  type Resources,
} from '../../../../src/network/onnx/evaluate.ts'
import type { Graph } from '../../../../src/network/onnx/ir/graph.ts'
import type { Tensor } from '../../../../src/network/onnx/ir/tensor.ts'
import { ACTIVATIONS } from './activations.ts'
import { FUSED } from './fused.ts'
import { IMAGES } from './images.ts'
import { NORMS } from './norms.ts'
import { PRODUCTS } from './products.ts'
import { RECURRENT } from './recurrent.ts'

export const EVALUATORS: Evaluators = new Map([
  ...ACTIVATIONS,
  ...FUSED,
  ...IMAGES,
  ...NORMS,
  ...PRODUCTS,
  ...RECURRENT,
])

/** Throws the same errors as the evaluator in src/. */
export const evaluate = (
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
  resources: Omit<Resources, 'evaluators'> = {},
): ReadonlyMap<string, Tensor> => evaluateGraph(graph, feeds, { ...resources, evaluators: EVALUATORS })
