// The examples without a bundler. In: npm run examples, started as documented. Out: what each page shows
// after its button is pressed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test as base, expect as baseExpect, type Page } from '@playwright/test'
import { choosePicture, STAND_INS } from './examples/stand-ins.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const expect = baseExpect.configure({ timeout: 45_000 })

const test = base.extend<object, { address: string }>({
  address: [
    async ({ browserName: _ }, use) => {
      const server = spawn(process.execPath, [here('../scripts/examples.mjs'), '0'])
      const [line] = await once(server.stdout, 'data')
      await use(String(line).trim().replace('plain-page/', ''))
      server.kill()
      await once(server, 'exit')
    },
    { scope: 'worker' },
  ],
})

const out = (page: Page) => page.locator('#out')

/** What each page shows. */
const EXAMPLES: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'plain-page': async (page) => {
    await expect(out(page)).toHaveText(/^\s*[A-Z].{100,}/s)
  },
  tools: async (page) => {
    await expect(out(page)).toHaveText(/^calculate\(12 ?\* ?7\) = 84\n.*84/s)
  },
  json: async (page) => {
    await expect(out(page)).toHaveText(/^\{.*"name".*"animal": "(?:cat|dog|bird)".*"age": \d+\s*\}$/s)
  },
  search: async (page) => {
    await expect(out(page).getByRole('listitem')).toHaveCount(5)
    await expect(page.getByRole('status')).toHaveText('200 passages searched')
    // A passage compared with itself has the same vector.
    const shown = (await out(page).getByRole('listitem').nth(3).textContent()) ?? ''
    const passage = shown.replace(/^\S+ [\w-]+: /, '')
    await page.getByRole('textbox').fill(passage)
    await page.getByRole('button').click()
    await expect(out(page).getByRole('listitem').first()).toHaveText(/^1\.000 /)
    await expect(out(page).getByText(passage).first()).toBeVisible()
  },
  'saved-sessions': async (page) => {
    await expect(out(page)).toHaveText(
      /^user: Tell me a story\.\nassistant: .+\n0 tokens were not read again$/s,
    )
    await page.reload()
    await page.getByRole('button').click()
    await expect(out(page)).toHaveText(/user: What happened then\?\nassistant: .+\n[1-9]\d+ tokens were not/s)
  },
  mamba: async (page) => {
    await expect(out(page)).toHaveText(/[A-Z].{50,}\n.+\n\d+ bytes of state$/s)
  },
  'other-origin': async (page) => {
    await expect(out(page)).toHaveText(/^\s*[A-Z].{100,}/s)
  },
  'sandboxed-frame': async (page) => {
    await expect(out(page)).toHaveText(/^\s*[A-Z].{100,}/s)
  },
  labels: async (page) => {
    await expect(page.getByRole('status')).toHaveText('Choose a picture.')
    await choosePicture(page, 'green')
    await page.locator('button').click()
    await expect(out(page).getByRole('listitem')).toHaveCount(3)
    await expect(out(page).getByRole('listitem').first()).toHaveText(/^\d+\.\d % grass$/)
  },
  ocr: async (page) => {
    await expect(page.getByRole('status')).toHaveText('Choose a picture.')
    await choosePicture(page, 'white', [
      [40, 40, 100, 20],
      [60, 120, 60, 30],
      [150, 120, 60, 30],
    ])
    await page.locator('button').click()
    await expect(page.getByRole('status')).toHaveText('done')
    await expect(out(page)).toHaveText('a\na\na\n')
  },
  speech: async (page) => {
    await expect(page.getByRole('status')).toHaveText('listening')
    await expect(out(page).getByRole('listitem').nth(1)).toHaveText(/^\d\.\d to \d\.\d s$/)
  },
  widget: async (page) => {
    await page.getByRole('button', { name: 'Download' }).click()
    await expect(page.locator('.message.assistant:not(.growing) .body')).not.toBeEmpty()
  },
}

test('every page in examples/ has a test', () => {
  const pages = readdirSync(here('../examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !existsSync(here(`../examples/${entry.name}/package.json`)))
    .map(({ name }) => name)
  expect(pages.sort()).toEqual(Object.keys(EXAMPLES).sort())
})

for (const [name, shows] of Object.entries(EXAMPLES)) {
  test(`the example ${name} works`, async ({ page, address }) => {
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    await STAND_INS[name]?.(page)
    await page.goto(`${address}${name}/`)
    // An input for files has the role of a button, too.
    await page.locator('button').first().click()
    await shows(page)
    expect(problems).toEqual([])
  })
}

for (const name of ['other-origin', 'sandboxed-frame']) {
  test(`the example ${name} loads only its pages from its own server`, async ({ page, address }) => {
    const own: string[] = []
    page.context().on('request', (request) => {
      if (request.url().startsWith(address)) own.push(request.url())
    })
    await page.goto(`${address}${name}/`)
    await page.getByRole('button').click()
    await expect(out(page)).not.toBeEmpty()
    expect(own.filter((url) => !/\/(?:frame\.html|favicon\.ico)?$/.test(url))).toEqual([])
  })
}
