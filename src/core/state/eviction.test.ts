// Tests eviction. In: conversations that end under a budget, windows, twins. Out: the eviction order, and
// equal state stored only once.
import { expect, test } from 'vitest'
import { Arena, type Ptr } from '../runtime/memory/arena.ts'
import { BlockPool } from './block-pool.ts'
import { SequenceState } from './sequence-state.ts'
import { StateCache, type StateCacheOptions } from './state-cache.ts'
import { Checkpoints } from './state-slabs.ts'

const BLOCK = 64
const BLOCK_BYTES = BLOCK * 4

const arenaOf = () => new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
const cacheOf = (options: Partial<StateCacheOptions>) =>
  new StateCache({ arena: arenaOf(), blockBytes: [BLOCK_BYTES], contextLength: 1000, ...options })

/** A block of tokens that shares no prefix with any other `text`. */
const text = (name: number, length = BLOCK): number[] =>
  Array.from({ length }, (_, index) => 1000 * name + index)

function run(cache: StateCache, tokens: readonly number[]): SequenceState {
  const state = new SequenceState(cache, tokens)
  state.reserve(tokens.length)
  state.advance(tokens.length)
  return state
}

test('the least recently used of the ended conversations is evicted first', () => {
  const cache = cacheOf({ budgetBytes: 4 * BLOCK_BYTES, retainBytes: Number.POSITIVE_INFINITY })
  for (const name of [1, 2, 3]) run(cache, text(name)).release()
  expect(cache.find(text(1), BLOCK)?.tokens).toBe(BLOCK)
  const first = run(cache, text(4))
  const second = run(cache, text(5))
  expect(cache.find(text(2), BLOCK)).toBeUndefined()
  expect(cache.find(text(3), BLOCK)?.tokens).toBe(BLOCK)
  expect(cache.find(text(1), BLOCK)?.tokens).toBe(BLOCK)
  // The last lookup of text 3 was before that of text 1.
  const third = run(cache, text(6))
  expect(cache.find(text(3), BLOCK)).toBeUndefined()
  expect(cache.find(text(1), BLOCK)?.tokens).toBe(BLOCK)
  for (const state of [first, second, third]) expect(state.length).toBe(BLOCK)
})

test('under the retention limit the order is the same, and a branch is evicted before a shared prefix', () => {
  const cache = cacheOf({ retainBytes: 2 * BLOCK_BYTES })
  const common = text(1)
  const left = text(2)
  const right = text(3)
  run(cache, [...common, ...left]).release()
  const other = run(cache, [...common, ...right])
  other.release()
  expect(cache.retainedBytes).toBe(2 * BLOCK_BYTES)
  expect(cache.find([...common, ...left], 2 * BLOCK)?.tokens).toBe(BLOCK)
  expect(cache.find([...common, ...right], 2 * BLOCK)?.tokens).toBe(2 * BLOCK)
})

test('the least recently used checkpoint is evicted first', () => {
  const pool = new BlockPool(arenaOf(), 64)
  pool.add(1024 as Ptr, 3)
  const checkpoints = new Checkpoints([pool], 2 * 64)
  const first = checkpoints.take(1, [pool.take()])
  const second = checkpoints.take(2, [pool.take()])
  checkpoints.hold(first!)
  const third = checkpoints.take(3, [pool.take()])
  expect([first, second, third].map((one) => checkpoints.isKept(one!))).toEqual([true, false, true])
  expect(checkpoints.bytes).toBe(2 * 64)
})

test('recurrent state that only the tree references counts as retained, not as held', () => {
  const SLAB = 128
  const cache = cacheOf({ blockBytes: [], slabBytes: [SLAB, SLAB] })
  const remember = (state: SequenceState) => {
    state.checkpoint()
    return state
  }
  const first = remember(run(cache, text(1, 10)))
  const both = { held: 2 * SLAB, kept: 0 }
  const bytes = () => ({ held: cache.heldBytes, kept: cache.retainedBytes })
  expect(bytes()).toEqual(both)
  // The tree references it as well while the sequence continues from it.
  first.keep()
  expect(bytes()).toEqual(both)
  const fork = first.fork(text(1, 10))
  first.release()
  expect(bytes()).toEqual(both)
  fork.release()
  expect(bytes()).toEqual({ held: 0, kept: 2 * SLAB })
  // Two sequences that end at the same position share one slab. Later each has its own.
  const second = new SequenceState(cache, text(1, 12))
  second.adopt(cache.find(text(1, 12), 11)!)
  expect(bytes()).toEqual(both)
  second.reserve(2)
  second.advance(2)
  remember(second).release()
  expect(bytes()).toEqual({ held: 0, kept: 4 * SLAB })
  cache.clear()
  expect(bytes()).toEqual({ held: 0, kept: 0 })
})

test('a window frees blocks that no later row attends to', () => {
  const cache = cacheOf({ blockBytes: [BLOCK_BYTES, BLOCK_BYTES], windows: [0, 70] })
  const state = new SequenceState(cache)
  for (let length = 0; length < 10 * BLOCK; length += 10) {
    state.reserve(10)
    state.advance(10)
    // The step's own rows, the 69 rows before them, and the rest of the blocks at both ends.
    expect(cache.pools[1]!.live * BLOCK).toBeLessThan(80 + 2 * BLOCK)
  }
  expect(cache.pools[0]!.live).toBe(10)
  expect(cache.pools[1]!.live).toBe(2)
})

test('tokens that two sequences process at the same time are stored once after a lookup', () => {
  const cache = cacheOf({})
  const ids = text(1, 2 * BLOCK)
  const twins = [run(cache, ids), run(cache, ids)]
  expect(cache.pools[0]!.live).toBe(4)
  expect(cache.find(ids, ids.length - 1)?.tokens).toBe(ids.length - 1)
  expect(cache.pools[0]!.live).toBe(2)
  for (const state of twins) state.release()
  cache.clear()
  expect(cache.liveBytes).toBe(0)
})
