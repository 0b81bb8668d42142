// Bundlers. In: the packed package in a fresh Vite app. Out: whether it runs there, in development and built,
// isolated and not.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test as base, expect, type Page } from '@playwright/test'
import { build, createServer, type InlineConfig, preview } from 'vite'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../test/conformance/testing/golden.ts'
import { type PackedApp, packedApp } from './packed-app.ts'

/** A minimal page of a new user. */
const PAGE = '<!doctype html><title>App</title><script type="module" src="/main.js"></script>'
const SCRIPT = `
import { Engine } from 'halfbyte'

globalThis.run = async (options) => {
  const engine = await Engine.load('golden.gguf', { ...options, cache: 'none' })
  const { text } = await engine.complete(${JSON.stringify(GOLDEN_PROMPT)}, ${JSON.stringify(GOLDEN_OPTIONS)}).result
  await engine.dispose()
  return { text, threads: engine.threads, build: engine.build }
}
`

const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

const test = base.extend<object, { app: PackedApp }>({
  app: [
    async ({ browserName: _ }, use) => {
      const app = await packedApp()
      const golden = await goldenFile(GOLDEN)
      await mkdir(join(app.folder, 'public'))
      await writeFile(join(app.folder, 'public/golden.gguf'), new Uint8Array(await golden.arrayBuffer()))
      await writeFile(join(app.folder, 'index.html'), PAGE)
      await writeFile(join(app.folder, 'main.js'), SCRIPT)
      await use(app)
      await app.remove()
    },
    { scope: 'worker' },
  ],
})

/** Exactly the README's configuration. Links stand for the files that npm would have copied. */
const config = (app: PackedApp, headers: Record<string, string>): InlineConfig => ({
  configFile: false,
  root: app.folder,
  logLevel: 'error',
  optimizeDeps: { exclude: ['halfbyte'] },
  resolve: { preserveSymlinks: true },
  server: { host: '127.0.0.1', port: 0, headers, watch: null },
  preview: { host: '127.0.0.1', port: 0, headers },
})

async function tryPage(page: Page, url: string): Promise<void> {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('requestfailed', (request) => problems.push(request.url()))
  await page.goto(url)
  await page.waitForFunction(() => 'run' in globalThis)
  for (const build of ['relaxed', 'simd128'] as const) {
    const reply = await page.evaluate(
      (options) => (globalThis as unknown as { run(options: object): Promise<object> }).run(options),
      { build, threads: 2 },
    )
    expect(reply).toEqual({ text: goldenReply(GOLDEN).text, threads: 2, build })
  }
  expect(problems).toEqual([])
}

for (const [name, headers] of [
  ['isolated', ISOLATION],
  ['not isolated', {}],
] as const) {
  test(`the packed package runs in Vite's dev server, ${name}`, async ({ page, app }) => {
    const server = await createServer(config(app, headers))
    await server.listen()
    try {
      await tryPage(page, server.resolvedUrls?.local[0] as string)
    } finally {
      await server.close()
    }
  })

  test(`the packed package runs as Vite builds it, ${name}`, async ({ page, app }) => {
    await build(config(app, headers))
    const server = await preview(config(app, headers))
    try {
      await tryPage(page, server.resolvedUrls?.local[0] as string)
    } finally {
      await server.close()
    }
  })
}
