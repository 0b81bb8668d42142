// Makes the other runtime compute products without rounding rows, for `weights: 'f32'`.
import type { Attribute, Graph, Node } from '../../onnx/ir/graph.ts'

/** The attribute of MatMulNBits that lets a runtime round rows, at level 4 to 8 bits. */
const LEVEL = 'accuracy_level'

/** The graph and its nested graphs, without that permission. The reader limits how deeply graphs nest. */
export function withFloatProducts(graph: Graph): Graph {
  return { ...graph, nodes: graph.nodes.map(inFloats) }
}

function inFloats(node: Node): Node {
  const entries = [...node.attributes].filter(([name]) => node.op !== 'MatMulNBits' || name !== LEVEL)
  return { ...node, attributes: new Map(entries.map(([name, attribute]) => [name, inner(attribute)])) }
}

const inner = (attribute: Attribute): Attribute =>
  attribute.kind === 'graph' ? { ...attribute, value: withFloatProducts(attribute.value) } : attribute
