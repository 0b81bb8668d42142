// The examples with a bundler. In: each as its README says, with the packed package. Out: whether its page
// answers, tells what fails, and stops when its component goes.
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test as base, expect as baseExpect, type Page } from '@playwright/test'
import { type PackedApp, packedApp } from '../packed-app.ts'
import { exampleFolder, runScript, startServer } from './app-folder.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
const PORT = Number(process.env['HALFBYTE_PORT'] ?? 4173) + 4
const expect = baseExpect.configure({ timeout: 45_000 })

const test = base.extend<object, { packed: PackedApp }>({
  packed: [
    async ({ browserName: _ }, use) => {
      const packed = await packedApp()
      await use(packed)
      await packed.remove()
    },
    { scope: 'worker' },
  ],
})

const vite = ['../../node_modules/vite/bin/vite.js', 'preview', '--host', '127.0.0.1', '--strictPort']
const next = ['../../node_modules/next/dist/bin/next', 'start', '--hostname', '127.0.0.1']

const names = readdirSync(EXAMPLES).filter((name) => existsSync(`${EXAMPLES}/${name}/package.json`))

const send = (page: Page) => page.getByRole('button', { name: 'Send' })

/** Answers when the reply is complete. */
async function reply(page: Page): Promise<void> {
  await send(page).click()
  await expect(page.locator('#out')).toHaveText(/^\s*[A-Z].{100,}/s)
  await expect(send(page)).toBeEnabled()
  await expect(page.getByRole('alert').filter({ hasText: /./ })).toHaveCount(0)
}

for (const [at, name] of names.entries()) {
  test(`the example ${name} answers, also after a failure`, async ({ page, packed }) => {
    const folder = await exampleFolder(name, packed)
    await runScript(folder, 'build')
    const port = PORT + at
    const args = [...(name === 'next' ? next : vite), '--port', 'PORT']
    const server = await startServer(folder, args, port, 'on')
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    let downloads = 0
    page.context().on('request', (request) => {
      if (request.url().includes('.hbm')) downloads++
    })
    try {
      await page.goto(server.address)
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(true)
      await expect(send(page)).toBeEnabled()
      expect(downloads, 'before anybody asked').toBe(0)

      await page.context().route(/\.hbm/, (route) => route.fulfill({ status: 404 }))
      await send(page).click()
      await expect(page.getByRole('alert').filter({ hasText: '404' })).toBeVisible()
      await page.context().unroute(/\.hbm/)
      await reply(page)

      const toggle = page.getByRole('button', { name: 'Close the chat' })
      if ((await toggle.count()) > 0) {
        const before = downloads
        await send(page).click()
        await expect(page.locator('#out')).not.toBeEmpty()
        await toggle.click()
        await expect(page.locator('#out')).toHaveCount(0)
        await page.getByRole('button', { name: 'Open the chat' }).click()
        await reply(page)
        expect(downloads, 'after the chat was opened again').toBe(before)
      }
      expect(problems).toEqual([])
    } finally {
      await server.close()
    }
  })
}
