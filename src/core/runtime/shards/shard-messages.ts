// The types of all messages between the first shard and the others.
//
//   compute port, before any step     ShardRequest  ->   <-  ShardReply, one each, also for a BlockRequest
//   link between two shards           Uint32Array  a step (step-mirror.ts), from the first shard alone
//                                     Float32Array  rows for an exchange; echoed until there is a plan
//                                     StateCommand  other changes of the state cache, from the first shard
import type { RopeTable } from '../../arch/rope.ts'
import type { ErrorCode, ErrorDetail } from '../../base/errors.ts'
import type { Plan } from '../../graph/plan/plan.ts'

export type ShardRequest =
  /** Sent first, and only once. `links[s]` is the port to shard s. A shard has no port to itself. */
  | {
      readonly type: 'shard'
      readonly module: WebAssembly.Module
      readonly shard: number
      readonly links: readonly (MessagePort | undefined)[]
    }
  /** Runs a kernel for about `ms` milliseconds. */
  | { readonly type: 'measure'; readonly ms: number }
  /** Allocates memory for the plan and its state. */
  | { readonly type: 'plan'; readonly plan: Plan; readonly layout: ShardLayout }
  /** Writes bytes of a weight slot. */
  | {
      readonly type: 'weights'
      readonly slot: number
      readonly offset: number
      readonly bytes: Uint8Array<ArrayBuffer>
    }

/** What a shard needs to know about steps and state besides its plan. */
export interface ShardLayout {
  readonly shards: number
  /** Maximum number of sequences in a step. */
  readonly sequences: number
  /** Words of one group's block table. */
  readonly tableWords: number
  /** The model's kinds of rotation. */
  readonly ropes: readonly RopeTable[]
}

export type ShardReply =
  /**
   * The request is done. `rate` answers `measure`, in bytes of weights per millisecond. `bytes` are a block's
   * contents.
   */
  | { readonly type: 'done'; readonly rate?: number; readonly bytes?: Uint8Array<ArrayBuffer> }
  /** The request failed, and the shard can no longer be used. */
  | {
      readonly type: 'failed'
      readonly message: string
      readonly code?: ErrorCode | undefined
      readonly detail?: ErrorDetail | undefined
    }

/** A block is named by its address on the first shard. */
export type StateCommand =
  | { readonly type: 'copy'; readonly group: number; readonly from: number; readonly to: number }
  | { readonly type: 'clear'; readonly group: number; readonly block: number }
  | BlockRequest
  | {
      readonly type: 'move'
      readonly group: number
      readonly from: BlockRun
      readonly to: BlockRun
      readonly count: number
    }

/** Requests the shard's part of a block, or sets it to `bytes`. Answered at the compute port. */
export interface BlockRequest {
  readonly type: 'block'
  readonly group: number
  readonly block: number
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined
}

/** A block table and a position in it. */
export interface BlockRun {
  readonly blocks: Uint32Array
  readonly position: number
}
