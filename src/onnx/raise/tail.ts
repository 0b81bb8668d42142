// The tail. In: a graph. Out: the nodes from its last norm to the logits, where only wanted rows are.
import { producersOf } from '../ir/edges.ts'
import type { Graph, Node } from '../ir/graph.ts'

/** Norms, before the last of which the rows are taken whose logits are wanted. */
const NORMS: ReadonlySet<string> = new Set([
  ...['RMSNormalization', 'SimplifiedLayerNormalization', 'LayerNormalization'],
  ...['SkipSimplifiedLayerNormalization', 'SkipLayerNormalization'],
])
/** Operators that work on each row by itself, between the last norm and the logits. */
const ROW_WISE: ReadonlySet<string> = new Set([
  ...['MatMul', 'MatMulNBits', 'Gemm', 'DynamicQuantizeMatMul', 'MatMulInteger', 'DynamicQuantizeLinear'],
  ...['QuantizeLinear', 'DequantizeLinear', 'Add', 'Mul', 'Div', 'Tanh'],
  ...['Cast', 'Identity', 'Gather', 'Slice', 'Reshape', 'Squeeze', 'Unsqueeze'],
])

/** From the weight of a norm of primitive operators to its mean. */
const NORM_STEPS = 7
const NORM_OPS: ReadonlySet<string> = new Set([
  'Mul',
  'Div',
  'Cast',
  'Sqrt',
  'Reciprocal',
  'Add',
  'Pow',
  'Sub',
])

/** Both ends included, in the direction of the computation; empty where another operator lies between. */
export function tailOf(graph: Graph): Node[] {
  const makers = producersOf(graph)
  const found: Node[] = []
  for (let name = graph.outputs[0] ?? ''; ; ) {
    const node = makers.get(name)
    if (node === undefined) return []
    found.unshift(node)
    if (NORMS.has(node.op)) return found
    // A norm of primitive operators begins where the mean is taken.
    if (node.op === 'Mul' && isNormed(graph, node, makers)) return found
    if (!ROW_WISE.has(node.op)) return []
    const next = node.inputs.find((each) => makers.has(each))
    if (next === undefined) return []
    name = next
  }
}

/** A product of a vector and of what a mean was taken of, a few nodes before. */
function isNormed(graph: Graph, node: Node, makers: ReadonlyMap<string, Node>): boolean {
  if (!node.inputs.some((name) => graph.constants.get(name)?.dims.length === 1)) return false
  let near = new Set(node.inputs)
  for (let step = 0; step < NORM_STEPS; step++) {
    const nodes = [...near].map((name) => makers.get(name)).filter((each) => each !== undefined)
    if (nodes.some(({ op }) => op === 'ReduceMean')) return true
    near = new Set(nodes.filter(({ op }) => NORM_OPS.has(op)).flatMap(({ inputs }) => inputs))
  }
  return false
}
