// Wire. What the runner and the process that reads inputs tell each other.
import type { StoredInput } from './input.ts'
import type { Fault } from './judge.ts'
import type { TargetName } from './target.ts'

/** What the process is started with, as its one argument. */
export interface ChildOptions {
  readonly target: TargetName
  /** A file of two f64: the number of the input that is read, and when that began, in ms since 1970. */
  readonly clock: string
  /** Maximum bytes that one input may add to the peak of the process. */
  readonly memoryBytes: number
}

export type Order =
  /** Draws and reads inputs from `from` for that long or to `end`, whichever comes first. */
  | {
      readonly type: 'draw'
      readonly seed: number
      readonly from: number
      readonly end: number
      readonly ms: number
    }
  /** Reads these. */
  | { readonly type: 'read'; readonly inputs: readonly StoredInput[] }
  /** Draws one input and sends it. */
  | { readonly type: 'show'; readonly seed: number; readonly index: number }
  /** Makes an input smaller as long as it shows a fault of this signature. */
  | { readonly type: 'minimise'; readonly input: StoredInput; readonly signature: string }

export type Answer =
  | { readonly type: 'ready' }
  /** Inputs of this order that have been read, and how often each outcome was met since the last answer. */
  | { readonly type: 'progress'; readonly read: number; readonly outcomes: Readonly<Record<string, number>> }
  | { readonly type: 'fault'; readonly index: number; readonly fault: Fault; readonly input: StoredInput }
  | { readonly type: 'smaller'; readonly input: StoredInput }
  | { readonly type: 'done' }
