// Sequences. In: random histories of turns, edits, forks, drafts, ends and long talk. Out: state as plain arrays have it, beginnings found, nothing lost.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import type { StateCache } from '../state/state-cache.ts'
import { Sequence } from './sequence.ts'
import {
  BLOCK_BYTES,
  chain,
  chainCache,
  faults,
  type Kinds,
  type Limits,
  runRows,
  SLAB_BYTES,
} from './test/chain-model.ts'

const KINDS: readonly (readonly [string, Kinds])[] = [
  ['keys and values', { windows: [0, 0], slabs: 0 }],
  ['a window beside full attention', { windows: [0, 100], slabs: 0 }],
  ['windows alone', { windows: [70], slabs: 0 }],
  ['recurrent layers alone', { windows: [], slabs: 2 }],
  ['a hybrid of all', { windows: [0, 90], slabs: 1 }],
]
const GENEROUS: Limits = { contextLength: 600, retainBytes: 1e9, checkpointBytes: 1e9 }
/** Where prompts are remembered on the way. */
const MARKS = [30, 64, 77, 200]

/** A sequence beside the lists that say what must be true of it. */
interface Twin {
  readonly sequence: Sequence
  /** What was said, dropped tokens included. */
  history: number[]
  /** Tokens dropped behind the first `keep`. */
  dropped: number
  /** Per group, what must be stored at each position. */
  words: number[][]
}

type Action =
  | { type: 'turn'; who: number; like: number; share: number; fresh: readonly number[] }
  | { type: 'say' | 'more'; who: number; fresh: readonly number[] }
  | { type: 'draft'; who: number; fresh: readonly number[]; accepted: number }
  | { type: 'fork' | 'end' | 'mark'; who: number }
  | { type: 'clear' }

/** Few ids, so that beginnings coincide by chance too. */
const fresh = fc.array(fc.nat(2), { minLength: 1, maxLength: 120, size: 'max' })
const who = fc.nat(9)
const share = fc.double({ min: 0, max: 1, noNaN: true })
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('turn'), who, like: who, share, fresh }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('say', 'more'), who, fresh }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('draft'),
      who,
      fresh: fc.array(fc.nat(2), { minLength: 1, maxLength: 8 }),
      accepted: fc.nat(8),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('fork', 'end', 'mark'), who }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear') }) },
) as fc.Arbitrary<Action>

class World {
  readonly cache: StateCache
  readonly #kinds: Kinds
  readonly #limits: Limits
  readonly #keep: number | undefined
  readonly twins: Twin[] = []
  /** Every text whose state somebody has stored, by its ids, since the cache was cleared. */
  #stored: number[][] = []
  /** The same for checkpoints of recurrent state. */
  #marks: number[][] = []
  /** What is stored is known exactly. */
  #isExact = true

  constructor(kinds: Kinds, limits: Limits, keep: number | undefined) {
    this.#kinds = kinds
    this.#limits = limits
    this.#keep = keep
    this.cache = chainCache(kinds, limits)
  }

  perform(act: Action): void {
    if (act.type === 'clear') {
      this.cache.clear()
      this.#stored = this.twins.map((twin) => this.#tokens(twin).slice(0, twin.sequence.cached))
      this.#marks = []
      // What a window has left behind is in nobody's hands now.
      this.#isExact &&= this.#kinds.windows.every((window) => window === 0)
      return
    }
    const twin = this.#twin(act.who)
    switch (act.type) {
      case 'turn': {
        const { history } = this.#twin(act.like)
        this.#turn(twin, [...history.slice(0, Math.floor(act.share * history.length)), ...act.fresh])
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
      case 'end':
        twin.sequence.release()
        this.twins.splice(this.twins.indexOf(twin), 1)
        return
      default:
        throw new TypeError(`unknown action ${JSON.stringify(act satisfies never)}`)
    }
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
      this.twins.push({ sequence, history: [], dropped: 0, words: chain(this.cache, [], []) })
    }
    return this.twins[index % this.twins.length]!
  }

  #tokens({ history, dropped }: Twin): number[] {
    return history.toSpliced(this.#keep ?? 0, dropped)
  }

  get #isGenerous(): boolean {
    return this.#limits === GENEROUS && this.#keep === undefined
  }

  /** Tokens of `ids` whose state is there when nothing was given up. */
  #known({ sequence, history }: Twin, ids: readonly number[]): number {
    const beginning = ids.slice(0, -1)
    if (this.#kinds.slabs === 0) return Math.max(0, ...this.#stored.map((text) => common(text, beginning)))
    const places = [...this.#marks, history.slice(0, sequence.cached)]
    return Math.max(0, ...places.map((text) => (common(text, beginning) === text.length ? text.length : 0)))
  }

  #turn(twin: Twin, ids: readonly number[]): void {
    const { sequence } = twin
    const known = this.#known(twin, ids)
    const { cached } = sequence
    const continues =
      ids.length > twin.history.length &&
      common(ids, twin.history) === twin.history.length &&
      cached === sequence.tokens.length
    try {
      const kept = sequence.setTokens(ids, { keep: this.#keep })
      const dropped = ids.length - sequence.tokens.length
      const more = dropped - twin.dropped
      this.#checkLength(ids.length, sequence.tokens.length)
      // Either it is the state of just these tokens, or that of the same conversation, moved.
      const moved = twin.words.map((words) =>
        words.toSpliced(this.#keep ?? 0, Math.max(0, more)).slice(0, kept),
      )
      const isMoved = twin.words.length > 0 && faults(this.cache, sequence.state, moved).length === 0
      Object.assign(twin, { history: [...ids], dropped })
      twin.words = isMoved ? moved : chain(this.cache, [], this.#tokens(twin).slice(0, kept))
      if (this.#keep === undefined) expect(kept).toBeLessThanOrEqual(known)
      if (this.#isGenerous && this.#isExact) expect(kept).toBe(known)
      // A conversation that goes on keeps what it need not drop.
      const isPlain = this.#kinds.slabs === 0 && this.#kinds.windows.every((window) => window === 0)
      if (continues && isPlain && cached > (this.#keep ?? 0) + more)
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

  /** Runs what the state lacks, by chunks of 50, with checkpoints on the way and where the prompt ends. */
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
    this.#stored.push(this.#tokens(twin).slice(0, sequence.cached))
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
    if (MARKS.includes(sequence.cached)) this.#marks.push(ids)
  }

  #mark(twin: Twin): void {
    twin.sequence.state.checkpoint()
    this.#marks.push(this.#tokens(twin).slice(0, twin.sequence.cached))
  }

  /** One token after the other, as it is generated. */
  #say(twin: Twin, ids: readonly number[]): void {
    for (const id of ids) {
      if (twin.sequence.room < 1) return
      twin.sequence.append(id)
      twin.history.push(id)
      this.#run(twin)
    }
  }

  /** Speculation: some rows are run that are not kept. */
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
    this.#stored.push(this.#tokens(twin).slice(0, kept))
    this.#run(twin)
  }
}

const codeOf = (error: unknown): string => (isHalfbyteError(error) ? error.code : String(error))

function common(left: readonly number[], right: readonly number[]): number {
  let length = 0
  while (length < left.length && length < right.length && left[length] === right[length]) length++
  return length
}

function check(kinds: Kinds, limits: Limits, actions: readonly Action[], keep?: number): void {
  const world = new World(kinds, limits, keep)
  const { cache } = world
  for (const act of actions) {
    world.perform(act)
    world.check()
    expect(cache.capacityBytes).toBeLessThanOrEqual(limits.budgetBytes ?? Number.POSITIVE_INFINITY)
    expect(cache.checkpoints.bytes).toBeLessThanOrEqual(limits.checkpointBytes ?? Number.POSITIVE_INFINITY)
  }
  for (const { sequence } of world.twins) sequence.release()
  expect(cache.retainedBytes).toBeLessThanOrEqual(limits.retainBytes ?? Number.POSITIVE_INFINITY)
  cache.clear()
  expect(cache.liveBlocks).toBe(0)
  expect(cache.pools.reduce((sum, pool) => sum + pool.available * pool.blockBytes, 0)).toBe(
    cache.capacityBytes,
  )
}

const actions = fc.array(action, { maxLength: 25, size: 'max' })
/** Blocks and slabs in bytes. */
const short = fc.record({
  contextLength: fc.constant(400),
  budgetBytes: fc.integer({ min: 4, max: 30 }).map((blocks) => blocks * BLOCK_BYTES),
  retainBytes: fc.nat(10).map((blocks) => blocks * BLOCK_BYTES),
  checkpointBytes: fc.nat(4).map((slabs) => slabs * SLAB_BYTES),
})

describe.each(KINDS)('random histories with %s', (_, kinds) => {
  test('read back whole, find every beginning that was ever stored, leak nothing', () => {
    fc.assert(
      fc.property(actions, (acts) => check(kinds, GENEROUS, acts)),
      { numRuns: 30 },
    )
  })
  test('read back whole when memory is short, and stay within the budgets', () => {
    fc.assert(
      fc.property(actions, short, (acts, limits) => check(kinds, limits, acts)),
      { numRuns: 30 },
    )
  })
  test('read back whole when the oldest tokens are dropped behind the first', () => {
    const limits = fc.oneof(fc.constant({ ...GENEROUS, contextLength: 230 }), short)
    fc.assert(
      fc.property(actions, limits, fc.nat(100), (acts, limit, keep) => check(kinds, limit, acts, keep)),
      { numRuns: 30 },
    )
  })
})
