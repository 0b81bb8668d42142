// Images in Chromium. In: a random model with a random tower, a PNG that the page draws. Out: the same reply
// as for the image's pixels, on every pool, and typed errors for files that aren't images.
import { expect, type Page } from '@playwright/test'
import { byPath } from '../../test/conformance/testing/random-bert.ts'
import { openLibrary, test } from '../library-site.ts'
import { seeingModel } from './seeing-model.ts'

/** Replies about a drawn image, as a PNG and as pixels, and the error code for a broken file. */
const replies = (page: Page, folder: string, options: { readonly threads: number }) =>
  page.evaluate(
    async ({ folder, options }) => {
      const canvas = new OffscreenCanvas(40, 21)
      const context = canvas.getContext('2d')!
      const gradient = context.createLinearGradient(0, 0, 40, 21)
      gradient.addColorStop(0, 'red')
      gradient.addColorStop(1, 'navy')
      context.fillStyle = gradient
      context.fillRect(0, 0, 40, 21)
      const pixels = context.getImageData(0, 0, 40, 21)
      const png = await canvas.convertToBlob({ type: 'image/png' })
      await using engine = await halfbyte.Engine.load(`${folder}model.gguf`, {
        ...options,
        vision: `${folder}mmproj.gguf`,
      })
      const send = (data: Blob | ImageData) =>
        engine.createSession().send(
          {
            role: 'user',
            content: [
              { type: 'image', data },
              { type: 'text', text: 'what?' },
            ],
          },
          { temperature: 0, maxTokens: 8 },
        ).result
      const first = await send(png)
      const second = await send(pixels)
      const broken = await send(new Blob(['no picture'], { type: 'image/png' })).catch((error) => error.code)
      return {
        texts: [first.text, second.text],
        cached: first.usage.cachedTokens,
        prompt: first.usage.promptTokens,
        broken,
        pool: engine.pool,
        sees: engine.model.seesImages,
      }
    },
    { folder, options },
  )

test('a file gives the same reply as its pixels, on every pool', async ({ page, site }) => {
  const folder = await site.addFolder(byPath(await seeingModel()))
  await openLibrary(page, site.isolated)
  const shared = await replies(page, folder, { threads: 2 })
  expect(shared).toMatchObject({ pool: 'shared', broken: 'format', cached: 0, sees: true })
  expect(shared.prompt).toBeGreaterThan(100)
  expect(shared.texts[0]).not.toBe('')
  expect(shared.texts[1]).toBe(shared.texts[0])
  const single = await replies(page, folder, { threads: 1 })
  expect(single).toEqual({ ...shared, pool: 'single' })
  await openLibrary(page, site.plain)
  const shards = await replies(page, folder, { threads: 2 })
  expect(shards.pool).toBe('shards')
  expect(shards.texts[1]).toBe(shards.texts[0])
})

test('a page with a strict policy loads a tower, and reports a missing one', async ({ page, site }) => {
  const folder = await site.addFolder(byPath(await seeingModel()))
  await openLibrary(page, await site.under("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"))
  const code = await page.evaluate(async (address) => {
    await using engine = await halfbyte.Engine.load(`${address}model.gguf`, {
      threads: 1,
      vision: `${address}mmproj.gguf`,
    })
    if (!engine.model.seesImages) return 'blind'
    return halfbyte.Engine.load(`${address}model.gguf`, { threads: 1, vision: `${address}none.gguf` }).then(
      () => 'loaded',
      (error) => error.code,
    )
  }, folder)
  expect(code).toBe('network')
})
