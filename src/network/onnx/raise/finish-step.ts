// Applies facts that are known only for the whole step: the embedding factor, a single rotation table if all
// layers rotate alike, and norms merged into attention.
import { type Graph, type Node, type NodeOf, producersOf, readersOf } from '../../../core/graph/nodes.ts'
import { type Findings, localRope } from './findings.ts'

export function finishStep(graph: Graph, findings: Findings): Graph {
  const makers = producersOf(graph)
  const readers = readersOf(graph)
  const hasTwo = localRope(findings) !== undefined
  const nodes = graph.nodes.flatMap((node): readonly Node[] => {
    if (node.op === 'ropeKv') return [hasTwo ? node : { ...node, rope: { ...node.rope, table: 0 } }]
    if (node.op === 'rescale' && isEmbedding(graph.nodes[makers.get(node.input.id) ?? -1])) return []
    const [reader, ...others] = readers.get(node.output?.id ?? -1) ?? []
    const isEnd = node.output === graph.hidden || node.output === graph.output
    // Norms that were merged into attention, and products merged into others.
    if (/^(rmsnorm|linear)$/.test(node.op) && reader === undefined && !isEnd) return []
    const scaled = others.length === 0 ? graph.nodes[reader ?? -1] : undefined
    if (!isEmbedding(node) || scaled?.op !== 'rescale') return [node]
    return [{ ...node, scale: scaled.scale, output: scaled.output }]
  })
  return { ...graph, nodes }
}

const isEmbedding = (node: Node | undefined): node is NodeOf<'embed'> =>
  node?.op === 'embed' && node.by === 'id'
