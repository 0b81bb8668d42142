// Tests the checksum of stored files. In: random bytes, and the largest ones. Out: the sums of JavaScript.
import { expect, test } from 'vitest'
import { addSum } from '../../src/core/store/device/sums.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { plainMachine } from '../testing/machine.ts'

test.each(['relaxed', 'simd128'] as const)('%s: sums bytes of any number and place like addSum', (build) => {
  const machine = plainMachine(build)
  const random = randomFrom(5)
  const size = 20_000
  const at = machine.allocate(size)
  for (const fill of [() => random() * 256, () => 255, () => 0]) {
    for (let byte = 0; byte < size; byte++) machine.u8[at + byte] = fill()
    for (const [first, count] of [
      [0, size],
      [3, 16],
      [5, 5552],
      [1, 5551],
      [2, 11_105],
      [7, 0],
      [9, 15],
    ] as const) {
      const bytes = machine.u8.slice(at + first, at + first + count)
      for (const before of [0, 0xfff0fff0, 12_345_678])
        expect(machine.exports.adler(before, at + first, count) >>> 0).toBe(addSum(before, bytes))
    }
  }
})
