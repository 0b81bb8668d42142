// Tests the errors of the vector functions. In: numbers across their ranges. Out: whether each error stays
// within the stated bound, with and without fused multiply-add.
import { expect, test } from 'vitest'
import { erf } from '../../../core/base/erf.ts'
import { type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { CompiledGraph } from '../compiled-graph.ts'

const COUNT = 20_001

/** An operator's results for numbers from `low` to `high`. */
async function results(op: string, low: number, high: number, fuse: boolean, other?: number) {
  const x = Float32Array.from({ length: COUNT }, (_, at) => low + ((high - low) * at) / (COUNT - 1))
  const inputs = other === undefined ? ['x'] : ['x', 'y']
  const node = { name: op, op, domain: '', version: 18, inputs, outputs: ['z'], attributes: new Map() }
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

const mish = (x: number): number => x * Math.tanh(Math.log1p(Math.exp(x)))

const TESTS = [
  { op: 'Mish', low: -80, high: 100, exact: mish, relative: 1e-6, absolute: 1e-38 },
  { op: 'Exp', low: -87.3, high: 88.72, exact: Math.exp, relative: 1.5e-7, absolute: 0 },
  { op: 'Exp', low: -200, high: -87, exact: Math.exp, relative: 1.5e-7, absolute: 2 ** -149 },
  { op: 'Log', low: 1e-3, high: 100, exact: Math.log, relative: 1.5e-7, absolute: 1.5e-7 },
  { op: 'Log', low: 1e-38, high: 1e-30, exact: Math.log, relative: 1.5e-7, absolute: 0 },
  { op: 'Tanh', low: -10, high: 10, exact: Math.tanh, relative: 0, absolute: 2.5e-7 },
  {
    op: 'Softplus',
    low: -80,
    high: -7.7,
    exact: (x: number) => Math.log1p(Math.exp(x)),
    relative: 5e-7,
    absolute: 1e-38,
  },
  { op: 'Sinh', low: -4, high: 4, exact: Math.sinh, relative: 5e-7, absolute: 1e-38 },
  { op: 'Sinh', low: 0, high: 1e-9, exact: Math.sinh, relative: 5e-7, absolute: 1e-38 },
  { op: 'Erf', low: -5, high: 5, exact: erf, relative: 0, absolute: 2.5e-7 },
  { op: 'Sin', low: -8192, high: 8192, exact: Math.sin, relative: 0, absolute: 2e-7 },
  { op: 'Cos', low: -8192, high: 8192, exact: Math.cos, relative: 0, absolute: 2e-7 },
  { op: 'Sin', low: -1e6, high: 1e7, exact: Math.sin, relative: 0, absolute: 2e-7 },
  { op: 'Sin', low: -3.4e38, high: 3.4e38, exact: Math.sin, relative: 0, absolute: 2e-7 },
  { op: 'Cos', low: -1e12, high: 1e9, exact: Math.cos, relative: 0, absolute: 2e-7 },
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

/** An operator's results for these numbers in both builds, which must agree where they are exact. */
async function resultsOf(op: string, x: readonly number[], y?: readonly number[]) {
  const operands = y === undefined ? [x] : [x, y]
  const inputs = operands.map((_, at) => `x${at}`)
  const node = { name: op, op, domain: '', version: 18, inputs, outputs: ['z'], attributes: new Map() }
  const type = { dtype: 'f32', dims: [x.length] } as const
  const given = inputs.map((name) => ({ name, type }))
  const graph = { name: op, inputs: given, outputs: ['z'], constants: new Map(), nodes: [node] }
  const feeds = new Map(operands.map((each, at) => [`x${at}`, tensorOf('f32', type.dims, each)]))
  const made = await Promise.all([false, true].map((fuse) => new CompiledGraph(graph, { fuse }).run(feeds)))
  const [plain, fused] = made.map((each) => [...(each.get('z')!.data as Float32Array)])
  for (const [at, value] of plain!.entries())
    if (!Number.isFinite(value) || value === 0) expect(fused![at]).toBe(value)
  return plain!
}

const INF = Infinity

test('the ends of the exponential function', async () => {
  const x = [88.72, 88.73, 89, 1e30, INF, -104, -1e30, -INF, Number.NaN, 0, -0]
  const [most, ...rest] = await resultsOf('Exp', x)
  expect(most! / Math.exp(88.72)).toBeCloseTo(1, 5)
  expect(rest).toEqual([INF, INF, INF, INF, 0, 0, 0, Number.NaN, 1, 1])
})

test('trigonometric functions of numbers of every magnitude, and of NaN', async () => {
  const x: number[] = [INF, -INF, Number.NaN]
  for (let power = -140; power < 128; power++)
    for (const part of [1, -1.2345678806304932, 1.9999998807907104]) x.push(Math.fround(part * 2 ** power))
  // The f32 nearest to a multiple of pi / 2.
  x.push(16367173 * 2 ** 72)
  for (const [op, exact] of [
    ['Sin', Math.sin],
    ['Cos', Math.cos],
  ] as const)
    for (const [at, made] of (await resultsOf(op, x)).entries()) {
      if (at < 3) expect(made).toBe(Number.NaN)
      else expect(Math.abs(made - exact(x[at]!)), `${op} ${x[at]}`).toBeLessThan(2e-7)
    }
})

test('powers without a finite result match C', async () => {
  const bases = [-INF, -2, -1, -0.5, -0, 0, 0.5, 1, 2, INF, Number.NaN]
  const exponents = [-INF, -3, -2, -0.5, -0, 0, 0.5, 1, 2, 3, 1.5, INF, Number.NaN]
  const pairs = bases.flatMap((x) => exponents.map((y) => [x, y] as const))
  // In JavaScript, 1 to an infinite power or to NaN is NaN.
  const wanted = pairs.map(([x, y]) =>
    x === 1 || (x === -1 && Math.abs(y) === INF) ? 1 : ((x ** y) as number),
  )
  const made = await resultsOf(
    'Pow',
    pairs.map(([x]) => x),
    pairs.map(([, y]) => y),
  )
  for (const [at, [x, y]] of pairs.entries())
    expect([x, y, Object.is(made[at], wanted[at]) || Math.abs(made[at]! - wanted[at]!) < 1e-5]).toEqual([
      x,
      y,
      true,
    ])
  expect(await resultsOf('Pow', [1e38, 3e38, 1e-30], [2, 1.1, 2])).toEqual([INF, INF, 0])
})

test('hyperbolic functions reach the ends of f32', async () => {
  const [high, low, most] = await resultsOf('Sinh', [89, -89, 100])
  expect([high! / Math.sinh(89), low! / Math.sinh(-89), most]).toEqual([
    expect.closeTo(1, 5),
    expect.closeTo(1, 5),
    INF,
  ])
  expect((await resultsOf('Cosh', [89]))[0]! / Math.cosh(89)).toBeCloseTo(1, 5)
})

test('operations without a finite result', async () => {
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
