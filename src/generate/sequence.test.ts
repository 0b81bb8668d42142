// Sequences. In: random histories of turns, edits, forks and ends. Out: state as plain arrays have it, beginnings found, no block lost.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import type { StateCache } from '../state/state-cache.ts'
import { Sequence } from './sequence.ts'
import {
  BLOCK_BYTES,
  chainCache,
  faults,
  type Kinds,
  type Limits,
  runRows,
  SLAB_BYTES,
} from './test/chain-model.ts'

const FULL: Kinds = { windows: [0, 0], slabs: 0 }
const KINDS: readonly (readonly [string, Kinds])[] = [
  ['keys and values', FULL],
  ['a window beside full attention', { windows: [0, 100], slabs: 0 }],
  ['windows alone', { windows: [70], slabs: 0 }],
  ['recurrent layers alone', { windows: [], slabs: 2 }],
  ['a hybrid of all', { windows: [0, 90], slabs: 1 }],
]
const GENEROUS: Limits = { contextLength: 600, retainBytes: 1e9, checkpointBytes: 1e9 }

/** A sequence beside the lists that say what must be true of it. */
interface Twin {
  readonly sequence: Sequence
  tokens: number[]
}

type Action =
  | { type: 'turn'; who: number; like: number; share: number; fresh: readonly number[] }
  | { type: 'say'; who: number; fresh: readonly number[] }
  | { type: 'draft'; who: number; fresh: readonly number[]; accepted: number }
  | { type: 'fork' | 'end' | 'mark'; who: number }
  | { type: 'clear' }

/** Few ids, so that beginnings coincide by chance too. */
const fresh = fc.array(fc.nat(2), { minLength: 1, maxLength: 150 })
const who = fc.nat(9)
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('turn'),
      who,
      like: who,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      fresh,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('say'), who, fresh }) },
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
  readonly kinds: Kinds
  readonly #limits: Limits
  twins: Twin[] = []
  /** Every text whose state somebody has stored, by its ids, since the cache was cleared. */
  stored: number[][] = []
  /** The same for checkpoints of recurrent state. */
  marks: number[][] = []

  constructor(kinds: Kinds, limits: Limits) {
    this.kinds = kinds
    this.#limits = limits
    this.cache = chainCache(kinds, limits)
  }

  perform(act: Action): void {
    if (act.type === 'clear') {
      this.cache.clear()
      this.stored = this.twins.map(({ sequence, tokens }) => tokens.slice(0, sequence.cached))
      this.marks = []
      return
    }
    const twin = this.#twin(act.who)
    switch (act.type) {
      case 'turn': {
        const model = this.#twin(act.like).tokens
        this.#turn(twin, [...model.slice(0, Math.floor(act.share * model.length)), ...act.fresh])
        return
      }
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
        this.twins.push({ sequence: twin.sequence.fork(), tokens: [...twin.tokens] })
        return
      case 'end':
        twin.sequence.release()
        this.twins.splice(this.twins.indexOf(twin), 1)
        return
      default:
        throw new TypeError(`unknown action ${JSON.stringify(act satisfies never)}`)
    }
  }

  /** Tokens of `ids` whose state is there when nothing was given up. */
  #known({ sequence, tokens }: Twin, ids: readonly number[]): number {
    const beginning = ids.slice(0, -1)
    if (this.kinds.slabs === 0) return Math.max(0, ...this.stored.map((text) => common(text, beginning)))
    const places = [...this.marks, tokens.slice(0, sequence.cached)]
    return Math.max(0, ...places.map((text) => (common(text, beginning) === text.length ? text.length : 0)))
  }

  #mark({ sequence, tokens }: Twin): void {
    sequence.state.checkpoint()
    this.marks.push(tokens.slice(0, sequence.cached))
  }

  #twin(index: number): Twin {
    if (this.twins.length === 0) {
      this.twins.push({ sequence: new Sequence(this.cache, { shares: true }), tokens: [] })
    }
    return this.twins[index % this.twins.length]!
  }

  #turn(twin: Twin, ids: readonly number[]): void {
    const { sequence } = twin
    const known = this.#known(twin, ids)
    const before = sequence.cached
    try {
      const kept = sequence.setTokens(ids)
      expect(kept).toBeLessThanOrEqual(known)
      if (this.#isGenerous) expect(kept).toBe(known)
      twin.tokens = [...ids]
    } catch (error) {
      expect(codeOf(error)).toMatch(/context-overflow|out-of-memory/)
      if (codeOf(error) === 'context-overflow') expect(sequence.cached).toBe(before)
      return
    }
    this.#run(twin)
  }

  /** Runs what the state lacks, by chunks of 50, with checkpoints on the way and where the prompt ends. */
  #run(twin: Twin): void {
    const { sequence, tokens } = twin
    const marks = [30, 64, 77, 200]
    sequence.state.markAt(marks)
    try {
      while (sequence.cached < tokens.length) {
        const rows = sequence.state.untilMark(Math.min(50, tokens.length - sequence.cached))
        runRows(this.cache, sequence, rows)
        this.stored.push(tokens.slice(0, sequence.cached))
        if (marks.includes(sequence.cached)) this.marks.push(tokens.slice(0, sequence.cached))
      }
      this.#mark(twin)
    } catch (error) {
      expect(codeOf(error)).toBe('out-of-memory')
    }
  }

  #say(twin: Twin, ids: readonly number[]): void {
    for (const id of ids) {
      if (twin.tokens.length === this.cache.contextLength) return
      twin.sequence.append(id)
      twin.tokens.push(id)
    }
    this.#run(twin)
  }

  /** Speculation: some rows are run that are not kept. */
  #draft(twin: Twin, drafts: readonly number[], accepted: number): void {
    const { sequence } = twin
    if (sequence.cached < twin.tokens.length || sequence.cached === 0) return
    this.#mark(twin)
    const start = sequence.cached
    try {
      runRows(this.cache, sequence, drafts.length, drafts)
    } catch (error) {
      expect(codeOf(error)).toMatch(/context-overflow|out-of-memory/)
      return
    }
    for (const id of drafts.slice(0, accepted)) {
      sequence.append(id)
      twin.tokens.push(id)
    }
    const kept = sequence.state.trim(start + accepted)
    const isFree = this.kinds.slabs === 0 || accepted === drafts.length
    if (isFree) expect(kept).toBe(start + accepted)
    else if (this.#isGenerous) expect(kept).toBe(start)
    this.stored.push(twin.tokens.slice(0, kept))
    this.#run(twin)
  }

  get #isGenerous(): boolean {
    return this.#limits === GENEROUS
  }
}

const codeOf = (error: unknown): string => (isHalfbyteError(error) ? error.code : String(error))

function common(left: readonly number[], right: readonly number[]): number {
  let length = 0
  while (length < left.length && length < right.length && left[length] === right[length]) length++
  return length
}

function check(kinds: Kinds, limits: Limits, actions: readonly Action[]): void {
  const world = new World(kinds, limits)
  const { cache } = world
  for (const act of actions) {
    world.perform(act)
    for (const { sequence, tokens } of world.twins) {
      expect(sequence.tokens).toEqual(tokens)
      expect(faults(cache, sequence.state, tokens)).toEqual([])
    }
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

describe.each(KINDS)('random histories with %s', (_, kinds) => {
  test('read back whole, find every beginning that was ever stored, leak nothing', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => check(kinds, GENEROUS, actions)),
      { numRuns: 200 },
    )
  })
  test('read back whole when memory is short, and stay within the budgets', () => {
    const limits = fc.record({
      contextLength: fc.constant(400),
      budgetBytes: fc.integer({ min: 4, max: 30 }).map((blocks) => blocks * BLOCK_BYTES),
      retainBytes: fc.nat(10).map((blocks) => blocks * BLOCK_BYTES),
      checkpointBytes: fc.nat(4).map((slabs) => slabs * SLAB_BYTES),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), limits, (actions, limit) =>
        check(kinds, limit, actions),
      ),
      { numRuns: 200 },
    )
  })
})
