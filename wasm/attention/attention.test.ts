// Attention and RoPE. In: ragged steps over KV blocks. Out: the definition's bits, the true softmax, and the
// same bits for any chunking.

import { describe, expect, test } from 'vitest'
import { NORM, PAIRING } from '../../src/core/abi/constants.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import {
  angle,
  biasOf,
  element,
  type Laid,
  layState,
  layStep,
  type Part,
  type Shape,
  sinkOf,
} from '../testing/attention.ts'
import { FORMATS } from '../testing/kv.ts'
import { BUILDS, type Build, compare, plainMachine } from '../testing/machine.ts'

const QWEN: Shape = { heads: 14, kvHeads: 2, dim: 64, quantized: true }
/** Every position of the step. */
const ALL = 2 ** 32 - 1
const STORIES: Shape = { heads: 8, kvHeads: 4, dim: 8, pairing: PAIRING.interleaved }

describe('rope_kv and attention', () => {
  test.each<[string, Shape, Part[][]]>([
    ['grouped heads', QWEN, [[{ position: 0, rows: 70 }], [{ position: 70, rows: 1 }]]],
    ['head_dim 8, interleaved', STORIES, [[{ position: 0, rows: 9 }], [{ position: 9, rows: 3 }]]],
    [
      'one kv head per head',
      { heads: 5, kvHeads: 5, dim: 32 },
      [[{ position: 0, rows: 67 }], [{ position: 67, rows: 2 }]],
    ],
    ['three heads share', { heads: 9, kvHeads: 3, dim: 64 }, [[{ position: 0, rows: 11 }]]],
    [
      'head_dim 256',
      { heads: 4, kvHeads: 1, dim: 256, quantized: true },
      [[{ position: 0, rows: 5 }], [{ position: 5, rows: 1 }]],
    ],
    [
      'head_dim 512, with int8 keys and values',
      { heads: 7, kvHeads: 1, dim: 512, quantized: true, format: { k: 'int8', v: 'int8' } },
      [[{ position: 0, rows: 70 }], [{ position: 70, rows: 1 }]],
    ],
    ['head_dim 512', { heads: 8, kvHeads: 1, dim: 512 }, [[{ position: 0, rows: 66 }]]],
    ['head_dim 300', { heads: 8, kvHeads: 1, dim: 300 }, [[{ position: 0, rows: 66 }]]],
    ['part of a head rotated', { heads: 2, kvHeads: 2, dim: 20, ropeDims: 8 }, [[{ position: 0, rows: 6 }]]],
    ['odd pairs', { heads: 2, kvHeads: 1, dim: 12, ropeDims: 6 }, [[{ position: 0, rows: 6 }]]],
    [
      'odd pairs, interleaved',
      { heads: 2, kvHeads: 1, dim: 12, ropeDims: 6, pairing: PAIRING.interleaved },
      [[{ position: 0, rows: 6 }]],
    ],
    ['no rotation', { heads: 2, kvHeads: 1, dim: 16, ropeDims: 0 }, [[{ position: 0, rows: 3 }]]],
    [
      'a shard of shared heads',
      { heads: 6, kvHeads: 2, dim: 32, quantized: true, ratio: 7, absent: 4 },
      [[{ position: 0, rows: 70 }], [{ position: 70, rows: 1 }]],
    ],
    [
      'a shard that ends in the middle of shared heads',
      { heads: 16, kvHeads: 2, dim: 16, ratio: 10 },
      [[{ position: 0, rows: 9 }], [{ position: 9, rows: 3 }]],
    ],
    ['a window', { ...QWEN, window: 40 }, [[{ position: 0, rows: 130 }], [{ position: 130, rows: 2 }]]],
    [
      'scores and keys within a range',
      { ...QWEN, scoreLimits: [-0.5, 1.25], keyLimits: [-0.75, 0.5] },
      [[{ position: 0, rows: 70 }], [{ position: 70, rows: 1 }]],
    ],
    [
      'capped scores within a range',
      { ...STORIES, cap: 2, scoreLimits: [0, 1], window: 20 },
      [[{ position: 0, rows: 66 }]],
    ],
    ['norms of heads', { ...STORIES, norms: 0 }, [[{ position: 0, rows: 9 }]]],
    ['norms of rows', { ...STORIES, norms: NORM.row }, [[{ position: 0, rows: 9 }]]],
    ['norms of values too', { ...STORIES, norms: NORM.values }, [[{ position: 0, rows: 9 }]]],
    [
      'norms of values that are stored as int8',
      { ...QWEN, norms: NORM.values, format: { k: 'f32', v: 'int8' } },
      [[{ position: 0, rows: 9 }]],
    ],
    ['norms after the rotation', { ...QWEN, norms: NORM.later }, [[{ position: 0, rows: 9 }]]],
    [
      'layer norms with biases',
      { ...STORIES, norms: NORM.centred, normBias: true },
      [[{ position: 0, rows: 9 }]],
    ],
    [
      'layer norms with weights of each head, after the rotation, of keys within a range',
      { ...QWEN, norms: NORM.centred | NORM.each | NORM.later, keyLimits: [-0.75, 0.5] },
      [[{ position: 0, rows: 9 }]],
    ],
    ['a window of one', { ...STORIES, window: 1 }, [[{ position: 0, rows: 66 }]]],
    ['both sides', { ...QWEN, after: ALL }, [[{ position: 0, rows: 130 }]]],
    ['bidirectional, few rows', { ...STORIES, after: ALL }, [[{ position: 0, rows: 7 }]]],
    [
      'bidirectional, two segments',
      { heads: 2, kvHeads: 2, dim: 8, after: ALL },
      [[{ position: 0, rows: 300 }]],
    ],
    [
      'bidirectional, int8 keys and values',
      { ...QWEN, after: ALL, format: { k: 'int8', v: 'int8' } },
      [[{ position: 0, rows: 70 }]],
    ],
    [
      'a bidirectional window that ends in different segments',
      { heads: 2, kvHeads: 1, dim: 8, window: 21, after: 20 },
      [[{ position: 0, rows: 300 }]],
    ],
    [
      'biases by distance in two segments',
      { heads: 6, kvHeads: 2, dim: 8, after: ALL, reach: 299 },
      [[{ position: 0, rows: 300 }]],
    ],
    [
      'biases of int8 keys after a cap and a range, in a window',
      {
        ...{ heads: 3, kvHeads: 1, dim: 32, after: 7, window: 9, reach: 130, quantized: true },
        ...{ cap: 2, scoreLimits: [-1, 1], format: { k: 'int8', v: 'int8' } },
      },
      [[{ position: 0, rows: 131 }]],
    ],
    ['sinks', { ...QWEN, sinks: true }, [[{ position: 0, rows: 70 }], [{ position: 70, rows: 1 }]]],
    [
      'sinks of int8 keys and values in a window, in several segments',
      { ...STORIES, sinks: true, window: 290, cap: 5, format: { k: 'int8', v: 'int8' } },
      [[{ position: 0, rows: 300 }], [{ position: 300, rows: 2 }]],
    ],
    [
      'biases for earlier positions only, of several sequences',
      { ...STORIES, reach: 90 },
      [
        [
          { position: 0, rows: 66 },
          { position: 0, rows: 5 },
        ],
        [
          { position: 66, rows: 3 },
          { position: 5, rows: 70 },
        ],
      ],
    ],
    [
      'bidirectional, several sequences',
      { heads: 6, kvHeads: 2, dim: 32, after: ALL },
      [
        [
          { position: 0, rows: 65 },
          { position: 0, rows: 1 },
          { position: 0, rows: 7 },
        ],
      ],
    ],
    [
      'a whole sequence next to others',
      { heads: 6, kvHeads: 2, dim: 32 },
      [
        [
          { position: 0, rows: 65 },
          { position: 0, rows: 3 },
        ],
        [
          { position: 65, rows: 70, whole: true },
          { position: 3, rows: 6 },
        ],
      ],
    ],
    [
      'a whole sequence of few rows, in a window',
      { ...STORIES, window: 90 },
      [[{ position: 0, rows: 280 }], [{ position: 280, rows: 7, whole: true }]],
    ],
    [
      'bidirectional, after earlier steps',
      { heads: 4, kvHeads: 2, dim: 16, after: 3 },
      [[{ position: 0, rows: 61 }], [{ position: 61, rows: 8 }]],
    ],
    [
      'several sequences',
      { heads: 6, kvHeads: 2, dim: 32 },
      [
        [
          { position: 0, rows: 65 },
          { position: 0, rows: 1 },
          { position: 0, rows: 7 },
        ],
        [
          { position: 65, rows: 1 },
          { position: 1, rows: 6 },
          { position: 7, rows: 1 },
        ],
      ],
    ],
  ])('match their definitions bit for bit: %s', (_, shape, steps) => {
    let laid: Laid | undefined
    const { machine, difference } = compare((each) => {
      const states = steps[0]!.map(() => layState(each, shape, 320))
      for (const [index, step] of steps.entries()) {
        laid = layStep(each, shape, step, states)
        // All but the last step fill the blocks, by the definition; `compare` runs the last.
        if (index < steps.length - 1) each.runReference()
      }
    })
    expect(difference).toBeUndefined()
    expect(machine.floats(laid!.y, 0).every(Number.isFinite)).toBe(true)
  })

  test.each<[string, Shape]>([
    ['halves', { heads: 4, kvHeads: 2, dim: 32, ropeDims: 16 }],
    ['interleaved', { heads: 4, kvHeads: 1, dim: 16, pairing: PAIRING.interleaved }],
    ['a window', { heads: 2, kvHeads: 2, dim: 16, window: 30 }],
    ['both sides', { heads: 4, kvHeads: 2, dim: 32, after: ALL }],
    ['a window on both sides', { heads: 2, kvHeads: 2, dim: 16, window: 12, after: 25 }],
    ['sinks', { heads: 6, kvHeads: 2, dim: 16, sinks: true }],
    ['sinks and a window', { heads: 2, kvHeads: 1, dim: 8, sinks: true, window: 30 }],
    ['biases by distance', { heads: 4, kvHeads: 2, dim: 16, after: ALL, reach: 99 }],
    ['biases and a range', { heads: 2, kvHeads: 1, dim: 8, reach: 120, scoreLimits: [-0.5, 0.5] }],
    ['ranges', { heads: 4, kvHeads: 2, dim: 16, scoreLimits: [-0.5, 1.5], keyLimits: [-0.6, 0.7] }],
  ])('equal a rotation and a softmax: %s', (_, shape) => {
    const { heads, kvHeads, dim, ropeDims = dim, pairing = PAIRING.halves, window = 0, after = 0 } = shape
    const within = (x: number, [least, most]: readonly number[] = [-Infinity, Infinity]) =>
      Math.min(most!, Math.max(least!, x))
    const positions = 100
    const machine = plainMachine('relaxed')
    const { q, y } = layStep(
      machine,
      shape,
      [{ position: 0, rows: positions }],
      [layState(machine, shape, positions)],
    )
    const original = Array.from({ length: positions }, (_, m) => machine.floats(q, m))
    machine.run()
    const rotated = (vector: number[], position: number) => {
      const out = [...vector]
      for (let i = 0; i < ropeDims / 2; i++) {
        const [a, b] = pairing === PAIRING.halves ? [i, i + ropeDims / 2] : [2 * i, 2 * i + 1]
        const c = Math.cos(angle(position, i))
        const s = Math.sin(angle(position, i))
        out[a] = vector[a]! * c - vector[b]! * s
        out[b] = vector[b]! * c + vector[a]! * s
      }
      return out
    }
    const head = (kind: number, position: number, h: number) =>
      Array.from({ length: dim }, (_, d) => element(kind, 0, position, h * dim + d))
    for (const m of [0, 1, 31, 63, 64, 99]) {
      const output = machine.floats(y, m)
      for (let h = 0; h < heads; h++) {
        const kv = Math.floor((h * kvHeads) / heads)
        const query = rotated([...original[m]!.subarray(h * dim, h * dim + dim)], m)
        const first = window === 0 ? 0 : Math.max(0, m + 1 - window)
        const end = Math.min(positions, m + 1 + after)
        const seen = Array.from({ length: end - first }, (_, i) => first + i)
        const scores = seen.map((p) => {
          const key = rotated(head(1, p, kv), p).map((x) => within(x, shape.keyLimits))
          const dot = query.reduce((sum, value, d) => sum + value * key[d]!, 0)
          const bias = shape.reach === undefined ? 0 : biasOf(h, p - m)
          return within(dot * dim ** -0.5, shape.scoreLimits) + bias
        })
        const sink = shape.sinks === true ? sinkOf(h) : Number.NEGATIVE_INFINITY
        const top = Math.max(sink, ...scores)
        const weights = scores.map((score) => Math.exp(score - top))
        const sum = weights.reduce((a, b) => a + b, Math.exp(sink - top))
        const values = seen.map((p) => head(2, p, kv))
        for (let d = 0; d < dim; d++) {
          const expected = weights.reduce((total, weight, i) => total + weight * values[i]![d]!, 0) / sum
          // Scores reach 10 with an error of 1e-6 each; values are at most 1.
          expect(Math.abs(output[h * dim + d]! - expected)).toBeLessThan(1e-5)
        }
      }
    }
  })

  test('give a row the same bits however its sequence is split', () => {
    for (const [shape, window] of [
      [QWEN, 0],
      [STORIES, 0],
      [{ heads: 3, kvHeads: 3, dim: 16 }, 50],
    ] as const) {
      const positions = 80
      const cut = (build: Build, sizes: readonly number[]) => {
        const machine = plainMachine(build)
        const states = [layState(machine, shape, positions)]
        const found: Uint8Array[] = []
        let position = 0
        for (const rows of sizes) {
          const { y, a8 } = layStep(machine, { ...shape, window }, [{ position, rows }], states)
          machine.run()
          for (let m = 0; m < rows; m++)
            found.push(machine.rowBytes(y, m, 'f32'), machine.rowBytes(a8, m, 'a8'))
          position += rows
        }
        return found
      }
      const whole = cut('relaxed', [positions])
      expect(cut('simd128', [positions])).toEqual(whole)
      expect(cut('relaxed', new Array(positions).fill(1))).toEqual(whole)
      expect(cut('relaxed', [33, 2, 3, 5, 1, 7, 9, 4, 16])).toEqual(whole)
    }
  })

  test('give the rows of a sequence the same bits next to other sequences, bidirectionally', () => {
    const shape: Shape = { heads: 3, kvHeads: 3, dim: 16, after: ALL }
    const rowsOf = (build: Build, lengths: readonly number[]) => {
      const machine = plainMachine(build)
      const states = lengths.map(() => layState(machine, shape, 128))
      const parts = lengths.map((rows) => ({ position: 0, rows }))
      const { y } = layStep(machine, shape, parts, states)
      machine.run()
      return Array.from({ length: lengths[0]! }, (_, m) => machine.rowBytes(y, m, 'f32'))
    }
    const alone = rowsOf('relaxed', [77])
    expect(rowsOf('relaxed', [77, 3, 90])).toEqual(alone)
    expect(rowsOf('simd128', [77, 1])).toEqual(alone)
  })

  test('never read invisible positions', () => {
    // Poison is NaN, so a read of the unwritten rest of a block, or of a block before the window, would show.
    for (const [build, format] of BUILDS.flatMap((build) => FORMATS.map((each) => [build, each] as const))) {
      const machine = plainMachine(build)
      const shape = { ...QWEN, window: 10, format }
      const state = layState(machine, shape, 192)
      layStep(machine, shape, [{ position: 100, rows: 30 }], [state])
      machine.run()
      const random = randomFrom(5)
      const poisoned = { ...state, table: [8 * Math.floor(random() * 1000), ...state.table.slice(1)] }
      const { y } = layStep(machine, shape, [{ position: 130, rows: 1 }], [poisoned])
      machine.run()
      expect(machine.floats(y, 0).every(Number.isFinite)).toBe(true)
    }
  })
})
