// Constant folding. In: a graph. Out: the graph in which what can be known is a constant: Constant nodes,
// nodes of constants, and shapes that inference knows.
import { isHalfbyteError } from '../../base/errors.ts'
import { evaluateNode } from '../evaluate.ts'
import { inferTypes } from '../infer.ts'
import { type Constant, isStored, type Node } from '../ir/graph.ts'
import { typeOf } from '../ir/known.ts'
import { countOf, type Tensor, tensorOf } from '../ir/tensor.ts'
import { operatorOf, whyUnclaimed } from '../operators.ts'
import { type Pass, withNodes } from './pass.ts'

/** Elements of the largest constant that folding makes: masks and tables of positions, not weights. */
const MOST_ELEMENTS = 2 ** 22
/** Two runs of these give different results. */
const RANDOM = new Set([
  'RandomNormal',
  'RandomNormalLike',
  'RandomUniform',
  'RandomUniformLike',
  'Bernoulli',
  'Multinomial',
])

export const foldConstants: Pass = {
  name: 'constant folding',
  run(graph) {
    const constants = new Map<string, Constant>(graph.constants)
    const nodes = graph.nodes.filter((node) => !fold(node, constants))
    return nodes.length === graph.nodes.length ? graph : { ...withNodes(graph, nodes), constants }
  },
}

/** Adds the node's outputs to the constants; false when they cannot be known. */
function fold(node: Node, constants: Map<string, Constant>): boolean {
  const inputs = node.inputs.map((name) => (name === '' ? undefined : constants.get(name)))
  const isKnown = node.inputs.every((name, at) => name === '' || (inputs[at] && !isStored(inputs[at])))
  const tensors = inputs as (Tensor | undefined)[]
  const hasGraph = [...node.attributes.values()].some(({ kind }) => kind === 'graph')
  if (!isKnown || hasGraph || RANDOM.has(node.op) || isMatrixOfCodes(node, tensors)) return false
  if (isTooLarge(node, tensors)) return false
  if (
    whyUnclaimed(
      node,
      tensors.map((tensor) => tensor?.dtype),
    ) !== undefined
  )
    return false
  const made = evaluated(node, tensors)
  if (made === undefined) return false
  for (const [index, name] of node.outputs.entries()) {
    const tensor = made[index]
    if (name !== '' && tensor !== undefined) constants.set(name, tensor)
  }
  return true
}

/** Products read codes with less memory than floats, so a matrix stays what it is. */
const isMatrixOfCodes = ({ op }: Node, [codes]: readonly (Tensor | undefined)[]): boolean =>
  op === 'DequantizeLinear' && (codes?.dims.length ?? 0) > 1

/** Undefined for inputs that do not fit: a branch that no step takes may hold such a node. */
function evaluated(node: Node, inputs: readonly (Tensor | undefined)[]) {
  try {
    return evaluateNode(node, inputs)
  } catch (error) {
    if (isHalfbyteError(error)) return undefined
    throw error
  }
}

/** Nothing is known of a size that inference does not know; then the node is left. */
function isTooLarge(node: Node, inputs: readonly (Tensor | undefined)[]): boolean {
  const types = operatorOf(node)?.infer({
    node,
    inputs: inputs.map((tensor) => tensor && typeOf(tensor)),
    constant: (index) => inputs[index],
    subgraph: () => [],
  })
  return !(types ?? []).every((type) => {
    const dims = type?.dims
    return dims?.every((size) => typeof size === 'number') && countOf(dims as number[]) <= MOST_ELEMENTS
  })
}

/**
 * Values whose elements inference knows, though they are computed from shapes that are known only in part.
 */
export const foldShapes: Pass = {
  name: 'known shapes',
  run(graph) {
    const types = inferTypes(graph)
    const constants = new Map<string, Constant>(graph.constants)
    const nodes = graph.nodes.filter((node) => {
      const known = node.outputs.map((name) => {
        const type = name === '' ? undefined : types.get(name)
        const isWhole = type?.elements?.every((each) => typeof each === 'number') === true
        const isShaped = type?.dims?.every((each) => typeof each === 'number') === true
        return isWhole && isShaped ? type : undefined
      })
      if (!known.every((type) => type !== undefined)) return true
      for (const [index, type] of known.entries())
        constants.set(
          node.outputs[index]!,
          tensorOf(type.dtype, type.dims as number[], type.elements as number[]),
        )
      return false
    })
    return nodes.length === graph.nodes.length ? graph : { ...withNodes(graph, nodes), constants }
  },
}
