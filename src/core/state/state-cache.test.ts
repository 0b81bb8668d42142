// Tests the state cache. In: small real memories and random histories. Out: every position is readable, and
// no block is lost or written twice.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { Arena } from '../runtime/memory/arena.ts'
import { SequenceState } from './sequence-state.ts'
import { StateCache } from './state-cache.ts'

const BLOCK = 64
/** One u32 per position, and two for the second group. */
const BLOCK_BYTES = [BLOCK * 4, BLOCK * 8]

function cacheOf(
  options: { contextLength?: number; budgetBytes?: number; maximum?: number } = {},
): StateCache {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1, maximum: options.maximum ?? 256 }), 64)
  return new StateCache({ arena, blockBytes: BLOCK_BYTES, contextLength: 1000, ...options })
}

const errorOf = (work: () => unknown): HalfbyteError => {
  try {
    work()
  } catch (error) {
    if (isHalfbyteError(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** Number of blocks in use; shared ones count once. */
const liveBlocks = ({ pools }: StateCache): number => pools.reduce((sum, { live }) => sum + live, 0)

const wordOf = (cache: StateCache, state: SequenceState, group: number, position: number): number => {
  const block = cache.arena.u32[state.table(group) / 4 + Math.floor(position / BLOCK)] ?? 0
  return block / 4 + (position % BLOCK) * (group + 1)
}

/** Simulates a step: reserves, writes each position through the tables, and advances. */
function append(cache: StateCache, state: SequenceState, values: readonly number[]): void {
  state.reserve(values.length)
  for (const [index, value] of values.entries()) {
    for (const group of BLOCK_BYTES.keys()) {
      cache.arena.u32[wordOf(cache, state, group, state.length + index)] = value
    }
  }
  state.advance(values.length)
}

function read(cache: StateCache, state: SequenceState, group: number): number[] {
  return Array.from(
    { length: state.length },
    (_, position) => cache.arena.u32[wordOf(cache, state, group, position)] ?? -1,
  )
}

const count = (from: number, length: number): number[] => Array.from({ length }, (_, index) => from + index)

test('positions written across blocks and extents are read back', () => {
  const cache = cacheOf()
  const state = new SequenceState(cache)
  append(cache, state, count(0, 100))
  append(cache, state, count(100, 500))
  expect(read(cache, state, 0)).toEqual(count(0, 600))
  expect(read(cache, state, 1)).toEqual(count(0, 600))
  expect(liveBlocks(cache)).toBe(20)
  expect(cache.liveBytes).toBe(10 * (256 + 512))
})

test('growing the context never moves stored data', () => {
  const cache = cacheOf()
  const state = new SequenceState(cache)
  append(cache, state, [1])
  const first = cache.arena.u32[state.table(0) / 4]
  append(cache, state, count(2, 900))
  expect(cache.arena.u32[state.table(0) / 4]).toBe(first)
})

test('a fork shares blocks until one of the two writes', () => {
  const cache = cacheOf()
  const one = new SequenceState(cache)
  append(cache, one, count(0, 100))
  const two = one.fork()
  expect(liveBlocks(cache)).toBe(4)
  append(cache, two, [7])
  expect(liveBlocks(cache)).toBe(6)
  append(cache, one, [8])
  expect(liveBlocks(cache)).toBe(6)
  expect(read(cache, one, 1)).toEqual([...count(0, 100), 8])
  expect(read(cache, two, 1)).toEqual([...count(0, 100), 7])
})

test('a fork at a block boundary copies nothing', () => {
  const cache = cacheOf()
  const one = new SequenceState(cache)
  append(cache, one, count(0, BLOCK))
  const two = one.fork()
  append(cache, two, [7])
  expect(liveBlocks(cache)).toBe(4)
})

test('trimming into a shared block and writing again leaves the fork unchanged', () => {
  const cache = cacheOf()
  const one = new SequenceState(cache)
  append(cache, one, count(0, 3 * BLOCK))
  const two = one.fork()
  two.trim(70)
  append(cache, two, count(1000, 10))
  expect(read(cache, one, 0)).toEqual(count(0, 3 * BLOCK))
  expect(read(cache, two, 0)).toEqual([...count(0, 70), ...count(1000, 10)])
})

test('the error beyond the context length has both numbers, and nothing changes', () => {
  const cache = cacheOf({ contextLength: 100 })
  const state = new SequenceState(cache)
  append(cache, state, count(0, 90))
  const error = errorOf(() => state.reserve(11))
  expect(error.code).toBe('context-overflow')
  expect(error.detail).toEqual({ needed: 101, contextLength: 100 })
  append(cache, state, count(90, 10))
  expect(read(cache, state, 0)).toEqual(count(0, 100))
})

test('exceeding the budget throws a typed error, and stored data stays readable and writable', () => {
  const cache = cacheOf({ budgetBytes: 2 * (256 + 512) })
  const state = new SequenceState(cache)
  append(cache, state, count(0, 100))
  const error = errorOf(() => state.reserve(100))
  expect(error.code).toBe('out-of-memory')
  expect(error.message).toBe(
    'the state of the conversations needs 3072 bytes but only 1536 are allowed; ' +
      'dispose of sessions that have ended, shorten the context or raise stateBytes',
  )
  append(cache, state, count(100, 28))
  expect(read(cache, state, 1)).toEqual(count(0, 128))
  expect(cache.capacityBytes).toBeLessThanOrEqual(2 * (256 + 512))
})

test('when memory is full, another sequence can still use freed blocks', () => {
  const cache = cacheOf({ maximum: 1, contextLength: 10_000 })
  const state = new SequenceState(cache)
  const held: number[] = []
  const error = errorOf(() => {
    for (;;) {
      append(cache, state, count(held.length, BLOCK))
      held.push(...count(held.length, BLOCK))
    }
  })
  expect(error.code).toBe('out-of-memory')
  expect(read(cache, state, 0)).toEqual(held)
  state.trim(0)
  append(cache, state, count(5, BLOCK))
  expect(read(cache, state, 1)).toEqual(count(5, BLOCK))
})

test('a released sequence rejects work, and its tables are reused', () => {
  const cache = cacheOf()
  const one = new SequenceState(cache)
  const table = one.table(0)
  one.release()
  one.release()
  expect(errorOf(() => one.reserve(1)).code).toBe('disposed')
  expect(new SequenceState(cache).table(0)).toBe(table)
})

type Action =
  | { type: 'append'; sequence: number; rows: number }
  | { type: 'fork' | 'release'; sequence: number }
  | { type: 'trim'; sequence: number; share: number }

const sequence = fc.nat(9)
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('append'), sequence, rows: fc.integer({ min: 1, max: 150 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('fork'), sequence }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('trim'),
      sequence,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('release'), sequence }) },
)

/** A sequence with a plain list of its expected contents. */
interface Pair {
  state: SequenceState
  values: number[]
}

function perform(cache: StateCache, pairs: Pair[], act: Action, next: () => number): void {
  const index = act.sequence % Math.max(1, pairs.length)
  const pair = pairs[index]
  if (pair === undefined) {
    pairs.push({ state: new SequenceState(cache), values: [] })
  } else if (act.type === 'append') {
    const values = Array.from({ length: act.rows }, next)
    try {
      append(cache, pair.state, values)
      pair.values.push(...values)
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
    }
  } else if (act.type === 'fork') {
    pairs.push({ state: pair.state.fork(), values: [...pair.values] })
  } else if (act.type === 'trim') {
    const position = Math.floor(act.share * pair.values.length)
    pair.state.trim(position)
    pair.values.length = position
  } else {
    pair.state.release()
    pairs.splice(index, 1)
  }
}

test('random histories read back completely, share only unwritten blocks, and leak no blocks', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), fc.boolean(), (actions, tight) => {
      const cache = cacheOf(tight ? { budgetBytes: 20 * (256 + 512), contextLength: 400 } : {})
      const pairs: Pair[] = []
      let value = 0
      const next = (): number => value++
      for (const act of actions) {
        perform(cache, pairs, act, next)
        for (const { state, values } of pairs) {
          expect(state.length).toBe(values.length)
          for (const group of BLOCK_BYTES.keys()) expect(read(cache, state, group)).toEqual(values)
        }
      }
      const held = cache.capacityBytes
      for (const { state } of pairs) state.release()
      expect(cache.liveBytes).toBe(0)
      expect(cache.liveBytes).toBe(0)
      expect(cache.capacityBytes).toBe(held)
      expect(cache.pools.reduce((sum, pool) => sum + pool.available * pool.blockBytes, 0)).toBe(held)
    }),
    { numRuns: 150 },
  )
})
