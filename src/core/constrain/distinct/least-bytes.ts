// Minimum lengths. In: a grammar. Out: for each node, the number of bytes of its shortest text; infinite if
// no text matches.
import { type GrammarNodes, NODE, type NodeId } from '../grammar-nodes.ts'

export function leastBytes(grammar: GrammarNodes): Float64Array {
  const lengths = new Float64Array(grammar.size).fill(Number.POSITIVE_INFINITY)
  const parents: NodeId[][] = Array.from({ length: grammar.size }, () => [])
  for (let node = 0; node < grammar.size; node++) {
    for (const child of grammar.children(node)) parents[child]!.push(node)
  }
  const open = Array.from({ length: grammar.size }, (_, index) => grammar.size - 1 - index)
  while (open.length > 0) {
    const node = open.pop()!
    const length = lengthOf(grammar, lengths, node)
    if (length >= lengths[node]!) continue
    lengths[node] = length
    for (const parent of parents[node]!) open.push(parent)
  }
  return lengths
}

function lengthOf(grammar: GrammarNodes, lengths: Float64Array, node: NodeId): number {
  const { a, b, sets } = grammar
  switch (grammar.kinds[node]) {
    case NODE.bytes:
      return sets[a[node]!]!.some((word) => word !== 0) ? 1 : Number.POSITIVE_INFINITY
    case NODE.seq:
      return lengths[a[node]!]! + lengths[b[node]!]!
    case NODE.repeat:
      return b[node] === 0 ? 0 : b[node]! * lengths[a[node]!]!
    case NODE.alt:
      return Math.min(...grammar.children(node).map((option) => lengths[option]!))
    case NODE.rule:
    case NODE.distinct:
      return lengths[grammar.children(node)[0]!]!
    default:
      return 0
  }
}
