// Pasting. In: the built chat page and text on the clipboard. Out: whether long text becomes a file that
// reaches the model, can be moved into the message, and can be undone with the keyboard, in English and
// Hebrew.
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { composer, openChat, overflowing, ready, readyComposer, sendButton, set } from '../chat-page.ts'

test.use({ permissions: ['clipboard-read', 'clipboard-write'] })

const LONG = `The lighthouse keeper is called Ottoline.\n\n${'The hills were green there. '.repeat(100)}end`
const SHORT = 'A text of one line.'

const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem')
const editButton = (page: Page) => page.getByRole('button', { name: /^Edit Pasted text .* in the message$/ })

/** Pastes as a user does, with the browser's own clipboard and keys. */
async function paste(page: Page, text: string, keys = 'Control+V'): Promise<void> {
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text)
  await composer(page).focus()
  await page.keyboard.press(keys)
}

test('long pasted text is attached to the message as a file', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await paste(page, SHORT)
  await expect(composer(page)).toHaveValue(SHORT)
  await composer(page).fill('')
  await paste(page, LONG)
  await expect(attached(page)).toHaveText([/^\s*Pasted text “The lighthouse k…”\s*$/])
  await expect(composer(page)).toHaveValue('')
  await expect(composer(page)).toBeFocused()
  await expect(page.locator('chat-composer [role=status]')).toHaveText(/^The text is long, so it is attached/)
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/pasted.png' })
  await paste(page, LONG)
  await expect(attached(page)).toHaveText([/k…”\s*$/, /k…” \(2\)\s*$/])
  await page.getByRole('button', { name: /^Remove Pasted .* \(2\)$/ }).click()
  await expect(attached(page)).toHaveCount(1)

  await page.keyboard.type('Who is called Ottoline?')
  await sendButton(page).click()
  await ready(page)
  await expect(attached(page)).toHaveCount(0)
  const question = page.locator('.message.user .body')
  await question.getByText('Pasted text').click()
  await expect(question.getByText('The lighthouse keeper is called Ottoline.')).toBeVisible()
  await expect(page.locator('.message.assistant').last()).toContainText('too small to read files')
  expect(problems).toEqual([])
})

test('a pasted file can be moved into the message by button and keyboard, and each step can be undone', async ({
  page,
}) => {
  await openChat(page)
  await composer(page).focus()
  await page.keyboard.type('Before. ')
  await paste(page, LONG)
  await expect(attached(page)).toHaveCount(1)
  await page.keyboard.type('x')
  await page.keyboard.press('Control+Z')
  await expect(composer(page)).toHaveValue('Before. ')
  await expect(attached(page)).toHaveCount(1)
  await page.keyboard.press('Control+Z')
  await expect(attached(page)).toHaveCount(0)
  await expect(composer(page)).toHaveValue('Before. ')
  await page.keyboard.press('Control+Shift+Z')
  await expect(attached(page)).toHaveCount(1)

  // By keyboard, from the field past the attach and remove buttons.
  for (const _ of [1, 2, 3]) await page.keyboard.press('Shift+Tab')
  await expect(editButton(page)).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(composer(page)).toHaveValue(`Before. ${LONG}`)
  await expect(composer(page)).toBeFocused()
  await expect(attached(page)).toHaveCount(0)
  await page.keyboard.press('Control+Z')
  await expect(composer(page)).toHaveValue('Before. ')
  await expect(attached(page)).toHaveCount(1)
  await page.keyboard.press('Control+Shift+Z')
  await expect(composer(page)).toHaveValue(`Before. ${LONG}`)
  await expect(attached(page)).toHaveCount(0)

  await page.keyboard.press('Control+A')
  await paste(page, `Other. ${LONG}`)
  await expect(attached(page)).toHaveText([/“Other\. /])
  await expect(composer(page)).toHaveValue('')
  await page.keyboard.press('Control+Z')
  await expect(composer(page)).toHaveValue(`Before. ${LONG}`)
  await expect(attached(page)).toHaveCount(0)
})

test('with Shift, long text is pasted as is, and text too long for a file is rejected', async ({ page }) => {
  await openChat(page)
  await paste(page, LONG, 'Control+Shift+V')
  await expect(composer(page)).toHaveValue(LONG)
  await expect(attached(page)).toHaveCount(0)
  await paste(page, 'x'.repeat(4_000_001))
  await expect(page.getByRole('alert')).toHaveText(
    /^Pasted text “x{16}…” is 4\.0 MB; a file of this kind may be at most 4\.0 MB/,
  )
  await expect(composer(page)).toHaveValue(LONG)
  await paste(page, 'y'.repeat(200_001))
  await editButton(page).click()
  await expect(page.getByRole('alert')).toHaveText(
    /would have [\d,]+ characters; it may have at most 200,?000/,
  )
  await expect(attached(page)).toHaveCount(1)
  expect(await violations(page)).toEqual([])
})

test('an unsent pasted file is restored after a reload', async ({ page }) => {
  await openChat(page)
  await paste(page, LONG)
  await page.keyboard.type('Who?')
  await expect(attached(page)).toHaveCount(1)
  await page.reload()
  await ready(page)
  await expect(composer(page)).toHaveValue('Who?')
  await expect(attached(page)).toHaveCount(1)
  await editButton(page).click()
  await expect(composer(page)).toHaveValue(`Who?${LONG}`)
})

test('if the code for files does not load, long text is pasted as is', async ({ page }) => {
  await openChat(page)
  await page.route('**/composer-files-*.js', (route) => route.abort())
  await paste(page, LONG)
  await expect(composer(page)).toHaveValue(LONG)
})

test.describe('in Hebrew', () => {
  test.use({ locale: 'he-IL' })
  test('the file, its buttons and the sentence are in Hebrew', async ({ page }) => {
    await page.goto('/')
    await expect(readyComposer(page)).toHaveCount(1)
    const field = page.locator('chat-composer textarea')
    await page.evaluate((copied) => navigator.clipboard.writeText(copied), LONG)
    await field.focus()
    await page.keyboard.press('Control+V')
    await expect(page.locator('.attached li')).toHaveText([
      /^\s*טקסט שהודבק "\u2068The lighthouse k…\u2069"\s*$/,
    ])
    await expect(page.locator('chat-composer [role=status]')).toHaveText(/^הטקסט ארוך/)
    expect(await overflowing(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await page.screenshot({ path: 'build/screens/pasted-he.png' })
    await page.getByRole('button', { name: /^עריכת .* בתוך ההודעה$/ }).click()
    await expect(field).toHaveValue(LONG)
  })
})
