// Runs texts through an encoder, as many together as fit in a step, each with all of its rows.

import { isHalfbyteError } from '../../core/base/errors.ts'
import { RowsView } from '../../core/generate/schedule/step-buffer.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { AsyncPool, Pool } from '../../core/runtime/pool.ts'
import { SequenceState } from '../../core/state/sequence-state.ts'
import type { PlacedModel } from '../../engine/load/place-model.ts'
import type { Pooling } from './embed-settings.ts'
import { pooledRows, RowPool, type VectorOptions } from './pool-rows.ts'

/** A text's ids, and how many of its first rows belong to a prompt that is not pooled. */
export interface EncodedText {
  readonly ids: readonly number[]
  readonly skipped: number
}

export interface EmbedRun extends VectorOptions {
  readonly pooling: Pooling
  readonly signal?: AbortSignal | undefined
  /** Called after each step with the number of finished texts. */
  readonly onDone?: ((done: number) => void) | undefined
}

/** The indices of the texts by their length, and of equally long ones in their order. */
export const shortestFirst = (texts: readonly EncodedText[]): number[] =>
  [...texts.keys()].sort((a, b) => texts[a]!.ids.length - texts[b]!.ids.length || a - b)

interface EncoderMachine extends Pick<PlacedModel, 'arena' | 'plan' | 'written' | 'step' | 'cache'> {
  readonly pool: Pool | AsyncPool
  readonly host: Pick<Host, 'yieldTask'>
}

/** A text in the step that is being assembled. */
interface Placed {
  readonly text: EncodedText
  readonly index: number
  readonly state: SequenceState
  readonly from: number
  /** The index of its first wanted row among all wanted rows. */
  firstWanted: number
}

/**
 * One vector for each text, in order. Steps take neighbours from a list sorted by length, so that many short
 * texts share one. A row's bits do not depend on the other texts of its step. One call at a time. Rejects
 * with the pool's errors, `out-of-memory`, `integrity` or the signal's reason.
 */
export async function embedTexts(
  machine: EncoderMachine,
  texts: readonly EncodedText[],
  { pooling, signal, onDone, ...options }: EmbedRun,
): Promise<Float32Array[]> {
  const { arena, plan, written, step, pool, host } = machine
  const rows = new RowsView(arena, plan.hidden, written)
  const vectors: Float32Array[] = []
  const order = shortestFirst(texts)
  for (let next = 0; next < order.length; ) {
    await host.yieldTask()
    signal?.throwIfAborted()
    const placed = placeStep(machine, texts, order, next, pooling)
    try {
      await pool.run(written.records, step.step, 0, plan.hidden.ops)
    } finally {
      for (const { state } of placed) state.release()
    }
    for (const { text, index, from, firstWanted } of placed) {
      const [first, end] = pooledRows(pooling, text.ids.length, text.skipped)
      const pooled = new RowPool(pooling, plan.hidden.width)
      for (let row = first; row < end; row++) pooled.add(rows.row(firstWanted + row - from), row)
      vectors[index] = pooled.vector(options)
    }
    next += placed.length
    onDone?.(next)
  }
  return vectors
}

/** Describes a step of the texts from `next` on, as many as fit. Throws `out-of-memory` if none does. */
function placeStep(
  { step, cache }: EncoderMachine,
  texts: readonly EncodedText[],
  order: readonly number[],
  next: number,
  pooling: Pooling,
): Placed[] {
  const { tokens, sequences } = step.capacity
  const placed: Placed[] = []
  let count = 0
  step.begin()
  try {
    for (let at = next; at < order.length && placed.length < sequences; at++) {
      const index = order[at]!
      const text = texts[index]!
      const { length } = text.ids
      if (count + length > tokens) break
      const state = stateFor(cache, length, placed.length > 0)
      if (state === undefined) break
      const [first, end] = pooledRows(pooling, length, text.skipped)
      placed.push({ text, index, state, from: first, firstWanted: 0 })
      count += length
      step.addSequence(state)
      for (let row = 0; row < length; row++) {
        const wanted = step.addToken(text.ids[row]!, row >= first && row < end)
        if (row === first) placed.at(-1)!.firstWanted = wanted ?? 0
      }
    }
    step.finish()
    return placed
  } catch (error) {
    for (const { state } of placed) state.release()
    throw error
  }
}

/** Scratch memory for a text's keys and values; undefined if there is no room and the text `mayWait`. */
function stateFor(cache: PlacedModel['cache'], rows: number, mayWait: boolean): SequenceState | undefined {
  let state: SequenceState | undefined
  try {
    state = new SequenceState(cache)
    state.reserve(rows)
    return state
  } catch (error) {
    state?.release()
    if (mayWait && isHalfbyteError(error) && error.code === 'out-of-memory') return undefined
    throw error
  }
}
