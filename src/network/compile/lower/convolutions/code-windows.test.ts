// Convolutions of 8-bit codes. In: random QLinearConv nodes, and random networks with QuantizeLinear and
// DequantizeLinear around each operator. Out: whether the codes are those of a plain loop over integers, for
// each way to multiply, and whether networks differ from the evaluator by roundings at most.
import { expect, test } from 'vitest'
import { Random } from '../../../../../test/helpers/random.ts'
import { evaluate } from '../../../onnx/evaluate.ts'
import { EVALUATORS } from '../../../onnx/evaluators.ts'
import { type Tensor, tensorOf } from '../../../onnx/ir/tensor.ts'
import { CompiledGraph } from '../../compiled-graph.ts'
import { StagedGraph } from '../../staged/staged-graph.ts'
import { randomConvolution, randomNetwork } from '../../testing/random-codes.ts'

/** HALFBYTE_SEED draws different graphs, HALFBYTE_GRAPHS draws more of them. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 51)
const GRAPHS = Number(process.env['HALFBYTE_GRAPHS'] ?? 60)

test(`QLinearConv is exact, however codes are multiplied (seed ${SEED}, ${GRAPHS} graphs)`, async () => {
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, x, wanted } = randomConvolution(new Random(SEED, index))
    for (const options of [{ fuse: true }, { fuse: true, dot: 'pairs' }, { fuse: false }] as const) {
      const found = await new CompiledGraph(graph, options).run(new Map([['x', x]]))
      expect([...found.get('y')!.data].map(Number), `graph ${index}`).toEqual(wanted)
    }
  }
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
