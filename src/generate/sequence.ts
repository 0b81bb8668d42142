// Sequence. In: token ids. Out: one conversation's tokens and how many of them the state cache already holds.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { overflow, SequenceState } from '../state/sequence-state.ts'
import type { StateCache } from '../state/state-cache.ts'
import type { Prefix } from '../state/token-tree.ts'

export interface SequenceOptions {
  /**
   * Whether its state may come from other sequences that began with the same tokens, and is kept for such ones to come.
   * Default false: whoever wants the logits of all its tokens must run them.
   */
  readonly shares?: boolean | undefined
}

/**
 * Tokens and their state. The first `cached` tokens are stored in the state cache; the others are run before anything is
 * generated. One piece of work at a time uses a sequence.
 */
export class Sequence {
  readonly #cache: StateCache
  readonly #shares: boolean
  #state: SequenceState
  #tokens: number[] = []
  /** Something is scheduled on it. Set by the scheduler. */
  busy = false

  /** Empty. Throws `out-of-memory` when its block tables do not fit. */
  constructor(cache: StateCache, { shares = false }: SequenceOptions = {}) {
    this.#cache = cache
    this.#shares = shares
    this.#state = this.#newState(this.#tokens)
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
   * Makes `ids` the sequence's tokens and keeps the state of what they have in common with those before or, when it shares,
   * with any other sequence, those that have ended included; the last one is always run again, so that its logits are there.
   * Returns the tokens whose state is kept. Throws `context-overflow` when they are more than the context holds and `out-of-memory`
   * when there is no room for their state, and changes nothing then.
   */
  setTokens(ids: ArrayLike<number>): number {
    this.checkIdle()
    if (ids.length > this.contextLength) throw overflow(ids.length, this.contextLength)
    const most = ids.length - 1
    const own = this.#state.restorable(commonLength(this.#tokens, ids, Math.min(this.cached, most)))
    const found = this.#shares && own < most ? this.#cache.find(ids, most) : undefined
    if (found === undefined || found.tokens <= own || !this.#goOnFrom(found, ids)) this.#goBackTo(own, ids)
    this.#cache.shrink()
    return this.cached
  }

  /** Adds one token that has not been run. */
  append(id: number): void {
    this.#tokens.push(id)
  }

  /** Forgets the tokens from `length` on and their state. */
  truncate(length: number): void {
    this.#tokens.length = Math.min(this.#tokens.length, length)
    if (this.cached > length) this.#state.trim(length)
  }

  /** Forgets the state of drafts that did not become tokens, and of the last token, which is always run again. */
  endDrafts(): void {
    if (this.cached >= this.#tokens.length) this.#state.trim(this.#tokens.length - 1)
    this.#state.endTrial()
  }

  /** A second sequence with the same tokens; the state is shared until one of them writes. */
  fork(): Sequence {
    this.checkIdle()
    const copy = new Sequence(this.#cache, { shares: this.#shares })
    copy.#tokens = [...this.#tokens]
    copy.#state.release()
    copy.#state = this.#state.fork(this.#shares ? copy.#tokens : undefined)
    return copy
  }

  /** Gives its state back; the sequence cannot be used afterwards. */
  release(): void {
    this.checkIdle()
    this.#state.release()
    this.#tokens = []
  }

  /** Throws `internal` while something is scheduled on this sequence. */
  checkIdle(): void {
    if (this.busy)
      throw new HalfbyteError('internal', 'this sequence is still at work; wait for it to end first')
  }

  #newState(tokens: readonly number[]): SequenceState {
    return new SequenceState(this.#cache, this.#shares ? tokens : undefined)
  }

  /** Takes what was found in place of its own state. False when the two do not fit in memory together. */
  #goOnFrom(found: Prefix, ids: ArrayLike<number>): boolean {
    const tokens = Array.from(ids)
    const next = this.#newState(tokens)
    try {
      next.adopt(found)
      next.makeRoom(found.tokens, ids.length)
    } catch (error) {
      next.release()
      if (this.cached > 0 && isHalfbyteError(error) && error.code === 'out-of-memory') return false
      throw error
    }
    this.#state.release()
    this.#state = next
    this.#tokens = tokens
    return true
  }

  /** Keeps the first `own` positions of its own state. */
  #goBackTo(own: number, ids: ArrayLike<number>): void {
    this.#state.makeRoom(own, ids.length)
    // What is forgotten is another branch of the conversation, which somebody may come back to.
    if (own < this.cached) this.#state.keep()
    this.#state.trim(own)
    this.#tokens.length = own
    for (let index = own; index < ids.length; index++) this.#tokens.push(ids[index]!)
  }
}

function commonLength(left: ArrayLike<number>, right: ArrayLike<number>, most: number): number {
  let length = 0
  while (length < most && left[length] === right[length]) length++
  return length
}
