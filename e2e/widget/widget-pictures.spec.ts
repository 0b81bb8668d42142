// Pictures in the widget. In: a random vision model, pictures that the page draws, the strictest policy. Out:
// whether pictures can be picked, pasted, dropped and photographed, reach the model, and are rejected with
// messages.
import type { Page } from '@playwright/test'
import { type BroughtFile, bringTo } from '../chat/files/bring-file.ts'
import { seeingModel } from '../networks/seeing-model.ts'
import { blocked } from '../policy.ts'
import { violations } from '../violations.ts'
import { answersOf, chat, expect, field, MODEL, reported, send, test } from './widget-site.ts'

const SCREENS = [
  { width: 390, height: 844 },
  { width: 360, height: 640 },
  { width: 1280, height: 800 },
] as const

async function seeingSite(markup = '') {
  const files = await seeingModel()
  const entries = files.map(
    async (file) => [`/${file.name}`, new Uint8Array(await file.arrayBuffer())] as const,
  )
  return {
    markup: `<halfbyte-chat model="/model.gguf" keep="tab" autoload ${markup}></halfbyte-chat>`,
    script: `Object.assign(document.querySelector('halfbyte-chat'), {
      loadOptions: { vision: '/mmproj.gguf', threads: 1 },
      generateOptions: { temperature: 0, maxTokens: 6 },
    })`,
    files: Object.fromEntries(await Promise.all(entries)),
  }
}

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

const attached = (page: Page) => chat(page).getByRole('list', { name: 'Attached pictures' })
const attach = (page: Page) => chat(page).getByRole('button', { name: 'Attach pictures' })

async function pick(page: Page, file: BroughtFile): Promise<void> {
  const chosen = page.waitForEvent('filechooser')
  await attach(page).click()
  await (await chosen).setFiles(file)
}

test('pictures can be picked, pasted and dropped, the model reads them, and the strictest policy allows it', async ({
  page,
  sites,
}) => {
  await sites.open(page, await seeingSite())
  await expect(attach(page)).toBeVisible()
  await pick(page, await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveText([/dusk\.png/])
  await bringTo(field(page), 'paste', await drawn(page, 'dawn.png', 'gold', 'white'))
  await expect(attached(page).getByRole('listitem')).toHaveCount(2)
  await bringTo(
    field(page),
    'drop',
    await drawn(page, 'a-name-far-too-long-for-the-width-of-a-phone.png', 'red', 'red'),
  )
  await expect(attached(page).getByRole('img')).toHaveCount(3)
  for (const screen of SCREENS) {
    await page.setViewportSize(screen)
    await page.screenshot({ path: `build/screens/widget-pictures-${screen.width}.png` })
    const panel = chat(page).locator('.panel')
    expect(await panel.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
  }
  expect(await violations(page)).toEqual([])
  await chat(page)
    .getByRole('button', { name: /^Remove a-name/ })
    .click()

  await send(page, 'What is here?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(attached(page)).toHaveCount(0)
  const shown = chat(page).locator('.message.user').getByRole('img')
  await expect(shown).toHaveCount(2)
  await expect(shown.first()).toHaveAttribute('aria-label', 'dusk.png')
  const sides = await shown.evaluateAll((list) =>
    list.map((canvas) => [(canvas as HTMLCanvasElement).width, (canvas as HTMLCanvasElement).height]),
  )
  expect(sides).toEqual([
    [400, 210],
    [400, 210],
  ])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/widget-pictures-sent.png' })
  expect((await reported(page)).filter(({ name }) => name === 'error')).toEqual([])
  expect(await blocked(page)).toEqual([])

  // Another visit shows the names of the pictures.
  await page.reload()
  await expect(chat(page).getByText('Picture: dusk.png')).toBeVisible()
})

test('the answer depends on the picture, which needs no text', async ({ page, sites }) => {
  await sites.open(page, await seeingSite())
  await expect(attach(page)).toBeVisible()
  const said: string[] = []
  for (const [from, to] of [
    ['red', 'navy'],
    ['white', 'gold'],
    ['red', 'navy'],
  ] as const) {
    if (said.length > 0) await chat(page).getByRole('button', { name: 'New conversation' }).click()
    await pick(page, await drawn(page, 'a.png', from, to))
    await expect(attached(page).getByRole('listitem')).toHaveCount(1)
    await chat(page).getByRole('button', { name: 'Send' }).click()
    await expect(answersOf(chat(page))).toHaveCount(1)
    said.push(await answersOf(chat(page)).innerText())
  }
  expect(said[0]).not.toBe('')
  expect(said[2]).toBe(said[0])
  expect(said[1]).not.toBe(said[0])
})

test('files that are not pictures, damaged pictures and too many pictures are rejected with a message', async ({
  page,
  sites,
}) => {
  await sites.open(page, await seeingSite())
  await expect(attach(page)).toBeVisible()
  const picture = await drawn(page, 'dusk.png', 'red', 'navy')
  const wrong = chat(page).getByRole('alert')
  await bringTo(field(page), 'drop', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('words') })
  await expect(wrong).toHaveText('a.txt is not a picture. Only pictures can be attached.')
  await bringTo(field(page), 'paste', { ...picture, name: 'cut.png', buffer: picture.buffer.subarray(0, 40) })
  await expect(wrong).toHaveText('cut.png is damaged, or this browser cannot show it.')
  await bringTo(field(page), 'paste', { ...picture, name: 'big.png', buffer: Buffer.alloc(20_000_001) })
  await expect(wrong).toHaveText('big.png has 20.0 MB. A picture can have up to 20.0 MB.')
  for (let count = 1; count <= 8; count++) {
    await bringTo(field(page), 'paste', { ...picture, name: `${count}.png` })
    await expect(attached(page).getByRole('listitem')).toHaveCount(count)
  }
  await expect(wrong).toHaveCount(0)
  await bringTo(field(page), 'paste', picture)
  await expect(wrong).toHaveText('A message can have up to 8 pictures, not 9.')
  expect(await violations(page)).toEqual([])
})

test('on a phone there is a camera button', async ({ page, sites }) => {
  await sites.open(page, await seeingSite())
  const chosen = page.waitForEvent('filechooser')
  await chat(page).getByRole('button', { name: 'Take a photo' }).click()
  const chooser = await chosen
  expect(chooser.isMultiple()).toBe(false)
  await expect(chat(page).locator('input[capture]')).toHaveAttribute('capture', 'environment')
  await chooser.setFiles(await drawn(page, 'photo.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveText([/photo\.png/])
})

test('a model without vision has no button for pictures, and pasting one gives a message', async ({
  page,
  sites,
}) => {
  await sites.open(page, { markup: `<halfbyte-chat model="${MODEL}" autoload></halfbyte-chat>` })
  await expect.poll(async () => (await reported(page)).map(({ name }) => name)).toContain('ready')
  await bringTo(field(page), 'paste', await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(chat(page).getByRole('alert')).toHaveText('This model cannot see pictures.')
  await expect(attach(page)).toHaveCount(0)
  await expect(attached(page)).toHaveCount(0)
})

test('a picture that was attached before the model loaded is answered with an explanation', async ({
  page,
  sites,
}) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" download-bytes="5000000"></halfbyte-chat>`,
  })
  await bringTo(field(page), 'paste', await drawn(page, 'dusk.png', 'red', 'navy'))
  await expect(attached(page).getByRole('listitem')).toHaveCount(1)
  await send(page, 'What is here?')
  await chat(page).getByRole('button', { name: 'Download' }).click()
  await expect(chat(page).getByRole('alert')).toContainText('This model cannot see pictures.')
})
