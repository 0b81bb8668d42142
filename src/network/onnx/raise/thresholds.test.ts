// Thresholds. In: nodes with constants. Out: the numbers found in them, and steps on both sides of each.
import { describe, expect, test } from 'vitest'
import type { Graph, Node } from '../ir/graph.ts'
import { tensorOf } from '../ir/tensor.ts'
import { stepsAround, thresholdsOf } from './thresholds.ts'

const node = (op: string, inputs: readonly string[]): Node => ({
  name: op,
  op,
  domain: '',
  version: 21,
  inputs,
  outputs: [`${op}.0`],
  attributes: new Map([['axis', { kind: 'int', value: 77 }]]),
})

const GRAPH: Graph = {
  name: 'main',
  inputs: [],
  outputs: ['Less.0'],
  nodes: [
    node('Reshape', ['rows', 'shape']),
    node('Less', ['Reshape.0', 'limit']),
    node('Mul', ['x', 'three']),
  ],
  constants: new Map([
    ['shape', tensorOf('i64', [2], [1, 555])],
    ['limit', tensorOf('f32', [], [-300.5])],
    ['three', tensorOf('i64', [1], [3])],
  ]),
}

describe('numbers that control may be compared with', () => {
  test('come from constants, rounded both ways, but not from shapes and axes', () => {
    const { numbers, tableRows } = thresholdsOf([GRAPH])
    expect(numbers.toSorted((a, b) => a - b)).toEqual([3, 300, 301])
    expect(tableRows).toBe(0)
  })

  test('include combinations of two constants', () => {
    expect(thresholdsOf([GRAPH]).pairs).toEqual(expect.arrayContaining([100, 297, 303, 900, 903]))
  })

  test("include a table's sizes and the entries of a short integer list", () => {
    const list = Array.from({ length: 70 }, (_, at) => 1000 + 9 * at)
    const constants = new Map([['limit', tensorOf('i64', [70], list)]])
    const { numbers, tableRows } = thresholdsOf([{ ...GRAPH, constants }])
    expect(tableRows).toBe(70)
    expect(numbers).toEqual(expect.arrayContaining([70, 1000, 1621]))
  })
})

describe('steps', () => {
  const thresholds = { numbers: [300], pairs: [], tableRows: 0 }

  test('are on both sides of a number: prompts, single tokens and chunks', () => {
    const { steps, reach } = stepsAround(thresholds, { end: 4096, hasState: true, shape: 'square' })
    const has = (tokens: number, past: number) =>
      steps.some((each) => each.tokens === tokens && each.past === past)
    for (const total of [299, 300, 301, 302, 600, 4096]) expect(has(1, total - 1)).toBe(true)
    for (const tokens of [300, 302]) expect([has(tokens, 0), has(tokens, 3)]).toEqual([true, true])
    expect(steps.map(({ tokens, past }) => tokens + past)).toEqual(
      steps.map(({ tokens, past }) => tokens + past).toSorted((a, b) => a - b),
    )
    expect(reach).toBe(Number.POSITIVE_INFINITY)
  })

  test('try prompts around the numbers themselves rather than their combinations', () => {
    const long = { numbers: [1200, 7], pairs: [1193, 1207], tableRows: 0 }
    const { steps } = stepsAround(long, { end: 4096, hasState: true, shape: 'square' })
    const prompts = steps.filter(({ past }) => past === 0).map(({ tokens }) => tokens)
    expect(prompts).toEqual(expect.arrayContaining([7, 9, 1200, 1202]))
  })

  test('stay within the context', () => {
    const { steps } = stepsAround(thresholds, { end: 302, hasState: true, shape: { width: 8 } })
    expect(Math.max(...steps.map(({ tokens, past }) => tokens + past))).toBe(302)
  })

  test('cover the positions before a number beyond the context', () => {
    const far = { ...thresholds, numbers: [5000] }
    expect(stepsAround(far, { end: 4096, hasState: true, shape: 'square' }).reach).toBe(4999)
  })

  test('cover the longest prompt tried if there is no state', () => {
    const far = { ...thresholds, numbers: [3000] }
    expect(stepsAround(far, { end: 4096, hasState: false, shape: 'square' }).reach).toBe(2999)
    expect(stepsAround(far, { end: 4096, hasState: false, shape: { width: 64 } }).reach).toBe(5999)
  })

  test('walk along a table', () => {
    const table = { ...thresholds, tableRows: 150 }
    const { steps } = stepsAround(table, { end: 4096, hasState: true, shape: 'square' })
    expect(steps).toEqual(
      expect.arrayContaining([
        { tokens: 64, past: 0 },
        { tokens: 64, past: 64 },
        { tokens: 22, past: 128 },
      ]),
    )
  })
})
