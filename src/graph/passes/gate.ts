// Gate. In: a graph with quantised activations, each weight's encoding. Out: the same graph, with the gate of
// a feed-forward block fused into the linear that feeds it.

import { producersOf, readersOf } from '../edges.ts'
import type { Value } from '../ir.ts'
import type { Graph, Node, NodeOf } from '../nodes.ts'
import { type EncodingOf, encodingOfWeight, readsA8 } from './split.ts'

/**
 * Fuses `swiglu(gate, up)` into the linear that makes both parts. Legal when the linear reads a8 rows, when
 * only the a8 rows of the gated values are read, and when nothing else reads the product or its parts.
 */
export function fuseGates(graph: Graph, encodingOf: EncodingOf): Graph {
  const producers = producersOf(graph)
  const readers = readersOf(graph)
  const producerOf = (value: Value): Node | undefined => graph.nodes[producers.get(value.id) ?? -1]
  const isReadTimes = (value: Value, times: number): boolean =>
    value !== graph.output && value !== graph.hidden && readers.get(value.id)?.length === times
  const linearOf = ({ gate, up }: NodeOf<'swiglu'>): NodeOf<'linear'> | undefined => {
    if (up === undefined) return
    const [first, second] = [producerOf(gate), producerOf(up)]
    if (first?.op !== 'slice' || second?.op !== 'slice' || first.input !== second.input) return
    const linear = producerOf(first.input)
    if (linear?.op !== 'linear' || !readsA8(linear, encodingOf) || linear.residual !== undefined) return
    // No kernel gates under one scale per output, even where the next op reads groups.
    if (encodingOfWeight(linear.weight, encodingOf) === 'w4_channel') return undefined
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
