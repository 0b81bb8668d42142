// Forms of recurrent layers that are evaluated but not compiled. In: small layers. Out: whether lengths,
// layouts, peepholes, limits and named activations change the outputs as the standard defines.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { evaluateNode } from '../evaluate.ts'
import { EVALUATORS } from '../evaluators.ts'
import type { Attribute } from '../ir/graph.ts'
import { countOf, type Tensor, tensorOf } from '../ir/tensor.ts'

const STEPS = 3
const BATCH = 2
const WIDTH = 2
const HIDDEN = 2
const random = new Random(7)
const drawn = (...dims: number[]): Tensor =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, () => random.signed()),
  )

const x = drawn(STEPS, BATCH, WIDTH)
const layer = { w: drawn(1, 4 * HIDDEN, WIDTH), r: drawn(1, 4 * HIDDEN, HIDDEN) }
const noBias = tensorOf('f32', [1, 8 * HIDDEN], new Float32Array(8 * HIDDEN))
const states = tensorOf('f32', [1, BATCH, HIDDEN], new Float32Array(BATCH * HIDDEN))

function lstm(
  inputs: readonly (Tensor | undefined)[],
  attributes: Readonly<Record<string, Attribute>> = {},
): [Float32Array, Float32Array, Float32Array] {
  const node = {
    ...{ name: 'layer', op: 'LSTM', domain: '' as const, version: 14, outputs: ['y', 'h', 'c'] },
    inputs: inputs.map((input, at) => (input === undefined ? '' : `x${at}`)),
    attributes: new Map(Object.entries(attributes)),
  }
  const made = evaluateNode(node, inputs, { evaluators: EVALUATORS })
  return made.map((tensor) => tensor!.data) as [Float32Array, Float32Array, Float32Array]
}

const plain = [x, layer.w, layer.r, noBias]
const rowOf = (y: Float32Array, step: number, row: number) => [
  ...y.subarray((step * BATCH + row) * HIDDEN, (step * BATCH + row + 1) * HIDDEN),
]

test('a sequence ends at its length: later outputs are 0, and its state is the last one before them', () => {
  const [all] = lstm(plain)
  const [y, h] = lstm([...plain, tensorOf('i32', [BATCH], [3, 2])])
  expect(rowOf(y, 1, 1)).toEqual(rowOf(all, 1, 1))
  expect(rowOf(y, 2, 0)).toEqual(rowOf(all, 2, 0))
  expect(rowOf(y, 2, 1)).toEqual([0, 0])
  expect([...h]).toEqual([...rowOf(all, 2, 0), ...rowOf(all, 1, 1)])
})

test('a sequence that is read backwards begins at its length', () => {
  const backward: Attribute = { kind: 'string', value: 'reverse' }
  const short = tensorOf('f32', [2, BATCH, WIDTH], (x.data as Float32Array).subarray(0, 2 * BATCH * WIDTH))
  const [due] = lstm([short, ...plain.slice(1)], { direction: backward })
  const [y] = lstm([...plain, tensorOf('i32', [BATCH], [2, 2])], { direction: backward })
  expect([...y]).toEqual([...due, ...new Float32Array(BATCH * HIDDEN)])
})

test('lengths beyond the sequences are rejected', () => {
  expect(() => lstm([...plain, tensorOf('i32', [BATCH], [3, 4])])).toThrow(/lengths \[3,4\] do not fit/)
})

test('with the batch axis first, the outputs are the same in the other order', () => {
  const turned = Float32Array.from({ length: x.data.length }, (_, at) => {
    const [row, step] = [Math.floor(at / (STEPS * WIDTH)), Math.floor(at / WIDTH) % STEPS]
    return (x.data as Float32Array)[(step * BATCH + row) * WIDTH + (at % WIDTH)]!
  })
  const [y, h] = lstm(plain)
  const [first, state] = lstm([tensorOf('f32', [BATCH, STEPS, WIDTH], turned), ...plain.slice(1)], {
    layout: { kind: 'int', value: 1 },
  })
  for (let row = 0; row < BATCH; row++)
    for (let step = 0; step < STEPS; step++) {
      const from = (row * STEPS + step) * HIDDEN
      expect([...first.subarray(from, from + HIDDEN)]).toEqual(rowOf(y, step, row))
    }
  expect([...state]).toEqual([...h])
})

test('peepholes add the cell to the gates', () => {
  const single = tensorOf('f32', [1, BATCH, WIDTH], (x.data as Float32Array).subarray(0, BATCH * WIDTH))
  const cell = tensorOf('f32', [1, BATCH, HIDDEN], [1, 1, 1, 1])
  const run = (at?: number) => {
    const weights = Float32Array.from({ length: 3 * HIDDEN }, (_, each) => (each === at ? 9 : 0))
    const peephole = tensorOf('f32', [1, 3 * HIDDEN], weights)
    return lstm([single, ...plain.slice(1), undefined, states, cell, peephole])
  }
  const [, state, made] = run()
  // The gates are input, output and forget; each has two numbers.
  const [, , kept] = run(4)
  expect(kept[0]! - made[0]!).toBeGreaterThan(0.1)
  expect(kept[1]).toBe(made[1])
  const [, h, c] = run(2)
  expect([...c]).toEqual([...made])
  const open = (value: number) => 1 / (1 + Math.exp(-value))
  const before = -Math.log(Math.tanh(made[0]!) / state[0]! - 1)
  expect(h[0]).toBeCloseTo(open(before + 9 * made[0]!) * Math.tanh(made[0]!), 4)
})

test('named activations take alpha and beta in their order', () => {
  const names: Attribute = { kind: 'strings', value: ['HardSigmoid', 'Relu', 'Affine'] }
  const alpha: Attribute = { kind: 'floats', value: [0, 2] }
  const beta: Attribute = { kind: 'floats', value: [1, 3] }
  const [, h, c] = lstm(plain, { activations: names, activation_alpha: alpha, activation_beta: beta })
  // All gates are open, and the state is 2 c + 3.
  for (const [at, value] of h.entries()) expect(value).toBeCloseTo(2 * c[at]! + 3, 5)
})

test('Softplus of a large number is that number', () => {
  const large = tensorOf(
    'f32',
    x.dims,
    (x.data as Float32Array).map((value) => 1e4 * value),
  )
  const names: Attribute = { kind: 'strings', value: ['Sigmoid', 'Softplus', 'Tanh'] }
  const [, , c] = lstm([large, ...plain.slice(1)], { activations: names })
  expect([...c].every(Number.isFinite)).toBe(true)
  expect(Math.max(...c)).toBeGreaterThan(710)
})

test('an activation that does not exist is named', () => {
  const names: Attribute = { kind: 'strings', value: ['Sigmoid', 'constructor', 'Tanh'] }
  expect(() => lstm(plain, { activations: names })).toThrow(/its activation is constructor/)
})
