// Packs next to the page. In: a build of the page with a small pack in its packs folder. Out: whether the
// page offers it, downloads it only when it is chosen, and stores it on the device.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, type Page, test } from '@playwright/test'
import { build } from 'vite'
import { answers, ask, openModels, ready, storedModels } from '../chat-page.ts'
import { Scene } from './scene.ts'
import { type UpdatingSite, updatingSite } from './updating-site.ts'

test.use({ serviceWorkers: 'allow' })

const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url))
const BUILD = path('build/page-packs')
const CARD = {
  title: 'Tiny pack',
  about: 'A pack for this test.',
  languages: 'English',
  licence: 'Apache-2.0',
  source: 'Its makers',
  contextLength: 512,
}

let site: UpdatingSite

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
  site = await updatingSite(BUILD)
})
test.afterAll(() => site.close())

const row = (page: Page) => page.getByRole('button', { name: /^Tiny pack\b/ })
const asked = () => site.asked.filter((request) => request.includes('packs/'))

test('a pack is offered with its description, downloaded once it is chosen, and stored', async ({ page }) => {
  const scene = new Scene(page, site, [BUILD, BUILD])
  await scene.keep()
  expect(readFileSync(join(BUILD, 'sw.js'), 'utf8')).not.toContain('packs/')
  await openModels(page)
  const size = (statSync(join(BUILD, 'packs/Tiny-pack.hbm')).size / 1e6).toFixed(1)
  for (const fact of [CARD.about, `${size} MB`, CARD.languages, CARD.licence, CARD.source, 'context 512'])
    await expect(row(page)).toContainText(fact)
  expect(asked(), 'nothing is fetched before the choice').toEqual([])

  await row(page).click()
  await ready(page)
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  await ask(page, 'Once upon a time')
  await expect(answers(page).last().locator('.body')).not.toBeEmpty()
  expect(asked()).not.toEqual([])
  expect(await storedModels(page)).not.toEqual([])
  expect(await scene.files(), 'the worker stores no second copy').not.toContainEqual(
    expect.stringContaining('packs/'),
  )

  site.asked.length = 0
  await page.reload()
  await ready(page)
  await expect(page.locator('.bar .model')).toContainText('Tiny-pack.hbm')
  expect(asked(), 'the second visit reads from the device').toEqual([])
  await openModels(page)
  await expect(row(page)).toHaveCount(1)
  await expect(row(page)).toContainText('on this device')
  await page.getByRole('button', { name: 'Forget Tiny pack' }).click()
  await expect.poll(() => storedModels(page)).toEqual([])
})
