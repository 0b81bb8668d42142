// The errors of the vector functions. In: numbers over their ranges. Out: whether each error is as stated,
// with and without fused multiply-add.
import { expect, test } from 'vitest'
import { erf } from '../../base/erf.ts'
import { type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { CompiledGraph } from '../compiled-graph.ts'

const COUNT = 20_001

/** The results of an operator for numbers from `low` to `high`. */
async function results(op: string, low: number, high: number, fuse: boolean, other?: number) {
  const x = Float32Array.from({ length: COUNT }, (_, at) => low + ((high - low) * at) / (COUNT - 1))
  const inputs = other === undefined ? ['x'] : ['x', 'y']
  const node = { name: op, op, domain: '', version: 17, inputs, outputs: ['z'], attributes: new Map() }
  const type = { dtype: 'f32', dims: [COUNT] } as const
  const graph = {
    name: op,
    inputs: inputs.map((name) => ({ name, type })),
    outputs: ['z'],
    constants: new Map(),
    nodes: [node],
  }
  const feeds = new Map<string, Tensor>([
    ['x', tensorOf('f32', [COUNT], x)],
    ['y', tensorOf('f32', [COUNT], new Float32Array(COUNT).fill(other ?? 0))],
  ])
  for (const name of [...feeds.keys()]) if (!inputs.includes(name)) feeds.delete(name)
  const made = await new CompiledGraph(graph, { fuse }).run(feeds)
  return { x, z: made.get('z')!.data as Float32Array }
}

const TESTS = [
  { op: 'Exp', low: -87, high: 88, exact: Math.exp, relative: 1.5e-7, absolute: 0 },
  { op: 'Log', low: 1e-3, high: 100, exact: Math.log, relative: 1.5e-7, absolute: 1.5e-7 },
  { op: 'Log', low: 1e-38, high: 1e-30, exact: Math.log, relative: 1.5e-7, absolute: 0 },
  { op: 'Tanh', low: -10, high: 10, exact: Math.tanh, relative: 0, absolute: 2.5e-7 },
  { op: 'Erf', low: -5, high: 5, exact: erf, relative: 0, absolute: 2.5e-7 },
  { op: 'Sin', low: -8192, high: 8192, exact: Math.sin, relative: 0, absolute: 2e-7 },
  { op: 'Cos', low: -8192, high: 8192, exact: Math.cos, relative: 0, absolute: 2e-7 },
]

test.each(TESTS)('$op from $low to $high', async ({ op, low, high, exact, relative, absolute }) => {
  for (const fuse of [false, true]) {
    const { x, z } = await results(op, low, high, fuse)
    let worst = 0
    for (let at = 0; at < COUNT; at++) {
      const wanted = exact(x[at]!)
      worst = Math.max(worst, Math.abs(z[at]! - wanted) / Math.max(absolute, relative * Math.abs(wanted)))
    }
    expect(worst).toBeLessThan(1)
  }
})

test.each([2.5, -1.7, 7, 0])('powers with the exponent %f', async (y) => {
  for (const fuse of [false, true]) {
    const { x, z } = await results('Pow', 0.01, 20, fuse, y)
    for (let at = 0; at < COUNT; at += 7) {
      const wanted = x[at]! ** y
      const steps = 1 + Math.abs(y * Math.log(x[at]!))
      expect(Math.abs(z[at]! / wanted - 1)).toBeLessThan(2.5e-7 * steps)
    }
  }
})

test('what has no finite result', async () => {
  const { z: cubes } = await results('Pow', -2, 2, true, 3)
  expect([cubes[0], cubes[COUNT >> 1], cubes.at(-1)]).toEqual([
    expect.closeTo(-8, 5),
    0,
    expect.closeTo(8, 5),
  ])
  const { z: roots } = await results('Pow', -1, 1, true, 1.5)
  expect([roots[0], roots[COUNT >> 1]]).toEqual([Number.NaN, 0])
  const { z: logs } = await results('Log', -1, 1, true)
  expect([logs[0], logs[COUNT >> 1]]).toEqual([Number.NaN, -Infinity])
})
