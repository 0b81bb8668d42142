// One scale per output. In: a random model and stories260k with `w4_channel`. Out: the same bits from every build, thread count
// and from a pack; shards within their bound; text predicted nearly as well as with scales per group.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blobSource } from '../src/base/bytes.ts'
import { forwardRows } from '../src/cli/model.ts'
import { packContents } from '../src/engine/pack-model.ts'
import { prepareModel } from '../src/engine/prepare.ts'
import { perplexity } from '../src/evaluate/perplexity.ts'
import { writePack } from '../src/formats/hbm-writer.ts'
import { openModel } from '../src/formats/model-file.ts'
import { BUILDS } from './support/builds.ts'
import { GOLDEN, goldenFile } from './support/golden.ts'
import { largestDifference, logitsOf, relativeError, withBuilt } from './support/node-engine.ts'

const tokens = Array.from({ length: 100 }, (_, index) => (index * 29) % 256)
const weights = 'w4_channel'

async function packOf(file: File): Promise<File> {
  const prepared = await prepareModel(await openModel([blobSource(file.name, file)]), {
    weights,
    forPack: true,
  })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(new Uint8Array(chunk))
  return new File(chunks, 'channel.hbm')
}

test('builds, threads and a pack agree to the bit, and every matrix has one scale per output', async () => {
  const file = await goldenFile(GOLDEN)
  const pack = await packOf(file)
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

test('shards have logits within the bound of quantised weights', async () => {
  const files = [await goldenFile(GOLDEN)]
  const right = await withBuilt(files, { weights }, (built) => logitsOf(built, tokens))
  for (const shares of [
    [1, 1],
    [3, 1],
  ]) {
    const options = { pool: 'shards', threads: 2, shares, weights } as const
    const rows = await withBuilt(files, options, (built) => logitsOf(built, tokens))
    expect(relativeError(rows, right)).toBeLessThan(0.05)
  }
})

const STORIES = join(import.meta.dirname, '../../shared/fixtures/stories260k/stories260K-f32.gguf')
const TEXT = join(import.meta.dirname, '../../shared/fixtures/eval/tinystories.txt')

test.skipIf(!existsSync(STORIES))(
  'stories are predicted nearly as well as with scales per group',
  async () => {
    const file = new File([readFileSync(STORIES)], 'stories.gguf')
    const text = readFileSync(TEXT, 'utf8').slice(0, 20_000)
    const scored = (policy: 'auto' | 'w4' | 'w4_channel') =>
      withBuilt([file], { weights: policy }, async (built) => {
        const ids = built.text.encode(text, true)
        return (await perplexity(ids, forwardRows(built), { context: 256, chunks: 8 })).perplexity
      })
    const [exact, group, channel] = [await scored('auto'), await scored('w4'), await scored(weights)]
    expect(group / exact).toBeLessThan(1.2)
    expect(channel / exact).toBeLessThan(1.4)
  },
)
