// Languages. In: the built widget in pages of each language, under the strictest policy. Out: whether it
// follows `lang`, loads one language at a time, and fits on a phone.
import { mkdirSync } from 'node:fs'
import type { Translation } from '../../src/ui/words/english.ts'
import { isRightToLeft, TRANSLATED } from '../../src/ui/words/languages.ts'
import { blocked } from '../policy.ts'
import { chat, expect, MODEL, send, test } from './widget-site.ts'

const FOLDER = 'build/screens/languages'
mkdirSync(FOLDER, { recursive: true })

const wordsIn = async (language: string): Promise<Translation['COMMON'] & Translation['WIDGET']> => {
  const { COMMON, WIDGET }: Translation = await import(`../../src/ui/words/languages/${language}.ts`)
  return { ...COMMON, ...WIDGET }
}

test('the widget follows the lang of its page, and loads one language at a time', async ({ page, sites }) => {
  const asked: string[] = []
  page.on('request', (request) => {
    const [, name] = /\/languages\/([\w-]+)\.js$/.exec(request.url()) ?? []
    if (name !== undefined) asked.push(name)
  })
  await sites.open(page, { markup: `<halfbyte-chat model="${MODEL}"></halfbyte-chat>`, lang: 'pt-BR' })
  const panel = chat(page).locator('.panel')
  const sends = (name: string) => expect(chat(page).getByRole('button', { name, exact: true })).toBeVisible()
  await sends('Enviar')
  await expect(panel).toHaveAttribute('lang', 'pt')
  expect(asked).toEqual(['pt'])

  const setLang = (selector: string, lang: string) =>
    page.evaluate(
      ([at, to]) => document.querySelector(at ?? '')?.setAttribute('lang', to ?? ''),
      [selector, lang],
    )
  await setLang('html', 'zh-TW')
  await sends('傳送')
  await setLang('main', 'de')
  await sends('Senden')
  await setLang('halfbyte-chat', 'ar')
  await sends('إرسال')
  await expect(panel).toHaveAttribute('dir', 'rtl')
  await setLang('halfbyte-chat', 'en-GB')
  await sends('Send')
  await expect(panel).toHaveAttribute('dir', 'ltr')
  expect(asked).toEqual(['pt', 'zh-Hant', 'de', 'ar'])

  // A language without a translation: English, and the page's own words in its own direction.
  await setLang('halfbyte-chat', 'fa')
  await expect(panel).not.toHaveAttribute('dir')
  await page.evaluate(() => {
    const widget = document.querySelector('halfbyte-chat')
    if (widget !== null) Object.assign(widget, { messages: { send: 'ارسال' } })
  })
  await sends('ارسال')
  await setLang('halfbyte-chat', 'de')
  await expect(chat(page).getByText('Stelle eine Frage')).toBeVisible()
  await sends('ارسال')
  expect(await blocked(page)).toEqual([])
})

test('inside of shadow roots too', async ({ page, sites }) => {
  await sites.open(page, {
    markup: '<div id="outer" lang="it"></div>',
    script: `const root = document.querySelector('#outer').attachShadow({ mode: 'open' })
const inner = root.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
inner.append(document.createElement('halfbyte-chat'))`,
  })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await expect(button('Invia')).toBeVisible()
  await page.evaluate(() => document.querySelector('#outer')?.setAttribute('lang', 'pl'))
  await expect(button('Wyślij')).toBeVisible()
})

test('if its translation does not load, the widget is in English, and still asks for consent', async ({
  page,
  sites,
}) => {
  await page.route(/\/languages\//, (route) => route.abort())
  await sites.open(page, { markup: `<halfbyte-chat model="${MODEL}"></halfbyte-chat>`, lang: 'ko' })
  await expect(chat(page).getByRole('button', { name: 'Send', exact: true })).toBeVisible()
  await expect(chat(page).locator('.panel')).toHaveAttribute('lang', 'en')
  await send(page, 'Hello')
  await expect(chat(page).locator('#consent-title')).toHaveText('Download the language model?')
})

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } })

  for (const language of TRANSLATED)
    test(`the widget in ${language} fits`, async ({ page, sites }) => {
      const words = await wordsIn(language)
      await sites.open(page, {
        markup: `<halfbyte-chat model="${MODEL}"></halfbyte-chat>`,
        lang: language,
        dir: isRightToLeft(language) ? 'rtl' : 'ltr',
      })
      await expect(chat(page).getByRole('heading')).toHaveText(words.heading)
      await chat(page).locator('textarea').fill('Hello')
      await chat(page).getByRole('button', { name: words.send, exact: true }).click()
      await expect(chat(page).locator('#consent-title')).toHaveText(words.consentTitle)
      const wide = await chat(page).evaluate((element) =>
        [...(element.shadowRoot?.querySelectorAll('*') ?? [])]
          .filter(
            (inside) => inside.getClientRects().length > 0 && inside.closest('.visually-hidden') === null,
          )
          .filter(
            (inside) =>
              inside.scrollWidth > inside.clientWidth + 1 && getComputedStyle(inside).display !== 'inline',
          )
          .map((inside) => `${inside.localName}.${inside.className}`),
      )
      expect(wide).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
      await page.screenshot({ path: `${FOLDER}/widget-${language}.png` })
      expect(await blocked(page)).toEqual([])
    })
})
