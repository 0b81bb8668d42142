// The library in a page of a Chrome extension: files under chrome-extension: have no ranges and no lengths.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, expect, test } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { chromiumOptions } from '../chromium.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

const MANIFEST = {
  manifest_version: 3,
  name: 'Halfbyte in an extension',
  version: '1.0',
  background: { service_worker: 'background.js' },
  content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'" },
  cross_origin_embedder_policy: { value: 'require-corp' },
  cross_origin_opener_policy: { value: 'same-origin' },
}
const PANEL = `import { Engine } from './cdn/halfbyte.js'
globalThis.run = async (cache) => {
  const engine = await Engine.load('models/halfbyte-stories.hbm', { threads: 2, cache })
  const text = await engine.createSession().send(${JSON.stringify(EMBEDDED_TURNS[0])}, ${JSON.stringify(EMBEDDED_OPTIONS)}).text()
  const { pool } = engine
  await engine.dispose()
  return { text, pool }
}`

test('a model of more than one range loads from an extension, stored and not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-extension-'))
  await cp(join(DIST, 'cdn'), join(folder, 'cdn'), { recursive: true })
  await cp(join(DIST, 'models'), join(folder, 'models'), { recursive: true })
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(MANIFEST))
  await writeFile(join(folder, 'background.js'), '')
  await writeFile(join(folder, 'panel.html'), '<!doctype html><script type="module" src="panel.js"></script>')
  await writeFile(join(folder, 'panel.js'), PANEL)
  const { args = [], ...options } = chromiumOptions()
  const context = await chromium.launchPersistentContext('', {
    ...options,
    args: [...args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
  })
  try {
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
    const page = await context.newPage()
    await page.goto(new URL('panel.html', worker.url()).href)
    await page.waitForFunction(() => 'run' in globalThis)
    for (const cache of ['opfs', 'opfs', 'none']) {
      const answer = await page.evaluate(
        (cache) => (globalThis as unknown as { run(cache: string): Promise<object> }).run(cache),
        cache,
      )
      expect(answer).toEqual({ text: repliesOf('embedded')[0], pool: 'shared' })
    }
  } finally {
    await context.close()
    await rm(folder, { recursive: true })
  }
})
