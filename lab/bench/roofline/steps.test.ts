// Tests that every op of a small model's steps is costed and timed, on one thread and on two.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { writeGguf } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomModel } from '../random-model.ts'
import { TINY } from '../shapes.ts'
import { measureSteps } from './steps.ts'

async function smallModel() {
  const chunks: Uint8Array[] = []
  for await (const chunk of writeGguf(randomModel(TINY))) chunks.push(chunk)
  return [bufferSource('small.gguf', new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()))]
}

test.each(['relaxed', 'simd128'] as const)('%s: each op of both stages is timed', async (build) => {
  const progress: number[] = []
  const options = { build, threads: [1, 2], position: 70, chunk: 1000, samples: 3, leastMs: 0.2 }
  const model = await measureSteps(nodeHost(), await smallModel(), options, (done) => progress.push(done))
  expect(
    model.steps.map(({ stage, threads, shape }) => [stage, threads, shape.tokens, shape.position]),
  ).toEqual([
    ['decode', 1, 1, 70],
    ['prefill', 1, 256, 0],
    ['decode', 2, 1, 70],
    ['prefill', 2, 256, 0],
  ])
  for (const { ops, stepMs } of model.steps) {
    expect(ops).toHaveLength(3 + 8 * TINY.layers)
    expect(stepMs.min).toBeGreaterThan(0)
    for (const { ms, cost } of ops) {
      expect(ms).toHaveLength(3)
      expect(Math.min(...ms)).toBeGreaterThan(0)
      expect(cost.ops).toBeGreaterThan(0)
    }
  }
  expect(progress.at(-1)).toBe(1)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})
