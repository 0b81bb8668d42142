// Compile. In: a family's graph, each weight's encoding, the most rows of a step. Out: the Plan, after every
// pass.

import type { KvFormat } from './ir.ts'
import type { Graph } from './nodes.ts'
import { fuseGates } from './passes/gate.ts'
import { orderInputs, quantizeActivations } from './passes/quantize.ts'
import { fuseResiduals } from './passes/residual.ts'
import { type EncodingOf, type OrderOf, splitMixed } from './passes/split.ts'
import { subtractStillBias } from './passes/still.ts'
import { lower } from './plan/lower.ts'
import { type Capacity, planMemory } from './plan/memory.ts'
import type { Plan } from './plan/plan.ts'
import type { StripBytesOf } from './plan/slots.ts'
import { checkShapes } from './shapes.ts'

export interface CompileOptions extends Capacity {
  /** The encoding that a weight will have in linear memory. Asked for matrices only: vectors are f32. */
  readonly encodingOf: EncodingOf
  /** The input order of matrices that read a8 rows. Default: none has an order of its own. */
  readonly orderOf?: OrderOf | undefined
  /** Asked only for weights in a sparse encoding. */
  readonly stripBytesOf?: StripBytesOf | undefined
  /** How keys and values are stored. Default: f32, exact. */
  readonly kvCache?: KvFormat | undefined
  /** Radians per position of each pair, for each table of rotations. Default: unknown. */
  readonly frequencies?: readonly Float64Array[] | undefined
}

/** The graph after all passes, ready to be lowered. */
export function optimize(graph: Graph, encodingOf: EncodingOf, orderOf: OrderOf = () => undefined): Graph {
  checkShapes(graph)
  const fused = fuseResiduals(splitMixed(graph, encodingOf, orderOf))
  const optimized = fuseGates(
    quantizeActivations(orderInputs(fused, encodingOf, orderOf), encodingOf),
    encodingOf,
  )
  checkShapes(optimized)
  return optimized
}

/**
 * Throws `internal` for an inconsistent graph or a node that no kernel can run, `architecture` for too many
 * kinds of state.
 */
export function compile(graph: Graph, options: CompileOptions): Plan {
  const { encodingOf, orderOf } = options
  const stored = storeStateAs(optimize(graph, encodingOf, orderOf), options.kvCache)
  const isCodes = options.kvCache?.k === 'int8'
  const optimized = isCodes ? subtractStillBias(stored, options.frequencies ?? []) : stored
  return lower(optimized, planMemory(optimized, options), encodingOf, options, options.stripBytesOf)
}

function storeStateAs(graph: Graph, format: KvFormat | undefined): Graph {
  if (format === undefined) return graph
  return { ...graph, stateGroups: graph.stateGroups.map((group) => ({ ...group, format })) }
}
