// Documents in the widget. In: a model that can read files, one that cannot, files of real programs, an
// encoder. Out: whether they are picked, dropped and pasted, read under the strictest policy, cited with
// their place, and stored and deleted with the conversation.
import type { Page } from '@playwright/test'
import { fixture } from '../../test/helpers/fixture.ts'
import { pdfFile } from '../chat/files/pdf-file.ts'
import { blocked } from '../policy.ts'
import { ANSWER, scriptedModel } from '../scripted-model.ts'
import { violations } from '../violations.ts'
import { answersOf, chat, expect, field, MODEL, reported, send, test } from './widget-site.ts'

/** Its bytes are its tokens, so few passages fit in its context. */
const READER = Object.fromEntries(
  scriptedModel([], ANSWER).map(({ name, buffer }) => [`/reader/${name}`, buffer]),
)
const SCRIPT = `Object.assign(document.querySelector('halfbyte-chat'), { generateOptions: { temperature: 0, maxTokens: 5 } })`
const site = (attributes = '') => ({
  markup: `<halfbyte-chat model="/reader/" autoload allow-files ${attributes}></halfbyte-chat>`,
  script: SCRIPT,
  files: READER,
})

const attached = (page: Page) =>
  chat(page).getByRole('list', { name: 'Attached documents' }).getByRole('listitem')
const cites = (page: Page) => chat(page).locator('.message').last().locator('.sources cite')

async function pick(
  page: Page,
  ...names: readonly (string | { name: string; buffer: Buffer })[]
): Promise<void> {
  const chosen = page.waitForEvent('filechooser')
  await chat(page).getByRole('button', { name: 'Attach documents' }).click()
  const files = names.map((each) => {
    const { name, buffer } =
      typeof each === 'string' ? { name: each, buffer: fixture(`documents/${each}`) } : each
    return { name, mimeType: '', buffer }
  })
  await (await chosen).setFiles(files)
}

/** Drops or pastes a text file. */
const bring = (page: Page, type: 'drop' | 'paste', name: string, text: string) =>
  page.evaluate(
    ([kind, fileName, content]) => {
      const data = new DataTransfer()
      data.items.add(new File([content], fileName))
      const target = document.querySelector('halfbyte-chat')?.shadowRoot?.querySelector('textarea')
      const init = { bubbles: true, cancelable: true, composed: true }
      target?.dispatchEvent(
        kind === 'drop'
          ? new DragEvent('drop', { ...init, dataTransfer: data })
          : new ClipboardEvent('paste', { ...init, clipboardData: data }),
      )
    },
    [type, name, text] as const,
  )

test('attached documents are read, cited with their place, searched again, and deleted with the conversation', async ({
  page,
  sites,
}) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await sites.open(page, site('keep="device"'))
  await pick(page, 'du-fu.pdf', 'ironclad.docx')
  await expect(attached(page)).toHaveText([/du-fu\.pdf/, /ironclad\.docx/])
  await expect(field(page)).toBeFocused()
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/widget-documents.png' })
  await send(page, 'Who was Du Fu’s grandfather?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(attached(page)).toHaveCount(0)
  await chat(page)
    .getByText(/^Sources/)
    .click()
  await expect(
    cites(page)
      .filter({ hasText: /^du-fu\.pdf, page 2$/ })
      .first(),
  ).toBeVisible()
  await expect(
    chat(page).locator('.sources blockquote').filter({ hasText: 'Du Shenyan' }).first(),
  ).toBeVisible()
  await page.screenshot({ path: 'build/screens/widget-sources.png' })

  await send(page, 'How thick were the plates of Gloire?')
  await expect(answersOf(chat(page))).toHaveCount(2)
  await expect(
    cites(page)
      .filter({ hasText: /^ironclad\.docx, .*Early ironclad ships/ })
      .first(),
  ).toHaveCount(1)
  expect(asked).toContain('/cdn/documents.js')
  expect(asked).toContain('/cdn/workers/pdf.worker.js')
  expect(await blocked(page)).toEqual([])

  await page.reload()
  await expect(chat(page).locator('.message.user .document summary')).toHaveText([
    'du-fu.pdf',
    'ironclad.docx',
  ])
  await expect(cites(page).first()).toHaveText(/^(du-fu\.pdf|ironclad\.docx), /)
  await chat(page).getByRole('button', { name: 'New conversation' }).click()
  expect(await page.evaluate(() => localStorage.getItem('halfbyte-chat:default'))).toBeNull()
})

test('documents are dropped and pasted, short ones are read whole, and bad ones are reported', async ({
  page,
  sites,
}) => {
  await sites.open(page, site())
  await bring(page, 'drop', 'note.md', '# Owl\n\nThe owl is old.')
  await expect(attached(page)).toHaveText([/note\.md/])
  await bring(page, 'paste', 'table.csv', 'name;age\nfox;3')
  await expect(attached(page)).toHaveCount(2)
  await pick(page, 'locked.pdf')
  await expect(chat(page).getByRole('alert')).toHaveText(/^locked\.pdf is locked by a password/)
  await pick(page, { name: 'cut.docx', buffer: fixture('documents/ironclad.docx').subarray(0, 9000) })
  await expect(chat(page).getByRole('alert')).toHaveText(/^cut\.docx is damaged/)
  await expect(attached(page)).toHaveCount(2)
  await chat(page).getByRole('button', { name: 'Remove table.csv' }).click()
  await expect(attached(page)).toHaveCount(1)
  await expect(chat(page).getByRole('alert')).toHaveCount(0)
  await send(page, 'Who is old?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(cites(page)).toHaveText(['note.md'])
  const errors = (await reported(page)).filter(({ name }) => name === 'error')
  expect(errors.map(({ detail }) => detail?.['code'])).toEqual(['unsupported', 'format'])
})

test('a long PDF shows its progress, and reading it can be cancelled by keyboard', async ({
  page,
  sites,
}) => {
  await sites.open(page, site())
  const pages = Array.from({ length: 2000 }, (_, index) => `Page ${index}. ${'Waves and sand. '.repeat(5)}`)
  await pick(page, { name: 'book.pdf', buffer: pdfFile(pages) })
  const reading = chat(page).getByText(/^Reading book\.pdf: page \d+ of 2000$/)
  await expect(reading).toBeVisible()
  await chat(page).locator('.reading').getByRole('button', { name: 'Cancel' }).press('Enter')
  await expect(reading).toHaveCount(0)
  await expect(attached(page)).toHaveCount(0)
  await expect(chat(page).getByRole('alert')).toHaveCount(0)
})

test('a model that is too small says so before a document is read', async ({ page, sites }) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload allow-files></halfbyte-chat>`,
    script: SCRIPT,
  })
  await expect.poll(async () => (await reported(page)).some(({ name }) => name === 'ready')).toBe(true)
  await pick(page, 'du-fu.pdf')
  await expect(chat(page).getByRole('alert')).toHaveText(
    'The model of this chat is too small to read documents.',
  )
  await expect(attached(page)).toHaveCount(0)
  expect(asked).not.toContain('/cdn/documents.js')
})

test('without allow-files, nothing can be attached', async ({ page, sites }) => {
  await sites.open(page, { ...site(), markup: '<halfbyte-chat model="/reader/"></halfbyte-chat>' })
  await expect(chat(page).getByRole('button', { name: 'Attach documents' })).toHaveCount(0)
  await bring(page, 'paste', 'note.md', 'The owl is old.')
  await expect(attached(page)).toHaveCount(0)
})
