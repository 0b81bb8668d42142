// The widget on a page. In: dist/cdn/widget.js under a strict policy. Out: what the widget requests,
// downloads, shows and reports, from the first gesture to an answer.
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { endlessModel } from '../endless-model.ts'
import { serveModels } from '../model-server.ts'
import { blocked } from '../policy.ts'
import { accept, answersOf, chat, expect, field, MODEL, reported, send, test } from './widget-site.ts'

const GREEDY = `document.querySelector('halfbyte-chat').generateOptions = ${JSON.stringify(EMBEDDED_OPTIONS)}`
const SIZE = 5_333_184

test('the model is not requested before a gesture, and not downloaded before consent', async ({
  page,
  sites,
}) => {
  const server = await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}"></halfbyte-chat>`,
    script: GREEDY,
  })
  await expect(chat(page).getByText('It is answered on this device')).toBeVisible()
  const own = ['/', '/page.css', '/page.js', '/cdn/widget.js']
  // The icon may be requested at any time.
  expect(server.requests.filter((path) => path !== '/icon.svg').sort()).toEqual([...own].sort())
  await send(page, EMBEDDED_TURNS[0] as string)
  await expect(chat(page).getByText('downloaded once: 5.3 MB')).toBeVisible()
  expect((await reported(page)).map(({ name }) => name)).toEqual(['message'])
  await accept(page)
  await expect(answersOf(chat(page))).toHaveText(repliesOf('embedded')[0] as string)
  const names = (await reported(page)).map(({ name }) => name)
  expect(names.filter((name, at) => name !== names[at - 1])).toEqual([
    'message',
    'progress',
    'ready',
    'message',
  ])
  expect(await blocked(page)).toEqual([])
})

test('a download size given by the page is shown without any request', async ({ page, sites }) => {
  const server = await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" download-bytes="${SIZE}"></halfbyte-chat>`,
  })
  await send(page, 'Hello')
  await expect(chat(page).getByText('downloaded once: 5.3 MB')).toBeVisible()
  expect(server.requests.filter((path) => /models|wasm|worker/.test(path))).toEqual([])
  await chat(page).getByRole('button', { name: 'Not now' }).click()
  await expect(field(page)).toBeFocused()
  await chat(page).getByRole('button', { name: 'Try again' }).click()
  await accept(page)
  await expect(answersOf(chat(page))).toHaveCount(1)
})

test('a stored model needs no consent, and autoload needs no gesture', async ({ page, sites }) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload></halfbyte-chat><halfbyte-chat id="later"></halfbyte-chat>`,
  })
  await expect.poll(async () => (await reported(page)).map(({ name }) => name)).toContain('ready')
  await page.reload()
  await expect.poll(async () => (await reported(page)).map(({ name }) => name)).toContain('ready')
  await page.evaluate((model) => {
    const later = document.querySelector('#later') as HTMLElement & {
      model: string
      send(text: string): void
    }
    document.querySelector('halfbyte-chat')?.remove()
    later.model = model
    later.send('Hello')
  }, `.${MODEL}`)
  await expect(answersOf(page.locator('#later'))).toHaveCount(1)
})

for (const end of ['a reload', 'a crash'] as const) {
  test(`${end} in the middle of an answer keeps the part that was shown`, async ({
    page,
    context,
    sites,
  }) => {
    const models = await serveModels(endlessModel())
    const { address } = await sites.open(page, {
      markup: `<halfbyte-chat model="${models.address}" autoload keep="device"></halfbyte-chat>`,
      headers: {},
    })
    await send(page, 'Tell me a very long story.')
    await expect(chat(page).locator('.message.growing .body')).toContainText(/\w{3}/)
    const shown = (await chat(page).locator('.message.growing .body').textContent()) ?? ''
    let next = page
    if (end === 'a reload') await page.reload()
    else {
      await page.waitForTimeout(1000)
      const session = await context.newCDPSession(page)
      const crashed = page.waitForEvent('crash')
      // The command gets no answer, because the renderer is gone.
      session.send('Page.crash').catch(() => undefined)
      await crashed
      await page.close()
      next = await context.newPage()
      await next.goto(address)
    }
    await expect(chat(next).getByText('Stopped', { exact: true })).toBeVisible()
    const plain = (text: string) => text.replaceAll(/\s+/g, '')
    // Text at the end, such as half of a link, renders differently once it is complete.
    const known = plain(shown).slice(0, -32)
    expect(plain((await answersOf(chat(next)).textContent()) ?? '').slice(0, known.length)).toBe(known)
    await expect(chat(next).getByRole('button', { name: 'Answer again' })).toBeVisible()
    await models.close()
  })
}

test('full storage is reported to the page once, and the conversation continues', async ({ page, sites }) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload keep="device"></halfbyte-chat>`,
    script: `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }`,
  })
  await send(page, 'Hello')
  await expect(answersOf(chat(page))).toHaveCount(1)
  const errors = (await reported(page)).filter(({ name }) => name === 'error')
  expect(errors.map(({ detail }) => detail?.['code'])).toEqual(['storage-full'])
})

test('an answer streams, is stopped by Escape, and can be regenerated', async ({ page, sites }) => {
  const models = await serveModels(endlessModel())
  await sites.open(page, {
    markup: `<halfbyte-chat model="${models.address}" autoload></halfbyte-chat>`,
    headers: {},
  })
  await send(page, 'Tell me a very long story.')
  await expect(chat(page).locator('.message.growing .body')).toContainText(/\w+/)
  await field(page).press('Escape')
  await expect(chat(page).getByText('Stopped', { exact: true })).toBeVisible()
  await chat(page).getByRole('button', { name: 'Answer again' }).click()
  await expect(chat(page).getByRole('button', { name: 'Stop' })).toBeVisible()
  await chat(page).getByRole('button', { name: 'Stop' }).click()
  await expect(chat(page).locator('.message.assistant')).toHaveCount(1)
  await models.close()
})

test('an error says what to do, and a retry answers the question', async ({ page, sites }) => {
  await sites.open(page, { markup: '<halfbyte-chat model="/missing.hbm"></halfbyte-chat>' })
  await send(page, 'Hello')
  await expect(chat(page).getByRole('alert')).toContainText('The server does not have the model.')
  const [error] = (await reported(page)).filter(({ name }) => name === 'error')
  expect(error?.detail).toMatchObject({ code: 'network' })
  await page.evaluate((model) => {
    Object.assign(document.querySelector('halfbyte-chat') as HTMLElement, { model })
  }, MODEL)
  await chat(page).getByRole('button', { name: 'Try again' }).click()
  await accept(page)
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(chat(page).getByRole('alert')).toHaveCount(0)
})

test('a widget without a model says what is missing', async ({ page, sites }) => {
  await sites.open(page, { markup: '<halfbyte-chat></halfbyte-chat>' })
  await send(page, 'Hello')
  const detail = async () => (await reported(page)).find(({ name }) => name === 'error')?.detail
  await expect.poll(detail).toEqual({
    code: 'unsupported',
    message: 'no model is given; set the attribute model or the property engine',
  })
})

test('a model’s output and stored conversations cannot run scripts', async ({ page, sites }) => {
  const evil = '<img src=x onerror="globalThis.hacked = 1"> [a](javascript:hacked=1) **b**'
  const kept = [
    { role: 'user', content: evil },
    { role: 'assistant', content: evil, passages: [{ text: evil, title: 'T', url: 'javascript:hacked=1' }] },
  ]
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" keep="device"></halfbyte-chat>`,
    script: `localStorage.setItem('halfbyte-chat:default', ${JSON.stringify(JSON.stringify(kept))})`,
  })
  await expect(answersOf(chat(page)).locator('strong')).toHaveText('b')
  await chat(page).getByText('Sources (1)').click()
  await expect(chat(page).locator('.sources blockquote')).toHaveText(evil)
  expect(await chat(page).locator('img, a').count()).toBe(0)
  expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false)
  expect(await blocked(page)).toEqual([])
})

test('a conversation is stored as the page requests, and forgotten when a new one starts', async ({
  page,
  sites,
}) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload keep="device" name="help"></halfbyte-chat>
      <halfbyte-chat id="other" keep="device" name="other"></halfbyte-chat>`,
  })
  await send(page, 'Hello')
  await expect(answersOf(chat(page))).toHaveCount(1)
  const said = await answersOf(chat(page)).textContent()
  await page.reload()
  await expect(answersOf(chat(page))).toHaveText(said ?? '')
  await expect(page.locator('#other .message')).toHaveCount(0)
  await chat(page).getByRole('button', { name: 'New conversation' }).click()
  await page.reload()
  await expect(chat(page).getByText('It is answered on this device')).toBeVisible()
})
