// The table of all node kinds, from which the shape, the record and the edges of a node follow.
import type { Shape, StateGroup, Value } from './ir.ts'
import type { Addresses, KernelKind, NodeKind, OpRecord, SpecOf } from './node.ts'
import {
  type Attention,
  attention,
  type JoinHeads,
  joinHeads,
  type RopeKv,
  ropeKv,
} from './nodes/attention.ts'
import {
  type BiasExperts,
  biasExperts,
  type Combine,
  combine,
  type Gather,
  gather,
  type LinearExperts,
  linearExperts,
  type Route,
  route,
} from './nodes/experts.ts'
import { type Linear, type LinearSwiglu, linear, linearSwiglu } from './nodes/linear.ts'
import {
  type Conv1d,
  conv1d,
  type Delta,
  delta,
  type Lru,
  lru,
  type Scan,
  type Ssd,
  scan,
  ssd,
  type Wkv,
  wkv,
} from './nodes/recurrent.ts'
import {
  type Add,
  add,
  type Clamp,
  type Collect,
  clamp,
  collect,
  type Embed,
  type Exchange,
  embed,
  exchange,
  type GateRows,
  gateRows,
  type InputRows,
  inputRows,
  type LayerNorm,
  layernorm,
  type Quantize,
  quantize,
  type Renorm,
  type Rescale,
  type RmsNorm,
  renorm,
  rescale,
  rmsnorm,
  type Slice,
  type Swiglu,
  slice,
  swiglu,
  type TakeRows,
  takeRows,
} from './nodes/rows.ts'
import {
  type CutLow,
  cutLow,
  type MatchRms,
  type MixStreams,
  matchRms,
  mixStreams,
  type Weigh,
  weigh,
} from './nodes/streams.ts'

/** Fields that hold the outputs of a node. A value in any other field is an input. */
const OUTPUTS: readonly string[] = ['output', 'quantized']

const isValue = (field: unknown): field is Value =>
  typeof field === 'object' && field !== null && 'form' in field

/** The fields that a node reads, with their names, in the node's order. */
const inputFields = (node: Node): [string, Value][] =>
  Object.entries(node as object).filter(
    (entry): entry is [string, Value] => !OUTPUTS.includes(entry[0]) && isValue(entry[1]),
  )

/** Values that a node reads. */
export const inputsOf = (node: Node): readonly Value[] => inputFields(node).map(([, value]) => value)

/** Values that a node produces. */
export function outputsOf(node: Node): readonly Value[] {
  const quantized = 'quantized' in node ? node.quantized : undefined
  return [node.output, quantized].filter((value) => value !== undefined)
}

/** The node with every input replaced by `replace(input)`. */
export function mapInputs(node: Node, replace: (value: Value) => Value): Node {
  const replaced = inputFields(node).map(([field, value]) => [field, replace(value)] as const)
  return { ...node, ...Object.fromEntries(replaced) } as Node
}

/**
 * Indices of the nodes that read each value, by value id. The graph's own output does not count as a read.
 */
export function readersOf(graph: Graph): ReadonlyMap<number, readonly number[]> {
  const readers = new Map<number, number[]>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of new Set(inputsOf(node))) readers.set(id, [...(readers.get(id) ?? []), index])
  }
  return readers
}

/** Index of the node that produces each value, by value id. */
export function producersOf(graph: Graph): ReadonlyMap<number, number> {
  const producers = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of outputsOf(node)) producers.set(id, index)
  }
  return producers
}

/**
 * By id, the value whose rows each value points into: itself, or the value that its slices and takeRows start
 * from.
 */
export function basesOf(graph: Graph): ReadonlyMap<number, number> {
  const bases = new Map<number, number>()
  for (const node of graph.nodes) {
    const isView = node.op === 'slice' || node.op === 'takeRows'
    for (const { id } of outputsOf(node)) {
      bases.set(id, isView ? (bases.get(node.input.id) ?? node.input.id) : id)
    }
  }
  return bases
}

/** The first id that no value of the graph has. */
export function nextId(graph: Graph): number {
  return Math.max(-1, ...graph.nodes.flatMap(outputsOf).map(({ id }) => id)) + 1
}

/** A node that becomes one record through the `record` function of its kind. */
type KernelNode =
  | (
      | Embed
      | InputRows
      | RmsNorm
      | LayerNorm
      | Renorm
      | Quantize
      | Linear
      | LinearSwiglu
      | RopeKv
      | Attention
      | Swiglu
    )
  | (
      | Add
      | Rescale
      | Clamp
      | Conv1d
      | Scan
      | Ssd
      | Delta
      | Lru
      | Wkv
      | Route
      | Gather
      | LinearExperts
      | Combine
    )
  | (BiasExperts | GateRows | JoinHeads)
  | (MixStreams | MatchRms | CutLow | Weigh)

export type Node = KernelNode | Slice | TakeRows | Exchange | Collect
export type NodeOf<Op extends Node['op']> = Extract<Node, { op: Op }>
/** A node before its outputs are created. */
export type NodeSpec = SpecOf<Node>

/** One step of a model. Nodes are in execution order, and each value is produced once. */
export interface Graph {
  readonly nodes: readonly Node[]
  readonly output: Value
  /** The hidden states after the last norm, from which the logits are computed. */
  readonly hidden: Value
  readonly stateGroups: readonly StateGroup[]
}

/** A node without an entry here does not compile. */
const KERNEL_KINDS: { readonly [Op in KernelNode['op']]: KernelKind<NodeOf<Op>> } = {
  embed,
  inputRows,
  rmsnorm,
  layernorm,
  renorm,
  quantize,
  linear,
  linearSwiglu,
  ropeKv,
  attention,
  swiglu,
  add,
  rescale,
  clamp,
  conv1d,
  scan,
  ssd,
  delta,
  lru,
  wkv,
  route,
  gather,
  linearExperts,
  combine,
  biasExperts,
  gateRows,
  joinHeads,
  mixStreams,
  matchRms,
  cutLow,
  weigh,
}
const KINDS: { readonly [Op in Node['op']]: NodeKind<NodeOf<Op>> } = {
  ...KERNEL_KINDS,
  slice,
  takeRows,
  exchange,
  collect,
}

/** The shape of a node's output. Throws `internal` with both shapes if its inputs do not match. */
export function inferShape(spec: NodeSpec): Shape {
  const kind: NodeKind<Node> = KINDS[spec.op]
  return kind.shape(spec)
}

/** The op and the fields of a node's record. */
export function recordOf(node: KernelNode, at: Addresses): OpRecord {
  const kind: KernelKind<KernelNode> = KERNEL_KINDS[node.op]
  return kind.record(node, at)
}
