// Tests sequences. In: random histories of turns, edits, forks, drafts, saves, ends and long conversations.
// Out: the same state as in plain arrays; stored prefixes are found and nothing is lost.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import {
  BLOCK_BYTES,
  chain,
  chainCache,
  faults,
  type Kinds,
  type Limits,
  runRows,
  SLAB_BYTES,
} from '../testing/chain-model.ts'
import { type Action, GENEROUS, World } from '../testing/histories.ts'
import { Sequence } from './sequence.ts'

const KINDS: readonly (readonly [string, Kinds])[] = [
  ['keys and values', { windows: [0, 0], slabs: 0 }],
  ['a window next to full attention', { windows: [0, 100], slabs: 0 }],
  ['windows alone', { windows: [70], slabs: 0 }],
  ['only recurrent layers', { windows: [], slabs: 2 }],
  ['a hybrid of all kinds', { windows: [0, 90], slabs: 1 }],
]
/** Few ids, so that prefixes sometimes coincide by chance. */
const fresh = fc.array(fc.nat(2), { minLength: 1, maxLength: 120, size: 'max' })
const who = fc.nat(9)
const share = fc.double({ min: 0, max: 1, noNaN: true })
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('turn'), who, like: who, share, fresh }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('shorten'), who, share, count: fc.nat(150), fresh }),
  },
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
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('save'), who, pieces: fc.nat(12) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('restore'), file: who }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('damage'), file: who, at: fc.nat(50_000), cut: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear') }) },
) as fc.Arbitrary<Action>

async function check(kinds: Kinds, limits: Limits, actions: readonly Action[], keep?: number): Promise<void> {
  const world = new World(kinds, limits, keep)
  const { cache } = world
  for (const act of actions) {
    await world.perform(act)
    world.check()
    expect(cache.capacityBytes).toBeLessThanOrEqual(limits.budgetBytes ?? Number.POSITIVE_INFINITY)
    expect(cache.checkpoints.bytes).toBeLessThanOrEqual(limits.checkpointBytes ?? Number.POSITIVE_INFINITY)
  }
  await world.end()
  expect(cache.heldBytes).toBe(0)
  expect(cache.tree.retainedBytes).toBeLessThanOrEqual(limits.retainBytes ?? Number.POSITIVE_INFINITY)
  cache.clear()
  expect(cache.liveBytes).toBe(0)
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

/** A failing history is shrunk for up to 20 s. */
const LIMITS = { numRuns: 30, interruptAfterTimeLimit: 20_000 }

describe.each(KINDS)('random histories with %s', (_, kinds) => {
  test('read back completely, find every prefix that was ever stored, and leak nothing', async () => {
    await fc.assert(
      fc.asyncProperty(actions, (acts) => check(kinds, GENEROUS, acts)),
      LIMITS,
    )
  })
  test('read back completely when memory is short, and stay within the budgets', async () => {
    await fc.assert(
      fc.asyncProperty(actions, short, (acts, limits) => check(kinds, limits, acts)),
      LIMITS,
    )
  })
  test('read back completely when the oldest tokens after the first ones are dropped', async () => {
    const limits = fc.oneof(fc.constant({ ...GENEROUS, contextLength: 230 }), short)
    await fc.assert(
      fc.asyncProperty(actions, limits, fc.nat(100), (acts, limit, keep) => check(kinds, limit, acts, keep)),
      LIMITS,
    )
  })
})

describe('a sequence whose oldest tokens are removed by the caller', () => {
  const ids = Array.from({ length: 300 }, (_, id) => id)
  const shorter = [...ids.slice(0, 10), ...ids.slice(130), 7, 8]
  const open = (limits = GENEROUS, isFixed = false) => {
    const cache = chainCache({ windows: [0, 100], slabs: 0 }, limits, isFixed)
    const sequence = new Sequence(cache, { shares: true })
    sequence.setTokens(ids, { keep: 4 })
    runRows(cache, sequence, 300)
    return { cache, sequence }
  }

  test('keeps the state of the later ones, without sharing it as the state of the shorter text', () => {
    const { cache, sequence } = open()
    const fork = sequence.fork()
    expect(sequence.setTokens(shorter, { keep: 4, isShortened: true })).toBe(180)
    // The fork still has all of its blocks.
    expect(fork.setTokens([...ids, 1], { keep: 4 })).toBe(300)
    const other = new Sequence(cache, { shares: true })
    expect(other.setTokens(shorter)).toBe(10)
  })

  test('reads the later ones again if the caller did not say so, or if they cannot be moved', () => {
    expect(open().sequence.setTokens(shorter, { keep: 4 })).toBe(10)
    expect(open().sequence.setTokens(shorter, { isShortened: true })).toBe(10)
    const { sequence } = open(GENEROUS, true)
    expect(sequence.setTokens(shorter, { keep: 4, isShortened: true })).toBe(10)
  })

  test('prefers state that another sequence has read without the removed ones', () => {
    const { cache, sequence } = open()
    const other = new Sequence(cache, { shares: true })
    other.setTokens(shorter)
    runRows(cache, other, 182)
    expect(sequence.setTokens(shorter, { keep: 4, isShortened: true })).toBe(181)
    expect(faults(cache, sequence.state, chain(cache, [], shorter.slice(0, 181)))).toEqual([])
  })
})

describe('a saved sequence that has dropped tokens', () => {
  const keep = 3
  /** Tokens after the first three have been dropped. */
  async function restored(signal?: AbortSignal) {
    const cache = chainCache({ windows: [0], slabs: 0 }, { ...GENEROUS, contextLength: 230 })
    const sequence = new Sequence(cache, { shares: true })
    sequence.setTokens(
      Array.from({ length: 229 }, (_, id) => id),
      { keep },
    )
    runRows(cache, sequence, 229)
    for (let id = 0; id < 5; id++) {
      sequence.append(id)
      runRows(cache, sequence, 1)
    }
    expect(sequence.tokens.length).toBeLessThan(200)
    const pieces: BlobPart[] = []
    for await (const piece of sequence.save('chain', undefined)) pieces.push(piece)
    const source = bufferSource('saved', await new Blob(pieces).bytes())
    sequence.release()
    cache.clear()
    return { cache, restoring: Sequence.restore(cache, source, 'chain', signal) }
  }

  test('shares nothing once restored, not even after it has ended', async () => {
    const { cache, restoring } = await restored()
    const { sequence } = await restoring
    const ids = [...sequence.tokens, 7]
    const other = new Sequence(cache, { shares: true })
    expect(other.setTokens(ids)).toBe(0)
    const copy = sequence.fork()
    // After the gap, the state belongs to another text.
    expect(copy.setTokens(ids)).toBe(keep)
    for (const each of [sequence, copy]) each.release()
    expect(new Sequence(cache, { shares: true }).setTokens(ids)).toBe(0)
    expect(cache.liveBytes).toBe(0)
  })

  test('is not restored if its signal is aborted, and leaves nothing behind', async () => {
    const { cache, restoring } = await restored(AbortSignal.abort('enough'))
    await expect(restoring).rejects.toBe('enough')
    expect(cache.liveBytes).toBe(0)
  })
})
