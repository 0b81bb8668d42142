// Greedy text on arm64. In: the golden model in every precision, both builds, with threads. Out: the same
// text as on other machines.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { BUILDS } from '../conformance/testing/builds.ts'
import {
  converse,
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  repliesOf,
  TINY_PATH,
} from '../conformance/testing/golden.ts'
import { openEngine, repositoryFile } from '../conformance/testing/node-engine.ts'

for (const { build, threads } of BUILDS) {
  // Emulated threads start slowly, and how work is split does not depend on the precision.
  const cases =
    threads === 1 ? GOLDEN_CASES : GOLDEN_CASES.filter(({ name }) => name === 'f32' || name === 'w4')
  for (const one of cases) {
    test(`${one.name} gives the golden text on ${build} with ${threads} threads`, async () => {
      const files = [await goldenFile(one)]
      await using engine = await openEngine(files, { build, threads, weights: one.weights })
      assert.equal(engine.build, build)
      assert.equal(engine.threads, threads)
      const { text, tokens } = await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
      assert.deepEqual({ text, tokens }, goldenReply(one))
    })
  }
}

for (const build of ['relaxed', 'simd128'] as const) {
  test(`the embedded model gives the expected replies on ${build}`, async () => {
    await using engine = await openEngine([repositoryFile(TINY_PATH)], { build })
    assert.deepEqual(await converse(engine), repliesOf('tiny'))
  })
}
