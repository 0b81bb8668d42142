// Edges. In: a graph. Out: which node makes each value, and which nodes read it. What is left out of a
// node's inputs and outputs is no value.
import type { Graph, Node } from './graph.ts'

/** The node that makes each value. */
export const producersOf = (graph: Graph): ReadonlyMap<string, Node> =>
  new Map(
    graph.nodes.flatMap((node) =>
      node.outputs.filter((name) => name !== '').map((name) => [name, node] as const),
    ),
  )

/** The nodes that read each value, once for each read. The graph's own outputs do not count as reads. */
export function readersOf(graph: Graph): ReadonlyMap<string, readonly Node[]> {
  const readers = new Map<string, Node[]>()
  for (const node of graph.nodes) {
    for (const name of node.inputs) {
      if (name === '') continue
      const known = readers.get(name)
      if (known === undefined) readers.set(name, [node])
      else known.push(node)
    }
  }
  return readers
}

/** Names of the values that are read once, and not by who runs the graph. */
export function readOnce(graph: Graph): ReadonlySet<string> {
  const names = [...readersOf(graph)].flatMap(([name, nodes]) => (nodes.length === 1 ? [name] : []))
  const once = new Set(names)
  for (const output of graph.outputs) once.delete(output)
  return once
}

/** Names that a node reads, those in graphs of its attributes included. */
export function readsOf(node: Node): string[] {
  const inner = [...node.attributes.values()].flatMap((attribute) =>
    attribute.kind === 'graph' ? [...attribute.value.nodes.flatMap(readsOf), ...attribute.value.outputs] : [],
  )
  return [...node.inputs.filter((name) => name !== ''), ...inner]
}
