// Plan. In: nothing. Out: the lowered graph as data: op records whose pointers are still names.
import type { PackedEncoding } from '../../abi/encodings.ts'
import type { OpName } from '../../abi/ops.ts'
import type { StateGroup, WeightRef } from '../ir.ts'

/** A pointer of an op record, resolved to an address when the plan is written to linear memory. */
export type PlanPointer =
  /** Byte offset in the activation arena. */
  | { readonly arena: number }
  /** Index of a weight slot. */
  | { readonly slot: number }

/** One record of wasm/core/abi.h: fields by their C names, without `code`. A pointer that is not wanted is 0. */
export interface PlanOp {
  readonly name: OpName
  /** e.g. `layers.3.mlp_gate_up [tokens, 9728]` for prints and profiles. */
  readonly label: string
  readonly fields: Readonly<Record<string, number | PlanPointer>>
}

/** One weight that must lie in linear memory before the plan can run; a tied embedding is one slot. */
export interface WeightSlot {
  readonly ref: WeightRef
  readonly encoding: PackedEncoding
  /** Rows with padding; each part starts at a multiple of 32 rows. */
  readonly n: number
  readonly bytes: number
}

export interface Plan {
  readonly ops: readonly PlanOp[]
  readonly slots: readonly WeightSlot[]
  readonly stateGroups: readonly StateGroup[]
  /** Bytes of a sequence's slab, the state of its recurrent layers, whose table comes behind those of the groups; 0: none. */
  readonly slabBytes: number
  /** Of each pool of the state cache, what a block takes, or a slab, which come last. */
  readonly pools: readonly PoolLayout[]
  /** Bytes of the activation arena: its peak over the step at full capacity. */
  readonly arenaBytes: number
  /** Most rows a step may have. */
  readonly tokens: number
  /** Most rows whose logits a step may want. */
  readonly logitRows: number
  /** Where records need what other shards have made, in order. None where one pool runs the whole model. */
  readonly exchanges: readonly PlanExchange[]
  /** Where the logits lie. */
  readonly logits: PlanRows
  /** Where the hidden states behind the last norm lie once the first `ops` records have run. */
  readonly hidden: PlanRows & { readonly ops: number }
}

/** A block or slab, and of a shard which part of the whole model's it is. */
export interface PoolLayout {
  readonly bytes: number
  readonly wholeBytes: number
  readonly runs: readonly StateRun[]
}

/** Bytes that lie together here and in the whole model: their offsets, and how many. */
export type StateRun = readonly [here: number, there: number, bytes: number]

/** Before record `op` runs, rows go to other shards and come from them. */
export type PlanExchange = {
  readonly op: number
  readonly rows: 'tokens' | 'logitRows'
  /** What this shard has made: f32 rows. */
  readonly own: PlanRows
} & (
  | {
      readonly kind: 'sum'
      /** Per shard, byte offset in the arena of its rows, with the stride of `own`; of this shard, its own. */
      readonly offsets: readonly number[]
    }
  | {
      readonly kind: 'columns'
      /** Per shard, columns that it has made; on the first shard they go behind those of the shards before. */
      readonly widths: readonly number[]
    }
)

/** Rows of f32 in the arena, one for each row whose logits are wanted: [logitRows][stride / 4]. Bytes, but for `width`. */
export interface PlanRows {
  readonly arena: number
  readonly stride: number
  /** Values of a row. */
  readonly width: number
}
