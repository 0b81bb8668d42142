// Renaming. In: a graph and names that stand for others. Out: the graph in which every reader reads the
// other.
import type { Attribute, Graph, Node } from '../ir/graph.ts'

/** Names of outputs stay: a node that makes one is kept by the caller. */
export function renamed(graph: Graph, names: ReadonlyMap<string, string>): Graph {
  if (names.size === 0) return graph
  return { ...graph, nodes: graph.nodes.map((node) => renamedNode(node, names)) }
}

function renamedNode(node: Node, names: ReadonlyMap<string, string>): Node {
  const attributes = renamedAttributes(node.attributes, names)
  const isRead = node.inputs.some((name) => names.has(name))
  if (!isRead && attributes === node.attributes) return node
  return { ...node, attributes, inputs: node.inputs.map((name) => final(name, names)) }
}

/** Graphs in attributes read what is around them. */
function renamedAttributes(
  attributes: Node['attributes'],
  names: ReadonlyMap<string, string>,
): Node['attributes'] {
  const graphs = [...attributes].filter(([, { kind }]) => kind === 'graph')
  if (graphs.length === 0) return attributes
  const made = graphs.map(([key, attribute]): [string, Attribute] => [
    key,
    { kind: 'graph', value: renamed(attribute.value as Graph, names) },
  ])
  return new Map([...attributes, ...made])
}

/** Follows chains of names. */
export function final(name: string, names: ReadonlyMap<string, string>): string {
  let found = name
  for (let next = names.get(found); next !== undefined; next = names.get(found)) found = next
  return found
}
