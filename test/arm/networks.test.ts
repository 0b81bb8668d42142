// Compiled graphs on arm64. In: random graphs, and convolutions of codes. Out: whether the emitted functions
// match the evaluator, and sums of codes those of plain loops, in both builds. HALFBYTE_SEED and
// HALFBYTE_GRAPHS select other graphs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledGraph } from '../../src/network/compile/compiled-graph.ts'
import { roundingSpread } from '../../src/network/compile/testing/conditioning.ts'
import { difference } from '../../src/network/compile/testing/difference.ts'
import { randomConvolution } from '../../src/network/compile/testing/random-codes.ts'
import { randomGraph } from '../../src/network/compile/testing/random-graph.ts'
import { evaluate } from '../conformance/onnx/verify/evaluate.ts'
import { Random } from '../helpers/random.ts'

const SEED = Number(process.env['HALFBYTE_SEED'] ?? 21)
const GRAPHS = Number(process.env['HALFBYTE_GRAPHS'] ?? 40)

for (const fuse of [true, false])
  test(`${GRAPHS} graphs of seed ${SEED}, ${fuse ? 'relaxed' : 'simd128'}`, async () => {
    const wrong: string[] = []
    for (let index = 0; index < GRAPHS; index++) {
      const { graph, feeds } = randomGraph(SEED, index)
      const compiled = new CompiledGraph(graph, { fuse })
      const found = await compiled.run(feeds)
      compiled.dispose()
      for (const [name, tensor] of evaluate(graph, feeds)) {
        const why = difference(tensor, found.get(name), () => roundingSpread(graph, feeds).get(name)!)
        if (why !== undefined) wrong.push(`graph ${index}, ${name}: ${why}`)
      }
    }
    assert.deepEqual(wrong, [])
  })

test('codes are multiplied exactly, by the relaxed dot product and in pairs', async () => {
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, x, wanted } = randomConvolution(new Random(SEED, index))
    for (const fuse of [true, false]) {
      const compiled = new CompiledGraph(graph, { fuse })
      const found = await compiled.run(new Map([['x', x]]))
      compiled.dispose()
      assert.deepEqual([...found.get('y')!.data].map(Number), wanted, `graph ${index}`)
    }
  }
})
