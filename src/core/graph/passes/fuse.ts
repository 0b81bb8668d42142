// The pass that fuses residual sums into linears, and gates into quantised linears.

import { isGated } from '../../abi/encodings.ts'
import type { Value } from '../ir.ts'
import { basesOf, type Graph, inputsOf, type Node, type NodeOf, producersOf, readersOf } from '../nodes.ts'
import { type EncodingOf, encodingOfWeight, readsA8 } from './split.ts'

/**
 * Fuses `swiglu(gate, up)` into the linear that produces both parts. Legal if the linear reads a8 rows, only
 * a8 rows of the gated values are read, and nothing else reads the product or its parts.
 */
export function fuseGates(graph: Graph, encodingOf: EncodingOf): Graph {
  const producers = producersOf(graph)
  const readers = readersOf(graph)
  const producerOf = (value: Value): Node | undefined => graph.nodes[producers.get(value.id) ?? -1]
  const isReadTimes = (value: Value, times: number): boolean =>
    value !== graph.output && value !== graph.hidden && readers.get(value.id)?.length === times
  const linearOf = ({ gate, up }: NodeOf<'swiglu'>): NodeOf<'linear'> | undefined => {
    if (up === undefined) return
    const first = producerOf(gate)
    const second = producerOf(up)
    if (first?.op !== 'slice' || second?.op !== 'slice' || first.input !== second.input) return
    const linear = producerOf(first.input)
    if (linear?.op !== 'linear' || !readsA8(linear, encodingOf) || linear.residual !== undefined) return
    // Not every encoding has a kernel with a fused gate.
    if (!isGated(encodingOfWeight(linear.weight, encodingOf))) return undefined
    const [left, , third] = linear.weight.parts
    const areHalves =
      first.start === 0 && first.width === left?.n && second.start === left.n && third === undefined
    const isAlone = isReadTimes(gate, 1) && isReadTimes(up, 1) && isReadTimes(linear.output, 2)
    return areHalves && isAlone ? linear : undefined
  }
  const dropped = new Set<Node | undefined>()
  const nodes = graph.nodes.map((node): Node => {
    if (node.op !== 'swiglu' || node.output !== undefined || node.quantized === undefined) return node
    const linear = linearOf(node)
    if (linear === undefined || node.up === undefined) return node
    for (const each of [producerOf(node.gate), producerOf(node.up), linear]) dropped.add(each)
    const { input, weight, bias } = linear
    const { activation, quantized } = node
    return { op: 'linearSwiglu', input, weight, bias, activation, quantized }
  })
  return { ...graph, nodes: nodes.filter((node) => !dropped.has(node)) }
}

/**
 * Fuses `add(residual, linear(x))` into the linear, which then overwrites the residual. Legal if only the add
 * reads the product and, from the linear on, only the add reads the residual or any view of it.
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

/**
 * Finds the reads of a value's rows relative to node `at`: the last one before it, and whether any follow.
 */
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
