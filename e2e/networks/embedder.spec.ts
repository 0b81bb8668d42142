// Encoders in Chromium. In: folders with a random encoder and a random reranker, isolated and not. Out:
// vectors and scores that match the definition, progress, aborts and typed errors.
import { expect, type Page } from '@playwright/test'
import { jsonSpec } from '../../src/core/text/testing/tiny.ts'
import { encoderTokenizer } from '../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { pooledResult, repository, resultsOf } from '../../test/conformance/encoders/graph-repository.ts'
import { around, bodyFolder, bodyStates, randomBody } from '../../test/conformance/encoders/random-bodies.ts'
import { denseFiles, denseOf, randomDense } from '../../test/conformance/encoders/random-dense.ts'
import { newFile } from '../../test/conformance/testing/model-files.ts'
import {
  bertFolder,
  bertScore,
  bertStates,
  byPath,
  pooled,
  randomBert,
  scaled,
  wordPieces,
} from '../../test/conformance/testing/random-bert.ts'
import { openLibrary, test } from '../library-site.ts'

const TEXTS = ['the cat', 'The running cats, 12 of the runners.', 'a']
const MODEL = randomBert(9)
const encoderFiles = () => byPath(bertFolder(MODEL))

type Options = NonNullable<Parameters<typeof embedders.load>[1]>

const embedded = (page: Page, folder: string, options: Options) =>
  page.evaluate(
    async ({ folder, options, texts }) => {
      const told: number[] = []
      await using embedder = await embedders.load(folder, options)
      const { vectors, tokens } = await embedder.embed(texts, { onProgress: ({ done }) => told.push(done) })
      const { threads, pool } = embedder
      return { vectors: vectors.map((vector) => [...vector]), tokens, threads, pool, done: told.at(-1) }
    },
    { folder, options, texts: TEXTS },
  )

test('vectors match the definition, on one thread and on two, isolated or not', async ({ page, site }) => {
  const folder = await site.addFolder(encoderFiles())
  await openLibrary(page, site.isolated)
  const here = await embedded(page, folder, { threads: 1 })
  for (const [index, text] of TEXTS.entries()) {
    const right = scaled(pooled(bertStates(MODEL, wordPieces(text)), () => 1))
    for (const [at, value] of right.entries()) expect(here.vectors[index]![at]).toBeCloseTo(value, 4)
  }
  expect(here).toMatchObject({ threads: 1, done: TEXTS.length })
  const two = await embedded(page, folder, { threads: 2, pool: 'shared' })
  expect(two).toEqual({ ...here, threads: 2, pool: 'shared' })
  await openLibrary(page, site.plain)
  expect(await embedded(page, folder, { threads: 2 })).toEqual({ ...here, pool: 'single' })
})

test('an ONNX repository has the vectors of onnxruntime, on one thread and on two', async ({
  page,
  site,
}) => {
  const files = [...repository('xlm-roberta')].map(([path, bytes]) => [path, newFile(path, bytes)] as const)
  const folder = await site.addFolder(new Map(files))
  await openLibrary(page, site.isolated)
  const here = await embedded(page, folder, { threads: 1 })
  for (const [index, result] of resultsOf('xlm-roberta').slice(0, 2).entries())
    for (const [at, value] of pooledResult(result, 'mean').entries())
      expect(here.vectors[index]![at]).toBeCloseTo(value, 5)
  expect(here).toMatchObject({ threads: 1, pool: 'single', done: TEXTS.length })
  expect(await embedded(page, folder, { threads: 2 })).toEqual({ ...here, threads: 2, pool: 'shared' })
  await openLibrary(page, site.plain)
  expect(await embedded(page, folder, { threads: 2 })).toEqual(here)
})

test("under a strict policy, a reranker's scores match the definition", async ({ page, site }) => {
  const model = randomBert(10, { isReranker: true })
  const folder = await site.addFolder(byPath(bertFolder(model, { prefix: 'bert.' })))
  await openLibrary(page, await site.under("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"))
  const results = await page.evaluate(
    async ({ folder, texts }) => {
      await using embedder = await embedders.load(folder, { threads: 1 })
      return (await embedder.rerank('a running cat', texts)).results
    },
    { folder, texts: TEXTS },
  )
  const right = TEXTS.map((text) => 1 / (1 + Math.exp(-bertScore(model, 'a running cat', text))))
  for (const { index, score } of results) expect(score).toBeCloseTo(right[index]!, 4)
  const scores = results.map(({ score }) => score)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
})

test('Dense modules are downloaded with their encoder, reopened without a server, and removed', async ({
  page,
  site,
}) => {
  const model = randomBody('gemma', 3)
  const module = randomDense(1, model.config.hidden_size, 24)
  const [pooling, ...files] = bodyFolder(model, { modules: ['Transformer', 'Pooling', 'Dense'] }).toReversed()
  const paths = new Map(files.map((file) => [file.name, file]))
  paths.set('1_Pooling/config.json', pooling!)
  for (const file of denseFiles(module)) paths.set(`2_Dense/${file.name}`, file)
  const folder = await site.addFolder(paths)
  await openLibrary(page, site.isolated)
  const vectorHere = () =>
    page.evaluate(async (folder) => {
      await using embedder = await embedders.load(folder, { threads: 1 })
      return [...(await embedder.embed(['abc'])).vectors[0]!]
    }, folder)
  const first = await vectorHere()
  const [before, after] = around(model)
  const ids = [...before, ...encoderTokenizer(jsonSpec()).encode('abc'), ...after]
  const right = denseOf(
    module,
    pooled(bodyStates(model, ids), () => 1),
  )
  for (const [at, value] of right.entries()) expect(first[at]).toBeCloseTo(value, 4)
  await page.route(`**/${folder}**`, (route) => route.abort())
  await expect(page.evaluate((file) => fetch(file), `${folder}config.json`)).rejects.toThrow(
    'Failed to fetch',
  )
  expect(await vectorHere()).toEqual(first)
  const left = await page.evaluate(async (folder) => {
    await halfbyte.unstore(folder)
    return (await halfbyte.storedFiles()).filter(({ url }) => url.includes(folder)).map(({ url }) => url)
  }, folder)
  expect(left).toEqual([])
})

test('an abort, a missing file, a missing script and a dead worker reject with their reasons', async ({
  page,
  site,
}) => {
  const folder = await site.addFolder(encoderFiles())
  await openLibrary(page, site.isolated)
  const found = await page.evaluate(async (folder) => {
    const reasonOf = (work: Promise<unknown>) =>
      work.then(
        () => 'no error',
        ({ code, name, message }) => `${code ?? name}: ${message}`,
      )
    const started: Worker[] = []
    globalThis.Worker = class extends Worker {
      constructor(...how: ConstructorParameters<typeof Worker>) {
        super(...how)
        started.push(this)
      }
    }
    const control = new AbortController()
    const aborted = embedders.load(folder, { signal: control.signal })
    control.abort(new Error('the tab was closed'))
    const embedder = await embedders.load(folder, { threads: 1 })
    const stop = new AbortController()
    const many = Array.from({ length: 300 }, () => 'the cat runs '.repeat(9))
    const onProgress = () => stop.abort(new Error('enough'))
    const stopped = await reasonOf(embedder.embed(many, { signal: stop.signal, onProgress }))
    const { tokens } = await embedder.embed(['cat'])
    for (const worker of started) worker.terminate()
    return {
      stopped,
      tokens,
      dead: await reasonOf(embedder.embed(many)),
      aborted: await reasonOf(aborted),
      absent: await reasonOf(embedders.load('models/none/', { cache: 'none' })),
      script: await reasonOf(embedders.load(folder, { assets: { worker: '/none.js' } })),
    }
  }, folder)
  expect(found).toEqual({
    stopped: 'Error: enough',
    tokens: [wordPieces('cat').length],
    dead: expect.stringMatching(/^internal: the engine's worker failed: it ended/),
    aborted: 'Error: the tab was closed',
    absent: expect.stringMatching(/^network: .*404/),
    script: expect.stringMatching(/^worker: the engine's worker script .*none\.js did not load/),
  })
})
