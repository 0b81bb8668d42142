// Tests 64-bit integers and f64. In: graphs with numbers around the 32-bit limits. Out: whether each run
// either gives the i64 result or fails with an error that names the node or the value.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import { isHalfbyteError } from '../../core/base/errors.ts'
import type { Attribute, Graph, Node } from '../onnx/ir/graph.ts'
import { type DType, type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'

interface Case {
  readonly op: string
  readonly inputs: readonly Tensor[]
  readonly constants?: readonly Tensor[]
  readonly attributes?: Readonly<Record<string, Attribute>>
  readonly version?: number
  readonly outputs?: readonly string[]
}

function graphOf({ op, inputs, constants = [], attributes = {}, version = 18, outputs = ['z'] }: Case) {
  const names = inputs.map((_, at) => `x${at}`)
  const known = constants.map((tensor, at) => [`c${at}`, tensor] as const)
  const node: Node = {
    ...{ name: 'the node', op, domain: '', version, outputs },
    inputs: [...names, ...known.map(([name]) => name)],
    attributes: new Map(Object.entries(attributes)),
  }
  const graph: Graph = {
    name: op,
    inputs: inputs.map(({ dtype, dims }, at) => ({ name: `x${at}`, type: { dtype, dims } })),
    outputs: [...outputs],
    constants: new Map(known),
    nodes: [node],
  }
  return { graph, feeds: new Map(inputs.map((tensor, at) => [`x${at}`, tensor])) }
}

async function outcome(each: Case) {
  const { graph, feeds } = graphOf(each)
  try {
    return await new CompiledGraph(graph, { fuse: true }).run(feeds)
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    return error
  }
}

const i64 = (...values: readonly (number | bigint)[]): Tensor =>
  tensorOf('i64', [values.length], values.map(BigInt))
const int = (value: number): Attribute => ({ kind: 'int', value })
const HALF = 2 ** 30

const LEAVING: readonly Case[] = [
  { op: 'Add', inputs: [i64(2 ** 31 - 1, 5), i64(1, 1)] },
  { op: 'Sub', inputs: [i64(-(2 ** 31), 5), i64(1, 1)] },
  { op: 'Mul', inputs: [i64(100_000, 3), i64(100_000, 2)] },
  { op: 'Mul', inputs: [i64(1, 1, 1, 1, 1, 65_536), i64(1, 1, 1, 1, 1, 65_536)] },
  { op: 'Div', inputs: [i64(-(2 ** 31)), i64(-1)] },
  { op: 'Neg', inputs: [i64(-(2 ** 31))] },
  { op: 'Abs', inputs: [i64(0, -(2 ** 31))] },
  { op: 'ReduceSum', inputs: [i64(HALF, HALF, HALF)] },
  { op: 'ReduceProd', inputs: [i64(HALF, 2, 2)] },
  { op: 'CumSum', inputs: [i64(HALF, HALF, HALF)], constants: [tensorOf('i64', [], [0])] },
  { op: 'Cast', inputs: [tensorOf('f32', [2], [1, 3e9])], attributes: { to: int(7) } },
  { op: 'Cast', inputs: [tensorOf('f32', [1], [-Infinity])], attributes: { to: int(7) } },
  {
    op: 'ScatterElements',
    inputs: [i64(2 ** 31 - 1, 0), i64(0), i64(1)],
    attributes: { reduction: { kind: 'string', value: 'add' } },
  },
]

test.each(LEAVING)('$op is rejected, naming its node, when a number overflows 32 bits', async (each) => {
  const made = await outcome(each)
  expect(made).toMatchObject({ code: 'unsupported' })
  expect((made as Error).message).toContain('the node')
})

test.each<[string, Case]>([
  ['the input x0 contains the number 1099511627776', { op: 'Add', inputs: [i64(2 ** 40), i64(0)] }],
  ['the input x0 contains the number -9223372036854775808', { op: 'Neg', inputs: [i64(-(2n ** 63n))] }],
  ['its constant c0 has 1099511627776', { op: 'Add', inputs: [i64(1)], constants: [i64(2 ** 40)] }],
  ['its constant c0 has 4294967296', { op: 'Less', inputs: [i64(1, 2)], constants: [i64(1, 2 ** 32)] }],
  ['the input x0 contains the number 1e+300', { op: 'Neg', inputs: [tensorOf('f64', [1], [1e300])] }],
])('the error says that %s', async (what, each) => {
  const made = await outcome(each)
  expect(made).toMatchObject({ code: 'unsupported' })
  expect((made as Error).message).toContain(what)
})

test('i32 wraps as in C', async () => {
  const i32 = (...values: readonly number[]): Tensor => tensorOf('i32', [values.length], values)
  const each = { op: 'Div', inputs: [i32(-(2 ** 31), 7, -7, 1), i32(-1, -1, 2, 3)] }
  expect(await outcome(each)).toEqual(new Map([['z', i32(-(2 ** 31), -7, -3, 0)]]))
  for (const op of ['Add', 'Sub', 'Mul']) {
    const each = { op, inputs: [i32(2 ** 31 - 1, -(2 ** 31), 123_456_789), i32(2 ** 31 - 1, 1, 987_654_321)] }
    const { graph, feeds } = graphOf(each)
    expect(await outcome(each)).toEqual(evaluate(graph, feeds))
  }
})

test('a limit beyond 32 bits has no effect', async () => {
  const limits = [2n ** 63n - 1n, -(2n ** 63n)].map((value) => tensorOf('i64', [], [value])) as [
    Tensor,
    Tensor,
  ]
  const x = i64(-(2 ** 31), 0, 2 ** 31 - 1)
  const clipped = await outcome({ op: 'Clip', inputs: [x], constants: [limits[1], limits[0]] })
  expect(clipped).toEqual(new Map([['z', x]]))
  expect(await outcome({ op: 'Min', inputs: [x], constants: [limits[0]] })).toEqual(new Map([['z', x]]))
  expect(await outcome({ op: 'Max', inputs: [x], constants: [limits[1]] })).toEqual(new Map([['z', x]]))
  expect(await outcome({ op: 'Min', inputs: [x], constants: [limits[1]] })).toMatchObject({
    code: 'unsupported',
  })
})

/** Integers that often reach the 32-bit limits. */
const ends = fc.oneof(
  fc.integer({ min: -40, max: 40 }),
  fc.constantFrom(2 ** 31 - 1, -(2 ** 31), 2 ** 30, 46_341, -46_341, 65_536),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
)
const OPS = ['Add', 'Sub', 'Mul', 'Div', 'Mod', 'Min', 'Max', 'Equal', 'Less'] as const

test('i64 arithmetic gives i64 results or rejects those that overflow 32 bits', async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...OPS),
      fc.array(fc.tuple(ends, ends), { minLength: 1, maxLength: 11 }),
      async (op, pairs) => {
        const fit = op === 'Div' || op === 'Mod' ? pairs.map(([a, b]) => [a, b || 3] as const) : pairs
        const each = { op, inputs: [i64(...fit.map(([a]) => a)), i64(...fit.map(([, b]) => b))] }
        const { graph, feeds } = graphOf(each)
        const wanted = evaluate(graph, feeds).get('z')!
        const made = await outcome(each)
        if (isHalfbyteError(made)) {
          refused++
          const numbers = [...(wanted.data as BigInt64Array)].map(Number)
          const leaves = numbers.some((value) => value > 2 ** 31 - 1 || value < -(2 ** 31))
          expect(leaves).toBe(true)
        } else expect(made.get('z')).toEqual(wanted)
      },
    ),
    { numRuns: 400 },
  )
  expect(refused).toBeGreaterThan(20)
})

const NAN = Number.NaN
test.each<[string, readonly number[], number, boolean]>([
  ['ArgMax', [NAN, NAN, 1], 0, false],
  ['ArgMax', [1, 2, NAN, 3], 2, false],
  ['ArgMax', [NAN, 2, NAN, 3], 2, true],
  ['ArgMin', [NAN, 1, 2], 0, false],
  ['ArgMin', [1, -Infinity, NAN], 2, false],
  ['ArgMin', [Infinity, Infinity], 0, false],
  ['ArgMax', [-Infinity, -Infinity], 1, true],
])('%s of %j is position %i', async (op, values, place, isLast) => {
  const each = {
    op,
    inputs: [tensorOf('f32', [values.length], values)],
    attributes: { keepdims: int(0), select_last_index: int(Number(isLast)) },
  }
  const { graph, feeds } = graphOf(each)
  const wanted = new Map([['z', tensorOf('i64', [], [place])]])
  expect(evaluate(graph, feeds)).toEqual(wanted)
  expect(await outcome(each)).toEqual(wanted)
})

test.each(['min', 'max'])('%s of ScatterND propagates NaN from either side', async (reduction) => {
  const floats = (...values: readonly number[]): Tensor => tensorOf('f32', [values.length], values)
  const index: Tensor = tensorOf('i64', [3, 1], [0, 1, 2])
  const each: Case = {
    op: 'ScatterND',
    inputs: [floats(NAN, 1, 2), index, floats(1, NAN, 2)],
    attributes: { reduction: { kind: 'string', value: reduction } },
  }
  const { graph, feeds } = graphOf(each)
  const wanted = new Map([['z', floats(NAN, NAN, 2)]])
  expect(evaluate(graph, feeds)).toEqual(wanted)
  expect(await outcome(each)).toEqual(wanted)
})

test('64-bit constants are folded exactly', () => {
  const large = 2n ** 62n + 3n
  const folded = (op: string, inputs: readonly Tensor[], dtype: DType = 'i64', to?: number) => {
    const { graph, feeds } = graphOf({ op, inputs, attributes: to === undefined ? {} : { to: int(to) } })
    const made = evaluate(graph, feeds).get('z')!
    expect(made.dtype).toBe(dtype)
    return [...made.data]
  }
  expect(folded('ReduceSum', [i64(large, 5)])).toEqual([large + 5n])
  expect(folded('ReduceMax', [i64(large, large - 1n)])).toEqual([large])
  expect(folded('ReduceProd', [i64(3, 2n ** 60n + 1n)])).toEqual([3n * (2n ** 60n + 1n)])
  expect(folded('Pow', [i64(3, -1, 2), i64(39, 3, -1)])).toEqual([3n ** 39n, -1n, 0n])
  expect(folded('Cast', [i64(large)], 'i32', 6)).toEqual([3])
  expect(folded('Cast', [tensorOf('f32', [1], [1e30])], 'i64', 7)).toEqual([2n ** 63n - 1n])
})
