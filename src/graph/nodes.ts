// Nodes. In: the file of each kind of node. Out: the type of all nodes, a node's shape, a node's record.
import type { Shape, StateGroup, Value } from './ir.ts'
import type { Addresses, KernelKind, NodeKind, OpRecord, SpecOf } from './node.ts'
import { type Attention, attention, type RopeKv, ropeKv } from './nodes/attention.ts'
import { type Add, add, type Rescale, rescale, type Swiglu, swiglu } from './nodes/elementwise.ts'
import { type Embed, embed } from './nodes/embed.ts'
import { type Collect, collect, type Exchange, exchange } from './nodes/exchanges.ts'
import {
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
import { type LayerNorm, layernorm, type Renorm, type RmsNorm, renorm, rmsnorm } from './nodes/norms.ts'
import { type Quantize, quantize } from './nodes/quantize.ts'
import { type Conv1d, conv1d, type Scan, type Ssd, scan, ssd } from './nodes/recurrent.ts'
import { type Slice, slice, type TakeRows, takeRows } from './nodes/views.ts'

/** A node that becomes one record, by the `record` of its kind. */
export type KernelNode =
  | (Embed | RmsNorm | LayerNorm | Renorm | Quantize | Linear | LinearSwiglu | RopeKv | Attention | Swiglu)
  | (Add | Rescale | Conv1d | Scan | Ssd | Route | Gather | LinearExperts | Combine)

export type Node = KernelNode | Slice | TakeRows | Exchange | Collect
export type NodeOf<Op extends Node['op']> = Extract<Node, { op: Op }>
/** A node before its outputs are made. */
export type NodeSpec = SpecOf<Node>

/** One step of a model. Nodes are in execution order, and each value is made once. */
export interface Graph {
  readonly nodes: readonly Node[]
  readonly output: Value
  /** The hidden states after the last norm, from which the logits are made. */
  readonly hidden: Value
  readonly stateGroups: readonly StateGroup[]
}

/** A node without an entry does not compile. */
const KERNEL_KINDS: { readonly [Op in KernelNode['op']]: KernelKind<NodeOf<Op>> } = {
  ...{ embed, rmsnorm, layernorm, renorm, quantize, linear, linearSwiglu, ropeKv, attention, swiglu },
  ...{ add, rescale, conv1d, scan, ssd, route, gather, linearExperts, combine },
}
const KINDS: { readonly [Op in Node['op']]: NodeKind<NodeOf<Op>> } = {
  ...KERNEL_KINDS,
  ...{ slice, takeRows, exchange, collect },
}

/** The shape of a node's output. Throws `internal` with both shapes when its inputs do not fit together. */
export function inferShape(spec: NodeSpec): Shape {
  const kind: NodeKind<Node> = KINDS[spec.op]
  return kind.shape(spec)
}

/** The op and the fields of a node's record. */
export function recordOf(node: KernelNode, at: Addresses): OpRecord {
  const kind: KernelKind<KernelNode> = KERNEL_KINDS[node.op]
  return kind.record(node, at)
}
