// Language. In: the built chat page in a Hebrew browser, and a language change. Out: whether every text
// follows, from right to left.
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { openChat, overflowing, ready, readyComposer } from '../chat-page.ts'

/** Texts and labels that still have Latin words, except the names of models and formats. */
const latin = (page: Page) =>
  page.evaluate(() => {
    const known =
      /https:\/\/…\/model|Hello|Halfbyte|Stories|Mamba|Hugging Face|English|attention|Alt|Shift|Enter|Escape|Top|Min|fp8|Markdown|JSON|MB|GB|relaxed|simd128|safetensors|gguf|hbm|mmproj|sentence-transformers|all-MiniLM|owner|name|file|https?|llama|shared|single|ms\b/g
    const found: string[] = []
    const take = (text: string | null | undefined) => {
      if (/[A-Za-z]{2,}/.test((text ?? '').replace(known, ''))) found.push((text ?? '').trim())
    }
    for (const element of document.querySelectorAll('chat-app *')) {
      // Sample questions are for a model that reads English; answers are not translated. The
      // catalogue has names and licences.
      if (
        element.closest(
          '.starters, .message .body, option[lang], [aria-labelledby=catalogue], .foot > .visually-hidden[role=status], .choice',
        ) !== null
      )
        continue
      for (const name of ['aria-label', 'title', 'placeholder']) take(element.getAttribute(name))
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) take(node.textContent)
    }
    return found
  })

test.describe('in a browser that prefers Hebrew', () => {
  test.use({ locale: 'he-IL', colorScheme: 'light', reducedMotion: 'reduce' })

  test('every text is Hebrew and runs from right to left, until English is chosen', async ({ page }) => {
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    await page.goto('/')
    const send = page.getByRole('button', { name: 'שליחה', exact: true })
    await expect(readyComposer(page)).toHaveCount(1)
    const root = page.locator('html')
    await expect(root).toHaveAttribute('dir', 'rtl')
    await expect(root).toHaveAttribute('lang', 'he')
    await expect(page.locator('.stats.loading')).toHaveCount(0)
    expect(await latin(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await page.screenshot({ path: 'build/screens/hebrew.png' })
    await page.getByRole('textbox', { name: 'הודעה' }).fill('Hello!')
    await send.click()
    await expect(page.getByRole('button', { name: 'תשובה חדשה' })).toBeEnabled({ timeout: 60_000 })
    expect(await latin(page)).toEqual([])
    expect(await overflowing(page)).toEqual([])
    await page.screenshot({ path: 'build/screens/hebrew-chat.png' })
    for (const name of ['שיחות', /^מודל:/, /^איך זה רץ/, 'הגדרות']) {
      await page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) }).click()
      await expect(page.getByRole('dialog')).toBeVisible()
      await page.waitForTimeout(100)
      expect(await latin(page), String(name)).toEqual([])
      expect(await overflowing(page)).toEqual([])
      await page.screenshot({ path: `build/screens/hebrew-${String(name).length}.png` })
      if (name !== 'הגדרות') await page.keyboard.press('Escape')
    }
    await page.getByLabel('שפה', { exact: true }).selectOption('en')
    await expect(page.getByRole('dialog', { name: 'Settings' })).toBeVisible()
    await expect(root).toHaveAttribute('dir', 'ltr')
    await page.getByRole('button', { name: 'Done' }).click()
    await expect(page.getByRole('button', { name: 'Regenerate' })).toBeVisible()
    await page.reload()
    await ready(page)
    await expect(root).toHaveAttribute('lang', 'en')
    expect(problems).toEqual([])
  })
})

test.describe('when something fails in Hebrew', () => {
  test.use({ locale: 'he-IL', reducedMotion: 'reduce' })

  test('the error is a Hebrew sentence, with the library’s message collapsed', async ({ page }) => {
    await page.goto('/')
    await expect(readyComposer(page)).toHaveCount(1)
    await page.getByRole('button', { name: /^מודל:/ }).click()
    const broken = { name: 'broken.gguf', mimeType: '', buffer: Buffer.from('GGUF and no more') }
    await page.locator('models-dialog input[type=file]').setInputFiles([broken])
    await expect(page.getByRole('alert')).toHaveText(/^לא ניתן לקרוא את .* ייתכן שהקובץ פגום/)
    const details = page.locator('.notice details p')
    await expect(details).toBeHidden()
    await page.getByText('פרטים', { exact: true }).click()
    await expect(details).toContainText('broken.gguf')
    await expect(details).toBeVisible()
    expect(await overflowing(page)).toEqual([])
    expect(await violations(page)).toEqual([])
    await page.screenshot({ path: 'build/screens/hebrew-error.png' })
  })
})

test('English loads no other message catalogue', async ({ page }) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await openChat(page)
  expect(asked.filter((url) => url.includes('language-'))).toEqual([])
})
