// Epilogues: layernorm, rescale, clamp, renorm, activations, norms of heads, soft caps. In: rows. Out: the
// definition's bits, and the true values.

import { describe, expect, test } from 'vitest'
import { ACTIVATION, NORM, ROWS } from '../../src/core/abi/constants.ts'
import type { Activation } from '../../src/core/graph/ir.ts'
import { activated } from '../../src/core/graph/testing/choices.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { element, layState, layStep } from '../testing/attention.ts'
import { FORMATS } from '../testing/kv.ts'
import { compare, type Machine, plainMachine } from '../testing/machine.ts'

const tokens = (machine: Machine, rows: number, logitRows: readonly number[] = []) =>
  machine.setStep({ sequences: [{ position: 0, rows }], logitRows })

function layernorm(machine: Machine, n: number, m: number, hasBias: boolean, logitRows?: readonly number[]) {
  const random = randomFrom(n + m)
  const x = machine.rows(m, n, () => 3 + random())
  const weight = machine.rows(1, n, (_, lane) => 0.5 + (lane % 7) / 4)
  const bias = machine.rows(1, n, (_, lane) => (lane % 3) - 1)
  const y = machine.rows(m, n)
  const q = machine.a8Rows(m, n)
  tokens(machine, m, logitRows)
  machine.op('layernorm', {
    x: x.at,
    x_stride: x.stride,
    weight: weight.at,
    bias: hasBias ? bias.at : 0,
    n,
    eps: 1e-5,
    y: y.at,
    y_stride: y.stride,
    q: q.at,
    q_stride: q.stride,
    rows: logitRows === undefined ? ROWS.tokens : ROWS.logits,
  })
  return { x, y }
}

describe('layernorm', () => {
  test.each([
    [32, 3, true],
    [768, 2, true],
    [44, 5, false],
    [37, 2, true],
  ])('matches its definition bit for bit for %i lanes, %i rows, bias %s', (n, m, hasBias) => {
    expect(compare((machine) => layernorm(machine, n, m, hasBias)).difference).toBeUndefined()
  })

  test('gathers the rows whose logits are needed', () => {
    expect(compare((machine) => layernorm(machine, 64, 6, true, [5, 0])).difference).toBeUndefined()
  })

  test('subtracts the mean and divides by the standard deviation', () => {
    const machine = plainMachine('relaxed')
    const { x, y } = layernorm(machine, 37, 3, true)
    machine.run()
    for (let m = 0; m < 3; m++) {
      const input = machine.floats(x, m)
      const mean = input.reduce((sum, value) => sum + value, 0) / 37
      const variance = input.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 37
      for (const [lane, value] of machine.floats(y, m).entries()) {
        const expected =
          ((input[lane]! - mean) / Math.sqrt(variance + 1e-5)) * (0.5 + (lane % 7) / 4) + (lane % 3) - 1
        expect(Math.abs(value - expected)).toBeLessThan(2e-5)
      }
    }
  })
})

function rescale(machine: Machine, n: number, scale: number, cap: number) {
  const y = machine.rows(3, n, (row, lane) => (lane - n / 2) * 10 ** (row - 1))
  const before = machine.floats(y, 0).map((_, lane) => (lane - n / 2) / 10)
  tokens(machine, 3)
  machine.op('rescale', { y: y.at, y_stride: y.stride, n, scale, cap })
  return { y, before }
}

describe('rescale', () => {
  test.each([
    [40, 0.25, 0],
    [1100, 1, 30],
    [64, 0.5, 50],
  ])('matches its definition bit for bit for %i lanes, scale %f, cap %f', (n, scale, cap) => {
    expect(compare((machine) => rescale(machine, n, scale, cap)).difference).toBeUndefined()
  })

  test('caps like the hyperbolic tangent', () => {
    const machine = plainMachine('relaxed')
    const { y } = rescale(machine, 1100, 1, 30)
    machine.run()
    for (const [lane, value] of machine.floats(y, 1).entries()) {
      expect(Math.abs(value - 30 * Math.tanh((lane - 550) / 30))).toBeLessThan(6e-6)
    }
  })
})

function clamp(machine: Machine, n: number, isInPlace: boolean) {
  const wide = machine.rows(3, n + 32, (row, lane) => (lane - n / 2) * 10 ** (row - 1))
  // A view in the middle of rows, like part of a merged product.
  const x = { ...wide, at: wide.at + 4 * 32, width: n }
  const y = isInPlace ? x : machine.rows(3, n, () => 7)
  tokens(machine, 3)
  const range = { least: Math.fround(-1.1), most: 2 }
  machine.op('clamp', { x: x.at, x_stride: x.stride, y: y.at, y_stride: y.stride, n, ...range })
  return { wide, x, y, ...range }
}

describe('clamp', () => {
  test.each([
    [40, false],
    [37, true],
    [1100, true],
    [1121, false],
  ])('matches its definition bit for bit for %i lanes, in place %s', (n, isInPlace) => {
    expect(compare((machine) => clamp(machine, n, isInPlace)).difference).toBeUndefined()
  })

  test.each([true, false])('moves values outside the range to its ends, in place %s', (isInPlace) => {
    const machine = plainMachine('simd128')
    const { wide, x, y, least, most } = clamp(machine, 37, isInPlace)
    machine.f32[x.at / 4 + 3] = Number.NaN
    machine.f32[x.at / 4 + 4] = Number.NEGATIVE_INFINITY
    const before = machine.floats(x, 0)
    const around = [...machine.floats(wide, 0).subarray(0, 32)]
    machine.run()
    const after = machine.floats(y, 0)
    expect([...after]).toEqual([...before].map((value) => Math.min(most, Math.max(least, value))))
    expect(after[3]).toBeNaN()
    // A view is followed by other values, and other rows by zeros.
    expect([...machine.floats(wide, 0).subarray(0, 32)]).toEqual(around)
    const padding = [...machine.floats({ ...y, width: 64 }, 0).subarray(37)]
    if (!isInPlace) expect(padding).toEqual(new Array(27).fill(0))
  })
})

/**
 * Products of `n` lanes, with the `size` values whose norm divided them, or followed by the sum of squares.
 */
function renorm(machine: Machine, n: number, size: number, hasX: boolean) {
  const x = machine.rows(3, size, (row, lane) => element(2, row, 0, lane) * (row + 1))
  const y = machine.rows(3, n, (row, lane) => element(3, row, 0, lane))
  machine.wordBehind(y)
  const before = [0, 1, 2].map((row) => machine.floats(y, row))
  const squaresAt = (row: number) => (y.at + row * y.stride) / 4 + Math.ceil(n / 32) * 32
  for (let row = 0; row < 3 && !hasX; row++) machine.f32[squaresAt(row)] = size * (row + 0.5)
  tokens(machine, 3)
  const rows = { x: hasX ? x.at : 0, x_stride: x.stride, y: y.at, y_stride: y.stride }
  machine.op('renorm', { ...rows, n, size, eps: 1e-5 })
  return { x, y, before, squaresAt }
}

describe('renorm', () => {
  test.each([
    [32, 64, true],
    [40, 96, true],
    [768, 784, true],
    [37, 96, false],
    [768, 1536, false],
  ])('matches its definition bit for bit for %i lanes of %i values, with x %s', (n, size, hasX) => {
    expect(compare((machine) => renorm(machine, n, size, hasX)).difference).toBeUndefined()
  })

  test('undoes a norm and stores the sum of squares, then divides by the norm over all shards', () => {
    for (const hasX of [true, false]) {
      const machine = plainMachine('relaxed')
      const { x, y, before, squaresAt } = renorm(machine, 40, 96, hasX)
      machine.run()
      for (const [row, products] of before.entries()) {
        const squares = hasX
          ? machine.floats(x, row).reduce((sum, value) => sum + value ** 2, 0)
          : 96 * (row + 0.5)
        const norm = Math.sqrt(squares / 96 + 1e-5)
        expect(Math.abs(machine.f32[squaresAt(row)]! / squares - 1)).toBeLessThan(1e-6)
        for (const [lane, value] of machine.floats(y, row).entries()) {
          const right = hasX ? products[lane]! * norm : products[lane]! / norm
          expect(Math.abs(value - right)).toBeLessThan(1e-6 * Math.abs(right) + 1e-12)
        }
      }
    }
  })
})

const XIELU = { above: 0.8, below: 0.7, slope: 0.5, epsilon: -1e-6 }
const XIELU_FIELDS = { above: XIELU.above, below: XIELU.below, slope: XIELU.slope, eps: XIELU.epsilon }

function gate(machine: Machine, activation: Activation, hasUp: boolean) {
  const x = machine.rows(4, 72, (row, lane) => (element(0, row, 0, lane) * 4) ** 3)
  const up = machine.rows(4, 72, (row, lane) => element(1, row, 0, lane))
  const y = machine.rows(4, 72)
  const q = machine.a8Rows(4, 72)
  tokens(machine, 4)
  machine.op('swiglu', {
    gate: x.at,
    gate_stride: x.stride,
    up: hasUp ? up.at : 0,
    up_stride: up.stride,
    n: 72,
    y: y.at,
    y_stride: y.stride,
    q: q.at,
    q_stride: q.stride,
    activation: ACTIVATION[activation],
    ...(activation === 'xielu' && XIELU_FIELDS),
  })
  return { x, up, y }
}

describe('activations', () => {
  test.each([
    ['silu', false],
    ['gelu', true],
    ['gelu', false],
    ['none', true],
    ['gelu_exact', true],
    ['gelu_exact', false],
    ['relu', true],
    ['relu', false],
    ['sigmoid', true],
    ['sigmoid', false],
    ['relu2', true],
    ['relu2', false],
    ['xielu', true],
    ['xielu', false],
  ] as const)('%s, gated %s, matches its definition bit for bit', (activation, hasUp) => {
    expect(compare((machine) => gate(machine, activation, hasUp)).difference).toBeUndefined()
  })

  test('gelu_exact is within 7e-7 of the true value from -5 up, and within 1e-12 below', () => {
    const machine = plainMachine('relaxed')
    const x = machine.rows(64, 64, (row, lane) => (row * 64 + lane) / 160 - 13.1)
    const y = machine.rows(64, 64)
    tokens(machine, 64)
    machine.op('swiglu', {
      gate: x.at,
      gate_stride: x.stride,
      n: 64,
      y: y.at,
      y_stride: y.stride,
      activation: ACTIVATION.gelu_exact,
    })
    machine.run()
    let relative = 0
    let absolute = 0
    for (let row = 0; row < 64; row++) {
      const input = machine.floats(x, row)
      for (const [lane, value] of machine.floats(y, row).entries()) {
        const right = activated(input[lane]!, 'gelu_exact')
        if (input[lane]! < -5) absolute = Math.max(absolute, Math.abs(value - right))
        else if (right !== 0) relative = Math.max(relative, Math.abs(value / right - 1))
      }
    }
    expect(relative).toBeLessThan(7e-7)
    expect(absolute).toBeLessThan(1e-12)
  })

  test('relu, its square and xielu give their true values', () => {
    for (const activation of ['relu', 'relu2', 'xielu'] as const) {
      const machine = plainMachine('relaxed')
      const { x, y } = gate(machine, activation, false)
      machine.run()
      for (let m = 0; m < 4; m++) {
        const input = machine.floats(x, m)
        for (const [lane, value] of machine.floats(y, m).entries()) {
          const right = activated(input[lane]!, activation, activation === 'xielu' ? XIELU : undefined)
          expect(Math.abs(value - right)).toBeLessThanOrEqual(1e-6 * Math.abs(right))
        }
      }
    }
  })

  test('gelu is the tanh approximation', () => {
    const machine = plainMachine('simd128')
    const { x, y } = gate(machine, 'gelu', false)
    machine.run()
    for (let m = 0; m < 4; m++) {
      const input = machine.floats(x, m)
      for (const [lane, value] of machine.floats(y, m).entries()) {
        const v = input[lane]!
        const expected = (v / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))
        expect(Math.abs(value - expected)).toBeLessThan(2e-6 * Math.max(1, Math.abs(v)))
      }
    }
  })
})

test('add scales the rows that it adds', () => {
  const { machine, difference } = compare((each) => {
    const x = each.rows(2, 40, (_, lane) => lane)
    const y = each.rows(2, 40, () => 1)
    tokens(each, 2)
    each.op('add', { x: x.at, x_stride: x.stride, y: y.at, y_stride: y.stride, n: 40, scale: 0.25 })
  })
  expect(difference).toBeUndefined()
  expect(machine.f32.includes(1 + 0.25 * 39)).toBe(true)
})

describe('heads', () => {
  const shape = { heads: 6, kvHeads: 2, dim: 32, quantized: true }

  test.each(FORMATS)('attention within ranges to K $k, V $v matches its definition bit for bit', (format) => {
    for (const cap of [0, 2]) {
      const { difference } = compare((machine) => {
        const ranges = { scoreLimits: [-0.5, 1], keyLimits: [-0.75, 0.5] } as const
        const full = { ...shape, format, cap, ...ranges }
        layStep(machine, full, [{ position: 0, rows: 70 }], [layState(machine, full, 70)])
      })
      expect(difference).toBeUndefined()
    }
  })

  test.each(FORMATS)(
    'normed and capped attention over K $k, V $v matches its definition bit for bit',
    (format) => {
      for (const norms of [0, NORM.row, undefined]) {
        const { difference } = compare((machine) => {
          const full = { ...shape, format, ...(norms !== undefined && { norms }), cap: 2 }
          layStep(machine, full, [{ position: 0, rows: 70 }], [layState(machine, full, 70)])
        })
        expect(difference).toBeUndefined()
      }
    },
  )

  test('norms of heads and of rows, and caps, change the output', () => {
    const outputs = [{}, { norms: 0 }, { norms: NORM.row }, { cap: 0.5 }].map((change) => {
      const machine = plainMachine('relaxed')
      const full = { ...shape, ...(change as { norms?: number; cap?: number }) }
      const { y } = layStep(machine, full, [{ position: 0, rows: 9 }], [layState(machine, full, 9)])
      machine.run()
      return machine.floats(y, 8).join()
    })
    expect(new Set(outputs).size).toBe(4)
  })
})
