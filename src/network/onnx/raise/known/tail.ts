// The tail of a graph: the nodes from its last norm to the logits, where only some rows are needed.
import type { GraphBuilder } from '../../../../core/graph/builder.ts'
import type { Value } from '../../../../core/graph/ir.ts'
import { type Graph, type Node, producersOf } from '../../ir/graph.ts'

export class Tail {
  /** In computation order. */
  readonly #nodes: readonly Node[]
  readonly #logits: string
  readonly #b: GraphBuilder
  #isTaken = false
  #hidden: Value | undefined

  constructor(graph: Graph, b: GraphBuilder) {
    this.#nodes = tailOf(graph)
    this.#logits = graph.outputs[0] ?? ''
    this.#b = b
  }

  /** Whether translation is between the last norm and the logits, where only the needed rows exist. */
  has(node: Node): boolean {
    return this.#nodes.includes(node)
  }

  /** The rows that a norm reads; the last norm reads only the needed ones. */
  beforeNorm(node: Node, value: Value): Value {
    if (this.#nodes[0] !== node || this.#isTaken) return value
    this.#isTaken = true
    return this.#b.takeRows('wanted', value)
  }

  /** Records the rows from which the logits are computed. */
  afterNorm(node: Node, value: Value): void {
    if (this.#nodes[0] === node) this.#hidden = value
  }

  /** The rows from which the logits are computed; undefined before the last norm, or if there is none. */
  get hidden(): Value | undefined {
    return this.#hidden
  }

  isLogits(node: Node): boolean {
    const after = this.#nodes.indexOf(node)
    return (
      after >= 0 && (node.outputs.includes(this.#logits) || !this.#nodes.slice(after + 1).some(isProduct))
    )
  }
}

const isProduct = ({ op }: Node): boolean => /MatMul|Gemm/.test(op)

/** Norms. The needed rows are selected before the last one. */
const NORMS: ReadonlySet<string> = new Set([
  'RMSNormalization',
  'SimplifiedLayerNormalization',
  'LayerNormalization',
  'SkipSimplifiedLayerNormalization',
  'SkipLayerNormalization',
])
/** Operators that process each row independently, between the last norm and the logits. */
const ROW_WISE: ReadonlySet<string> = new Set([
  'MatMul',
  'MatMulNBits',
  'MatMulBnb4',
  'Gemm',
  'DynamicQuantizeMatMul',
  'MatMulInteger',
  'DynamicQuantizeLinear',
  'QuantizeLinear',
  'DequantizeLinear',
  'Add',
  'Mul',
  'Div',
  'Tanh',
  'Cast',
  'Identity',
  'Gather',
  'Slice',
  'Reshape',
  'Squeeze',
  'Unsqueeze',
])

/** The maximum number of nodes between the weight of a norm in primitive operators and its mean. */
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

/** Includes both ends, in computation order. Empty if there is any other operator in between. */
function tailOf(graph: Graph): Node[] {
  const makers = producersOf(graph)
  const found: Node[] = []
  for (let name = graph.outputs[0] ?? ''; ; ) {
    const node = makers.get(name)
    if (node === undefined) return []
    found.unshift(node)
    if (NORMS.has(node.op)) return found
    // A norm in primitive operators begins at its mean.
    if (node.op === 'Mul' && isNormed(graph, node, makers)) return found
    if (!ROW_WISE.has(node.op)) return []
    const next = node.inputs.find((each) => makers.has(each))
    if (next === undefined) return []
    name = next
  }
}

/** A product of a vector and a value whose mean was taken a few nodes earlier. */
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
