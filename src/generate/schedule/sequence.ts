// Sequence. In: token ids. Out: one conversation's tokens and how many of them the state cache already holds.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError, isHalfbyteError } from '../../base/errors.ts'
import { areCounts, isCount, isObject } from '../../base/values.ts'
import { overflow } from '../../state/overflow.ts'
import { SequenceState } from '../../state/sequence-state.ts'
import { notSnapshot, readSnapshot, snapshotBytes, writeSnapshot } from '../../state/snapshot.ts'
import type { StateCache } from '../../state/state-cache.ts'
import type { Prefix } from '../../state/token-tree.ts'
import { cutLength, type Fit, fitTokens } from './overflow.ts'

export interface SequenceOptions {
  /**
   * Whether its state may come from other sequences that began with the same tokens, and is kept for such ones to come.
   * Default false: whoever wants the logits of all its tokens must run them.
   */
  readonly shares?: boolean | undefined
}

export interface SetTokensOptions {
  /**
   * When there are more tokens than the context holds, now or later: how many of the first are kept while the oldest behind
   * them are dropped; less than the context length. Default: then it fails.
   */
  readonly keep?: number | undefined
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
  #keep: number | undefined
  /** What was left out behind the first `#keep` tokens. */
  #dropped: number[] = []
  /** Something is scheduled on it. Set by the scheduler. */
  busy = false

  /** Empty. Throws `out-of-memory` when its block tables do not fit. */
  constructor(cache: StateCache, { shares = false }: SequenceOptions = {}) {
    this.#cache = cache
    this.#shares = shares
    this.#state = this.#newState(this.#tokens)
  }

  /** Ids, prompt and generated ones, without those dropped; at most the context length and one. */
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

  /** How many tokens may still be added. */
  get room(): number {
    return this.#keep === undefined ? this.contextLength - this.#tokens.length : Number.POSITIVE_INFINITY
  }

  get state(): SequenceState {
    return this.#state
  }

  /**
   * Makes `ids` the sequence's tokens and keeps the state of what they have in common with those before or, when it shares,
   * with any other sequence, those that have ended included; the last one is always run again, so that its logits are there.
   * Returns the tokens whose state is kept. Throws `context-overflow` when they are more than the context holds and none may
   * be dropped, and `out-of-memory` when there is no room for their state; nothing is changed then.
   */
  setTokens(ids: ArrayLike<number>, { keep }: SetTokensOptions = {}): number {
    this.checkIdle()
    if (keep === undefined && ids.length > this.contextLength) throw overflow(ids.length, this.contextLength)
    const known = keep === this.#keep ? this.#dropped : []
    const fit: Fit =
      keep === undefined
        ? { ids: Array.from(ids), dropped: [], before: 0 }
        : fitTokens(ids, keep, this.contextLength, known)
    // Behind a gap that is there no more, state is of no use.
    const most = fit.before < this.#dropped.length ? (this.#keep ?? 0) : Number.POSITIVE_INFINITY
    if (!this.#shiftTo(fit, keep ?? 0, most)) {
      // Behind a new gap, tokens that are the same by chance stand for others.
      const isCut = fit.dropped.length > fit.before
      this.#goTo(fit.ids, isCut ? Math.min(most, keep ?? 0) : most)
    }
    this.#keep = keep
    this.#dropped = [...fit.dropped]
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

  /**
   * When the context has no place for `rows` more and tokens may be dropped, drops the oldest behind those that are kept,
   * so that about half of the context is free. Throws `out-of-memory`, having done nothing.
   */
  // hot
  makePlace(rows: number): void {
    const keep = this.#keep
    if (keep === undefined || this.cached + rows <= this.contextLength) return
    const excess = this.cached + rows - cutLength(keep, this.contextLength)
    const drop = Math.min(excess, this.cached - keep)
    if (drop < 1) return
    if (!this.#state.shift(keep, drop)) this.#state.trim(keep)
    this.#dropped.push(...this.#tokens.splice(keep, drop))
  }

  /** A second sequence with the same tokens; the state is shared until one of them writes. */
  fork(): Sequence {
    this.checkIdle()
    const copy = new Sequence(this.#cache, { shares: this.#shares })
    copy.#tokens = [...this.#tokens]
    copy.#keep = this.#keep
    copy.#dropped = [...this.#dropped]
    copy.#state.release()
    copy.#state = this.#state.fork(this.#shares ? copy.#tokens : undefined)
    return copy
  }

  /** About the bytes that `save` writes. */
  get savedBytes(): number {
    return snapshotBytes(this.#cache, this.#state)
  }

  /**
   * A file of its tokens and state, piece by piece, to `restore` from; `extra` is plain JSON that comes back with them. The
   * sequence may go on meanwhile.
   */
  async *save(fingerprint: string, extra: unknown): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.checkIdle()
    const state = this.#state.fork()
    const head = {
      ...{ fingerprint, tokens: [...this.#tokens] },
      extra: { keep: this.#keep, dropped: [...this.#dropped], extra },
    }
    try {
      state.tidy()
      yield* writeSnapshot(this.#cache, state, head)
    } finally {
      state.release()
    }
  }

  /** A sequence from such a file, which shares nothing, and the extra. Throws as `readSnapshot` does, or the signal's reason. */
  static async restore(
    cache: StateCache,
    source: ByteSource,
    fingerprint: string,
    signal?: AbortSignal,
  ): Promise<{ readonly sequence: Sequence; readonly extra: unknown }> {
    const sequence = new Sequence(cache)
    try {
      const { state, tokens, extra } = await readSnapshot(cache, source, fingerprint, signal)
      sequence.#state.release()
      sequence.#state = state
      sequence.#tokens = tokens
      if (!isRest(extra, cache.contextLength)) throw notSnapshot(source)
      sequence.#keep = extra.keep
      sequence.#dropped = extra.dropped
      return { sequence, extra: extra.extra }
    } catch (error) {
      sequence.release()
      throw error
    }
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

  /** The positions of its own state that `ids` can go on from. */
  #own(ids: readonly number[], most: number): number {
    return this.#state.restorable(commonLength(this.#tokens, ids, Math.min(this.cached, most)))
  }

  #goTo(ids: readonly number[], most: number): void {
    const own = this.#own(ids, Math.min(most, ids.length - 1))
    const found = this.#shares && own < ids.length - 1 ? this.#cache.find(ids, ids.length - 1) : undefined
    if (found === undefined || found.tokens <= own || !this.#goOnFrom(found, ids)) this.#goBackTo(own, ids)
  }

  /** Takes what was found in place of its own state. False when the two do not fit in memory together. */
  #goOnFrom(found: Prefix, ids: readonly number[]): boolean {
    const tokens = [...ids]
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
  #goBackTo(own: number, ids: readonly number[]): void {
    this.#state.makeRoom(own, ids.length)
    // What is forgotten is another branch of the conversation, which somebody may come back to.
    if (own < this.cached) this.#state.keep()
    this.#state.trim(own)
    this.#replaceTokens(own, ids)
  }

  /** Goes on from its own state behind what `fit` drops now. False when there is none, or not to be moved. */
  #shiftTo({ ids, dropped, before }: Fit, keep: number, most: number): boolean {
    const drop = dropped.length - before
    if (drop === 0) return false
    const whole = [...ids.slice(0, keep), ...dropped.slice(before), ...ids.slice(keep)]
    const own = this.#own(whole, Math.min(most, whole.length - 1))
    if (own <= keep + drop) return false
    this.#state.keep()
    this.#state.trim(own)
    if (!this.#state.shift(keep, drop)) return false
    this.#replaceTokens(keep, ids)
    return true
  }

  #replaceTokens(from: number, ids: readonly number[]): void {
    this.#tokens.length = Math.min(this.#tokens.length, from)
    for (let index = this.#tokens.length; index < ids.length; index++) this.#tokens.push(ids[index]!)
  }
}

/** What a file says of a sequence besides its tokens and state. */
interface Rest {
  readonly keep?: number
  readonly dropped: number[]
  readonly extra: unknown
}

function isRest(value: unknown, contextLength: number): value is Rest {
  if (!isObject(value)) return false
  const { keep, dropped } = value as Partial<Rest>
  return areCounts(dropped) && (keep === undefined || (isCount(keep) && keep < contextLength))
}

function commonLength(left: ArrayLike<number>, right: ArrayLike<number>, most: number): number {
  let length = 0
  while (length < most && left[length] === right[length]) length++
  return length
}
