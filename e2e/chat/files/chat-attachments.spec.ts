// Attachments. In: the built chat page, text files, and speech. Out: whether files can be picked, dropped and
// pasted, reach the model, and are rejected with messages; and whether speech input is offered only if it
// stays on the device.
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { composer, openChat, overflowing, ready, sendButton, set } from '../chat-page.ts'
import { bring, pick } from './bring-file.ts'

/** Adds a text as a file. */
const bringText = (page: Page, type: 'drop' | 'paste', name: string, text: string, mimeType = 'text/plain') =>
  bring(page, type, { name, mimeType, buffer: Buffer.from(text) })

test('text files are picked, dropped and pasted, and the model reads them', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await pick(page, { name: 'fox.txt', mimeType: 'text/plain', buffer: Buffer.from('The fox is red.\n') })
  const files = page.getByRole('list', { name: 'Attached files' })
  await expect(files.getByRole('listitem')).toHaveText([/fox\.txt/])
  await expect(composer(page)).toBeFocused()
  await bringText(page, 'drop', 'a-name-that-is-far-too-long-for-the-width-of-a-phone.md', '# Owl')
  await expect(files.getByRole('listitem')).toHaveCount(2)
  await bringText(page, 'paste', 'bear.py', 'bear = 1')
  await expect(files.getByRole('listitem')).toHaveCount(3)
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/attached.png' })
  await page.getByRole('button', { name: /^Remove a-name/ }).click()
  await expect(files.getByRole('listitem')).toHaveCount(2)

  await bringText(page, 'paste', 'long.txt', 'x'.repeat(4_000_001))
  await expect(page.getByRole('alert')).toHaveText(/long\.txt is 4\.0 MB; .* Attach part of it\./)
  await bringText(page, 'paste', 'binary.txt', 'a\0b')
  await expect(page.getByRole('alert')).toHaveText(/binary\.txt is not a kind of file that can be read here/)
  expect(await violations(page)).toEqual([])

  await composer(page).fill('What is red?')
  await sendButton(page).click()
  await ready(page)
  const question = page.locator('.message.user .body')
  await expect(question).toContainText('What is red?')
  await expect(page.getByRole('alert')).toHaveCount(0)
  await question.getByText('fox.txt').click()
  await expect(question.getByText('The fox is red.')).toBeVisible()
  await page.screenshot({ path: 'build/screens/attached-sent.png' })
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const editor = page.getByRole('textbox', { name: 'Edit your message' })
  await expect(editor).toHaveValue('What is red?')
  await page.screenshot({ path: 'build/screens/attached-edit.png' })
  await editor.fill('Who is red?')
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(question).toContainText('Who is red?')
  await expect(question.locator('summary')).toHaveText([/fox\.txt/, /bear\.py/])
  expect(problems).toEqual([])
})

test('a file that is neither text nor image is reported when dropped', async ({ page }) => {
  await openChat(page)
  await bringText(page, 'drop', 'fox.zip', '\0', 'application/zip')
  await expect(page.getByRole('alert')).toHaveText(/fox\.zip is not a kind of file/)
  await expect(page.locator('.bar .model')).toHaveText('Halfbyte Stories')
})

test('speech is transcribed if the device itself recognises it, and is not offered otherwise', async ({
  page,
}) => {
  await page.addInitScript(() => {
    class SpeechRecognition extends EventTarget {
      static available = async ({ processLocally }: { processLocally: boolean }) =>
        processLocally && !location.search.includes('remote') ? 'available' : 'unavailable'
      processLocally = false
      start(): void {
        if (!this.processLocally) throw new Error('the speech would leave the device')
        const results = [[{ transcript: 'Tell me' }], [{ transcript: ' a story.' }]]
        for (const count of [1, 2])
          this.dispatchEvent(Object.assign(new Event('result'), { results: results.slice(0, count) }))
      }
      stop(): void {
        this.dispatchEvent(new Event('end'))
      }
    }
    Object.assign(globalThis, { SpeechRecognition })
  })
  await openChat(page)
  const button = page.getByRole('button', { name: 'Speak', exact: true })
  await composer(page).fill('Please.')
  await button.click()
  await expect(button).toHaveAttribute('aria-pressed', 'true')
  await expect(composer(page)).toHaveValue('Please. Tell me a story.')
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await button.click()
  await expect(button).toHaveAttribute('aria-pressed', 'false')
  await expect(composer(page)).toBeFocused()
  await openChat(page, '/?remote')
  await expect(button).toHaveCount(0)
})
