// The tokens of one conversation, and how many of them the state cache already holds.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError, isHalfbyteError } from '../../base/errors.ts'
import { areCounts, isCount, isObject } from '../../base/values.ts'
import { overflow } from '../../state/block-table.ts'
import { SequenceState } from '../../state/sequence-state.ts'
import { notSnapshot, readSnapshot, snapshotBytes, writeSnapshot } from '../../state/snapshot.ts'
import type { StateCache } from '../../state/state-cache.ts'
import type { Prefix } from '../../state/token-tree.ts'
import { excessOf, type Fit, fitTokens, runAfterGap } from './context/fit-tokens.ts'

const NO_ENDS: ReadonlySet<number> = new Set()

export interface SequenceOptions {
  /**
   * Whether its state may come from other sequences with the same prefix and stays available to later ones.
   * Default false, because a caller that wants the logits of all tokens must process all of them.
   */
  readonly shares?: boolean | undefined
  /**
   * False: the sequence only provides state to others, and processes all of its own tokens. Default: the
   * value of `shares`.
   */
  readonly adopts?: boolean | undefined
}

export interface SetTokensOptions {
  /**
   * Number of first tokens to keep when the context overflows and the oldest tokens after them are dropped.
   * Must be less than the context length. Default: nothing is dropped, and the request fails.
   */
  readonly keep?: number | undefined
  /** With `keep`: the ids that end a message. Whole messages are dropped if possible. Default: none. */
  readonly ends?: ReadonlySet<number> | undefined
  /** With `keep`: number of tokens that must still fit after these. Default: 1. */
  readonly room?: number | undefined
  /**
   * With `keep`: the caller has removed the oldest tokens after the common beginning, so the state of the
   * later ones may be moved. Default: false.
   */
  readonly isShortened?: boolean | undefined
}

/**
 * Tokens and their state. The state cache holds the first `cached` tokens; the others are processed before
 * anything is generated. Only one request may use a sequence at a time.
 */
export class Sequence {
  readonly #cache: StateCache
  readonly #shares: boolean
  readonly #adopts: boolean
  #state: SequenceState
  #tokens: number[] = []
  #keep: number | undefined
  #ends = NO_ENDS
  /** The tokens dropped after the first `#keep`. */
  #dropped: number[] = []
  /** True while work is scheduled on this sequence. Set by the scheduler. */
  busy = false

  /** Creates an empty sequence. Throws `out-of-memory` if its block tables do not fit. */
  constructor(cache: StateCache, { shares = false, adopts = shares }: SequenceOptions = {}) {
    this.#cache = cache
    this.#shares = shares
    this.#adopts = adopts
    this.#state = this.#newState(this.#tokens)
  }

  /** Ids of the prompt and the reply, without dropped tokens; at most the context length plus one. */
  get tokens(): readonly number[] {
    return this.#tokens
  }

  /** Number of tokens whose state is stored. */
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
   * Replaces the sequence's tokens with `ids`. Keeps the state of the prefix that they share with the
   * previous tokens or, if the sequence shares, with any other sequence, including ended ones. The last token
   * is always processed again, because its logits are needed. Returns the number of tokens whose state is
   * kept. Throws `context-overflow` if they exceed the context and none may be dropped, and `out-of-memory`
   * if there is no memory for their state; then nothing has changed.
   */
  setTokens(
    ids: ArrayLike<number>,
    { keep, ends = NO_ENDS, room = 1, isShortened = false }: SetTokensOptions = {},
  ): number {
    this.checkIdle()
    const { contextLength } = this
    if (keep === undefined && ids.length > contextLength) throw overflow(ids.length, contextLength)
    const known = keep === this.#keep ? this.#dropped : []
    const fit: Fit =
      keep === undefined
        ? { ids: Array.from(ids), dropped: [], before: 0 }
        : fitTokens(ids, { keep, contextLength, room, ends }, known)
    const mayMove = isShortened && keep !== undefined && fit.dropped.length === 0
    // State after a gap is useless once the gap changes, unless the gap has only grown.
    const isOther = fit.before < this.#dropped.length && !mayMove
    const most = isOther ? (this.#keep ?? 0) : Number.POSITIVE_INFINITY
    if (!(mayMove ? this.#closeGap(fit.ids) : this.#shiftTo(fit, keep ?? 0, most))) {
      // After a new gap, equal ids are a coincidence: they are different tokens.
      const isCut = fit.dropped.length > fit.before
      this.#goTo(fit.ids, isCut ? Math.min(most, keep ?? 0) : most)
    }
    this.#keep = keep
    this.#ends = ends
    this.#dropped = [...fit.dropped]
    this.#cache.shrink()
    return this.cached
  }

  /** Adds a token that has not been processed. */
  append(id: number): void {
    this.#tokens.push(id)
  }

  /** Removes the tokens from `length` on, and their state. */
  truncate(length: number): void {
    this.#tokens.length = Math.min(this.#tokens.length, length)
    if (this.cached > length) this.#state.trim(length)
  }

  /** Drops the state of rejected drafts, and of the last token, which is always processed again. */
  endDrafts(): void {
    if (this.cached >= this.#tokens.length) this.#state.trim(this.#tokens.length - 1)
    this.#state.endTrial()
  }

  /**
   * If the context has no space for `rows` more tokens and tokens may be dropped, drops the oldest after the
   * first kept ones, so that about half of the context is free. Throws `out-of-memory`; then nothing has
   * changed.
   */
  // hot
  makePlace(rows: number): void {
    const keep = this.#keep
    if (keep === undefined || this.cached + rows <= this.contextLength) return
    const rules = { keep, contextLength: this.contextLength, ends: this.#ends }
    const drop = excessOf(this.#tokens, this.cached, this.cached + rows, rules)
    if (drop < 1) return
    if (!this.#state.shift(keep, drop)) this.#state.trim(keep)
    this.#dropped.push(...this.#tokens.splice(keep, drop))
  }

  /** A second sequence with the same tokens. They share state until one of them writes. */
  fork(): Sequence {
    this.checkIdle()
    const copy = new Sequence(this.#cache, { shares: this.#shares, adopts: this.#adopts })
    copy.#tokens = [...this.#tokens]
    copy.#keep = this.#keep
    copy.#ends = this.#ends
    copy.#dropped = [...this.#dropped]
    copy.#state.release()
    copy.#state = this.#state.fork(this.#shares ? copy.#tokens : undefined)
    return copy
  }

  /** Approximate number of bytes that `save` writes. */
  get savedBytes(): number {
    return snapshotBytes(this.#cache, this.#state)
  }

  /**
   * Writes its tokens and state as a file, chunk by chunk, for `restore`. `extra` is plain JSON that
   * `restore` returns with them. The sequence may continue during the save. Throws the signal's reason
   * between two chunks.
   */
  async *save(
    fingerprint: string,
    extra: unknown,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.checkIdle()
    const state = this.#state.fork()
    const head = {
      fingerprint,
      tokens: [...this.#tokens],
      extra: { keep: this.#keep, dropped: [...this.#dropped], extra },
    }
    try {
      state.tidy()
      yield* writeSnapshot(this.#cache, state, head, signal)
    } finally {
      state.release()
    }
  }

  /**
   * Restores a sequence from such a file, together with the extra. The sequence shares nothing. Throws like
   * `readSnapshot`, or the signal's reason.
   */
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

  /** Releases its state. Do not use the sequence afterwards. */
  release(): void {
    this.checkIdle()
    this.#state.release()
    this.#tokens = []
  }

  /** Throws `internal` while work is scheduled on this sequence. */
  checkIdle(): void {
    if (this.busy)
      throw new HalfbyteError('internal', 'this sequence is still running; wait for it to finish first')
  }

  #newState(tokens: readonly number[]): SequenceState {
    return new SequenceState(this.#cache, this.#shares ? tokens : undefined)
  }

  /** How many of its own stored positions `ids` can continue from. */
  #own(ids: readonly number[], most: number): number {
    return this.#state.restorable(commonLength(this.#tokens, ids, Math.min(this.cached, most)))
  }

  #goTo(ids: readonly number[], most: number): void {
    const own = this.#own(ids, Math.min(most, ids.length - 1))
    const found = this.#adopts && own < ids.length - 1 ? this.#cache.find(ids, ids.length - 1) : undefined
    if (found === undefined || found.tokens <= own || !this.#goOnFrom(found, ids)) this.#goBackTo(own, ids)
  }

  /** Replaces its own state with the state found elsewhere. Returns false if memory cannot hold both. */
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

  /** Keeps the state of its first `own` positions. */
  #goBackTo(own: number, ids: readonly number[]): void {
    this.#state.makeRoom(own, ids.length)
    // The removed part is another branch of the conversation, which the user may return to.
    if (own < this.cached) this.#state.keep()
    this.#state.trim(own)
    this.#replaceTokens(own, ids)
  }

  /**
   * Continues from its own state after the tokens that `fit` now drops. Returns false if there is no such
   * state or it cannot be moved.
   */
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

  /**
   * Continues from its own state after the tokens that `ids` no longer has. Returns false if there is none,
   * if it cannot be moved, or if another sequence has read at least as much of these tokens.
   */
  #closeGap(ids: readonly number[]): boolean {
    const most = ids.length - 1
    const keep = commonLength(this.#tokens, ids, Math.min(this.cached, most))
    const run = runAfterGap(this.#tokens, this.cached, ids, keep)
    if (run === undefined) return false
    const own = this.#state.restorable(Math.min(keep + run.length, most) + run.drop)
    if (own <= keep + run.drop) return false
    const found = this.#adopts ? this.#cache.find(ids, most) : undefined
    if (found !== undefined && found.tokens >= own - run.drop) return false
    this.#state.keep()
    this.#state.trim(own)
    if (!this.#state.shift(keep, run.drop)) return false
    this.#replaceTokens(keep, ids)
    return true
  }

  #replaceTokens(from: number, ids: readonly number[]): void {
    this.#tokens.length = Math.min(this.#tokens.length, from)
    for (let index = this.#tokens.length; index < ids.length; index++) this.#tokens.push(ids[index]!)
  }
}

/** The saved data of a sequence, apart from its tokens and state. */
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
