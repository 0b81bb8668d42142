// The Plan: the lowered graph as data. Pointers in its op records are not resolved to addresses yet.
import type { PackedEncoding } from '../../abi/encodings.ts'
import type { OpName } from '../../abi/ops.ts'
import type { StateGroup, WeightRef } from '../ir.ts'

/** A pointer of an op record, resolved to an address when the plan is written to linear memory. */
export type PlanPointer =
  /** Byte offset in the activation arena. */
  | { readonly arena: number }
  /** Index of a weight slot. */
  | { readonly slot: number }

/** One record of wasm/core/abi.h: fields by their C names, without `code`. An unused pointer is 0. */
export interface PlanOp {
  readonly name: OpName
  /** For printing and profiles, e.g. `layers.3.mlp_gate_up [tokens, 9728]`. */
  readonly label: string
  readonly fields: Readonly<Record<string, number | PlanPointer>>
}

/** A weight that must be in linear memory before the plan can run. A tied embedding is one slot. */
export interface WeightSlot {
  readonly ref: WeightRef
  readonly encoding: PackedEncoding
  /** Rows with padding. Each part starts at a multiple of 32 rows. */
  readonly n: number
  readonly bytes: number
}

export interface Plan {
  readonly ops: readonly PlanOp[]
  readonly slots: readonly WeightSlot[]
  readonly stateGroups: readonly StateGroup[]
  /**
   * Bytes of a sequence's slab, the state of its recurrent layers. The table of slabs comes after the tables
   * of the groups. 0: no slab.
   */
  readonly slabBytes: number
  /** The layout of a block in each pool of the state cache. Slabs come last. */
  readonly pools: readonly PoolLayout[]
  /** Bytes of the activation arena: its peak during a step of full capacity. */
  readonly arenaBytes: number
  /** Maximum number of rows a step may have. */
  readonly tokens: number
  /** Maximum number of rows whose logits a step may request. */
  readonly logitRows: number
  /** Where records need rows from other shards, in order. None if one pool runs the whole model. */
  readonly exchanges: readonly PlanExchange[]
  /** Where the logits are. */
  readonly logits: PlanRows
  /** Where the hidden states after the last norm are once the first `ops` records have run. */
  readonly hidden: PlanRows & { readonly ops: number }
}

/** A block or slab. On a shard: which part of the whole model's block it is. */
export interface PoolLayout {
  readonly bytes: number
  readonly wholeBytes: number
  readonly runs: readonly StateRun[]
}

/** A run of bytes that is contiguous both here and in the whole model: its two offsets and its length. */
export type StateRun = readonly [here: number, there: number, bytes: number]

/** Before record `op` runs, the shards send each other rows. */
export type PlanExchange = {
  readonly op: number
  readonly rows: 'tokens' | 'logitRows'
  /** The f32 rows that this shard produced. */
  readonly own: PlanRows
} & (
  | {
      readonly kind: 'sum'
      /**
       * Per shard, the byte offset of its rows in the arena, with the stride of `own`. This shard's entry is
       * its own rows.
       */
      readonly offsets: readonly number[]
    }
  | {
      readonly kind: 'columns'
      /** Number of columns of each shard. The first shard places them side by side, in shard order. */
      readonly widths: readonly number[]
    }
)

/**
 * Rows of f32 in the arena, one for each row of logits: [logitRows][stride / 4]. In bytes, except `width`.
 */
export interface PlanRows {
  readonly arena: number
  readonly stride: number
  /** Values of a row. */
  readonly width: number
}
