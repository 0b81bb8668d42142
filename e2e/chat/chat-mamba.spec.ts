// The embedded Mamba. In: the built chat page. Out: whether a user can choose it, talk to it, and use it
// again offline.
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { LLAMA_1B } from '../../lab/bench/shapes.ts'
import { hollowModel } from '../../test/conformance/testing/writers/hollow-model.ts'
import { answers, ask, kept, openChat, openModels, overflowing, readTokens, ready, set } from './chat-page.ts'

const NAME = 'Halfbyte Mamba'
const modelName = (page: Page) => page.locator('.bar .model')

async function choose(page: Page, name: RegExp): Promise<void> {
  await openModels(page)
  expect(await overflowing(page)).toEqual([])
  await page.getByRole('button', { name }).click()
  await ready(page)
}

test('it can be chosen, answers, processes only new messages, and is still selected after a reload', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await expect(modelName(page)).toHaveText('Halfbyte Stories')
  await choose(page, new RegExp(`^${NAME}`))
  await expect(modelName(page)).toHaveText(NAME)
  await set(page, { 'Longest answer': '40', Seed: '3' })
  await ask(page, 'Tell me a story.')
  const story = await answers(page).last().locator('.body').innerText()
  expect(story.length).toBeGreaterThan(20)
  await ask(page, 'What happened then?')
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(40)
  expect(read).toBeLessThan(30)
  await expect.poll(() => kept(page)).toBe(1)

  await page.reload()
  await ready(page)
  await expect(modelName(page)).toHaveText(NAME)
  await ask(page, 'Go on.')
  const [readAfter, allAfter] = await readTokens(page)
  expect(allAfter).toBeGreaterThan(all)
  expect(readAfter, 'after a reload').toBeLessThan(30)

  await choose(page, /^Halfbyte Stories/)
  await expect(modelName(page)).toHaveText('Halfbyte Stories')
  await page.reload()
  await ready(page)
  await expect(modelName(page)).toHaveText('Halfbyte Stories')
  expect(problems).toEqual([])
})

test('the displayed memory does not grow with the conversation', async ({ page }) => {
  await openChat(page)
  await choose(page, new RegExp(`^${NAME}`))
  await set(page, { 'Longest answer': '6', Seed: '3' })
  const shown: string[] = []
  for (let turn = 0; turn < 14; turn++) {
    await ask(page, `Tell me a story about a fox and ${turn + 2} hens.`)
    shown.push(await page.locator('[data-stat=memory]').innerText())
  }
  // Checkpoints are kept up to a byte limit, which a few turns fill.
  expect(new Set(shown.slice(3)).size, shown.join(', ')).toBe(1)
  // Earlier messages can still be edited, because evicted states are computed again.
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Tell me a story about an owl.')
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(answers(page)).toHaveCount(1)
  expect(await page.locator('[data-stat=memory]').innerText()).toBe(shown.at(-1))
})

test.describe('with its service worker', () => {
  test.use({ serviceWorkers: 'allow' })

  test('the page’s own models can be chosen again after a large one', async ({ page }, info) => {
    test.slow()
    const { header, size } = hollowModel({ ...LLAMA_1B, layers: 6, vocabSize: 1024 }, 'Q8_0')
    const large = info.outputPath('large.gguf')
    writeFileSync(large, header)
    truncateSync(large, size)
    await openChat(page)
    await set(page, { 'Longest answer': '5' })
    await ask(page, 'Hello!')
    await page.evaluate(() => navigator.serviceWorker.ready)
    await page.reload()
    await ready(page)
    expect(await page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true)
    for (const name of ['Halfbyte Stories', NAME]) {
      await openModels(page)
      await page.getByLabel('Choose files').setInputFiles(large)
      await expect(modelName(page)).toContainText('large.gguf')
      await ready(page)
      await choose(page, new RegExp(`^${name}`))
      await expect(modelName(page)).toHaveText(name)
      await expect(page.getByRole('alert')).toHaveCount(0)
      await ask(page, 'Hello!')
    }
    rmSync(large)
  })

  test('it is downloaded when chosen, and then needs no network', async ({ page, context }) => {
    await openChat(page)
    await ask(page, 'Hello!')
    // An active worker is not enough, because it caches only files fetched by pages under its control.
    await page.evaluate(async () => {
      const { serviceWorker } = navigator
      if (serviceWorker.controller !== null) return
      await new Promise((resolve) => {
        serviceWorker.addEventListener('controllerchange', resolve, { once: true })
      })
    })
    const isKept = () =>
      page.evaluate(async () => {
        for (const name of await caches.keys()) {
          const kept = await (await caches.open(name)).keys()
          if (kept.some(({ url }) => /halfbyte-mamba-[^/]*\.hbm$/.test(url))) return true
        }
        return false
      })
    expect(await isKept(), 'before it is chosen').toBe(false)
    await choose(page, new RegExp(`^${NAME}`))
    await expect.poll(isKept).toBe(true)
    await context.setOffline(true)
    await page.reload()
    await ready(page)
    await expect(modelName(page)).toHaveText(NAME)
    await set(page, { 'Longest answer': '20' })
    await ask(page, 'Hello again!')
    await expect(answers(page).last().locator('.body')).not.toBeEmpty()
  })
})
