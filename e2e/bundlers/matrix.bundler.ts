// The matrix of bundlers. In: the packed package in an app of each. Out: whether the embedded model answers
// there, and the widget with it, built and from the dev server, isolated and not.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as base, expect, type Page } from '@playwright/test'
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
import { type PackedApp, packedApp } from '../packed-app.ts'
import { appFolder, runBundler, startServer } from './app-folder.ts'
import { BUNDLERS } from './table.ts'

const MODEL = readFileSync(new URL(`../../${TINY_PATH}`, import.meta.url))
const PORT = Number(process.env['HALFBYTE_PORT'] ?? 4173) + 2

const test = base.extend<object, { packed: PackedApp; models: string }>({
  packed: [
    async ({ browserName: _ }, use) => {
      const packed = await packedApp()
      await use(packed)
      await packed.remove()
    },
    { scope: 'worker' },
  ],
  models: [
    async ({ browserName: _ }, use) => {
      const golden = Buffer.from(await (await goldenFile(GOLDEN)).arrayBuffer())
      const server = await serveModels([
        { name: 'tiny.hbm', buffer: MODEL },
        { name: 'golden.gguf', buffer: golden },
      ])
      await use(server.address)
      await server.close()
    },
    { scope: 'worker' },
  ],
})

/**
 * The page of an app answers in both builds, on two threads, also under a constraint and from a GGUF, and so
 * does its widget.
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

for (const { name, app, build, out, dev } of BUNDLERS) {
  test.describe(name, () => {
    let folder: string
    test.beforeAll(async ({ packed }) => {
      folder = await appFolder(name, app, packed)
    })

    test(`${name}, built: the embedded model answers, isolated and not`, async ({ page, models }) => {
      await runBundler(folder, build)
      for (const [isIsolated, headers] of [
        [true, ISOLATION],
        [false, {}],
      ] as const) {
        const server = await serveFolder(join(folder, out), headers)
        await tryPage(page, server.address, models, isIsolated).finally(() => server.close())
      }
    })

    if (dev === undefined) return
    test(`${name}, dev server: the embedded model answers, isolated and not`, async ({ page, models }) => {
      for (const isolation of ['on', 'off'] as const) {
        // A browser keeps the headers of an address that answers 304.
        const port = isolation === 'on' ? PORT : PORT + 1
        const server = await startServer(folder, dev, port, isolation)
        await tryPage(page, server.address, models, isolation === 'on').finally(() => server.close())
      }
    })
  })
}
