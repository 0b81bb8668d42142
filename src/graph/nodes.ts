// Nodes. In: a node or a graph. Out: what a node reads and makes, who uses a value, a graph with values replaced.
import { type Graph, mapScan, type Node, type Value } from './ir.ts'

/** Values a node reads, in the order of its fields. */
export function inputsOf(node: Node): readonly Value[] {
  switch (node.op) {
    case 'embed':
      return []
    case 'linear':
    case 'exchange':
      return node.residual === undefined ? [node.input] : [node.input, node.residual]
    case 'ropeKv':
      return [node.q, node.k, node.v]
    case 'swiglu':
      return node.up === undefined ? [node.gate] : [node.gate, node.up]
    case 'gather':
    case 'linearExperts':
    case 'combine':
      return [node.input, node.route]
    case 'add':
      return [node.left, node.right]
    case 'scan':
    case 'ssd':
      return [node.x, node.dt, node.z, node.b, node.c]
    default:
      return [node.input]
  }
}

/** Values a node makes. */
export function outputsOf(node: Node): readonly Value[] {
  const quantized = 'quantized' in node ? node.quantized : undefined
  return [node.output, quantized].filter((value) => value !== undefined)
}

/** The node with every input replaced by `replace(input)`. */
export function mapInputs(node: Node, replace: (value: Value) => Value): Node {
  switch (node.op) {
    case 'embed':
      return node
    case 'linear':
    case 'exchange': {
      const residual = node.residual && replace(node.residual)
      return { ...node, input: replace(node.input), residual }
    }
    case 'ropeKv':
      return { ...node, q: replace(node.q), k: replace(node.k), v: replace(node.v) }
    case 'swiglu':
      return { ...node, gate: replace(node.gate), up: node.up && replace(node.up) }
    case 'gather':
    case 'linearExperts':
    case 'combine':
      return { ...node, input: replace(node.input), route: replace(node.route) }
    case 'add':
      return { ...node, left: replace(node.left), right: replace(node.right) }
    case 'scan':
    case 'ssd':
      return { ...node, ...mapScan(node, replace) }
    default:
      return { ...node, input: replace(node.input) }
  }
}

/** Indices of the nodes that read each value, by id; the graph's own output is read by nobody here. */
export function readersOf(graph: Graph): ReadonlyMap<number, readonly number[]> {
  const readers = new Map<number, number[]>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of new Set(inputsOf(node))) readers.set(id, [...(readers.get(id) ?? []), index])
  }
  return readers
}

/** Index of the node that makes each value, by id. */
export function producersOf(graph: Graph): ReadonlyMap<number, number> {
  const producers = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of outputsOf(node)) producers.set(id, index)
  }
  return producers
}

/** The value whose rows each value looks into: itself, or what its slices and takeRows begin with. By id. */
export function basesOf(graph: Graph): ReadonlyMap<number, number> {
  const bases = new Map<number, number>()
  for (const node of graph.nodes) {
    const isView = node.op === 'slice' || node.op === 'takeRows'
    for (const { id } of outputsOf(node)) {
      bases.set(id, isView ? (bases.get(node.input.id) ?? node.input.id) : id)
    }
  }
  return bases
}

/** The first id that no value of the graph has. */
export function nextId(graph: Graph): number {
  return Math.max(-1, ...graph.nodes.flatMap(outputsOf).map(({ id }) => id)) + 1
}
