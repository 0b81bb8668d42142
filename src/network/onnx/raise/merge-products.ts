// Merges products: queries, keys and values, and both halves of a gate, each come from one product, as in the
// graphs of families.

import type { Value, WeightPart, WeightRef } from '../../../core/graph/ir.ts'
import { type Graph, type Node, type NodeOf, nextId, producersOf } from '../../../core/graph/nodes.ts'
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
    const step = linearOf(dt)
    const select = linearOf(b)
    // Each part begins at a group boundary of the inputs, so that step sizes do not share a scale with the
    // following rows.
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

type Linear = NodeOf<'linear'>

/**
 * A single product reads its rows once and is split among threads once. A gate can only be fused into a
 * product of both halves. Products stay separate if their inputs differ, if only some have a bias, or if
 * another node also reads one of the matrices.
 */
export function mergeProducts(graph: Graph): Graph {
  const producers = producersOf(graph)
  const uses = usesOf(graph)
  const linearOf = (value: Value): Linear | undefined => {
    const node = graph.nodes[producers.get(value.id) ?? -1]
    const isRead = value === graph.output || value === graph.hidden
    if (isRead || node?.op !== 'linear' || node.residual !== undefined) return undefined
    return node.weight.parts.every(({ name }) => uses.get(name) === 1) ? node : undefined
  }
  const first = new Map<Node, readonly Linear[]>()
  const merged = new Set<Node>()
  for (const values of graph.nodes.map(readTogether)) {
    const linears = values.map(linearOf).filter((each) => each !== undefined)
    if (linears.length < 2 || linears.length < values.length || !areAlike(linears)) continue
    const inOrder = linears.toSorted((a, b) => producers.get(a.output.id)! - producers.get(b.output.id)!)
    first.set(inOrder[0]!, linears)
    for (const each of linears) merged.add(each)
  }
  let id = nextId(graph)
  const nodes = graph.nodes.flatMap((node): readonly Node[] => {
    const linears = first.get(node)
    if (linears !== undefined) return joined(linears, id++)
    return merged.has(node) ? [] : [node]
  })
  return { ...graph, nodes }
}

/** The values that a node reads together, in the order in which a family stacks their matrices. */
function readTogether(node: Node): readonly Value[] {
  if (node.op === 'ropeKv') return [node.q, node.k, node.v].filter((value) => value !== undefined)
  return node.op === 'swiglu' && node.up !== undefined ? [node.gate, node.up] : []
}

function areAlike(linears: readonly Linear[]): boolean {
  const [one] = linears
  return (
    new Set(linears).size === linears.length &&
    linears.every(
      (each) => each.input === one?.input && (each.bias === undefined) === (one.bias === undefined),
    )
  )
}

/** The merged product, with the original products as its columns. */
function joined(linears: readonly Linear[], id: number): Node[] {
  const [one] = linears as [Linear]
  const weight = stacked(linears.map((each) => each.weight))
  const bias = one.bias && stacked(linears.flatMap((each) => each.bias ?? []))
  const width = linears.reduce((sum, { output }) => sum + output.shape[1], 0)
  const label = linears.map(({ output }) => output.label).join('+')
  const output: Value = { ...one.output, id, shape: [one.output.shape[0], width], label }
  let start = 0
  const slices = linears.map((each): Node => {
    const slice = {
      op: 'slice',
      input: output,
      output: each.output,
      start,
      width: each.output.shape[1],
    } as const
    start += slice.width
    return slice
  })
  return [{ op: 'linear', input: one.input, output, weight, bias }, ...slices]
}

const stacked = (weights: readonly WeightRef[]): WeightRef => ({
  ...(weights[0] as WeightRef),
  parts: weights.flatMap(({ parts }) => parts),
})

/** How many nodes read each weight, by name. */
function usesOf(graph: Graph): ReadonlyMap<string, number> {
  const uses = new Map<string, number>()
  for (const node of graph.nodes) {
    for (const field of Object.values(node) as unknown[]) {
      if (typeof field !== 'object' || field === null || !('parts' in field)) continue
      for (const { name } of (field as WeightRef).parts) uses.set(name, (uses.get(name) ?? 0) + 1)
    }
  }
  return uses
}
