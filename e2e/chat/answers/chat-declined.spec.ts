// Declined questions. In: a build of the chat page with one pack, and the usual build without. Out: whether a
// question beyond the embedded model is declined with one button, and asked again once the chosen model is
// ready.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, type Page, test } from '@playwright/test'
import { build } from 'vite'
import { type HttpServer, ISOLATION, openServer, sendFile } from '../../../test/helpers/http-server.ts'
import { violations } from '../../violations.ts'
import { answers, ask, composer, loadingLine, openChat, overflowing, ready, say, set } from '../chat-page.ts'

const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url))
const BUILD = path('build/declined')
const CARD = {
  title: 'Tiny pack',
  about: 'A pack for this test.',
  languages: 'English',
  licence: 'Apache-2.0',
  source: 'Its makers',
  contextLength: 512,
}
const QUESTION = 'What is the capital of France?'
const DECLINED = 'That is beyond me'
const SIZES = [
  { width: 390, height: 844 },
  { width: 360, height: 640 },
  { width: 1280, height: 800 },
]

let site: HttpServer
/** Requests for the pack wait until this resolves. */
let held: Promise<void> | undefined
/** The status of the responses to these requests, instead of the pack. */
let broken: number | undefined

test.beforeAll(async () => {
  const packs = mkdtempSync(join(tmpdir(), 'halfbyte-packs-'))
  const before = process.env['HALFBYTE_PACKS']
  try {
    copyFileSync(path('test/conformance/models/halfbyte-tiny.hbm'), join(packs, 'Tiny-pack.hbm'))
    writeFileSync(join(packs, 'Tiny-pack.json'), JSON.stringify(CARD))
    process.env['HALFBYTE_PACKS'] = packs
    const configFile = path('demo/vite.config.ts')
    await build({ configFile, logLevel: 'error', build: { outDir: BUILD, emptyOutDir: true } })
  } finally {
    if (before === undefined) delete process.env['HALFBYTE_PACKS']
    else process.env['HALFBYTE_PACKS'] = before
    rmSync(packs, { recursive: true })
  }
  site = await openServer(async (request, response, at) => {
    response.setHeaders(new Map(Object.entries(ISOLATION)))
    if (at.startsWith('/packs/')) {
      await held
      if (broken !== undefined) return response.writeHead(broken).end()
    }
    return sendFile(request, response, join(BUILD, at.endsWith('/') ? `${at}index.html` : at))
  })
})
test.afterAll(() => site.close())
test.beforeEach(() => {
  held = undefined
  broken = undefined
})

const offer = (page: Page) => page.locator('model-offer')
const button = (page: Page) => offer(page).getByRole('button')
const answer = (page: Page) => answers(page).last().locator('.body')
const version = (page: Page) => answers(page).last().locator('.versions [role=status]')
const status = (page: Page) => page.locator('.foot > .visually-hidden[role=status]')
const shot = (page: Page, name: string) => page.screenshot({ path: `build/screens/declined-${name}.png` })

/** Opens the page with the pack, asks the question, and holds the download that the button starts. */
async function beginDownload(page: Page): Promise<() => void> {
  const gate = Promise.withResolvers<void>()
  await openChat(page, site.address)
  await set(page, { 'Longest answer': '8' })
  await ask(page, QUESTION)
  held = gate.promise
  await button(page).click()
  await expect(button(page)).toHaveText('Cancel')
  return gate.resolve
}

async function expectAnsweredByPack(page: Page): Promise<void> {
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await expect(version(page)).toContainText('2/2')
  await ready(page)
  await expect(answer(page)).not.toContainText(DECLINED)
  await expect(page.locator('.message.user')).toHaveText([new RegExp(QUESTION.replace('?', '\\?'))])
  await expect(button(page)).toHaveCount(0)
}

test('a question beyond the model is declined in one sentence; one button downloads the pack, and it is asked again', async ({
  page,
}) => {
  const gate = Promise.withResolvers<void>()
  const { problems } = await openChat(page, site.address)
  await set(page, { 'Longest answer': '8' })
  await ask(page, QUESTION)
  await expect(answer(page)).toHaveText(
    'That is beyond me: I am a small model for short stories and small talk in English.',
  )
  await expect(button(page)).toHaveCount(1)
  await expect(button(page)).toHaveText(/^Ask Tiny pack \(\d+(\.\d)? [kM]B, about \d+ sec to download\)$/)
  await expect(button(page)).toBeInViewport()
  // It is announced once, by the element that announces every answer.
  await expect(status(page)).toContainText(DECLINED)
  await expect(
    page.locator('[role=status], [role=alert], [aria-live]').filter({ hasText: DECLINED }),
  ).toHaveCount(1)
  expect(
    site.requests.filter((at) => at.startsWith('/packs/')),
    'nothing is fetched before the click',
  ).toEqual([])
  for (const size of SIZES) {
    await page.setViewportSize(size)
    expect(await overflowing(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await shot(page, `offer-${size.width}`)
  }

  held = gate.promise
  await button(page).focus()
  await page.keyboard.press('Enter')
  await expect(button(page)).toHaveText('Cancel')
  await expect(button(page)).toBeFocused()
  await expect(offer(page).getByRole('status')).toHaveText(
    'When Tiny pack is ready, your question is asked again.',
  )
  await expect(loadingLine(page)).toBeVisible()
  for (const size of SIZES) {
    await page.setViewportSize(size)
    expect(await overflowing(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await shot(page, `waiting-${size.width}`)
  }
  gate.resolve()
  await expectAnsweredByPack(page)
  await shot(page, 'answered')
  await page.getByRole('button', { name: 'Earlier version' }).click()
  await expect(answer(page)).toContainText(DECLINED)
  await expect(button(page), 'the loaded model can be asked by the message’s own button').toHaveCount(0)
  expect(problems).toEqual([])
})

test('after a reload during the download, the download continues and the question is asked again', async ({
  page,
}) => {
  const release = await beginDownload(page)
  await page.reload()
  await expect(button(page)).toHaveText('Cancel')
  release()
  await expectAnsweredByPack(page)
})

test('a question is not asked again if the user has written something else in the meantime', async ({
  page,
}) => {
  const release = await beginDownload(page)
  await say(page, 'Hello!')
  await expect(answers(page)).toHaveCount(2)
  await expect(answer(page)).not.toBeEmpty()
  release()
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await ready(page)
  await expect(page.locator('.versions')).toHaveCount(0)
  await expect(answers(page).first()).toContainText(DECLINED)
})

test('a question is not asked again if the user edited it into one that the model could answer', async ({
  page,
}) => {
  const release = await beginDownload(page)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Hello!')
  await page.getByRole('button', { name: 'Send again' }).click()
  await expect(answer(page)).not.toContainText(DECLINED)
  await expect(answer(page)).not.toBeEmpty()
  release()
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await ready(page)
  await expect(answers(page)).toHaveCount(1)
  await expect(version(page)).toHaveCount(0)
})

test('a question is not asked again in another conversation, or after its own was left', async ({ page }) => {
  const release = await beginDownload(page)
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  await expect(answers(page)).toHaveCount(0)
  release()
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await ready(page)
  await expect(answers(page)).toHaveCount(0)
  await page.goBack()
  await expect(answer(page)).toContainText(DECLINED)
  await expect(page.locator('.versions')).toHaveCount(0)
})

test('a cancelled download brings the offer back, and another try asks again', async ({ page }) => {
  const release = await beginDownload(page)
  await button(page).click()
  await expect(button(page)).toHaveText(/^Ask Tiny pack/)
  await expect(button(page)).toBeFocused()
  await expect(offer(page).getByRole('status')).toHaveText('')
  await expect(page.locator('.bar .model')).toContainText('Halfbyte Stories')
  release()
  await ready(page)
  await expect(answer(page)).toContainText(DECLINED)
  await button(page).click()
  await expectAnsweredByPack(page)
})

test('after a failed download, trying again asks again', async ({ page }) => {
  await openChat(page, site.address)
  await set(page, { 'Longest answer': '8' })
  await ask(page, QUESTION)
  broken = 404
  await button(page).click()
  const notice = page.locator('.notice.error')
  await expect(notice.getByRole('alert')).toBeVisible({ timeout: 30_000 })
  await expect(answer(page)).toContainText(DECLINED)
  broken = undefined
  await notice.getByRole('button', { name: 'Try again' }).click()
  await expectAnsweredByPack(page)
})

test('a model on this device is asked without a download', async ({ page }) => {
  await openChat(page, site.address)
  await set(page, { 'Longest answer': '8' })
  await ask(page, QUESTION)
  await button(page).click()
  await expectAnsweredByPack(page)
  await page.getByRole('button', { name: /^Model/ }).click()
  await page.getByRole('button', { name: /^Halfbyte Stories/ }).click()
  await ready(page)
  await ask(page, 'Who wrote Hamlet?')
  await expect(button(page)).toHaveText('Ask Tiny pack, which is on this device')
  site.requests.length = 0
  await button(page).click()
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await expect(version(page)).toContainText('2/2')
  expect(site.requests.filter((at) => at.startsWith('/packs/'))).toEqual([])
})

test('a question in another language opens the choice, because a pack may not know the language', async ({
  page,
}) => {
  await openChat(page, site.address)
  await ask(page, 'Wie heißt die Hauptstadt von Frankreich?')
  await expect(answer(page)).toContainText('I only know English')
  await button(page).click()
  const choice = page.getByRole('dialog', { name: 'Choose a larger model' })
  await expect(choice.locator('.choice').first()).toContainText(/Tiny pack.*about \d+ sec to download/s)
})

test('without a clear choice, the button opens one, with the size and time of each model', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  const elsewhere: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1')) elsewhere.push(request.url())
  })
  await ask(page, QUESTION)
  await expect(button(page)).toHaveText('Choose a larger model')
  await button(page).focus()
  await page.keyboard.press('Enter')
  const choice = page.getByRole('dialog', { name: 'Choose a larger model' })
  await expect(choice).toBeVisible()
  await expect(choice.locator('.choice').first()).toContainText(
    /SmolLM2 135M.*145 MB · about \d+ .* to download/s,
  )
  await expect(choice.getByText('Mamba 130M'), 'it was not trained to chat').toHaveCount(0)
  for (const size of SIZES) {
    await page.setViewportSize(size)
    expect(await overflowing(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await shot(page, `choice-${size.width}`)
  }
  await page.keyboard.press('Escape')
  await expect(button(page)).toBeFocused()
  await page.reload()
  await ready(page)
  await expect(button(page), 'the offer is stored with the answer').toHaveText('Choose a larger model')
  expect(elsewhere, 'nothing is fetched before a model is chosen').toEqual([])
  expect(problems).toEqual([])
})

test('requests for advice that could do harm are declined without offering a model', async ({ page }) => {
  await openChat(page)
  await ask(page, 'How much paracetamol can I take?')
  await expect(answer(page)).toContainText('please ask someone trained for it')
  await expect(offer(page)).toHaveCount(0)
  await composer(page).fill('')
})

test.describe('in a browser that prefers Hebrew', () => {
  test.use({ locale: 'he-IL' })

  test('the answer and its button are in Hebrew, from right to left', async ({ page }) => {
    await page.goto(site.address)
    await page.locator('chat-composer[ready]').waitFor({ timeout: 60_000 })
    await page.getByRole('textbox', { name: 'הודעה' }).fill(QUESTION)
    await page.getByRole('button', { name: 'שליחה', exact: true }).click()
    await expect(answer(page)).toContainText('זה מעבר ליכולתי')
    await expect(button(page)).toContainText('Tiny pack')
    expect(await overflowing(page)).toEqual([])
    await shot(page, 'hebrew')
  })
})
