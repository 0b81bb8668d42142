// The matrix of bundlers. In: the packed package in an app for each bundler. Out: whether the embedded model
// answers, also in the widget, and whether a network runs, both built and from the dev server, isolated and
// not.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { bertBytes } from '../../lab/bench/graphs/bert.ts'
import {
  EMBEDDED_OPTIONS,
  EMBEDDED_TURNS,
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  repliesOf,
  TINY_PATH,
} from '../../test/conformance/testing/golden.ts'
import { ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'
import { serveModels } from '../model-server.ts'
import { packedTest } from '../packed/test.ts'
import { appFolder, runBundler, startServer } from './app-folder.ts'
import { BUNDLERS } from './table.ts'

const MODEL = readFileSync(new URL(`../../${TINY_PATH}`, import.meta.url))
const GRAPH = { layers: 1, hidden: 64, heads: 2, intermediate: 64, vocabulary: 20, positions: 16 }
const PORT = Number(process.env['HALFBYTE_PORT'] ?? 4173) + 2

const test = packedTest.extend<object, { models: string }>({
  models: [
    async ({ browserName: _ }, use) => {
      const golden = Buffer.from(await (await goldenFile(GOLDEN)).arrayBuffer())
      const server = await serveModels([
        { name: 'tiny.hbm', buffer: MODEL },
        { name: 'golden.gguf', buffer: golden },
        { name: 'bert.onnx', buffer: Buffer.from(bertBytes(GRAPH)) },
      ])
      await use(server.address)
      await server.close()
    },
    { scope: 'worker' },
  ],
})

/**
 * Checks that an app's page answers in both builds, on two threads, under a constraint and from a GGUF, and
 * that its widget answers.
 */
async function tryPage(page: Page, url: string, models: string, isIsolated: boolean): Promise<void> {
  const model = `${models}tiny.hbm`
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('response', (response) => {
    const isIcon = response.url().endsWith('favicon.ico')
    if (response.status() >= 400 && !isIcon) problems.push(`${response.status()} ${response.url()}`)
  })
  await page.goto(url)
  await page.waitForFunction(() => 'run' in globalThis)
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(isIsolated)
  for (const build of ['relaxed', 'simd128'] as const) {
    const reply = await page.evaluate(
      ([model, options]) =>
        (globalThis as unknown as { run(model: string, options: object): Promise<object> }).run(
          model,
          options,
        ),
      [model, { build, threads: 2, prompt: EMBEDDED_TURNS[0], reply: EMBEDDED_OPTIONS }] as const,
    )
    const pool = isIsolated ? 'shared' : 'shards'
    const choice = 'this and nothing else'
    expect(reply).toEqual({ text: repliesOf('tiny')[0], choice, threads: 2, pool, build })
  }
  const completed = await page.evaluate(
    ([model, options]) =>
      (globalThis as unknown as { complete(model: string, options: object): Promise<string> }).complete(
        model,
        options,
      ),
    [`${models}golden.gguf`, { prompt: GOLDEN_PROMPT, reply: GOLDEN_OPTIONS }] as const,
  )
  expect(completed).toBe(goldenReply(GOLDEN).text)
  const answer = await page.evaluate(
    ([model, options]) =>
      (globalThis as unknown as { ask(model: string, options: object): Promise<string> }).ask(model, options),
    [model, { prompt: EMBEDDED_TURNS[0], reply: EMBEDDED_OPTIONS }] as const,
  )
  expect(answer).toBe(repliesOf('tiny')[0])
  expect(problems).toEqual([])
}

/** Checks that a network gives the same outputs in the page, in its worker and on threads. */
async function tryNetworks(page: Page, models: string): Promise<void> {
  const [first = [], ...others] = await page.evaluate(
    (address) =>
      (globalThis as unknown as { compute(address: string): Promise<number[][]> }).compute(address),
    `${models}bert.onnx`,
  )
  expect(Math.hypot(...first)).toBeGreaterThan(1)
  expect(others).toEqual([first, first])
}

/** Opens the built page, isolated and not. */
async function tryBuilt(page: Page, folder: string, models: string, hasNetworks: boolean): Promise<void> {
  for (const isIsolated of [true, false]) {
    const server = await serveFolder(folder, isIsolated ? ISOLATION : {})
    try {
      await tryPage(page, server.address, models, isIsolated)
      if (hasNetworks) await tryNetworks(page, models)
    } finally {
      await server.close()
    }
  }
}

for (const { name, app, workspace = '.', build, out, dev, hasNetworksApart = false } of BUNDLERS) {
  test.describe(name, () => {
    let folder: string
    test.beforeAll(async ({ packed }) => {
      folder = await appFolder(name, app, packed, { hasNetworks: !hasNetworksApart, workspace })
    })

    test(`${name}, built: the embedded model answers, isolated and not`, async ({ page, models }) => {
      await runBundler(folder, build)
      await tryBuilt(page, join(folder, out), models, !hasNetworksApart)
    })

    if (hasNetworksApart)
      test(`${name}, built with networks: the same`, async ({ page, packed, models }) => {
        const other = await appFolder(`${name} networks`, app, packed, { hasNetworks: true })
        await runBundler(other, build, { NETWORKS: 'on' })
        await tryBuilt(page, join(other, out), models, true)
      })

    if (dev === undefined) return
    test(`${name}, dev server: the embedded model answers, isolated and not`, async ({ page, models }) => {
      for (const isolation of ['on', 'off'] as const) {
        // If the server answers 304, a browser reuses the headers that it cached.
        const port = isolation === 'on' ? PORT : PORT + 1
        const server = await startServer(folder, dev, port, isolation)
        try {
          await tryPage(page, server.address, models, isolation === 'on')
          if (!hasNetworksApart) await tryNetworks(page, models)
        } finally {
          await server.close()
        }
      }
    })
  })
}
