// Sessions on ONNX models. In: exports of one random decoder in several forms, and the contrib form of
// another. Out: whether greedy text is the same in all forms, and after forks, saving and on shards.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onnxFiles } from '../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../lab/bench/random-model.ts'
import { TINY } from '../../../lab/bench/shapes.ts'
import type { LoadOptions } from '../../../src/engine/api/types.ts'
import { openEngine } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'

const EXPORTS = join(import.meta.dirname, 'exports')
/** No lower-case letters, because the exports have 96 tokens. */
const PROMPT = 'THE RIVER GOES'
const GREEDY = { temperature: 0, maxTokens: 16, speculation: 'off' } as const

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function fileOf(path: string, name: string): Promise<File> {
  return new File([await readFile(path)], name)
}

async function tokenizerFile(count: number): Promise<File> {
  const source = byteTokenizer(count)
  return new File([(await source.read(0, source.size)) as BlobPart], 'tokenizer.json')
}

/** The contrib form in 4 bits. */
async function openContrib(options: LoadOptions) {
  const gguf = pathToFileURL(join(folder, 'tiny.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(TINY)))
  const {
    model,
    data: [data],
  } = await onnxFiles(gguf, TINY, 'int4')
  const files = await Promise.all([
    fileOf(model.pathname, 'model.onnx'),
    fileOf(data.pathname, 'model.onnx.data'),
    tokenizerFile(TINY.vocabSize),
  ])
  return openEngine(files, options)
}

test('the same weights in three forms give the same text', async () => {
  const said: (readonly number[])[] = []
  for (const name of ['llama-cache', 'llama-no-cache', 'opset23']) {
    const files = [await fileOf(join(EXPORTS, name, 'model.onnx'), 'model.onnx'), await tokenizerFile(96)]
    await using engine = await openEngine(files, { weights: 'f32' })
    said.push((await engine.complete(PROMPT, GREEDY).result).tokens)
  }
  expect(said[0]).toHaveLength(16)
  expect(said[1]).toEqual(said[0])
  expect(said[2]).toEqual(said[0])
})

test('forks, restored sessions and two shards give the same text as one thread', async () => {
  await using one = await openContrib({ contextLength: 256 })
  await using shards = await openContrib({ contextLength: 256, pool: 'shards', threads: 2 })
  expect([one.threads, shards.threads]).toEqual([1, 2])
  await using session = one.createSession()
  await session.send('the river', GREEDY).result
  await using fork = await session.fork()
  const saved = await session.save()
  const { text } = await session.send('goes on', GREEDY).result
  expect(text).not.toBe('')
  const again = await fork.send('goes on', GREEDY).result
  expect(again.text).toBe(text)
  expect(again.usage.cachedTokens).toBeGreaterThan(20)
  for (const engine of [one, shards]) {
    await using restored = await engine.restoreSession(saved)
    const { text: told, usage } = await restored.send('goes on', GREEDY).result
    expect(told).toBe(text)
    expect(usage.cachedTokens).toBeGreaterThan(20)
  }
})

test('both forms of recurrent layers give the same text, on two shards, forked and restored', async () => {
  const open = async (name: string, options: LoadOptions = {}) =>
    openEngine([await fileOf(join(EXPORTS, name, 'model.onnx'), 'model.onnx'), await tokenizerFile(96)], {
      ...options,
      weights: 'f32',
    })
  await using one = await open('mamba-channels')
  await using other = await open('mamba-rows')
  await using shards = await open('mamba-channels', { pool: 'shards', threads: 2 })
  expect([one.threads, shards.threads]).toEqual([1, 2])
  const { tokens } = await one.complete(PROMPT, GREEDY).result
  expect(tokens).toHaveLength(16)
  for (const engine of [other, shards])
    expect((await engine.complete(PROMPT, GREEDY).result).tokens).toEqual(tokens)
  await using session = one.createSession()
  await session.send(PROMPT, GREEDY).result
  await using fork = await session.fork()
  const saved = await session.save()
  const { text } = await session.send('ON', GREEDY).result
  expect((await fork.send('ON', GREEDY).result).text).toBe(text)
  await using restored = await shards.restoreSession(saved)
  const again = await restored.send('ON', GREEDY).result
  expect(again.text).toBe(text)
  expect(again.usage.cachedTokens).toBeGreaterThan(0)
})
