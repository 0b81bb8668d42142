// The page's content security. In: the built chat page, a model from another origin, foreign scripts and
// images. Out: what the browser permits.
import { readFileSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { answers, ask, openChat, openModels, openSettings, ready } from './chat/chat-page.ts'
import { serveModels } from './model-server.ts'
import { blocked, watchPolicy } from './policy.ts'

const tiny = {
  name: 'tiny.hbm',
  buffer: readFileSync(new URL('../test/conformance/models/halfbyte-tiny.hbm', import.meta.url)),
}

test('a conversation, the dialogs and a model from another origin cause no violation of the policy', async ({
  page,
}) => {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) complaints.push(message.text())
  })
  await watchPolicy(page)
  const { problems } = await openChat(page)
  await ask(page, 'Write **bold**, a table and `code`.')
  await openSettings(page)
  await page.getByRole('button', { name: 'Done' }).click()
  const server = await serveModels([tiny])
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}tiny.hbm`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect.poll(() => server.requests.length).toBeGreaterThan(0)
  await ready(page)
  await ask(page, 'And again.')
  await expect(answers(page)).toHaveCount(2)
  await server.close()
  expect([problems, complaints, await blocked(page)]).toEqual([[], [], []])
})

test('inline scripts, and images, frames and styles from elsewhere, are blocked', async ({ page }) => {
  await watchPolicy(page)
  await openChat(page)
  await page.evaluate(() => {
    const add = (name: string, values: Readonly<Record<string, string>>) =>
      document.body.append(Object.assign(document.createElement(name), values))
    add('script', { textContent: 'globalThis.isBroken = true' })
    add('img', { src: 'http://127.0.0.1:9/a.png' })
    add('iframe', { src: 'http://127.0.0.1:9/' })
    add('script', { src: 'http://127.0.0.1:9/a.js' })
    add('link', { rel: 'stylesheet', href: 'http://127.0.0.1:9/a.css' })
  })
  await expect
    .poll(async () => (await blocked(page)).map((violation) => violation.split(' ')[0]).sort())
    .toEqual(['frame-src', 'img-src', 'script-src-elem', 'script-src-elem', 'style-src-elem'])
  expect(await page.evaluate(() => 'isBroken' in globalThis)).toBe(false)
})
