// Segments. In: a model's graph. Out: graphs of its blocks, each of which needs nothing but the rows that the
// block before it made.

import { matrix } from '../../graph/builder.ts'
import { inputsOf, outputsOf } from '../../graph/edges.ts'
import type { Value } from '../../graph/ir.ts'
import type { Graph, Node } from '../../graph/nodes.ts'

/** A part of a model. Its output is what the next segment reads. */
export interface Segment {
  /**
   * Begins with an embedding of one row that stands for the rows of the segment before: they are written to
   * its output, and it is not run. The first segment begins with the model's own embedding.
   */
  readonly graph: Graph
  /** Width of the rows that it reads. 0: token ids. */
  readonly width: number
}

/** The name of the weight that the placeholder reads, which is one row of `width` zeros. */
export const PLACEHOLDER = 'calibration.rows'

/**
 * Cuts the graph wherever a single value of the step's rows is all that later nodes read, at least one linear
 * apart. What comes after the last cut makes logits and is left out.
 */
export function segmentsOf(graph: Graph): Segment[] {
  const lastReads = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of inputsOf(node)) lastReads.set(id, index)
  }
  const live = new Map<number, Value>()
  const segments: Segment[] = []
  let before: Value | undefined
  let nodes: Node[] = []
  for (const [index, node] of graph.nodes.entries()) {
    nodes.push(node)
    for (const value of outputsOf(node)) live.set(value.id, value)
    for (const { id } of [...inputsOf(node), ...outputsOf(node)]) {
      if ((lastReads.get(id) ?? -1) <= index) live.delete(id)
    }
    const [value, second] = live.values()
    const isCut = value !== undefined && second === undefined && value.shape[0] === 'tokens'
    if (!isCut || (before !== undefined && !nodes.some(isLinear))) continue
    segments.push(segment(graph, nodes, before, value))
    before = value
    nodes = []
  }
  return segments
}

const isLinear = ({ op }: Node): boolean => op === 'linear' || op === 'linearExperts'

function segment(graph: Graph, nodes: readonly Node[], before: Value | undefined, output: Value): Segment {
  const layers = new Set(nodes.flatMap((node) => (node.op === 'ropeKv' ? [node.attention.layer] : [])))
  const stateGroups = graph.stateGroups
    .map((group) => ({ ...group, layers: group.layers.filter((layer) => layers.has(layer)) }))
    .filter((group) => group.layers.length > 0)
  const width = before?.shape[1] ?? 0
  const table = matrix(width, { [PLACEHOLDER]: 1 })
  const read: Node[] = before ? [{ op: 'embed', table, scale: 1, by: 'id', output: before }] : []
  return { width, graph: { nodes: [...read, ...nodes], output, hidden: output, stateGroups } }
}
