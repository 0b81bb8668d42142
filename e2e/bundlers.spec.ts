// Bundlers. In: the packed package in a fresh Vite app. Out: whether it runs in the dev server and in the
// build, isolated and not.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test as base, expect, type Page } from '@playwright/test'
import { build, createServer, type InlineConfig, preview } from 'vite'
import { NodeWriter, TYPE } from '../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../src/network/onnx/testing/write-model.ts'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../test/conformance/testing/golden.ts'
import { type PackedApp, packedApp } from './packed/app.ts'

/** A new user's minimal page. */
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

/** Exactly the README's configuration. Uses links instead of the copies that npm would make. */
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

  test(`the packed package runs in Vite's build, ${name}`, async ({ page, app }) => {
    await build(config(app, headers))
    const server = await preview(config(app, headers))
    try {
      await tryPage(page, server.resolvedUrls?.local[0] as string)
    } finally {
      await server.close()
    }
  })
}

const NETWORK_SCRIPT = `
import { Network } from 'halfbyte/network'

globalThis.run = async (options) => {
  const network = await Network.load('share.onnx', { ...options, fallback: 'ort', cache: 'none' })
  const { y } = await network.run({ x: { dtype: 'f32', dims: [1, 3], data: Float32Array.of(1, 2, 1) } })
  await network.dispose()
  return [...y.data]
}
`

test("a network uses the application's onnxruntime-web, in development and in Vite's build", async ({
  page,
}) => {
  const app = await packedApp(['onnxruntime-web'])
  const to = new NodeWriter()
  const share = to.node('LpNormalization', ['x'], ['share'], { axis: 1, p: 1 })
  to.node('Add', [share, to.float(0.5)], ['y'])
  const x = { name: 'x', type: TYPE.f32, dims: [1, 3] }
  const outputs = [{ name: 'y', type: TYPE.f32 }]
  const bytes = modelBytes({ nodes: to.nodes, constants: to.constants, inputs: [x], outputs })
  await mkdir(join(app.folder, 'public'))
  await writeFile(join(app.folder, 'public/share.onnx'), bytes)
  await writeFile(join(app.folder, 'index.html'), PAGE)
  await writeFile(join(app.folder, 'main.js'), NETWORK_SCRIPT)
  const own = { ...config(app, ISOLATION), optimizeDeps: { exclude: ['halfbyte', 'onnxruntime-web'] } }
  const outputsOf = async (url: string) => {
    await page.goto(url)
    await page.waitForFunction(() => 'run' in globalThis)
    return page.evaluate(async () => {
      const { run } = globalThis as unknown as { run(options: object): Promise<number[]> }
      return [await run({ worker: false }), await run({})]
    })
  }
  const development = await (await createServer(own)).listen()
  expect(await outputsOf(development.resolvedUrls?.local[0] as string)).toEqual([
    [0.75, 1, 0.75],
    [0.75, 1, 0.75],
  ])
  await development.close()
  await build(own)
  const built = await preview(own)
  expect(await outputsOf(built.resolvedUrls?.local[0] as string)).toEqual([
    [0.75, 1, 0.75],
    [0.75, 1, 0.75],
  ])
  await built.close()
  await app.remove()
})
