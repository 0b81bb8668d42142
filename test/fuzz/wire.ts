// Messages between the runner and the process that reads inputs.
import type { StoredInput } from './input.ts'
import type { Fault } from './judge.ts'
import type { TargetName } from './target.ts'

/** The process's only argument. */
export interface ChildOptions {
  readonly target: TargetName
  /** A file of two f64: the number of the current input, and its start time in ms since 1970. */
  readonly clock: string
  /** Maximum bytes that one input may add to the peak of the process. */
  readonly memoryBytes: number
}

export type Order =
  /** Generates and reads inputs from `from` on, for that time or up to `end`, whichever comes first. */
  | {
      readonly type: 'draw'
      readonly seed: number
      readonly from: number
      readonly end: number
      readonly ms: number
    }
  /** Reads these inputs. */
  | { readonly type: 'read'; readonly inputs: readonly StoredInput[] }
  /** Generates one input and sends it. */
  | { readonly type: 'show'; readonly seed: number; readonly index: number }
  /** Minimises an input while it still shows a fault with this signature. */
  | { readonly type: 'minimise'; readonly input: StoredInput; readonly signature: string }

export type Answer =
  | { readonly type: 'ready' }
  /** Number of inputs read so far for this order, and counts of outcomes since the last answer. */
  | { readonly type: 'progress'; readonly read: number; readonly outcomes: Readonly<Record<string, number>> }
  | { readonly type: 'fault'; readonly index: number; readonly fault: Fault; readonly input: StoredInput }
  | { readonly type: 'smaller'; readonly input: StoredInput }
  | { readonly type: 'done' }
