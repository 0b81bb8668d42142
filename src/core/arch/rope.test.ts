// Tests RoPE. In: rotary configurations. Out: the frequencies that transformers and llama.cpp compute, and a
// step's table.
import { describe, expect, test } from 'vitest'
import type { RopeScaling } from './config/config.ts'
import { fillRopeTable, inverseFrequencies } from './rope.ts'

const frequencies = (theta: number, dims: number, scaling?: RopeScaling) => [
  ...inverseFrequencies({ theta, dims, pairing: 'halves', scaling }),
]

describe('inverseFrequencies', () => {
  test('fall from 1 by equal factors', () => {
    expect(frequencies(10_000, 8)).toEqual([1, 0.1, 0.01, 0.001].map((value) => expect.closeTo(value, 12)))
  })
  test('linear scaling divides all of them', () => {
    expect(frequencies(10_000, 4, { type: 'linear', factor: 4 })).toEqual([0.25, 0.0025])
  })
  test('factors divide the frequencies one by one', () => {
    expect(frequencies(10_000, 4, { type: 'factors', factors: [1, 8] })).toEqual([1, 0.00125])
  })

  // Llama 3.2 1B: head dim 64, theta 500000, factor 32, original context 8192.
  const llama32: RopeScaling = {
    type: 'llama3',
    factor: 32,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalContextLength: 8192,
  }
  /** The definition of transformers' modeling_rope_utils.py, branch by branch. */
  function reference(frequency: number): number {
    const wavelength = (2 * Math.PI) / frequency
    if (wavelength < 8192 / 4) return frequency
    if (wavelength > 8192 / 1) return frequency / 32
    const smooth = (8192 / wavelength - 1) / (4 - 1)
    return ((1 - smooth) * frequency) / 32 + smooth * frequency
  }

  test('llama3 scaling keeps short waves, stretches long ones and blends in between', () => {
    const plain = frequencies(500_000, 64)
    const scaled = frequencies(500_000, 64, llama32)
    expect(scaled).toEqual(plain.map((frequency) => expect.closeTo(reference(frequency), 14)))
    const ratios = scaled.map((frequency, pair) => frequency / (plain[pair] ?? Number.NaN))
    expect(ratios[0]).toBe(1)
    expect(ratios.at(-1)).toBeCloseTo(1 / 32, 12)
    expect(ratios.filter((ratio) => ratio < 0.999 && ratio > 1 / 31)).not.toHaveLength(0)
  })
})

describe('fillRopeTable', () => {
  test('has the cosine and sine of each pair of each row, and leaves the rest unchanged', () => {
    const target = new Float32Array(10).fill(7)
    fillRopeTable(target, Uint32Array.of(0, 3, 9), 2, {
      frequencies: Float64Array.of(1, 0.5),
      magnitude: 1,
    })
    const angles = [0, 0, 3, 1.5].flatMap((angle) => [Math.cos(angle), Math.sin(angle)])
    expect([...target]).toEqual([...Float32Array.from(angles), 7, 7])
  })
  test('is accurate to f32 precision far into the context', () => {
    const target = new Float32Array(2)
    fillRopeTable(target, Uint32Array.of(131_071), 1, {
      frequencies: Float64Array.of(1),
      magnitude: 1,
    })
    expect([...target]).toEqual([Math.fround(Math.cos(131_071)), Math.fround(Math.sin(131_071))])
  })
})
