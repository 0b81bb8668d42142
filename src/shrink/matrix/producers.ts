// Producers. In: a model's graph. Out: for each product, what makes its inputs, if a scale can be folded into
// that.
import { producersOf, readersOf } from '../../graph/edges.ts'
import type { WeightRef } from '../../graph/ir.ts'
import type { Graph } from '../../graph/nodes.ts'

/** Dividing these by a scale per input divides the inputs of the product by it, and nothing else. */
export interface Producer {
  /** Vectors with a number for each input: a norm's weight and bias. */
  readonly vectors: readonly string[]
  /** The matrix with a row for each input: the side of a gated block that is not activated. */
  readonly matrix?: string | undefined
}

const namesOf = (...refs: readonly (WeightRef | undefined)[]): string[] =>
  refs.flatMap((ref) => ref?.parts.map(({ name }) => name) ?? [])

/**
 * By the first matrix of the product. Only inputs that one product alone reads have a producer: of a norm, or
 * of a gated block behind two linears.
 */
export function producersOfProducts(graph: Graph): ReadonlyMap<string, Producer> {
  const makers = producersOf(graph)
  const readers = readersOf(graph)
  const found = new Map<string, Producer>()
  for (const node of graph.nodes) {
    if (node.op !== 'linear' || readers.get(node.input.id)?.length !== 1) continue
    const maker = graph.nodes[makers.get(node.input.id) ?? -1]
    const [first = ''] = namesOf(node.weight)
    if (maker?.op === 'rmsnorm' && (maker.parts ?? 1) === 1)
      found.set(first, { vectors: namesOf(maker.weight) })
    else if (maker?.op === 'layernorm') found.set(first, { vectors: namesOf(maker.weight, maker.bias) })
    else if (maker?.op === 'swiglu' && maker.up !== undefined) {
      const up = first.replace('mlp_down', 'mlp_up')
      if (up !== first) found.set(first, { vectors: [], matrix: up })
    }
  }
  return found
}
