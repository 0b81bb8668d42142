// Products of 8-bit codes. In: random QLinearConv, ConvInteger, MatMulInteger and QLinearMatMul nodes, and
// random networks with QuantizeLinear and DequantizeLinear around each operator, or with
// DynamicQuantizeLinear. Out: whether the codes are those of a plain loop over integers, for each way to
// multiply, and whether networks differ from the evaluator by roundings at most.
import { expect, test } from 'vitest'
import { Random } from '../../../../../test/helpers/random.ts'
import { evaluate } from '../../../onnx/evaluate.ts'
import { EVALUATORS } from '../../../onnx/evaluators.ts'
import { type Tensor, tensorOf } from '../../../onnx/ir/tensor.ts'
import { CompiledGraph } from '../../compiled-graph.ts'
import { StagedGraph } from '../../staged/staged-graph.ts'
import { randomConvolution, randomNetwork } from '../../testing/random-codes.ts'
import {
  randomCodeLayer,
  randomDynamicNetwork,
  randomQLinearMatMul,
  randomRows,
  randomSums,
} from '../../testing/random-sums.ts'

/** HALFBYTE_SEED draws different graphs, HALFBYTE_GRAPHS draws more of them. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 51)
const GRAPHS = Number(process.env['HALFBYTE_GRAPHS'] ?? 60)

/** The ways to multiply. */
const WAYS = [{ fuse: true }, { fuse: true, dot: 'pairs' }, { fuse: false }] as const

test(`QLinearConv is exact, however codes are multiplied (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, x, wanted } = randomConvolution(new Random(SEED, index))
    for (const options of WAYS) {
      const found = await new CompiledGraph(graph, options).run(new Map([['x', x]]))
      expect([...found.get('y')!.data].map(Number), `graph ${index}`).toEqual(wanted)
    }
  }
})

test(`sums of codes are exact for all zero points (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  let compiled = 0
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, feeds } = randomSums(new Random(SEED + 2, index))
    const wanted = evaluate(graph, feeds, { evaluators: EVALUATORS }).get('y')!
    for (const options of WAYS) {
      const network = await StagedGraph.open(graph, options)
      expect((await network.run(feeds)).get('y'), `graph ${index}`).toEqual(wanted)
      compiled += network.foreign.length === 0 ? 1 / WAYS.length : 0
      await network.dispose()
    }
  }
  expect(compiled).toBeGreaterThan(0.9 * GRAPHS)
})

test(`QLinearMatMul gives the evaluator's codes, except for ties (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  let [differing, all] = [0, 0]
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, feeds } = randomQLinearMatMul(new Random(SEED + 3, index))
    const wanted = evaluate(graph, feeds, { evaluators: EVALUATORS }).get('y')!
    for (const options of WAYS) {
      const found = (await new CompiledGraph(graph, options).run(feeds)).get('y')!
      expect(found.dims).toEqual(wanted.dims)
      const steps = [...found.data].map((code, at) => Math.abs(Number(code) - Number(wanted.data[at])))
      expect(Math.max(...steps), `graph ${index}`).toBeLessThan(2)
      differing += steps.filter((step) => step > 0).length
      all += steps.length
    }
  }
  expect(differing / all).toBeLessThan(0.002)
})

test(`layers of codes give the evaluator's, except for ties (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  let [differing, all] = [0, 0]
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, feeds, size } = randomCodeLayer(new Random(SEED + 5, index))
    const wanted = evaluate(graph, feeds, { evaluators: EVALUATORS }).get('y')!
    for (const options of WAYS) {
      const found = (await new CompiledGraph(graph, options).run(feeds)).get('y')!
      for (const [at, value] of found.data.entries()) {
        const steps = Math.abs(Number(value) - Number(wanted.data[at])) / size
        expect(steps, `graph ${index}, element ${at}`).toBeLessThan(1.01)
        if (steps > 0.5) differing++
        all++
      }
    }
  }
  expect(differing / all).toBeLessThan(0.002)
})

test(`rows are rounded to codes on their own (seed ${SEED}, ${GRAPHS / 4} graphs)`, async () => {
  for (let index = 0; index < GRAPHS / 4; index++) {
    const { graph, feeds, row } = randomRows(new Random(SEED + 6, index))
    const options = WAYS[index % WAYS.length]!
    const found = (await new CompiledGraph(graph, options).run(feeds)).get('y')!
    const [count, n] = found.dims as [number, number]
    for (let at = 0; at < count; at++) {
      const one = row(at)
      const own = found.data.slice(at * n, (at + 1) * n) as Float32Array
      const alone = (await new CompiledGraph(one.graph, options).run(one.feeds)).get('y')!
      expect(alone.data, `graph ${index}, row ${at}`).toEqual(own)
      const wanted = evaluate(one.graph, one.feeds, { evaluators: EVALUATORS }).get('y')!
      for (const [column, value] of own.entries()) {
        const error = Math.abs(value - Number(wanted.data[column]))
        expect(error).toBeLessThanOrEqual(1e-6 * Math.abs(value))
      }
    }
  }
})

test(`networks with computed scales give the evaluator's numbers (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  let exact = 0
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, feeds } = randomDynamicNetwork(new Random(SEED + 4, index))
    const wanted = evaluate(graph, feeds, { evaluators: EVALUATORS }).get('y')!
    const network = await StagedGraph.open(graph, WAYS[index % WAYS.length]!)
    const found = (await network.run(feeds)).get('y')!
    expect(network.foreign).toEqual([])
    await network.dispose()
    const largest = Math.max(...[...wanted.data].map((value) => Math.abs(Number(value))))
    const errors = [...found.data].map((value, at) => Math.abs(Number(value) - Number(wanted.data[at])))
    // A code at a tie may differ, and the error spreads through the layers after it.
    expect(Math.max(...errors), `graph ${index}`).toBeLessThan(0.03 * largest)
    exact += Math.max(...errors) < 1e-5 * largest ? 1 : 0
  }
  expect(exact).toBeGreaterThan(0.8 * GRAPHS)
})

test(`networks of codes give the evaluator's, except for ties (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  let differing = 0
  let all = 0
  for (let index = 0; index < GRAPHS; index++) {
    const random = new Random(SEED + 1, index)
    const { graph, size } = randomNetwork(random)
    const x = tensorOf(
      'f32',
      [1, 3, 9, 9],
      Float32Array.from({ length: 243 }, () => 2 * random.signed()),
    )
    const feeds = new Map([['x', x]])
    const [[name, wanted]] = [...evaluate(graph, feeds, { evaluators: EVALUATORS })] as [[string, Tensor]]
    const network = await StagedGraph.open(graph, { fuse: random.chance(0.5) })
    const found = (await network.run(feeds)).get(name)!
    expect(network.foreign).toEqual([])
    await network.dispose()
    for (const [at, value] of found.data.entries()) {
      const steps = Math.abs(Number(value) - Number(wanted.data[at])) / size
      expect(steps, `graph ${index}, element ${at}`).toBeLessThan(2.01)
      if (steps > 0.5) differing++
      all++
    }
  }
  expect(differing / all).toBeLessThan(0.002)
})
