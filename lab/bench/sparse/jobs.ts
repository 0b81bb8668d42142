// Types of the messages between the sparse packs' page and its worker.
import type { CostTable } from '../../../src/core/weights/sparse/cost-table.ts'
import type { MeasureOptions } from '../../../src/tools/shrink/costs/measure-costs.ts'

type CostsAsked = Pick<MeasureOptions, 'format' | 'build' | 'threads' | 'position' | 'samples' | 'machine'>

/** The index of a loaded pack. */
interface Scored {
  readonly memoryBytes: number
  readonly perplexity: { readonly value: number; readonly error: number | undefined }
}

/** Messages to the worker, each answered with a result of the same type. */
export type Job =
  | { readonly type: 'costs'; readonly url: string; readonly asked: CostsAsked }
  | {
      readonly type: 'load'
      readonly url: string
      readonly threads: number
      readonly text: string
      readonly chunks: number
    }
  /** Processes the text with pack `pack`, and keeps the state. */
  | { readonly type: 'read'; readonly pack: number; readonly context: number; readonly tokens: number }
  /** Runs the next tokens one at a time. */
  | { readonly type: 'decode'; readonly pack: number }

export interface Results {
  costs: CostTable
  load: Scored
  /** Tokens per second. */
  read: number
  decode: number
}

export type Answer =
  | { readonly type: 'done'; readonly result: Results[Job['type']] }
  | { readonly type: 'failed'; readonly message: string }
