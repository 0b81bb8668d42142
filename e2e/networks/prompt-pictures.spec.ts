// A page's images in the Prompt API. In: a drawing as a canvas, an image, a bitmap, pixels, a video frame and
// a file. Out: its pixels or the file, and an error for an image that was never loaded.
import { fileURLToPath } from 'node:url'
import { expect } from '@playwright/test'
import { build, type Rolldown } from 'vite'
import { openLibrary, test } from '../library-site.ts'

const SOURCE = fileURLToPath(new URL('../../src/adapters/prompt-api/pictures.ts', import.meta.url))

async function script(): Promise<string> {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry: SOURCE, formats: ['es'], fileName: 'pictures' } },
  })) as Rolldown.RolldownOutput[]
  return built[0]!.output[0].code
}

test('every form of an image gives the same pixels', async ({ page, site }) => {
  await openLibrary(page, site.plain)
  const found = await page.evaluate(
    async (code) => {
      const address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
      const { pictureOf } = (await import(address)) as { pictureOf(value: unknown): ImageData }
      const canvas = Object.assign(document.createElement('canvas'), { width: 14, height: 9 })
      const context = canvas.getContext('2d')!
      context.fillStyle = 'red'
      context.fillRect(0, 0, 14, 9)
      context.fillStyle = 'blue'
      context.fillRect(3, 3, 5, 2)
      const pixels = context.getImageData(0, 0, 14, 9)
      const file = await new Promise<Blob>((resolve) => canvas.toBlob((blob) => resolve(blob!)))
      const image = new Image()
      image.src = URL.createObjectURL(file)
      await image.decode()
      image.width = 20
      const offscreen = new OffscreenCanvas(14, 9)
      offscreen.getContext('2d')!.drawImage(canvas, 0, 0)
      const frame = new VideoFrame(canvas, { timestamp: 0 })
      const forms = { canvas, image, offscreen, pixels, bitmap: await createImageBitmap(canvas), frame }
      const wrong = Object.entries(forms).filter(([, value]) => {
        const { width, height, data } = pictureOf(value)
        return width !== 14 || height !== 9 || `${data}` !== `${pixels.data}`
      })
      frame.close()
      let refused = ''
      try {
        pictureOf(new Image())
      } catch (error) {
        refused = (error as Error).message
      }
      return { wrong: wrong.map(([name]) => name), isFile: (pictureOf(file) as unknown) === file, refused }
    },
    await script(),
  )
  expect(found).toMatchObject({ wrong: [], isFile: true })
  expect(found.refused).toContain('image, canvas or video frame that has finished loading')
})
