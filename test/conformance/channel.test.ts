import { expect, test } from 'vitest'
import { openModel } from '../../src/core/arch/open-model.ts'
import { blobSource } from '../../src/core/base/bytes.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { perplexity } from '../../src/engine/score/perplexity.ts'
import { forwardRows } from '../../src/tools/cli/models/model.ts'
import { fixtureFile, fixtureText } from '../helpers/fixture.ts'
import { BUILDS } from './testing/builds.ts'
import { BOUNDS } from './testing/families/matrix.ts'
import { packOf } from './testing/families/matrix-families.ts'
import { GOLDEN, goldenFile } from './testing/golden.ts'
import {
  type BuildOptions,
  largestDifference,
  logitsOf,
  relativeError,
  withBuilt,
} from './testing/node-engine.ts'

const tokens = Array.from({ length: 100 }, (_, index) => (index * 29) % 256)
const weights = 'w4_channel'

test('builds, thread counts and a pack agree bit for bit, and every matrix has one scale per output', async () => {
  const file = await goldenFile(GOLDEN)
  const pack = await packOf([file], weights)
  const tables = []
  for (const { build, threads } of BUILDS) {
    for (const [files, policy] of [
      [[file], weights],
      [[pack], 'auto'],
    ] as const) {
      tables.push(
        await withBuilt(files, { build, threads, weights: policy }, (built) => logitsOf(built, tokens)),
      )
    }
  }
  for (const table of tables) expect(largestDifference(table, tables[0]!)).toBe(0)
  const { plan } = await prepareModel(await openModel([blobSource(pack.name, pack)]), { weights: 'auto' })
  const matrices = plan.ops.filter(({ name }) => name.startsWith('linear'))
  expect(new Set(matrices.map(({ name }) => name))).toEqual(
    new Set(['linear_w4a8_channel', 'linear_w8a8_g32']),
  )
})

test.each([
  ['two', [1, 1]],
  ['uneven', [3, 1]],
])('%s shards are as close to unrounded rows as one thread is', async (_, shares) => {
  const pack = [await packOf([await goldenFile(GOLDEN)], weights)]
  const logits = (options: BuildOptions) => withBuilt(pack, options, (built) => logitsOf(built, tokens))
  const exact = await logits({ weights: 'f32' })
  const alone = await logits({})
  const shared = await logits({ pool: 'shards', threads: 2, shares })
  // Each shard has a scale for its part of a row; one thread has one scale for the whole row.
  expect(relativeError(shared, exact)).toBeLessThan(1.1 * relativeError(alone, exact))
  expect(relativeError(shared, alone)).toBeLessThan(BOUNDS.channel)
})

test('stories are predicted nearly as well as with per-group scales', async () => {
  const file = fixtureFile('stories260k/stories260K-f32.gguf')
  const text = fixtureText('texts/tinystories.txt').slice(0, 20_000)
  const scored = (policy: 'auto' | 'w4' | 'w4_channel') =>
    withBuilt([file], { weights: policy }, async (built) => {
      const ids = built.text.encode(text, true)
      return (await perplexity(ids, forwardRows(built), { context: 256, chunks: 8 })).perplexity
    })
  const exact = await scored('auto')
  const group = await scored('w4')
  const channel = await scored(weights)
  expect(group / exact).toBeLessThan(1.2)
  expect(channel / exact).toBeLessThan(1.4)
})
