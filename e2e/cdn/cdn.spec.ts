// The library without a bundler. In: dist/cdn, from a static file server. Out: whether the embedded model
// answers in a page of the same origin, of another origin, and in a sandboxed frame.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test as base, expect, type Frame, type Page } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { CROSS_ORIGIN, type HttpServer, ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

/** A page with one script. `at`: the URL of dist. */
const pageOf = (at: string) => `<!doctype html><title>App</title>
<script type="module">
  import { Engine } from '${at}cdn/halfbyte.js'
  globalThis.run = async (threads) => {
    const engine = await Engine.load('${at}models/halfbyte-stories.hbm', { threads })
    const text = await engine.createSession().send(${JSON.stringify(EMBEDDED_TURNS[0])}, ${JSON.stringify(EMBEDDED_OPTIONS)}).text()
    const { pool } = engine
    await engine.dispose()
    return { text, pool, threads: engine.threads }
  }
</script>`

const test = base.extend<{ library: HttpServer }>({
  async library({ browserName: _ }, use) {
    const server = await serveFolder(DIST, CROSS_ORIGIN)
    await use(server)
    await server.close()
  },
})

async function answer(page: Page | Frame, threads = 2): Promise<object> {
  await page.waitForFunction(() => 'run' in globalThis)
  return page.evaluate(
    (threads) => (globalThis as unknown as { run(n: number): Promise<object> }).run(threads),
    threads,
  )
}

const reply = (pool: string, threads = 2) => ({ text: repliesOf('embedded')[0], pool, threads })

for (const [name, headers, pool] of [
  ['isolated', ISOLATION, 'shared'],
  ['not isolated', {}, 'shards'],
] as const) {
  test(`one module script from the page's own server answers, ${name}`, async ({ page }) => {
    const server = await serveFolder(DIST, headers, { '/': pageOf('/') })
    await page.goto(server.address)
    expect(await answer(page)).toEqual(reply(pool))
    const scripts = server.requests.filter((path) => path.endsWith('.js'))
    const workers = ['/cdn/workers/compute.worker.js', '/cdn/workers/engine.worker.js']
    expect([...new Set(scripts)].sort()).toEqual(['/cdn/halfbyte.js', ...workers])
    await server.close()
  })

  test(`one module script from another origin answers, ${name}`, async ({ page, library }) => {
    const server = await serveFolder(DIST, headers, { '/': pageOf(library.address) })
    await page.goto(server.address)
    expect(await answer(page)).toEqual(reply(pool))
    expect(server.requests.filter((path) => !path.endsWith('favicon.ico'))).toEqual(['/'])
    await server.close()
  })
}

test('a sandboxed frame without an origin answers', async ({ page, library }) => {
  const frame = pageOf(library.address).replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const outer = `<!doctype html><title>App</title><iframe sandbox="allow-scripts" srcdoc="${frame}"></iframe>`
  const server = await serveFolder(DIST, {}, { '/': outer })
  await page.goto(server.address)
  const inner = page.frames()[1] as Frame
  expect(await answer(inner)).toEqual(reply('shards'))
  expect(await inner.evaluate(() => globalThis.origin)).toBe('null')
  await server.close()
})

test('a sandboxed frame from the same server answers', async ({ page }) => {
  const pages = {
    '/': '<!doctype html><title>App</title><iframe sandbox="allow-scripts" src="/frame"></iframe>',
    '/frame': pageOf('/'),
  }
  const server = await serveFolder(DIST, CROSS_ORIGIN, pages)
  await page.goto(server.address)
  expect(await answer(page.frames()[1] as Frame)).toEqual(reply('shards'))
  await server.close()
})

test('the listed hashes let a browser check the script', async ({ page, library }) => {
  const hashes = JSON.parse(readFileSync(`${DIST}/cdn/integrity.json`, 'utf8')) as Record<string, string>
  const server = await serveFolder(DIST, {}, { '/': '<!doctype html><title>App</title>' })
  await page.goto(server.address)
  const outcome = (integrity: string | undefined) =>
    page.evaluate(
      ([src, integrity]) =>
        new Promise<string>((resolve) => {
          const values = { type: 'module', crossOrigin: 'anonymous', integrity, src: `${src}?${integrity}` }
          const script = Object.assign(document.createElement('script'), values)
          script.onload = () => resolve('runs')
          script.onerror = () => resolve('refused')
          document.head.append(script)
        }),
      [`${library.address}cdn/halfbyte.js`, integrity] as const,
    )
  expect(await outcome(hashes['halfbyte.js'])).toBe('runs')
  expect(await outcome(hashes['workers/engine.worker.js'])).toBe('refused')
  await server.close()
})
