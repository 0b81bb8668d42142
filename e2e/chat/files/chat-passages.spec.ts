// Passages. In: the built chat page, long files, a PDF, a web page, an encoder. Out: whether the model reads
// files whole if they fit and otherwise in passages, found by words or by meaning, and the page says so.
import { expect, type Page, test } from '@playwright/test'
import { bertFolder, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { filesBelow, type ModelServer, serveModels } from '../../model-server.ts'
import { violations } from '../../violations.ts'
import {
  answers,
  ask,
  openChat,
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

const attach = (page: Page, name: string, mimeType: string, content: string | Buffer) =>
  pick(page, { name, mimeType, buffer: Buffer.from(content) })

const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem')
const note = (page: Page) => page.locator('read-note')

test("the model reads the passages of a long file that have the question's words, and the page shows them", async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await attach(page, 'coast.txt', 'text/plain', LONG)
  await ask(page, 'What is the lighthouse keeper called?')
  await expect(note(page)).toHaveText(
    /The model read \d of \d+ passages, found by the words of the question\./,
  )
  await note(page).locator('summary').click()
  await expect(note(page).getByText('The lighthouse keeper is called Ottoline.')).toBeVisible()
  await expect(
    note(page)
      .getByText(/^coast\.txt, part \d+ of \d+$/)
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

test('the model reads all of a short file, and the page says so', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await attach(page, 'note.md', 'text/markdown', '# Owl\n\nThe owl is old.')
  await ask(page, 'Who is old?')
  await expect(note(page)).toHaveText('The model read the complete files.')
  await ask(page, 'And who is young?')
  await expect(note(page)).toHaveCount(1)
})

test('a PDF is read page by page, and a web page without its markup', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '5' })
  const pages = Array.from(
    { length: 30 },
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
  await expect(note(page).getByText('The harbour master owns a parrot.')).toBeVisible()
  await expect(note(page).getByText('book.pdf, page 21')).toBeVisible()
  const question = page.locator('.message.user .body')
  await question.getByText('foxes.html').click()
  await expect(question.locator('details').nth(1).locator('div')).toHaveText(
    /^Foxes\s+A fox runs\.\s+One\s+Two$/,
  )
})

test('a PDF that is locked, damaged or has no text is rejected with a message', async ({ page }) => {
  await openChat(page)
  await attach(page, 'cut.pdf', 'application/pdf', pdfFile(['Hello']).subarray(0, 60))
  await expect(page.getByRole('alert')).toHaveText('cut.pdf is damaged or not a PDF.')
  await attach(page, 'scan.pdf', 'application/pdf', pdfFile(['']))
  await expect(page.getByRole('alert')).toHaveText(/scan\.pdf has no text/)
  await attach(page, 'locked.pdf', 'application/pdf', pdfFile(['Hello'], { isLocked: true }))
  await expect(page.getByRole('alert')).toHaveText(/locked\.pdf is locked by a password/)
  await expect(attached(page)).toHaveCount(0)
})

let server: ModelServer

test.beforeAll(async () => {
  server = await serveModels(await filesBelow('encoder/', byPath(bertFolder(randomBert(9)))))
})
test.afterAll(() => server.close())

async function setSearchModel(page: Page, address: string): Promise<void> {
  await openSettings(page)
  await unfoldSettings(page)
  await page.getByLabel('Search model').fill(address)
  await page.getByRole('button', { name: 'Done' }).click()
}

test('a search model finds passages by meaning, and words are used if it fails', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await setSearchModel(page, `${server.address}encoder/`)
  await attach(page, 'coast.txt', 'text/plain', LONG)
  await ask(page, 'What is the lighthouse keeper called?')
  await expect(note(page)).toHaveText(
    /The model read \d of \d+ passages, found by the meaning of the question\./,
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
