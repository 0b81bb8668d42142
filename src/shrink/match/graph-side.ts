// One side of a comparison. In: a graph. Out: what makes a value, looked at through the slices between.
import { producersOf } from '../../graph/edges.ts'
import type { Value } from '../../graph/ir.ts'
import type { Graph, Node } from '../../graph/nodes.ts'

/** Columns [start, start + width) of a value that no slice makes. */
export interface Columns {
  readonly of: Value
  readonly start: number
  readonly width: number
}

export class GraphSide {
  readonly #graph: Graph
  readonly #makers: ReadonlyMap<number, number>

  constructor(graph: Graph) {
    this.#graph = graph
    this.#makers = producersOf(graph)
  }

  columns(value: Value): Columns {
    let [of, start] = [value, 0]
    for (let node = this.maker(of); node.op === 'slice'; node = this.maker(of)) {
      start += node.start
      of = node.input
    }
    return { of, start, width: value.shape[1] }
  }

  maker(value: Value): Node {
    return this.#graph.nodes[this.place(value)]!
  }

  /** Where the node that makes a value stands. */
  place({ id }: Value): number {
    return this.#makers.get(id) ?? -1
  }

  /** What tells the operands of a sum apart. */
  kind(value: Value): string {
    const node = this.maker(this.columns(value).of)
    return node.op === 'embed' ? `embed by ${node.by}` : node.op
  }
}
