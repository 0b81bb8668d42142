// Names of step matrices. In: the graph of a step with recurrent layers, its weights. Out: the same, with the
// small matrices that make step sizes under the names by which they keep 8 bits (`roleOf`).
import { producersOf } from '../../graph/edges.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { Graph, NodeOf } from '../../graph/nodes.ts'
import type { WeightTable } from './weights/weight-table.ts'

export function nameSteps(graph: Graph, weights: WeightTable): Graph {
  const makers = producersOf(graph)
  const linearOf = (value: Value): NodeOf<'linear'> | undefined => {
    const node = graph.nodes[makers.get(value.id) ?? -1]
    if (node?.op === 'slice') return linearOf(node.input)
    return node?.op === 'linear' ? node : undefined
  }
  const names = new Map<string, string>()
  const scans = graph.nodes.filter((node) => node.op === 'scan')
  for (const [layer, { dt, b }] of scans.entries()) {
    for (const [linear, part] of [
      [linearOf(dt), 'dt'],
      [linearOf(b), 'select_all'],
    ] as const) {
      const name = linear?.weight.parts[0]?.name
      if (name !== undefined && !names.has(name)) names.set(name, `layers.${layer}.ssm_${part}.weight`)
    }
  }
  if (names.size === 0) return graph
  weights.rename(names)
  const renamed = (weight: WeightRef): WeightRef => ({
    ...weight,
    parts: weight.parts.map(({ name, n }) => ({ name: names.get(name) ?? name, n })),
  })
  const nodes = graph.nodes.map((node) =>
    node.op === 'linear' ? { ...node, weight: renamed(node.weight) } : node,
  )
  return { ...graph, nodes }
}
