// Claims of tiles. In: threads of many speeds, on a simulated clock. Out: whether every tile is taken once,
// without long waits.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SYNC_WORDS } from '../../src/core/abi/constants.ts'
import { Machine, readModule } from '../testing/machine.ts'

const CLAIMER_BYTES = 32
const NO_TILE = 0xffffffff
const MAX_THREADS = 11
const machine = new Machine(readModule('simd128', 'plain'), 'simd128')
const sync = machine.words(new Array(SYNC_WORDS).fill(0))
const claimers = machine.allocate(MAX_THREADS * CLAIMER_BYTES)

interface Shares {
  /** The tiles of each thread, in the order in which it took them. */
  readonly tiles: readonly (readonly number[])[]
  /** The time when the last tile is done. */
  readonly end: number
}

/** `costs[i]`: time that thread `i` takes for a tile; `starts[i]`: when it arrives at the op. */
function share(
  count: number,
  costs: readonly number[],
  starts: readonly number[] = costs.map(() => 0),
): Shares {
  machine.u32.fill(0, sync / 4, sync / 4 + SYNC_WORDS)
  const threads = costs.map((cost, index) => {
    const claimer = claimers + index * CLAIMER_BYTES
    machine.exports.make_claimer(claimer, index, costs.length)
    return { cost, claimer, free: starts[index] ?? 0, done: 0, tiles: [] as number[] }
  })
  for (const waiting = new Set(threads); waiting.size > 0; ) {
    const next = [...waiting].reduce((first, thread) => (thread.free < first.free ? thread : first))
    const tile = machine.exports.claim(sync, next.claimer, count) >>> 0
    if (tile === NO_TILE) {
      waiting.delete(next)
      continue
    }
    next.tiles.push(tile)
    next.free += next.cost
    next.done = next.free
  }
  return { tiles: threads.map(({ tiles }) => tiles), end: Math.max(...threads.map(({ done }) => done)) }
}

const cost = fc.double({ min: 0.1, max: 20, noNaN: true })

describe('claims', () => {
  test('every tile is taken by exactly one thread, whatever the threads’ speeds and arrival times', () => {
    const thread = fc.tuple(cost, fc.double({ min: 0, max: 50, noNaN: true }))
    fc.assert(
      fc.property(
        fc.nat(200),
        fc.array(thread, { minLength: 2, maxLength: MAX_THREADS }),
        (count, threads) => {
          const { tiles } = share(
            count,
            threads.map(([cost]) => cost),
            threads.map(([, start]) => start),
          )
          const all = tiles.flat().toSorted((a, b) => a - b)
          expect(all).toEqual(Array.from({ length: count }, (_, index) => index))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('equal threads take their own tiles, in order', () => {
    expect(share(8, [1, 1]).tiles).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ])
  })

  test('no thread waits longer than one tile of the slower thread', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 120 }), fc.integer({ min: 2, max: 8 }), (count, slowness) => {
        const { end } = share(count, [1, slowness])
        expect(end).toBeLessThan(count / (1 + 1 / slowness) + slowness)
      }),
      { numRuns: 1000 },
    )
  })
})
