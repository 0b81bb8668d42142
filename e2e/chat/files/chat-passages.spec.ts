// Documents. In: the built chat page, a model that can read files, one that cannot, files of real programs,
// an encoder. Out: whether the model reads files whole if they fit and otherwise in passages, found by words
// or by meaning, and the page says so; and whether a model that is too small says that before.
import { expect, type Page, test } from '@playwright/test'
import { bertFolder, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { fixture } from '../../../test/helpers/fixture.ts'
import { filesBelow, type ModelServer, serveModels } from '../../model-server.ts'
import { ANSWER, scriptedModel } from '../../scripted-model.ts'
import { violations } from '../../violations.ts'
import {
  answers,
  ask,
  openChat,
  openModels,
  openSettings,
  overflowing,
  ready,
  set,
  unfoldSettings,
} from '../chat-page.ts'
import { pick } from './bring-file.ts'
import { pdfFile } from './pdf-file.ts'

/**
 * Much more text than fits into the embedded model's context. The words of the middle sentence occur nowhere
 * else.
 */
const filler = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) =>
    `Paragraph ${index + from}. The hills were green, the sky was blue, and nothing much happened there that day. `.repeat(
      4,
    ),
  ).join('\n\n')
const LONG = `${filler(60)}\n\nThe lighthouse keeper is called Ottoline.\n\n${filler(60, 60)}`

let server: ModelServer

test.beforeAll(async () => {
  // Its bytes are its tokens, so few passages fit in its context.
  const reader = scriptedModel([], ANSWER).map(({ name, buffer }) => ({ name: `reader/${name}`, buffer }))
  const encoder = await filesBelow('encoder/', byPath(bertFolder(randomBert(9))))
  server = await serveModels([...reader, ...encoder])
})
test.afterAll(() => server.close())

/** The page with a model that can read files. */
async function openReader(page: Page): Promise<{ readonly problems: readonly string[] }> {
  const opened = await openChat(page)
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}reader/`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await ready(page)
  await set(page, { 'Longest answer': '5' })
  return opened
}

const attach = (page: Page, name: string, mimeType: string, content: string | Buffer) =>
  pick(page, { name, mimeType, buffer: Buffer.from(content) })

const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem')
const note = (page: Page) => page.locator('read-note')

test("of a long file, the passages with the question's words are read and shown", async ({ page }) => {
  const { problems } = await openReader(page)
  await attach(page, 'coast.txt', 'text/plain', LONG)
  await ask(page, 'What is the lighthouse keeper called?')
  await expect(note(page)).toHaveText(
    /The model read \d of \d+ passages, found by the words of the question: .*coast\.txt, lines? \d+/,
  )
  await note(page).locator('summary').click()
  await expect(note(page).getByText('The lighthouse keeper is called Ottoline.').first()).toBeVisible()
  await expect(
    note(page)
      .getByText(/^coast\.txt, lines? \d+(–\d+)?$/)
      .first(),
  ).toBeVisible()
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/passages.png' })

  // A later question is about the same file, and finds other passages.
  await ask(page, 'What stands in Paragraph 118?')
  const second = answers(page).nth(1).locator('read-note')
  await second.locator('summary').click()
  await expect(second.getByText('Paragraph 118.').first()).toBeVisible()
  await page.reload()
  await ready(page)
  await expect(note(page)).toHaveCount(2)
  await ask(page, 'Regenerate nothing.')
  expect(problems).toEqual([])
})

test('a short file is read whole, and the page says so', async ({ page }) => {
  await openReader(page)
  await attach(page, 'note.md', 'text/markdown', '# Owl\n\nThe owl is old.')
  await ask(page, 'Who is old?')
  await expect(note(page)).toHaveText('The model read the complete files.')
  await ask(page, 'And who is young?')
  await expect(note(page)).toHaveCount(1)
})

test('a PDF is read page by page, a web page without its markup', async ({ page }) => {
  await openReader(page)
  const pages = Array.from(
    { length: 100 },
    (_, index) => `Chapter ${index + 1}. ${'Waves and sand. '.repeat(30)}`,
  )
  pages[20] = 'Chapter 21. The harbour master owns a parrot.'
  await attach(page, 'book.pdf', 'application/pdf', pdfFile(pages))
  await expect(attached(page)).toHaveText([/book\.pdf/])
  const html =
    '<title>Foxes</title><style>p{color:red}</style><script>alert(1)</script><p>A <b>fox</b> runs.</p><ul><li>One</li><li>Two</li></ul>'
  await attach(page, 'foxes.html', 'text/html', html)
  await expect(attached(page)).toHaveCount(2)
  await ask(page, 'Who owns a parrot?')
  await note(page).locator('summary').click()
  await expect(note(page).getByText('The harbour master owns a parrot.').first()).toBeVisible()
  await expect(note(page).getByText('book.pdf, page 21', { exact: true })).toBeVisible()
  const question = page.locator('.message.user .body')
  await question.getByText('foxes.html').click()
  await expect(question.locator('details').nth(1).locator('div')).toHaveText(
    /^# Foxes\s+A fox runs\.\s+- One\s+- Two$/,
  )
})

test('a PDF that is locked, damaged or has no text is rejected with a message', async ({ page }) => {
  await openChat(page)
  await attach(page, 'cut.pdf', 'application/pdf', pdfFile(['Hello']).subarray(0, 60))
  await expect(page.getByRole('alert')).toHaveText(/^cut\.pdf is damaged\. Open it in its own program/)
  await attach(page, 'scan.pdf', 'application/pdf', pdfFile(['']))
  await expect(page.getByRole('alert')).toHaveText(/scan\.pdf has no text/)
  await attach(page, 'locked.pdf', 'application/pdf', pdfFile(['Hello'], { isLocked: true }))
  await expect(page.getByRole('alert')).toHaveText(/locked\.pdf is locked by a password/)
  await expect(attached(page)).toHaveCount(0)
})

async function setSearchModel(page: Page, address: string): Promise<void> {
  await openSettings(page)
  await unfoldSettings(page)
  await page.getByLabel('Search model').fill(address)
  await page.getByRole('button', { name: 'Done' }).click()
}

test('a search model finds passages by meaning; if it fails, the page searches for words', async ({
  page,
}) => {
  const { problems } = await openReader(page)
  await setSearchModel(page, `${server.address}encoder/`)
  await attach(page, 'coast.txt', 'text/plain', LONG)
  await ask(page, 'What is the lighthouse keeper called?')
  await expect(note(page)).toHaveText(
    /The model read \d of \d+ passages, found by the meaning of the question: /,
  )
  await page.reload()
  await ready(page)
  await openSettings(page)
  await unfoldSettings(page)
  await expect(page.getByLabel('Search model')).toHaveValue(`${server.address}encoder/`)
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Done' }).click()
  await setSearchModel(page, `${server.address}nothing/`)
  await ask(page, 'What stands in Paragraph 118?')
  await expect(answers(page).nth(1).locator('read-note')).toHaveText(/found by the words of the question/)
  expect(problems).toEqual([])
})

test('documents of real programs are read, and their sources name pages, headings and rows', async ({
  page,
}) => {
  const { problems } = await openReader(page)
  const types = { pdf: 'application/pdf', docx: '', html: 'text/html', csv: 'text/csv' }
  for (const name of ['du-fu.pdf', 'ironclad.docx', 'hurricane.html', 'kitchen.csv']) {
    const type = types[name.split('.')[1] as keyof typeof types]
    await attach(page, name, type, fixture(`documents/${name}`))
    await expect(attached(page).filter({ hasText: name })).toHaveCount(1)
  }
  await ask(page, 'How many brass lanterns are in stock?')
  await expect(note(page)).toContainText('kitchen.csv, rows 18–25')
  await ask(page, "Who was Du Fu's grandfather?")
  await expect(note(page).nth(1)).toContainText('du-fu.pdf, page 2')
  await ask(page, 'Which dam collapsed?')
  await expect(note(page).nth(2)).toContainText(
    'hurricane.html, 1933 Treasure Coast hurricane › Preparations',
  )
  expect(await overflowing(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/documents.png' })
  expect(problems).toEqual([])
})

test('a long PDF shows its progress and can be stopped', async ({ page }) => {
  await openReader(page)
  const pages = Array.from({ length: 2000 }, (_, index) => `Page ${index}. ${'Waves and sand. '.repeat(20)}`)
  await attach(page, 'book.pdf', 'application/pdf', pdfFile(pages))
  const reading = page.locator('chat-composer').getByText(/^Reading book\.pdf: page \d+ of 2000$/)
  await expect(reading).toBeVisible()
  await page.locator('chat-composer').getByRole('button', { name: 'Cancel' }).click()
  await expect(reading).toHaveCount(0)
  await expect(attached(page)).toHaveCount(0)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('a model that is too small says so before files are read, and offers another', async ({ page }) => {
  await openChat(page)
  await attach(page, 'note.md', 'text/markdown', '# Owl\n\nThe secret number is 7391.')
  const composer = page.locator('chat-composer')
  await expect(composer.getByText('This model is too small to read files')).toBeVisible()
  expect(await violations(page)).toEqual([])
  expect(await overflowing(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/documents-small.png' })
  await composer.getByRole('button', { name: 'Choose a model' }).click()
  await expect(page.getByRole('dialog', { name: 'Choose a model' })).toBeVisible()
  await page.keyboard.press('Escape')
  await ask(page, 'What is the secret number?')
  await expect(answers(page)).toContainText('This model is too small to read files')
  await expect(note(page)).toHaveCount(0)
  // A larger model answers the same question.
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}reader/`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await ready(page)
  await set(page, { 'Longest answer': '5' })
  await page.getByRole('button', { name: 'Regenerate', exact: true }).click()
  await expect(note(page)).toHaveText('The model read the complete files.')
})
