// Dead code. In: a graph. Out: the graph without nodes and constants that no output needs.
import { readsOf } from '../ir/edges.ts'
import type { Node } from '../ir/graph.ts'
import { type Pass, withNodes } from './pass.ts'

export const removeDead: Pass = {
  name: 'dead code',
  run(graph) {
    const needed = new Set(graph.outputs)
    const kept: Node[] = []
    for (const node of graph.nodes.toReversed()) {
      if (!node.outputs.some((name) => needed.has(name))) continue
      for (const name of readsOf(node)) needed.add(name)
      kept.push(node)
    }
    const constants = [...graph.constants].filter(([name]) => needed.has(name))
    const next = withNodes(graph, kept.toReversed())
    return constants.length === graph.constants.size ? next : { ...next, constants: new Map(constants) }
  },
}
