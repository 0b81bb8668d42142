// Residual. In: a graph. Out: the same graph, in which linears add to the residual themselves, without an add
// node.

import { basesOf, inputsOf, producersOf, readersOf } from '../edges.ts'
import type { Value } from '../ir.ts'
import type { Graph, Node, NodeOf } from '../nodes.ts'

/**
 * Fuses `add(residual, linear(x))` into the linear, which then overwrites the residual. Legal when only the
 * add reads the product and, from the linear on, only the add reads the residual or any view of it.
 */
export function fuseResiduals(graph: Graph): Graph {
  const producers = producersOf(graph)
  const readers = readersOf(graph)
  const bases = basesOf(graph)
  const lastRead = lastReads(graph, bases)
  const nodes: (Node | undefined)[] = [...graph.nodes]
  const fuse = (add: NodeOf<'add'>, at: number, product: Value, residual: Value): boolean => {
    const index = producers.get(product.id)
    // This pass keeps the nodes' order, so the indices above stay valid.
    const linear = index === undefined ? undefined : nodes[index]
    if (index === undefined || linear?.op !== 'linear' || linear.residual !== undefined) return false
    if (product === graph.output || readers.get(product.id)?.length !== 1) return false
    const isMadeBefore = (producers.get(residual.id) ?? index) < index
    const isWhole = bases.get(residual.id) === residual.id && residual !== graph.output
    const reads = lastRead(residual.id, at)
    if (!isMadeBefore || !isWhole || reads.after || reads.before >= index) return false
    nodes[index] = { ...linear, output: add.output, residual }
    nodes[at] = undefined
    return true
  }
  for (const [at, node] of graph.nodes.entries()) {
    if (node.op !== 'add' || node.scale !== 1) continue
    if (!fuse(node, at, node.right, node.left)) fuse(node, at, node.left, node.right)
  }
  return { ...graph, nodes: nodes.filter((node) => node !== undefined) }
}

/** Reads of a value's rows relative to node `at`: the last one before it, and whether any comes after. */
function lastReads(graph: Graph, bases: ReadonlyMap<number, number>) {
  const reads = new Map<number, number[]>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of inputsOf(node)) {
      const base = bases.get(id) ?? id
      reads.set(base, [...(reads.get(base) ?? []), index])
    }
  }
  return (id: number, at: number): { readonly before: number; readonly after: boolean } => {
    const indices = reads.get(id) ?? []
    const before = indices.filter((index) => index < at)
    return { before: Math.max(-1, ...before), after: indices.some((index) => index > at) }
  }
}
