// Histories. In: actions on sequences of one cache. Out: whether they agree with the same actions on plain
// arrays.
import { expect } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import type { StateCache } from '../../state/state-cache.ts'
import { Sequence } from '../schedule/sequence.ts'
import { chain, chainCache, faults, type Kinds, type Limits, leftovers, runRows } from './chain-model.ts'

export const GENEROUS: Limits = { contextLength: 600, retainBytes: 1e9, checkpointBytes: 1e9 }
/** Where checkpoints are made within prompts. */
const MARKS = [30, 64, 77, 200]

/** A sequence with the lists of its expected contents. */
interface Twin {
  readonly sequence: Sequence
  /** All tokens, including dropped ones. */
  history: number[]
  /** Tokens dropped after the first `keep`. */
  dropped: number
  /** Per group, the expected value at each position. */
  words: number[][]
  /** True if this sequence, or the one it was forked from, was restored from a file and shares nothing. */
  readonly isAlone: boolean
}

export type Action =
  | { type: 'turn'; who: number; like: number; share: number; fresh: readonly number[] }
  /** Some tokens are removed from the middle of the text, and others are added. */
  | { type: 'shorten'; who: number; share: number; count: number; fresh: readonly number[] }
  | { type: 'say' | 'more'; who: number; fresh: readonly number[] }
  | { type: 'draft'; who: number; fresh: readonly number[]; accepted: number }
  | { type: 'fork' | 'end' | 'mark'; who: number }
  /** `pieces` of the file are read now, the rest when it is restored. */
  | { type: 'save'; who: number; pieces: number }
  | { type: 'restore'; file: number }
  /** Restores a file with a wrong byte, or without its end. */
  | { type: 'damage'; file: number; at: number; cut: boolean }
  | { type: 'clear' }

/** A saved sequence and its expected contents. Its file may not be written completely until it is needed. */
interface Saved {
  readonly twin: Omit<Twin, 'sequence'>
  readonly tokens: readonly number[]
  readonly cached: number
  readonly rest: AsyncGenerator<Uint8Array<ArrayBuffer>>
  readonly pieces: Uint8Array<ArrayBuffer>[]
}

const FINGERPRINT = 'chain'

export class World {
  readonly cache: StateCache
  readonly #kinds: Kinds
  readonly #limits: Limits
  readonly #keep: number | undefined
  readonly twins: Twin[] = []
  /** Every text whose state was stored, by its ids, since the cache was cleared. */
  #stored: number[][] = []
  /** Every text whose recurrent state has a checkpoint. */
  #marks: number[][] = []
  readonly #saved: Saved[] = []
  /** True if the stored state is known exactly. */
  #isExact = true

  constructor(kinds: Kinds, limits: Limits, keep: number | undefined) {
    this.#kinds = kinds
    this.#limits = limits
    this.#keep = keep
    this.cache = chainCache(kinds, limits)
  }

  async perform(act: Action): Promise<void> {
    if (act.type === 'clear') {
      this.cache.clear()
      this.#stored = this.twins
        .filter(({ isAlone }) => !isAlone)
        .map((twin) => this.#tokens(twin).slice(0, twin.sequence.cached))
      this.#marks = []
      // No block holds positions that have left the window.
      this.#isExact &&= this.#kinds.windows.every((window) => window === 0)
      return
    }
    if (act.type === 'restore' || act.type === 'damage') {
      const saved = this.#saved[act.file % this.#saved.length]
      if (saved === undefined) return
      if (act.type === 'restore') await this.#restore(saved)
      else await this.#damage(saved, act.at, act.cut)
      return
    }
    const twin = this.#twin(act.who)
    switch (act.type) {
      case 'turn': {
        const { history } = this.#twin(act.like)
        this.#turn(twin, [...history.slice(0, Math.floor(act.share * history.length)), ...act.fresh])
        return
      }
      case 'shorten': {
        const start = Math.floor(act.share * twin.history.length)
        this.#turn(twin, [...twin.history.toSpliced(start, act.count), ...act.fresh], true)
        return
      }
      case 'more':
        this.#turn(twin, [...twin.history, ...act.fresh])
        return
      case 'say':
        this.#say(twin, act.fresh)
        return
      case 'draft':
        this.#draft(twin, act.fresh, Math.min(act.accepted, act.fresh.length))
        return
      case 'mark':
        this.#mark(twin)
        return
      case 'fork':
        this.twins.push({ ...twin, sequence: twin.sequence.fork(), history: [...twin.history] })
        return
      case 'save':
        await this.#save(twin, act.pieces)
        return
      case 'end':
        twin.sequence.release()
        this.twins.splice(this.twins.indexOf(twin), 1)
        return
      default:
        throw new TypeError(`unknown action ${JSON.stringify(act satisfies never)}`)
    }
  }

  /** Releases everything. */
  async end(): Promise<void> {
    for (const { sequence } of this.twins) sequence.release()
    for (const { rest } of this.#saved) await rest.return(undefined)
  }

  check(): void {
    for (const twin of this.twins) {
      const tokens = this.#tokens(twin)
      expect(twin.sequence.tokens.length).toBe(tokens.length)
      expect(common(twin.sequence.tokens, tokens)).toBe(tokens.length)
      expect(faults(this.cache, twin.sequence.state, twin.words)).toEqual([])
    }
  }

  #twin(index: number): Twin {
    if (this.twins.length === 0) {
      const sequence = new Sequence(this.cache, { shares: true })
      this.twins.push({ sequence, isAlone: false, history: [], dropped: 0, words: chain(this.cache, [], []) })
    }
    return this.twins[index % this.twins.length]!
  }

  #tokens({ history, dropped }: Twin): number[] {
    return history.toSpliced(this.#keep ?? 0, dropped)
  }

  get #isGenerous(): boolean {
    return this.#limits === GENEROUS && this.#keep === undefined
  }

  /** Tokens of `ids` whose state exists if nothing was evicted. */
  #known({ sequence, history, isAlone }: Twin, ids: readonly number[]): number {
    const beginning = ids.slice(0, -1)
    if (isAlone) return common(history.slice(0, sequence.cached), beginning)
    if (this.#kinds.slabs === 0) return Math.max(0, ...this.#stored.map((text) => common(text, beginning)))
    const places = [...this.#marks, history.slice(0, sequence.cached)]
    return Math.max(0, ...places.map((text) => (common(text, beginning) === text.length ? text.length : 0)))
  }

  #turn(twin: Twin, ids: readonly number[], isShortened = false): void {
    const { sequence } = twin
    const tokens = [...sequence.tokens]
    const known = this.#known(twin, ids)
    const { cached } = sequence
    const continues =
      ids.length > twin.history.length &&
      common(ids, twin.history) === twin.history.length &&
      cached === sequence.tokens.length
    try {
      const kept = sequence.setTokens(ids, { keep: this.#keep, isShortened })
      const dropped = ids.length - sequence.tokens.length
      const more = dropped - twin.dropped
      this.#checkLength(ids.length, sequence.tokens.length)
      // The kept state is either that of exactly these tokens, or the shifted state of the same conversation.
      const gaps = isShortened ? gapsBetween(tokens, sequence.tokens.slice(0, kept)) : []
      const moved = [[this.#keep ?? 0, Math.max(0, more)] as const, ...gaps]
        .map(([start, count]) => twin.words.map((words) => words.toSpliced(start, count).slice(0, kept)))
        .find((words) => words.length > 0 && faults(this.cache, sequence.state, words).length === 0)
      Object.assign(twin, { history: [...ids], dropped })
      twin.words = moved ?? chain(this.cache, [], this.#tokens(twin).slice(0, kept))
      if (this.#keep === undefined) expect(kept).toBeLessThanOrEqual(known)
      if (this.#isGenerous && this.#isExact && !(twin.isAlone && this.#kinds.slabs > 0))
        expect(kept).toBe(known)
      // A conversation that continues keeps everything that it does not have to drop.
      const isPlain = this.#kinds.slabs === 0 && this.#kinds.windows.every((window) => window === 0)
      if (continues && !isShortened && isPlain && cached > (this.#keep ?? 0) + more)
        expect(kept).toBeGreaterThanOrEqual(cached - more)
    } catch (error) {
      expect(codeOf(error)).toMatch(/context-overflow|out-of-memory/)
      if (codeOf(error) === 'context-overflow') expect(sequence.cached).toBe(cached)
      return
    }
    this.#run(twin)
  }

  #checkLength(said: number, read: number): void {
    const { contextLength } = this.cache
    if (this.#keep === undefined) expect(read).toBe(said)
    else expect(read).toBeLessThan(contextLength)
    if (said < contextLength && read !== said) expect(read).toBeGreaterThan(0)
  }

  /** Processes the missing tokens in chunks of 50, with checkpoints in between and at the prompt's end. */
  #run(twin: Twin): void {
    const { sequence } = twin
    sequence.state.markAt(MARKS)
    try {
      while (sequence.cached < sequence.tokens.length) {
        this.#step(twin, sequence.state.untilMark(Math.min(50, sequence.tokens.length - sequence.cached)))
      }
      this.#mark(twin)
    } catch (error) {
      expect(codeOf(error)).toBe('out-of-memory')
    }
    this.#store(twin, sequence.cached)
  }

  /** Other sequences can continue from the first `length` tokens. */
  #store(twin: Twin, length: number): void {
    if (!twin.isAlone) this.#stored.push(this.#tokens(twin).slice(0, length))
  }

  /** One step, which may drop some tokens first. */
  #step(twin: Twin, rows: number, drafts: readonly number[] = []): void {
    const { sequence } = twin
    const before = sequence.tokens.length
    const words = twin.words
    try {
      runRows(this.cache, sequence, rows, drafts)
    } finally {
      const drop = before - sequence.tokens.length
      twin.dropped += drop
      twin.words = words.map((list) => list.toSpliced(this.#keep ?? 0, drop).slice(0, sequence.cached))
    }
    const ids = [...this.#tokens(twin), ...drafts].slice(0, sequence.cached)
    const stored = twin.words[0]!.length
    const ran = Math.min(rows, sequence.cached)
    twin.words = chain(
      this.cache,
      twin.words.map((list) => list.slice(0, Math.min(stored, sequence.cached - ran))),
      ids.slice(sequence.cached - ran),
    )
    if (drafts.length === 0) this.#pass(twin, ids)
  }

  /** A step has ended after `ids`. */
  #pass({ isAlone }: Twin, ids: readonly number[]): void {
    if (!isAlone && MARKS.includes(ids.length)) this.#marks.push([...ids])
  }

  async #save({ sequence, ...twin }: Twin, pieces: number): Promise<void> {
    const { tokens, cached } = sequence
    const saved: Saved = {
      twin: { ...twin, history: [...twin.history] },
      tokens: [...tokens],
      cached,
      rest: sequence.save(FINGERPRINT, { said: twin.history.length }),
      pieces: [],
    }
    try {
      while (saved.pieces.length <= pieces) {
        const { value, done } = await saved.rest.next()
        if (done === true) break
        saved.pieces.push(value)
      }
      this.#saved.push(saved)
    } catch (error) {
      expect(codeOf(error)).toBe('out-of-memory')
    }
  }

  async #restore(saved: Saved): Promise<void> {
    const { twin, tokens, cached } = saved
    const live = this.cache.heldBytes
    try {
      const bytes = await bytesOf(saved)
      const source = bufferSource('saved', bytes)
      const { sequence, extra } = await Sequence.restore(this.cache, source, FINGERPRINT)
      expect(extra).toEqual({ said: twin.history.length })
      expect([sequence.tokens, sequence.cached]).toEqual([tokens, cached])
      expect(leftovers(this.cache, sequence.state)).toEqual([])
      this.twins.push({ ...twin, sequence, isAlone: true, history: [...twin.history] })
    } catch (error) {
      expect(codeOf(error)).toBe('out-of-memory')
      expect(this.cache.heldBytes).toBeLessThanOrEqual(live)
    }
  }

  async #damage(saved: Saved, at: number, cut: boolean): Promise<void> {
    const bytes = (await bytesOf(saved)).slice()
    const index = at % bytes.length
    bytes[index]! ^= 1 << (at % 8)
    const source = bufferSource('damaged', cut ? bytes.subarray(0, index) : bytes)
    const live = this.cache.heldBytes
    const restored = Sequence.restore(this.cache, source, FINGERPRINT)
    const code = await restored.then(() => 'none', codeOf)
    expect(code).toMatch(/integrity|format|out-of-memory/)
    expect(this.cache.heldBytes).toBeLessThanOrEqual(live)
  }

  #mark(twin: Twin): void {
    twin.sequence.state.checkpoint()
    if (!twin.isAlone) this.#marks.push(this.#tokens(twin).slice(0, twin.sequence.cached))
  }

  /** One token at a time, like generation. */
  #say(twin: Twin, ids: readonly number[]): void {
    for (const id of ids) {
      if (twin.sequence.room < 1) return
      twin.sequence.append(id)
      twin.history.push(id)
      this.#run(twin)
    }
  }

  /** Speculation: some rows are run but not kept. */
  #draft(twin: Twin, drafts: readonly number[], accepted: number): void {
    const { sequence } = twin
    if (sequence.cached < sequence.tokens.length || sequence.cached === 0) return
    this.#mark(twin)
    try {
      this.#step(twin, drafts.length, drafts)
    } catch (error) {
      expect(codeOf(error)).toMatch(/context-overflow|out-of-memory/)
      return
    }
    const start = sequence.cached - drafts.length
    for (const id of drafts.slice(0, accepted)) {
      sequence.append(id)
      twin.history.push(id)
    }
    const kept = sequence.state.trim(start + accepted)
    twin.words = twin.words.map((words) => words.slice(0, kept))
    const isFree = this.#kinds.slabs === 0 || accepted === drafts.length
    if (isFree) expect(kept).toBe(start + accepted)
    else if (this.#isGenerous) expect(kept).toBe(start)
    this.#store(twin, kept)
    // No checkpoint remains where drafts were undone.
    if (accepted === drafts.length) this.#pass(twin, this.#tokens(twin).slice(0, kept))
    this.#run(twin)
  }
}

/** The whole file. */
async function bytesOf({ pieces, rest }: Saved): Promise<Uint8Array<ArrayBuffer>> {
  for await (const piece of rest) pieces.push(piece)
  return new Blob(pieces).bytes()
}

/** Each place and number of tokens whose removal from `tokens` leaves a text that begins with `ids`. */
function gapsBetween(tokens: readonly number[], ids: readonly number[]): (readonly [number, number])[] {
  const start = common(tokens, ids)
  const rest = ids.slice(start)
  return tokens.flatMap((_, count) =>
    rest.every((id, index) => tokens[start + count + index] === id) ? [[start, count] as const] : [],
  )
}

const codeOf = (error: unknown): string => (isHalfbyteError(error) ? error.code : String(error))

function common(left: readonly number[], right: readonly number[]): number {
  let length = 0
  while (length < left.length && length < right.length && left[length] === right[length]) length++
  return length
}
