// Compiled graphs on arm64. In: random graphs. Out: whether the emitted functions match the evaluator, in
// both builds. HALFBYTE_SEED and HALFBYTE_GRAPHS select other graphs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledGraph } from '../../src/network/compile/compiled-graph.ts'
import { roundingSpread } from '../../src/network/compile/testing/conditioning.ts'
import { difference } from '../../src/network/compile/testing/difference.ts'
import { randomGraph } from '../../src/network/compile/testing/random-graph.ts'
import { evaluate } from '../conformance/onnx/verify/evaluate.ts'

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
