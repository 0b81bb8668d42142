// Names of step matrices. In: the graph of a step with recurrent layers, its weights. Out: the same, with the
// small matrices that make step sizes under the names by which they keep 8 bits (`roleOf`).
import { producersOf } from '../../graph/edges.ts'
import type { Value, WeightPart } from '../../graph/ir.ts'
import type { Graph, NodeOf } from '../../graph/nodes.ts'
import type { WeightTable } from './weights/weight-table.ts'

export function nameSteps(graph: Graph, weights: WeightTable): Graph {
  const makers = producersOf(graph)
  const linearOf = (value: Value): NodeOf<'linear'> | undefined => {
    const node = graph.nodes[makers.get(value.id) ?? -1]
    if (node?.op === 'slice') return linearOf(node.input)
    return node?.op === 'linear' ? node : undefined
  }
  const slicesOf = ({ output }: NodeOf<'linear'>) =>
    graph.nodes.filter((node) => node.op === 'slice').filter(({ input }) => input === output)
  const parts = new Map<string, readonly WeightPart[]>()
  const scans = graph.nodes.filter((node) => node.op === 'scan')
  for (const [layer, { dt, b }] of scans.entries()) {
    const [step, select] = [linearOf(dt), linearOf(b)]
    // Parts begin at whole groups of inputs, so that step sizes share no scale with what comes after them.
    const rank = step?.weight.k ?? 0
    const isApart =
      step !== undefined &&
      linearOf(step.input) === select &&
      select?.weight.parts.length === 1 &&
      select.bias === undefined &&
      slicesOf(select).every(({ start, width }) => start >= rank || start + width <= rank)
    for (const [linear, first, names] of [
      [step, 0, ['dt']],
      [select, isApart ? rank : 0, ['select_dt', 'select_bc']],
    ] as const) {
      const [part] = linear?.weight.parts ?? []
      if (part === undefined || parts.has(part.name)) continue
      const rows = [first, part.n - first].filter((n) => n > 0)
      const named = rows.map((n, index) => ({ name: `layers.${layer}.ssm_${names[index]}.weight`, n }))
      parts.set(part.name, named)
    }
  }
  if (parts.size === 0) return graph
  weights.divide(parts)
  const nodes = graph.nodes.map((node) => {
    if (node.op !== 'linear') return node
    const divided = node.weight.parts.flatMap((part) => parts.get(part.name) ?? part)
    return { ...node, weight: { ...node.weight, parts: divided } }
  })
  return { ...graph, nodes }
}
