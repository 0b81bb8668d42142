// Greedy text in Node. In: the golden model in every precision. Out: the same text on every machine, build
// and thread count.
import { describe, expect, test } from 'vitest'
import { BUILDS } from './testing/builds.ts'
import { FAMILY_CASES } from './testing/families/family-cases.ts'
import { drawFamily, familySafetensors } from './testing/families/family-files.ts'
import { TOKENS } from './testing/families/family-golden.ts'
import {
  converse,
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  repliesOf,
  TALKING_MODELS,
  TINY_PATH,
} from './testing/golden.ts'
import { largestDifference, logitsOf, openEngine, repositoryFile, withBuilt } from './testing/node-engine.ts'

describe.each(BUILDS)('$build with $threads threads', ({ build, threads }) => {
  test.each(GOLDEN_CASES)('$name gives the golden text', async (one) => {
    const files = [await goldenFile(one)]
    await using engine = await openEngine(files, { build, threads, weights: one.weights })
    expect(engine).toMatchObject({ build, threads })
    const { text, tokens } = await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
    expect({ text, tokens }).toEqual(goldenReply(one))
  })
})

// Compares every bit, not only the text. All builds sum in the same order, and results don't depend on which
// thread computes a tile.
test.each(GOLDEN_CASES)('$name: builds and threads agree bit for bit', async (one) => {
  const files = [await goldenFile(one)]
  const tokens = Array.from({ length: 100 }, (_, index) => (index * 29) % 256)
  const tables = []
  for (const { build, threads } of BUILDS) {
    tables.push(
      await withBuilt(files, { build, threads, weights: one.weights }, (built) => logitsOf(built, tokens)),
    )
  }
  for (const table of tables) expect(largestDifference(table, tables[0]!)).toBe(0)
})

test.each([
  { k: 'int8', v: 'int8' },
  { k: 'int8', v: 'fp8' },
] as const)('builds and threads agree bit for bit with a cache of %o', async (kvCache) => {
  const files = [repositoryFile(TINY_PATH)]
  const tokens = Array.from({ length: 400 }, (_, index) => (index * 29) % 256)
  const tables = []
  for (const { build, threads } of BUILDS) {
    tables.push(await withBuilt(files, { build, threads, kvCache }, (built) => logitsOf(built, tokens)))
  }
  for (const table of tables) expect(largestDifference(table, tables[0]!)).toBe(0)
})

// Eight threads exceed the cores of most machines and the tiles of most ops here, so tiles are also taken
// from threads that have not started, and threads find no tile.
test.each(['qwen3', 'qwen3moe', 'qwen3next'] as const)(
  '%s: one, four and eight threads agree bit for bit',
  async (family) => {
    const one = FAMILY_CASES.find((each) => each.family === family)!
    const files = familySafetensors(one, drawFamily(one, 1))
    const tables = []
    for (const threads of [1, 4, 8]) {
      const options = { threads, weights: 'w4', contextLength: 128 } as const
      tables.push(await withBuilt(files, options, (built) => logitsOf(built, TOKENS)))
    }
    for (const table of tables) expect(largestDifference(table, tables[0]!)).toBe(0)
  },
)

describe.each(TALKING_MODELS)('$name', ({ name, path }) => {
  test.each(BUILDS)('gives the expected replies on $build with $threads threads', async (options) => {
    await using engine = await openEngine([repositoryFile(path)], options)
    expect(await converse(engine)).toEqual(repliesOf(name))
  })
})
