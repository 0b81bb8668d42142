// Local files. In: the built chat page in a browser with file handles. Out: whether a later visit reopens the
// last visit's file, at once or after the user agrees, even if a file or folder was dropped.
//
// Tests cannot click in the system's own picker. The picker here returns handles of the origin's private
// files, which can be stored and opened like those of the device.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { ask, openChat, openModels, overflowing, ready, set } from '../chat-page.ts'

const TINY = readFileSync(new URL('../../../test/conformance/models/halfbyte-tiny.hbm', import.meta.url))
const name = (page: Page) => page.locator('.bar .model')

test.beforeEach(async ({ page }) => {
  await page.addInitScript(() => {
    Object.assign(window, {
      showOpenFilePicker: async () => {
        const root = await navigator.storage.getDirectory()
        return [await root.getFileHandle('tiny.hbm')]
      },
    })
    if (localStorage.getItem('asks') === null) return
    Object.assign(FileSystemFileHandle.prototype, {
      queryPermission: async () => 'prompt',
      requestPermission: async () => localStorage.getItem('asks'),
    })
  })
})

/** Puts the file where the picker will find it, and picks it. */
async function pickTiny(page: Page): Promise<void> {
  await openChat(page)
  await page.evaluate(async (base64) => {
    const root = await navigator.storage.getDirectory()
    const file = await (await root.getFileHandle('tiny.hbm', { create: true })).createWritable()
    await file.write(Uint8Array.from(atob(base64), (each) => each.charCodeAt(0)))
    await file.close()
  }, TINY.toString('base64'))
  await set(page, { 'Longest answer': '5' })
  await openModels(page)
  await page.locator('label.pick').click()
  await expect(name(page)).toHaveText('tiny.hbm')
  await ready(page)
  await ask(page, 'Hello!')
}

/** The model in the file is loaded again without a prompt, and answers. */
async function answersAfterReload(page: Page): Promise<void> {
  await page.reload()
  await ready(page)
  await expect(name(page)).toHaveText('tiny.hbm')
  await ready(page)
  await expect(page.locator('.notice')).toHaveCount(0)
  await ask(page, 'And?')
}

test('a file that the browser may open is loaded again on the next visit', async ({ page }) => {
  await pickTiny(page)
  await answersAfterReload(page)
})

test('if the browser asks first, the page offers the file, and another model answers in the meantime', async ({
  page,
}) => {
  await pickTiny(page)
  await page.evaluate(() => localStorage.setItem('asks', 'granted'))
  await page.reload()
  await ready(page)
  await expect(name(page)).toHaveText('Halfbyte Stories')
  await expect(page.locator('.notice')).toContainText('tiny.hbm is a file on this device.')
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/device-file.png' })
  await page.getByRole('button', { name: 'Open the file' }).click()
  await expect(name(page)).toHaveText('tiny.hbm')
  await ready(page)
})

test('a file that was deleted, or to which the user denied access, is not offered again', async ({
  page,
}) => {
  await pickTiny(page)
  await page.evaluate(() => localStorage.setItem('asks', 'denied'))
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Open the file' }).click()
  await expect(page.locator('.notice')).toContainText('which the page cannot open again')
  await page.evaluate(async () => {
    localStorage.removeItem('asks')
    localStorage.setItem('halfbyte-last-file', 'tiny.hbm')
    const root = await navigator.storage.getDirectory()
    await root.removeEntry('tiny.hbm')
  })
  await page.reload()
  await ready(page)
  await expect(page.locator('.notice')).toContainText('which the page cannot open again')
  await ask(page, 'Hello!')
})

/** Drops a file or folder from the device as a user does. */
async function drop(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files: [path], dragOperationsMask: 1 }
  // The page reacts to the first event with an overlay, which then receives the second.
  for (const type of ['dragEnter', 'dragOver', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 150, y: 300, data })
  await session.detach()
}

for (const kind of ['file', 'folder'] as const) {
  test(`a dropped ${kind} is loaded again on the next visit`, async ({ page }) => {
    const folder = mkdtempSync(join(tmpdir(), 'halfbyte-drop-'))
    const file = join(folder, 'tiny.hbm')
    writeFileSync(file, TINY)
    try {
      await openChat(page)
      await set(page, { 'Longest answer': '5' })
      await drop(page, kind === 'file' ? file : folder)
      await expect(name(page)).toHaveText('tiny.hbm')
      await ready(page)
      await ask(page, 'Hello!')
      await answersAfterReload(page)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}
