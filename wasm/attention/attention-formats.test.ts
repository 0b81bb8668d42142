// Attention over stored codes. In: every format of keys and values. Out: the definition's bits, the values of
// the codes, the same bits for any chunking, and the powers of two that make its weights.
import { describe, expect, test } from 'vitest'
import { kvOf, layState, layStep } from '../testing/attention.ts'
import { FORMATS, fillBlock, storedKey, storedValue } from '../testing/kv.ts'
import { BUILDS, type Build, compare, evaluate, plainMachine } from '../testing/machine.ts'

const DIMS = [8, 20, 32, 64, 80, 96, 128, 256]
/** Query heads, KV heads, rows. */
const GROUPS = [
  [1, 1, 66],
  [2, 2, 17],
  [6, 3, 5],
  [3, 1, 65],
  [4, 1, 3],
  [10, 2, 2],
  [6, 1, 4],
  [7, 1, 1],
  [8, 1, 9],
  [11, 1, 2],
] as const

const formats = FORMATS.map((format) => [`K ${format.k}, V ${format.v}`, format] as const)

describe.each(formats)('%s', (_, format) => {
  test.each(DIMS)('matches its definition bit for bit: heads of %i', (dim) => {
    // Up to 8 query heads per KV head. A prompt across a block's edge, then rows next to it and after it.
    for (const [heads, kvHeads, rows] of GROUPS.filter((_, index) => (index + DIMS.indexOf(dim)) % 3 === 0)) {
      const shape = { heads, kvHeads, dim, format, quantized: dim % 32 === 0 }
      const { difference } = compare((machine) => {
        const state = layState(machine, shape, rows + 70)
        layStep(machine, shape, [{ position: 0, rows: 62 }], [state])
        machine.runReference()
        layStep(machine, shape, [{ position: 62, rows }], [state])
      })
      expect([heads, kvHeads, rows, difference]).toEqual([heads, kvHeads, rows, undefined])
    }
  })

  test.each([
    [0, 2],
    [255, 3],
    [1000, 1],
    [2047, 7],
    [4095, 2],
    [8191, 1],
  ])('matches its definition bit for bit: %i positions before %i rows', (position, rows) => {
    for (const [window, unsplit] of [
      [0, false],
      [0, true],
      [700, false],
    ] as const) {
      const shape = { heads: 4, kvHeads: 2, dim: 16, format, window, unsplit }
      const { difference } = compare((machine) => {
        const state = layState(machine, shape, position + rows)
        for (const [index, block] of state.table.entries()) {
          fillBlock(machine, kvOf(shape), { k: block + state.kOffset, v: block + state.vOffset }, index)
        }
        layStep(machine, shape, [{ position, rows }], [state])
      })
      expect([window, unsplit, difference]).toEqual([window, unsplit, undefined])
    }
  })

  test('attends to the values of the stored codes', () => {
    const shape = { heads: 4, kvHeads: 2, dim: 32, format, ropeDims: 0 }
    const kv = kvOf(shape)
    const machine = plainMachine('relaxed')
    const state = layState(machine, shape, 600)
    const { q, y } = layStep(machine, shape, [{ position: 0, rows: 600 }], [state])
    machine.run()
    for (const m of [0, 5, 64, 300, 599]) {
      const output = machine.floats(y, m)
      for (let h = 0; h < 4; h++) {
        const query = [...machine.floats(q, m).subarray(h * 32, h * 32 + 32)]
        const at = (p: number) => state.table[p >> 6]!
        const scores = Array.from({ length: m + 1 }, (_, p) => {
          const { values } = storedKey(machine, kv, at(p) + state.kOffset, h >> 1, p & 63)
          return values.reduce((sum, value, d) => sum + value * query[d]!, 0) * 32 ** -0.5
        })
        const top = Math.max(...scores)
        const weights = scores.map((score) => Math.exp(score - top))
        const sum = weights.reduce((a, b) => a + b)
        const values = weights.map(
          (_, p) => storedValue(machine, kv, at(p) + state.vOffset, h >> 1, p & 63).values,
        )
        for (let d = 0; d < 32; d++) {
          const expected = weights.reduce((total, weight, i) => total + weight * values[i]![d]!, 0) / sum
          // The query and the weights have 14 bits; a score is a sum of 32 products of up to 3.
          expect(Math.abs(output[h * 32 + d]! - expected)).toBeLessThan(
            format.k + format.v === 'f32f32' ? 1e-5 : 4e-4,
          )
        }
      }
    }
  })

  test('gives a row the same bits however its sequence is split', () => {
    const shape = { heads: 6, kvHeads: 2, dim: 12, format, window: 200 }
    const positions = 330
    const cut = (build: Build, sizes: readonly number[]) => {
      const machine = plainMachine(build)
      const states = [layState(machine, shape, positions)]
      const found: Uint8Array[] = []
      let position = 0
      for (const rows of sizes) {
        const { y } = layStep(machine, shape, [{ position, rows }], states)
        machine.run()
        for (let m = 0; m < rows; m++) found.push(machine.rowBytes(y, m, 'f32'))
        position += rows
      }
      return found
    }
    const whole = cut('relaxed', [positions])
    expect(cut('simd128', [positions])).toEqual(whole)
    expect(cut('relaxed', new Array(positions).fill(1))).toEqual(whole)
    expect(cut('relaxed', [33, 2, 3, 5, 1, 7, 9, 4, 16, 177, 73])).toEqual(whole)
  })
})

describe('2^x', () => {
  test('is within 2^-22 of the true value from -126 to 0, identically in both builds and in its scalar form', () => {
    const inputs = Float32Array.from({ length: 400_000 }, (_, i) => -126 * (1 - i / 400_000) ** 2)
    const [relaxed, ...others] = BUILDS.map((build) => evaluate(plainMachine(build), 'power_of_two', inputs))
    for (const { vector } of others) expect(vector).toEqual(relaxed!.vector)
    expect(relaxed!.vector).toEqual(relaxed!.scalar)
    let worst = 0
    for (const [i, x] of inputs.entries())
      worst = Math.max(worst, Math.abs(relaxed!.vector[i]! / Math.exp(x * Math.LN2) - 1))
    expect(worst).toBeLessThan(2 ** -22)
  })

  test('is 1 at 0, stops at 2^-126 and keeps NaN', () => {
    const { vector } = evaluate(
      plainMachine('simd128'),
      'power_of_two',
      Float32Array.of(0, -Infinity, -1e9, Number.NaN),
    )
    expect([...vector]).toEqual([1, 2 ** -126, 2 ** -126, Number.NaN])
  })
})
