// Compiles a family's graph into a Plan: runs every pass, plans memory and lowers nodes to records.

import { HalfbyteError } from '../base/errors.ts'
import { checkCutRows } from './cut-rows.ts'
import type { KvFormat, Value } from './ir.ts'
import { broken, expectForm, sameShape, show } from './node.ts'
import { type Graph, inferShape, inputsOf, type Node, outputsOf } from './nodes.ts'
import { fuseGates, fuseResiduals } from './passes/fuse.ts'
import { orderInputs, quantizeActivations, subtractStaticBias } from './passes/quantize-activations.ts'
import { type EncodingOf, type OrderOf, splitMixed } from './passes/split.ts'
import type { StripBytesOf } from './plan/layouts.ts'
import { lower } from './plan/lower.ts'
import type { Plan } from './plan/plan.ts'
import { type Capacity, planMemory } from './plan/plan-memory.ts'

const READ_A8: ReadonlySet<Node['op']> = new Set(['linear', 'linearSwiglu', 'linearExperts', 'gather'])

/**
 * Throws `internal` unless every value is produced exactly once, before it is read, and with the shape that
 * its node infers.
 */
export function checkShapes(graph: Graph): void {
  const made = new Map<number, Value>()
  for (const node of graph.nodes) {
    for (const input of inputsOf(node)) {
      if (made.get(input.id) !== input) throw broken(input, `is read by ${node.op} before it is produced`)
      if (!READ_A8.has(node.op)) expectForm(input, 'f32')
    }
    const shape = inferShape(node)
    const outputs = outputsOf(node)
    if (outputs.length === 0) {
      throw new HalfbyteError('internal', `a ${node.op} node of the graph produces nothing`)
    }
    for (const output of outputs) {
      if (made.has(output.id)) throw broken(output, 'is produced twice')
      if (!sameShape(output.shape, shape)) throw broken(output, `is produced by ${node.op} as ${show(shape)}`)
      made.set(output.id, output)
    }
  }
  if (made.get(graph.output.id) !== graph.output)
    throw broken(graph.output, 'is the output but is never produced')
}

export interface CompileOptions extends Capacity {
  /** The encoding that a weight will have in linear memory. Called for matrices only: vectors are f32. */
  readonly encodingOf: EncodingOf
  /** The input order of matrices that read a8 rows. Default: no reordering. */
  readonly orderOf?: OrderOf | undefined
  /** Called only for weights in a sparse encoding. */
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
 * kinds of state, `unsupported` if columns that share a group with others are normalised or changed in place.
 */
export function compile(graph: Graph, options: CompileOptions): Plan {
  const { encodingOf, orderOf } = options
  const stored = storeStateAs(optimize(graph, encodingOf, orderOf), options.kvCache)
  const isCodes = options.kvCache?.k === 'int8'
  const optimized = isCodes ? subtractStaticBias(stored, options.frequencies ?? []) : stored
  checkCutRows(optimized)
  return lower(optimized, planMemory(optimized, options), encodingOf, options, options.stripBytesOf)
}

function storeStateAs(graph: Graph, format: KvFormat | undefined): Graph {
  if (format === undefined) return graph
  return { ...graph, stateGroups: graph.stateGroups.map((group) => ({ ...group, format })) }
}
