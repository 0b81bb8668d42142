// In: ranges of a file of two and a half chunks, in orders that threads may read them in. Out: whether damage
// is found, and which bytes are read again for that.
import { expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { ChunkSums } from './chunk-sums.ts'
import { addSum, CHUNK_BYTES, joinSums } from './sums.ts'

const SIZE = 2 * CHUNK_BYTES + 12_345
const random = randomFrom(3)
const bytes = Uint8Array.from({ length: SIZE }, () => random() * 256)
const sums = [0, 1, 2].map((chunk) =>
  addSum(0, bytes.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)),
)

function check(ranges: readonly (readonly [from: number, to: number])[], file = bytes, skipped = -1) {
  const all = new ChunkSums(SIZE, sums)
  for (const [from, to] of ranges) all.addBytes(from, file.subarray(from, to))
  let again = 0
  const areRight = all.areRight(
    (chunk) => chunk === skipped,
    (target, offset) => {
      again += target.length
      target.set(file.subarray(offset, offset + target.length))
    },
  )
  return { areRight, again }
}

test('sums of two parts join to the sum of the whole', () => {
  for (const cut of [0, 1, 65_521, 1_000_000, SIZE]) {
    const [first, second] = [bytes.subarray(0, cut), bytes.subarray(cut)]
    expect(joinSums(addSum(0, first), addSum(0, second), SIZE - cut)).toBe(addSum(0, bytes))
  }
})

test('a file that was read in any order is compared without reading it again', () => {
  const cuts = [0, 5, 70_000, CHUNK_BYTES - 1, CHUNK_BYTES + 700_000, 2 * CHUNK_BYTES + 1, SIZE]
  const ranges = cuts.slice(1).map((to, index) => [cuts[index]!, to] as const)
  expect(check(ranges)).toEqual({ areRight: true, again: 0 })
  expect(check([...ranges].reverse())).toEqual({ areRight: true, again: 0 })
  expect(check([...ranges, ranges[2]!])).toEqual({ areRight: true, again: 0 })
})

test('only the gaps of chunks of which something was read are read again', () => {
  const ranges = [
    [CHUNK_BYTES + 100, CHUNK_BYTES + 400],
    [CHUNK_BYTES + 500, 2 * CHUNK_BYTES - 7],
  ] as const
  expect(check(ranges)).toEqual({ areRight: true, again: 100 + 100 + 7 })
})

test('a chunk with ranges that overlap in part is read again as a whole', () => {
  const ranges = [
    [0, 1000],
    [500, 2000],
  ] as const
  expect(check(ranges)).toEqual({ areRight: true, again: CHUNK_BYTES })
})

test.each([0, 450, CHUNK_BYTES - 1])(
  'damage at byte %i of a chunk is found, in what was read and in gaps',
  (at) => {
    const file = bytes.slice()
    file[CHUNK_BYTES + at]! ^= 4
    const ranges = [
      [0, CHUNK_BYTES],
      [CHUNK_BYTES + 400, CHUNK_BYTES + 500],
    ] as const
    expect(check(ranges, file).areRight).toBe(false)
    expect(check(ranges, file, 1).areRight).toBe(true)
    expect(check([[0, CHUNK_BYTES]], file).areRight).toBe(true)
  },
)
