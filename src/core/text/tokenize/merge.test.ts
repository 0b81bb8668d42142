// Tests merging. In: random words and rules. Out: the result of merging one pair at a time by exhaustive
// search.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PairTable } from './bpe.ts'
import { Merger } from './merge.ts'

interface Rule {
  readonly left: number
  readonly right: number
  readonly made: number
}

/** The definition: repeatedly merge the adjacent pair with the lowest rank; among equals, the leftmost. */
function mergeSlowly(word: readonly number[], rules: readonly Rule[]): number[] {
  const symbols = [...word]
  for (;;) {
    let best: { rank: number; at: number } | undefined
    for (let at = 0; at + 1 < symbols.length; at++) {
      const rank = rules.findIndex((rule) => rule.left === symbols[at] && rule.right === symbols[at + 1])
      if (rank >= 0 && (best === undefined || rank < best.rank)) best = { rank, at }
    }
    if (best === undefined) return symbols
    symbols.splice(best.at, 2, (rules[best.rank] as Rule).made)
  }
}

function mergerOf(rules: readonly Rule[]): Merger {
  const table = new PairTable(rules.length)
  rules.forEach(({ left, right }, rank) => {
    table.add(left, right, rank)
  })
  return new Merger({
    find: (left, right) => table.get(left, right),
    priority: (rank) => rank,
    symbol: (rank) => (rules[rank] as Rule).made,
  })
}

function merge(merger: Merger, word: readonly number[]): { symbols: number[]; positions: number[] } {
  merger.begin(word.length).set(word)
  const left = merger.merge()
  return {
    symbols: Array.from(merger.symbols.subarray(0, left)),
    positions: Array.from(merger.positions.subarray(0, left)),
  }
}

const symbol = fc.integer({ min: 0, max: 5 })
const rules = fc.array(fc.record({ left: symbol, right: symbol, made: symbol }), { maxLength: 12 })
const word = fc.array(fc.integer({ min: -1, max: 5 }), { maxLength: 30 })

test('the heap merges the same pairs as an exhaustive search, for any rules', () => {
  fc.assert(
    fc.property(rules, fc.array(word, { minLength: 1, maxLength: 4 }), (list, words) => {
      const merger = mergerOf(list)
      for (const each of words) expect(merge(merger, each).symbols).toEqual(mergeSlowly(each, list))
    }),
    { numRuns: 500 },
  )
})

test('positions give the start of each symbol', () => {
  const merger = mergerOf([{ left: 1, right: 2, made: 3 }])
  expect(merge(merger, [1, 2, 0, 1, 2])).toEqual({ symbols: [3, 0, 3], positions: [0, 2, 3] })
  expect(merge(merger, [])).toEqual({ symbols: [], positions: [] })
})

test('a word longer than the scratch memory, and a short one after it', () => {
  const merger = mergerOf([
    { left: 1, right: 1, made: 2 },
    { left: 2, right: 2, made: 3 },
  ])
  expect(merge(merger, new Array(10_000).fill(1)).symbols).toEqual(new Array(2500).fill(3))
  expect(merge(merger, [1, 1, 1]).symbols).toEqual([2, 1])
})

test('a table contains every pair it was built from, with the first rank of each', () => {
  const pair = fc.tuple(fc.nat({ max: 300_000 }), fc.nat({ max: 300_000 }))
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 200 }), fc.array(pair, { maxLength: 50 }), (pairs, others) => {
      const table = new PairTable(pairs.length)
      const map = new Map<string, number>()
      pairs.forEach(([left, right], rank) => {
        table.add(left, right, rank)
        if (!map.has(`${left} ${right}`)) map.set(`${left} ${right}`, rank)
      })
      for (const [left, right] of [...pairs, ...others]) {
        expect(table.get(left, right)).toBe(map.get(`${left} ${right}`) ?? -1)
      }
      expect(table.get(-1, 5)).toBe(-1)
    }),
  )
})
