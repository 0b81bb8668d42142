// Images. In: the built chat page, a random vision model, images that the page draws. Out: whether images can
// be picked, dropped and pasted, reach the model, are stored and exported, and whether unusable ones are
// rejected with a message.
import { readFile } from 'node:fs/promises'
import { expect, type Page, test } from '@playwright/test'
import { byPath } from '../../../test/conformance/testing/random-bert.ts'
import { filesBelow, type ModelServer, serveModels } from '../../model-server.ts'
import { seeingModel } from '../../networks/seeing-model.ts'
import { violations } from '../../violations.ts'
import {
  answers,
  ask,
  composer,
  openChat,
  openModels,
  openSettings,
  overflowing,
  readTokens,
  ready,
  sendButton,
  set,
  storedModels,
  unfoldSettings,
} from '../chat-page.ts'
import { type BroughtFile, bring, pick } from './bring-file.ts'

let server: ModelServer
let files: readonly { readonly name: string; readonly buffer: Buffer }[]

test.beforeAll(async () => {
  files = await filesBelow('', byPath(await seeingModel()))
  server = await serveModels(files)
})
test.afterAll(() => server.close())

/** A PNG of a gradient between two colours. */
async function drawn(page: Page, name: string, from: string, to: string): Promise<BroughtFile> {
  const bytes = await page.evaluate(
    async ([first, last]) => {
      const canvas = new OffscreenCanvas(400, 210)
      const context = canvas.getContext('2d')!
      const gradient = context.createLinearGradient(0, 0, 400, 210)
      gradient.addColorStop(0, first)
      gradient.addColorStop(1, last)
      context.fillStyle = gradient
      context.fillRect(0, 0, 400, 210)
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())]
    },
    [from, to] as const,
  )
  return { name, mimeType: 'image/png', buffer: Buffer.from(bytes) }
}

async function loadSeeing(page: Page): Promise<void> {
  await openModels(page)
  await page
    .getByLabel('Choose files')
    .setInputFiles(files.map((file) => ({ ...file, mimeType: 'application/octet-stream' })))
  await ready(page)
  await expect(page.locator('.bar .model')).toHaveText('model.gguf')
}

const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' })
const shown = (page: Page) => page.locator('.message.user .pictures img')

/** Whether an image is shown with its pixels. */
const isDrawn = (page: Page) =>
  expect
    .poll(() =>
      shown(page)
        .first()
        .evaluate((image: HTMLImageElement) => image.naturalWidth),
    )
    .toBe(400)

test('images can be picked, dropped and pasted, the model reads them, and they are stored', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await loadSeeing(page)
  await set(page, { 'Longest answer': '5', Temperature: '0' })
  await pick(page, await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveText([/dusk\.png/])
  await bring(page, 'paste', await drawn(page, 'dawn.png', 'gold', 'white'))
  await bring(
    page,
    'drop',
    await drawn(page, 'a-name-far-too-long-for-the-width-of-a-phone.png', 'red', 'red'),
  )
  await expect(attached(page).getByRole('listitem')).toHaveCount(3)
  await expect(attached(page).getByRole('img')).toHaveCount(3)
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/pictures.png' })
  await page.getByRole('button', { name: /^Remove a-name/ }).click()

  await composer(page).fill('What is here?')
  await sendButton(page).click()
  await ready(page)
  await expect(attached(page)).toHaveCount(0)
  await expect(shown(page)).toHaveCount(2)
  await isDrawn(page)
  const [read] = await readTokens(page)
  const answer = await answers(page).locator('.body').textContent()
  expect(answer).not.toBe('')
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/pictures-sent.png' })

  // The next turn does not process either image again.
  await ask(page, 'And?')
  expect((await readTokens(page))[0]).toBeLessThan(read)

  // A later visit no longer has the model's files, but still shows the images.
  await page.reload()
  await ready(page)
  await isDrawn(page)
  await page.getByRole('button', { name: 'OK' }).click()
  await expect(page.getByText('This model cannot see the pictures in this conversation.')).toBeVisible()
  expect(await violations(page)).toEqual([])
  await ask(page, 'Hello!')
  expect(problems).toEqual([])
})

test('the answer depends on the image, and an edited question is sent again with it', async ({ page }) => {
  await openChat(page)
  await loadSeeing(page)
  await set(page, { 'Longest answer': '12', Temperature: '0' })
  const said: (string | null)[] = []
  for (const [from, to] of [
    ['red', 'navy'],
    ['white', 'gold'],
    ['red', 'navy'],
  ] as const) {
    if (said.length > 0) await page.getByRole('button', { name: 'Start a new chat' }).click()
    await pick(page, await drawn(page, 'a.png', from, to))
    // An image needs no text.
    await sendButton(page).click()
    await ready(page)
    said.push(await answers(page).locator('.body').textContent())
  }
  expect(said[0]).not.toBe('')
  expect(said[2]).toBe(said[0])
  expect(said[1]).not.toBe(said[0])
  await page.getByRole('button', { name: 'Conversations' }).click()
  const titles = page.getByRole('dialog', { name: 'Conversations' }).getByRole('link', { name: 'a.png' })
  await expect(titles).toHaveCount(3)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Why?')
  await expect(page.locator('.edit .pictures img')).toHaveCount(1)
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(shown(page)).toHaveCount(1)
  await expect(page.locator('.message.user .body')).toContainText('Why?')
})

test('a phone shows a camera button once a model supports images', async ({ page }) => {
  await openChat(page)
  const camera = page.getByRole('button', { name: 'Take a photo' })
  await expect(camera).toHaveCount(0)
  await loadSeeing(page)
  const chosen = page.waitForEvent('filechooser')
  await camera.click()
  const chooser = await chosen
  expect(chooser.isMultiple()).toBe(false)
  await expect(page.locator('input[capture]')).toHaveAttribute('capture', 'environment')
  await chooser.setFiles(await drawn(page, 'photo.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveText([/photo\.png/])
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 360, height: 640 },
  ]) {
    await page.setViewportSize(viewport)
    expect(await overflowing(page)).toEqual([])
    await page.screenshot({ path: `build/screens/camera-${viewport.width}.png` })
  }
  expect(await violations(page)).toEqual([])
})

test('an image for a model without vision, and a file that is not an image, are rejected with a message', async ({
  page,
}) => {
  await openChat(page)
  const picture = await drawn(page, 'dusk.png', 'red', 'navy')
  await pick(page, picture)
  await expect(page.getByRole('alert')).toHaveText(
    /cannot see pictures\. Choose a vision model .* dusk\.png\./,
  )
  await expect(attached(page)).toHaveCount(0)
  await loadSeeing(page)
  await bring(page, 'drop', { ...picture, name: 'broken.png', buffer: picture.buffer.subarray(0, 40) })
  await expect(page.getByRole('alert')).toHaveText(/cannot show broken\.png/)
  expect(await violations(page)).toEqual([])
})

test('a model at a URL is loaded with its tower, on later visits too, and both are removed together', async ({
  page,
}) => {
  await openChat(page)
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}model.gguf`)
  await page.getByLabel('Vision tower').fill(`${server.address}mmproj.gguf`)
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await ready(page)
  await pick(page, await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveCount(1)
  await page.reload()
  await ready(page)
  await pick(page, await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveCount(1)
  await openModels(page)
  await page.getByRole('button', { name: 'Forget model.gguf' }).click()
  await expect.poll(() => storedModels(page)).toEqual([])
})

/** Asks a vision model about one image. */
async function askAboutDusk(page: Page): Promise<void> {
  await openChat(page)
  await loadSeeing(page)
  await set(page, { 'Longest answer': '2' })
  await pick(page, await drawn(page, 'dusk.png', 'red', 'navy'))
  await ask(page, 'Dusk?')
}

test('a conversation with an image is exported and imported', async ({ page }) => {
  await askAboutDusk(page)
  await page.getByRole('button', { name: 'Conversations' }).click()
  const drawer = page.getByRole('dialog', { name: 'Conversations' })
  await drawer.getByRole('button', { name: 'More for Dusk?' }).click()
  const [json] = await Promise.all([
    page.waitForEvent('download'),
    drawer.getByRole('button', { name: 'Export as JSON: Dusk?' }).click(),
  ])
  await drawer.getByRole('button', { name: 'Delete Dusk?' }).click()
  const buffer = await readFile(await json.path())
  await drawer
    .getByLabel('Import conversations')
    .setInputFiles({ name: 'dusk.json', mimeType: 'application/json', buffer })
  await expect(drawer.getByText('Imported 1 conversation.')).toBeVisible()
  await drawer.getByRole('link', { name: 'Dusk?', exact: true }).click()
  await isDrawn(page)
})

test('images are read as a whole unless the user chooses tiles', async ({ page }) => {
  await askAboutDusk(page)
  const [whole] = await readTokens(page)
  await openSettings(page)
  await unfoldSettings(page)
  await page.getByLabel('Pictures', { exact: true }).selectOption('Full image plus tiles')
  await page.getByRole('dialog').getByRole('button', { name: 'Reload the model' }).click()
  await ready(page)
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await ready(page)
  expect((await readTokens(page))[0]).toBeGreaterThan(2 * whole)
})
