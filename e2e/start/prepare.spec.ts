// Preparation. In: dist/cdn on a plain page. Out: whether a load uses the prepared worker and module.
import { fileURLToPath } from 'node:url'
import { expect } from '@playwright/test'
import { serveFolder } from '../../test/helpers/http-server.ts'
import { test } from '../library-site.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const PAGE = `<!doctype html><title>App</title><script type="module">
import { Engine } from '/cdn/halfbyte.js'
Engine.prepare()
globalThis.load = () => Engine.load('/models/halfbyte-stories.hbm', { threads: 1 })
</script>`

test('prepared files are downloaded before the load, and the load requests no others', async ({ page }) => {
  const server = await serveFolder(DIST, {}, { '/app.html': PAGE })
  try {
    const asked: string[] = []
    page.context().on('request', (request) => asked.push(new URL(request.url()).pathname))
    const module = page
      .context()
      .waitForEvent('requestfinished', (request) => request.url().endsWith('.wasm'))
    await page.goto(`${server.address}app.html`)
    await module
    expect(asked.some((path) => path.endsWith('.hbm'))).toBe(false)
    const model = await page.evaluate(async () => {
      const { load } = globalThis as unknown as { load(): Promise<{ model: { id: string } }> }
      return (await load()).model.id
    })
    expect(model).toBe('Halfbyte Stories')
    expect(asked.filter((path) => path.endsWith('engine.worker.js'))).toHaveLength(1)
    expect(asked.filter((path) => path.endsWith('.wasm'))).toHaveLength(1)
  } finally {
    await server.close()
  }
})
