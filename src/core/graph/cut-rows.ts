// Throws if a kernel would treat columns next to a slice of a product as part of the slice.

import { ROW_PADDING } from '../abi/encodings.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Value } from './ir.ts'
import { type Graph, inputsOf, type Node, type NodeOf } from './nodes.ts'

/**
 * The kernels of these nodes process whole groups of columns and expect zeros after the last one. Other
 * kernels read only existing columns, or multiply the rest by zero weights.
 */
const BY_GROUPS: ReadonlySet<Node['op']> = new Set([
  'rmsnorm',
  'layernorm',
  'quantize',
  'add',
  'rescale',
  'clamp',
  'mixStreams',
  'matchRms',
  'cutLow',
  'weigh',
])

/**
 * Throws `unsupported` if such a node reads a slice that shares its last group with other columns. Each
 * matrix of a merged linear starts a new group, so this can happen only within one matrix.
 */
export function checkCutRows(graph: Graph): void {
  const cut = cutValuesOf(graph)
  for (const node of graph.nodes) {
    if (!BY_GROUPS.has(node.op)) continue
    for (const value of inputsOf(node)) if (cut.has(value.id)) throw shared(value, node)
  }
}

/** Ids of the values whose first or last group contains other columns. */
export function cutValuesOf(graph: Graph): ReadonlySet<number> {
  const linears = new Map<number, NodeOf<'linear'>>()
  const padded = new Map<number, readonly Part[]>()
  const cut = new Set<number>()
  const isCut = (value: Value | undefined) => value !== undefined && cut.has(value.id)
  for (const node of graph.nodes) {
    const linear = node.op === 'exchange' ? linears.get(node.input.id) : node
    if (linear?.op === 'linear' && node.output !== undefined) linears.set(node.output.id, linear)
    if (node.op === 'joinHeads' || node.op === 'mixStreams')
      padded.set(node.output.id, paddedParts(node, padded))
    if (node.op === 'slice') {
      const { id, shape } = node.input
      const merged = linears.get(id)?.weight.parts.map(({ n }) => ({ columns: n, filled: n }))
      const parts = merged ?? padded.get(id) ?? [{ columns: shape[1], filled: shape[1] }]
      if (isCut(node.input) || !hasOwnGroups(node, parts)) cut.add(node.output.id)
    } else if (node.output !== undefined && keepsOthers(node, isCut)) cut.add(node.output.id)
  }
  return cut
}

/** Whether columns that share a group with the input also share one with the output. */
function keepsOthers(node: Node, isCut: (value: Value | undefined) => boolean): boolean {
  switch (node.op) {
    case 'takeRows':
      return isCut(node.input)
    case 'swiglu':
      // It writes whole groups, and a zero in either factor yields zero.
      return isCut(node.gate) && isCut(node.up ?? node.gate)
    case 'linear':
    case 'exchange':
      return isCut(node.residual)
    default:
      return false
  }
}

/** A range of columns: the first `filled` have values, the others are zeros. */
interface Part {
  readonly columns: number
  readonly filled: number
}

/** The heads or streams of a row, as parts. `padded`: the parts of earlier values, by id. */
function paddedParts(
  node: NodeOf<'joinHeads' | 'mixStreams'>,
  padded: ReadonlyMap<number, readonly Part[]>,
): readonly Part[] {
  if (node.op === 'mixStreams') {
    const part = { columns: node.apart, filled: node.width }
    return Array.from({ length: node.output.shape[1] / node.apart }, () => part)
  }
  const { heads, own, width, shared } = node
  if (shared === undefined) return Array.from({ length: heads }, () => ({ columns: width, filled: own }))
  const [, columns] = shared.shape
  if (heads > 1) return Array.from({ length: heads }, () => ({ columns: width, filled: columns + own }))
  // The parts of the shared value, followed by the head's own columns.
  return [
    ...(padded.get(shared.id) ?? [{ columns, filled: columns }]),
    { columns: width - columns, filled: own },
  ]
}

/** Whether the slice shares no group with other columns. `parts`: the parts of each merged matrix. */
function hasOwnGroups({ start, width }: NodeOf<'slice'>, parts: readonly Part[]): boolean {
  if (width % ROW_PADDING === 0) return true
  let first = 0
  for (const { columns, filled } of parts) {
    const end = first + columns
    if (start < end) return (start - first) % ROW_PADDING === 0 && start + width === first + filled
    first = end
  }
  return false
}

const shared = (value: Value, { op }: Node): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${value.label} is ${value.shape[1]} columns of a wider product, and ${op} needs columns in whole groups of ` +
      `${ROW_PADDING}; export the model with a separate matrix for them`,
    { value: value.label, op, columns: value.shape[1] },
  )
