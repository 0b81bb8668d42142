// The widget on real-world pages. In: pages with global style rules or accent colours, pages that move the
// widget, and wrong models. Out: a widget that looks and answers the same as elsewhere.
import { answersOf, chat, expect, field, MODEL, send, test } from './widget-site.ts'

const RULES = `
const sheet = new CSSStyleSheet()
sheet.replaceSync('* { color: #111; font: italic 700 40px/3 serif; letter-spacing: 5px; word-spacing: 9px; text-transform: uppercase; text-align: right; text-indent: 9px; white-space: pre }')
document.adoptedStyleSheets = [sheet]
`
const LOOK = [
  'color',
  'fontFamily',
  'fontSize',
  'fontStyle',
  'fontWeight',
  'lineHeight',
  'letterSpacing',
  'wordSpacing',
  'textTransform',
  'textAlign',
  'textIndent',
  'whiteSpace',
]

test.describe('on a dark device', () => {
  test.use({ colorScheme: 'dark' })

  test('a page’s global style rules change neither the widget’s colours nor its type', async ({
    page,
    sites,
  }) => {
    const look = async (script: string) => {
      await sites.open(page, {
        markup: `<halfbyte-chat model="${MODEL}" suggestions="Hello"></halfbyte-chat>`,
        script,
      })
      await expect(chat(page).getByText('It is answered on this device')).toBeVisible()
      return chat(page).evaluate(
        (element, names) =>
          ['h2', '.empty p', 'textarea', '.suggestions button'].map((selector) => {
            const style = getComputedStyle(element.shadowRoot?.querySelector(selector) as Element)
            return names.map((name) => `${name} ${style[name as 'color']}`)
          }),
        LOOK,
      )
    }
    expect(await look(RULES)).toEqual(await look(''))
    await page.screenshot({ path: 'build/screens/widget-rules.png' })
  })
})

test('text on the page’s accent colour is black or white, whichever is readable', async ({ page, sites }) => {
  await sites.open(page, { markup: `<halfbyte-chat mode="bubble"></halfbyte-chat>` })
  for (const [accent, on] of [
    ['#ffe066', 0],
    ['#202020', 100],
    ['#c8f0ff', 0],
    ['#7a0019', 100],
  ] as const) {
    const colour = await chat(page).evaluate((element: HTMLElement, value) => {
      element.style.setProperty('--halfbyte-accent', value)
      return getComputedStyle(element.shadowRoot?.querySelector('.launcher') as Element).color
    }, accent)
    expect(colour, accent).toBe(`lch(${on} 0 0)`)
  }
})

test('a load uses a model that was set in the same task', async ({ page, sites }) => {
  await sites.open(page, { markup: `<halfbyte-chat model="/models/none.gguf"></halfbyte-chat>` })
  const loaded = await chat(page).evaluate(async (element, model) => {
    const widget = element as HTMLElement & { model: string; load(): Promise<{ model: { id: string } }> }
    const first = widget.load().catch((error: unknown) => String(error))
    widget.model = model
    const engine = await widget.load()
    await first
    return engine.model.id
  }, MODEL)
  expect(loaded).toBe('Halfbyte Stories')
})

test('a widget that is moved in the page continues its answer', async ({ page, sites }) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload></halfbyte-chat><div id="place"></div>`,
    script: `document.querySelector('halfbyte-chat').generateOptions = { seed: 1, temperature: 0 }`,
  })
  await send(page, 'Tell me a story about a fox.')
  await expect(answersOf(chat(page))).not.toBeEmpty()
  await page.evaluate(() =>
    document.querySelector('#place')?.append(document.querySelector('halfbyte-chat') as Element),
  )
  await expect(chat(page).getByRole('button', { name: 'Answer again' })).toBeVisible()
  await expect(chat(page).locator('.ending')).toHaveCount(0)
  await expect(field(page)).toBeVisible()
})

test('a missing attribute and a model that the server lacks have different messages', async ({
  page,
  sites,
}) => {
  await sites.open(page, { markup: '<halfbyte-chat></halfbyte-chat>' })
  await send(page, 'Hello')
  await expect(chat(page).getByRole('alert')).toContainText('has no model')
  await sites.open(page, { markup: '<halfbyte-chat model="/models/none.gguf"></halfbyte-chat>' })
  await send(page, 'Hello')
  await expect(chat(page).getByRole('alert')).toContainText('The server does not have the model')
})

test('a panel that covers a phone’s screen traps the focus, and ends above the keyboard', async ({
  page,
  sites,
}) => {
  await sites.open(page, {
    markup: `<a href="#a">Before</a><halfbyte-chat mode="bubble"></halfbyte-chat><a href="#b">After</a>`,
  })
  const panel = chat(page).locator('.panel')
  await chat(page).getByRole('button', { name: 'Open the chat' }).click()
  await expect(panel).toHaveAttribute('aria-modal', 'true')
  await expect(field(page)).toBeFocused()
  for (const key of ['Tab', 'Tab', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab', 'Shift+Tab']) {
    await page.keyboard.press(key)
    expect(await page.evaluate(() => document.activeElement?.localName), key).not.toBe('a')
  }
  await page.evaluate(() => {
    Object.defineProperty(visualViewport, 'height', { value: 400, configurable: true })
    visualViewport?.dispatchEvent(new Event('resize'))
  })
  await expect(panel).toHaveCSS('height', '400px')
  await page.screenshot({ path: 'build/screens/widget-keyboard.png' })
  await page.keyboard.press('Escape')
  await expect(chat(page).getByRole('button', { name: 'Open the chat' })).toBeFocused()
  await expect(panel).not.toHaveAttribute('aria-modal', 'true')
  // On a wide screen, the panel is next to the page.
  await page.setViewportSize({ width: 900, height: 740 })
  await chat(page).getByRole('button', { name: 'Open the chat' }).click()
  await expect(panel).not.toHaveAttribute('aria-modal', 'true')
})
