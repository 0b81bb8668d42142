// Failures to start. In: dist/cdn on servers with strict headers or missing files. Out: the error message for
// each.
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, type Page } from '@playwright/test'
import { GOLDEN, goldenFile } from '../../test/conformance/testing/golden.ts'
import { type HttpServer, serveFolder } from '../../test/helpers/http-server.ts'
import { test as base } from '../library-site.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

/** A script that stores the result in `outcome`, as text. */
const attempt = (library: string, options = {}, model = '/models/halfbyte-stories.hbm') => `
import { Engine } from '${library}'
const sentence = (error) => error.name === 'HalfbyteError' ? error.code + ': ' + error.message : 'untyped ' + error
const load = Engine.load('${model}', ${JSON.stringify({ threads: 1, ...options })})
const [support, loaded, probed] = await Promise.all([
  Engine.support(),
  load.then((engine) => 'loaded ' + engine.threads, sentence),
  Engine.probe('${model}', ${JSON.stringify(options)}).then(() => 'probed', sentence),
])
const outcome = { reason: support.reason, loaded, probed }
`

interface Outcome {
  readonly reason: string | undefined
  readonly loaded: string
  readonly probed: string
}

const pageOf = (script: string) =>
  `<!doctype html><title>App</title><script type="module">${script}globalThis.outcome = outcome</script>`

const test = base.extend<{
  serve(pages: Record<string, string>, headers?: Record<string, string>, folder?: string): Promise<HttpServer>
}>({
  async serve({ browserName: _ }, use) {
    const servers: HttpServer[] = []
    await use(async (pages, headers = {}, folder = DIST) => {
      const server = await serveFolder(folder, headers, pages)
      servers.push(server)
      return server
    })
    await Promise.all(servers.map((server) => server.close()))
  },
})

async function outcomeOf(page: Page, url: string): Promise<Outcome> {
  await page.goto(url)
  await page.waitForFunction(() => 'outcome' in globalThis)
  return page.evaluate(() => (globalThis as unknown as { outcome: Outcome }).outcome)
}

const both = (sentence: string) => ({ loaded: sentence, probed: sentence })

test('the error names a policy without wasm-unsafe-eval', async ({ page, serve }) => {
  const headers = { 'Content-Security-Policy': "default-src 'self'; script-src 'self' 'unsafe-inline'" }
  const server = await serve({ '/': pageOf(attempt('/cdn/halfbyte.js')) }, headers)
  const reason =
    "the page's Content-Security-Policy forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src"
  expect(await outcomeOf(page, server.address)).toEqual({ reason, ...both(`unsupported: ${reason}`) })
})

const STRICTEST =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types halfbyte"

test('the strictest working policy has wasm-unsafe-eval and the Trusted Types policy halfbyte', async ({
  page,
  serve,
}) => {
  const pages = {
    '/': '<!doctype html><title>App</title><script type="module" src="/app.js"></script>',
    '/app.js': `${attempt('/cdn/halfbyte.js', { threads: 2 })}globalThis.outcome = outcome`,
  }
  const server = await serve(pages, { 'Content-Security-Policy': STRICTEST })
  expect(await outcomeOf(page, server.address)).toEqual({ loaded: 'loaded 2', probed: 'probed' })
})

test('a format’s reader loads under the strictest policy, and the error names it if it is missing', async ({
  page,
  serve,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-static-'))
  await cp(join(DIST, 'cdn'), folder, { recursive: true })
  const golden = await goldenFile(GOLDEN)
  await writeFile(join(folder, 'golden.gguf'), new Uint8Array(await golden.arrayBuffer()))
  const pages = {
    '/': '<!doctype html><title>App</title><script type="module" src="/app.js"></script>',
    '/app.js': `${attempt('/halfbyte.js', { cache: 'none' }, '/golden.gguf')}globalThis.outcome = outcome`,
  }
  const server = await serve(pages, { 'Content-Security-Policy': STRICTEST }, folder)
  expect(await outcomeOf(page, server.address)).toEqual({ loaded: 'loaded 1', probed: 'probed' })
  await rm(join(folder, 'readers/gguf.js'))
  const address = `${server.address}readers/gguf.js`
  const { loaded, probed } = await outcomeOf(page, server.address)
  expect(loaded).toBe(
    `network: the part of the library that reads GGUF, ${address}, did not load: Failed to fetch dynamically imported module: ${address}; ` +
      'check that the build has this file and that the page may load scripts from there',
  )
  expect(probed).toBe(loaded)
  await rm(folder, { recursive: true })
})

test('the error names Trusted Types without the policy halfbyte', async ({ page, serve }) => {
  const policy = "require-trusted-types-for 'script'; trusted-types other"
  const server = await serve(
    { '/': pageOf(attempt('/cdn/halfbyte.js')) },
    { 'Content-Security-Policy': policy },
  )
  const { loaded, probed } = await outcomeOf(page, server.address)
  expect(loaded).toMatch(
    /^worker: the browser refused to start a worker \(.+\); allow the Trusted Types policy "halfbyte"$/,
  )
  expect(probed).toBe(loaded)
})

const CHECK =
  'did not load; check that the build has this file (node_modules/halfbyte/docs/guide/bundlers.md), ' +
  "the server (404? CORS?) and the page's policy (worker-src)"

test('the error for a missing worker script has its URL', async ({ page, serve }) => {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-static-'))
  await cp(join(DIST, 'cdn/halfbyte.js'), join(folder, 'halfbyte.js'))
  const server = await serve({ '/': pageOf(attempt('/halfbyte.js')) }, {}, folder)
  const address = `${server.address}workers/engine.worker.js`
  expect(await outcomeOf(page, server.address)).toEqual(
    both(`worker: the engine's worker script ${address} ${CHECK}`),
  )
  await rm(folder, { recursive: true })
})

test('the error for a worker script blocked by a policy names the script', async ({ page, serve }) => {
  const headers = { 'Content-Security-Policy': "worker-src 'none'" }
  const server = await serve({ '/': pageOf(attempt('/cdn/halfbyte.js')) }, headers)
  const { loaded, probed } = await outcomeOf(page, server.address)
  expect([loaded, probed]).toEqual([expect.stringContaining(CHECK), expect.stringContaining(CHECK)])
})

/** The script of the library's built page. */
const bundledScript = async (address: string): Promise<string> => {
  const [, script] = /<script[^>]* src="\.\/([^"]+)"/.exec(
    await (await fetch(address)).text(),
  ) as RegExpExecArray
  return script as string
}

const BUNDLED = attempt('', { threads: 2 }).replace(
  "import { Engine } from ''",
  'const { Engine } = globalThis.halfbyte',
)

test("the error for a bundle's missing worker script has its URL", async ({ page, site }) => {
  await page.context().route(/engine\.worker/, (route) => route.fulfill({ status: 404 }))
  const workers: string[] = []
  page.context().on('request', (request) => workers.push(request.url()))
  await page.goto(site.plain)
  await page.waitForFunction(() => globalThis.halfbyte !== undefined)
  const loaded = await page.evaluate(() =>
    halfbyte.Engine.load('model.gguf').catch((error) => `${error.code}: ${error.message}`),
  )
  const address = workers.find((url) => url.includes('engine.worker'))
  expect(loaded).toBe(`worker: the engine's worker script ${address} ${CHECK}`)
})

test('a bundle from another origin starts its workers through scripts of the page', async ({
  page,
  serve,
  site,
}) => {
  const script = `import '${site.plain}${await bundledScript(site.plain)}'\n${BUNDLED}`
  const server = await serve({ '/': pageOf(script) })
  expect(await outcomeOf(page, server.address)).toEqual({ loaded: 'loaded 2', probed: 'probed' })
  expect(server.requests.filter((path) => path.endsWith('.js'))).toEqual([])
})

test('the error for a missing compute worker script names it, and a note says why there are fewer threads', async ({
  page,
  site,
}) => {
  await page.goto(site.plain)
  await page.waitForFunction(() => globalThis.halfbyte !== undefined)
  const model = await site.add(
    new File([readFileSync(join(DIST, 'models/halfbyte-stories.hbm'))], 'tiny.hbm'),
  )
  const found = await page.evaluate(async (model) => {
    const asked = (options: object) =>
      halfbyte.Engine.load(model, options).then(
        async (engine) => {
          await engine.dispose()
          return { threads: engine.threads, pool: engine.pool, note: engine.note }
        },
        (error) => `${error.code}: ${error.message}`,
      )
    return {
      missing: await asked({ threads: 2, assets: { compute: '/none.js' } }),
      shared: await asked({ threads: 2, pool: 'shared' }),
      single: await asked({ threads: 2, pool: 'single' }),
      shards: await asked({ threads: 2, pool: 'shards' }),
      one: await asked({ threads: 1, pool: 'shared' }),
    }
  }, model)
  expect(found).toEqual({
    missing: `internal: a thread of the engine died: its script ${site.plain}none.js did not load; load the model again`,
    shared: {
      threads: 1,
      pool: 'single',
      note: 'threads cannot share memory here; isolate the page (COOP, COEP) or use the shards pool',
    },
    single: { threads: 1, pool: 'single', note: 'the single pool has one thread' },
    shards: { threads: 2, pool: 'shards', note: undefined },
    one: { threads: 1, pool: 'single', note: undefined },
  })
})

const NO_WORKERS =
  'no workers can be started here; load the engine in a page or in a dedicated worker, and in Node import the package unbundled'

test('a shared worker gets an error with advice, and a dedicated worker loads', async ({ page, serve }) => {
  const script = attempt('/cdn/halfbyte.js')
  // A module with top-level await would miss the connection, so the listener is added first.
  const late = script.replace(/^import .*$/m, "const { Engine } = await import('/cdn/halfbyte.js')")
  const pages = {
    '/': '<!doctype html><title>App</title>',
    '/shared.js': `const ports = new Promise((resolve) => {
  onconnect = ({ ports: [port] }) => resolve(port)
})
${late}
;(await ports).postMessage(outcome)`,
    '/dedicated.js': `${script}postMessage(outcome)`,
  }
  const server = await serve(pages)
  await page.goto(server.address)
  const shared = await page.evaluate(
    () =>
      new Promise<unknown>((resolve) => {
        const { port } = new SharedWorker('/shared.js', { type: 'module' })
        port.onmessage = ({ data }) => resolve(data)
      }),
  )
  expect(shared).toEqual({ reason: NO_WORKERS, ...both(`unsupported: ${NO_WORKERS}`) })
  const dedicated = await page.evaluate(
    () =>
      new Promise<unknown>((resolve) => {
        const worker = new Worker('/dedicated.js', { type: 'module' })
        worker.onmessage = ({ data }) => resolve(data)
      }),
  )
  expect(dedicated).toEqual({ reason: undefined, loaded: 'loaded 1', probed: 'probed' })
})

test.describe('where service workers are allowed', () => {
  test.use({ serviceWorkers: 'allow' })

  test('a service worker gets an error with advice', async ({ page, serve }) => {
    const pages = {
      '/': '<!doctype html><title>App</title>',
      '/service.js': `import { Engine } from '/cdn/halfbyte.js'
const sentence = (error) => error.name === 'HalfbyteError' ? error.code + ': ' + error.message : 'untyped ' + error
addEventListener('message', async ({ source }) => {
  const support = await Engine.support()
  const said = (work) => work.then(() => 'nothing', sentence)
  const loaded = await said(Engine.load('/models/halfbyte-stories.hbm'))
  source.postMessage({ reason: support.reason, loaded, probed: await said(Engine.probe('/models/halfbyte-stories.hbm')) })
})`,
    }
    const server = await serve(pages)
    await page.goto(server.address)
    const told = await page.evaluate(async () => {
      const answer = new Promise<unknown>((resolve) =>
        navigator.serviceWorker.addEventListener('message', ({ data }) => resolve(data), { once: true }),
      )
      const { installing, waiting, active } = await navigator.serviceWorker.register('/service.js', {
        type: 'module',
      })
      ;(installing ?? waiting ?? active)?.postMessage('ask')
      navigator.serviceWorker.startMessages()
      return answer
    })
    expect(told).toEqual({ reason: NO_WORKERS, ...both(`unsupported: ${NO_WORKERS}`) })
  })
})
