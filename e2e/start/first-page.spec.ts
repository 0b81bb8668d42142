// The guide's section "A first page". In: its files as printed, with the packed package, served by Vite. Out:
// what the three buttons show.
import { expect, test } from '@playwright/test'
import { createServer } from 'vite'
import { writeGuideFiles } from '../../test/helpers/guide-files.ts'
import { packedApp } from '../packed/app.ts'
import { pressUntil } from './press-until.ts'

test('a reader of "A first page" gets a chat, JSON and a tool', async ({ page }) => {
  const app = await packedApp()
  const names = await writeGuideFiles('page.md', 'A first page', app.folder)
  expect(names).toEqual(['vite.config.mjs', 'index.html', 'main.js'])
  // The app's dependencies are links to folders outside the app.
  const server = await createServer({
    root: app.folder,
    logLevel: 'silent',
    server: { port: 0, fs: { strict: false } },
  })
  try {
    await server.listen()
    await page.goto(server.resolvedUrls!.local[0]!)
    const press = (name: string, shown: RegExp) => pressUntil(page, name, shown)
    await page.waitForFunction(() => document.querySelector('form')?.onsubmit)
    await press('Send', /^Once upon a time.{100,}/s)
    await press('Invent a pet', /^.{2,20}: a (cat|dog|bird), \d{1,2} years old$/)
    await press('12 * 7', /^\[calculate: 84\] .*84/s)
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(true)
  } finally {
    await server.close()
    await app.remove()
  }
})
