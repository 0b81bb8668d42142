// Still. In: a graph whose keys become int8 codes, radians per position of each pair. Out: the same graph,
// whose keys are stored less their bias where the bias hardly turns.

import { producersOf, readersOf } from '../edges.ts'
import type { StateGroup, WeightRef } from '../ir.ts'
import type { Graph, Node, NodeOf } from '../nodes.ts'

/**
 * A pair is still if it turns by a radian at most over so many positions. The number does not depend on the
 * context of a load: saved state fits every context.
 */
const STILL_POSITIONS = 32_768

/**
 * Codes of a key share one range, which a large bias in a few channels takes from all others; in Qwen2 such
 * channels belong to the slowest pairs. There the bias is nearly the same vector at every position. The same
 * vector subtracted from every key changes all scores of a query by one number, which softmax does not see.
 * A cap on scores would see it, and a norm comes after the bias: such layers stay as they are.
 */
export function subtractStillBias(graph: Graph, frequencies: readonly Float64Array[]): Graph {
  const producers = producersOf(graph)
  const readers = readersOf(graph)
  const changed = new Set<number>()
  const nodes = graph.nodes.map((node): Node => {
    if (node.op !== 'ropeKv' || node.norms !== undefined) return node
    const isCapped = readers.get(node.output.id)?.some((index) => {
      const reader = graph.nodes[index]
      return reader?.op !== 'attention' || reader.cap !== 0
    })
    const bias = biasOf(node, (id) => graph.nodes[producers.get(id) ?? -1])
    const from = firstStill(node, frequencies)
    if (isCapped !== false || bias === undefined || from === undefined) return node
    changed.add(node.attention.layer)
    return { ...node, still: { bias, from } }
  })
  const groupOf = (group: StateGroup): StateGroup =>
    group.layers.some((layer) => changed.has(layer)) ? { ...group, lessBias: true } : group
  return { ...graph, nodes, stateGroups: graph.stateGroups.map(groupOf) }
}

/** The part of a linear's bias that ends in the keys. */
function biasOf(
  { k }: NodeOf<'ropeKv'>,
  producerOf: (id: number) => Node | undefined,
): WeightRef | undefined {
  const made = producerOf(k.id)
  const { start, input } = made?.op === 'slice' ? made : { start: 0, input: k }
  const linear = producerOf(input.id)
  if (linear?.op !== 'linear' || linear.bias === undefined) return undefined
  let end = 0
  for (const part of linear.bias.parts) {
    if (end === start && part.n === k.shape[1]) return { ...linear.bias, parts: [part] }
    end += part.n
  }
  return undefined
}

/** The first still pair, or undefined if nothing of a key is still. */
function firstStill(
  { rope, attention }: NodeOf<'ropeKv'>,
  frequencies: readonly Float64Array[],
): number | undefined {
  const pairs = rope.dims / 2
  const turns = frequencies[rope.table]?.subarray(0, pairs) ?? []
  // Scaled frequencies need not fall, so all later pairs must be still too.
  let from = pairs
  while (from > 0 && (turns[from - 1] ?? Number.POSITIVE_INFINITY) * STILL_POSITIONS <= 1) from--
  return from < pairs || rope.dims < attention.headDim ? from : undefined
}
