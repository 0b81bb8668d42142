// Sequence. In: token ids. Out: one conversation's tokens and how many of them the state cache already holds.
import { HalfbyteError } from '../base/errors.ts'
import { overflow, SequenceState } from '../state/sequence-state.ts'
import type { StateCache } from '../state/state-cache.ts'

/**
 * Tokens and their state. The first `cached` tokens are stored in the state cache; the others are run before anything is
 * generated. One piece of work at a time uses a sequence.
 */
export class Sequence {
  readonly #cache: StateCache
  readonly #state: SequenceState
  readonly #tokens: number[] = []
  /** Something is scheduled on it. Set by the scheduler. */
  busy = false

  /** Empty. Throws `out-of-memory` when its block tables do not fit. */
  constructor(cache: StateCache, state = new SequenceState(cache)) {
    this.#cache = cache
    this.#state = state
  }

  /** Ids, prompt and generated ones; at most the context length. */
  get tokens(): readonly number[] {
    return this.#tokens
  }

  /** Tokens whose state is stored. */
  get cached(): number {
    return this.#state.length
  }

  get contextLength(): number {
    return this.#cache.contextLength
  }

  get state(): SequenceState {
    return this.#state
  }

  /**
   * Makes `ids` the sequence's tokens and keeps the state of what they have in common with those before; the last one is
   * always run again, so that its logits are there. Returns the tokens kept.
   * Throws `context-overflow` and changes nothing when they are more than the context holds.
   */
  setTokens(ids: ArrayLike<number>): number {
    this.checkIdle()
    if (ids.length > this.contextLength) throw overflow(ids.length, this.contextLength)
    const most = Math.min(this.cached, ids.length - 1)
    let kept = 0
    while (kept < most && this.#tokens[kept] === ids[kept]) kept++
    this.#state.trim(kept)
    this.#tokens.length = kept
    for (let index = kept; index < ids.length; index++) this.#tokens.push(ids[index]!)
    return kept
  }

  /** Adds one token that has not been run. */
  append(id: number): void {
    this.#tokens.push(id)
  }

  /** A second sequence with the same tokens; the state is shared until one of them writes. */
  fork(): Sequence {
    this.checkIdle()
    const copy = new Sequence(this.#cache, this.#state.fork())
    for (const id of this.#tokens) copy.#tokens.push(id)
    return copy
  }

  /** Gives its state back; the sequence cannot be used afterwards. */
  release(): void {
    this.checkIdle()
    this.#state.release()
    this.#tokens.length = 0
  }

  /** Throws `internal` while something is scheduled on this sequence. */
  checkIdle(): void {
    if (this.busy)
      throw new HalfbyteError('internal', 'this sequence is still at work; wait for it to end first')
  }
}
