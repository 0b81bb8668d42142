// The widget's accessibility. In: the bubble and the inline form. Out: use by keyboard alone, screen reader
// announcements, no axe findings in any state, right-to-left layout, custom texts.
import { violations } from '../violations.ts'
import { accept, answersOf, chat, expect, field, MODEL, send, test } from './widget-site.ts'

const BUBBLE = `<halfbyte-chat mode="bubble" model="${MODEL}" heading="Help" suggestions="Hello! How are you?|Tell me a story about a fox."></halfbyte-chat>`

test('the bubble can be used by keyboard alone', async ({ page, sites }) => {
  await sites.open(page, { markup: BUBBLE })
  await page.keyboard.press('Tab')
  await expect(chat(page).getByRole('button', { name: 'Open the chat' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(field(page)).toBeFocused()
  await page.keyboard.type('Hello')
  await page.keyboard.press('Control+Enter')
  await expect(chat(page).getByRole('button', { name: 'Download' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(field(page)).toBeFocused()
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(chat(page).getByRole('status')).toHaveText((await answersOf(chat(page)).innerText()).trim())
  await page.keyboard.press('Escape')
  await expect(chat(page).getByRole('dialog')).toHaveCount(0)
  await expect(chat(page).getByRole('button', { name: 'Open the chat' })).toBeFocused()
})

for (const scheme of ['light', 'dark'] as const) {
  test(`axe finds no violation in any state, ${scheme}`, async ({ page, sites }) => {
    await page.emulateMedia({ colorScheme: scheme })
    await sites.open(page, { markup: BUBBLE })
    expect(await violations(page)).toEqual([])
    await chat(page).getByRole('button', { name: 'Open the chat' }).click()
    expect(await violations(page)).toEqual([])
    await send(page, 'Hello')
    await expect(chat(page).getByRole('button', { name: 'Download' })).toBeVisible()
    expect(await violations(page)).toEqual([])
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(`**${MODEL}`, async (route) => {
      await held
      await route.continue()
    })
    await accept(page)
    await expect(chat(page).getByRole('progressbar')).toBeVisible()
    expect(await violations(page)).toEqual([])
    release()
    await expect(answersOf(chat(page))).toHaveCount(1)
    expect(await violations(page)).toEqual([])
    await page.evaluate(() => {
      const widget = document.querySelector('halfbyte-chat') as HTMLElement & { send(text: string): void }
      Object.assign(widget, { generateOptions: { temperature: -1 } })
      widget.send('Again')
    })
    await expect(chat(page).getByRole('alert')).toBeVisible()
    await chat(page).getByText('Details').click()
    expect(await violations(page)).toEqual([])
  })
}

test('in a right-to-left page the panel is mirrored, and custom texts are used', async ({ page, sites }) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}"></halfbyte-chat>`,
    lang: 'ar',
    dir: 'rtl',
    script: `document.querySelector('halfbyte-chat').messages = { send: 'إرسال', consentSize: 'الحجم {size}', heading: 'محادثة' }`,
  })
  const [text, button] = await Promise.all([
    field(page).boundingBox(),
    chat(page).getByRole('button', { name: 'إرسال' }).boundingBox(),
  ])
  expect(button?.x).toBeLessThan(text?.x ?? 0)
  await expect(chat(page).getByRole('heading')).toHaveText('محادثة')
  await send(page, 'Hello')
  await expect(chat(page).getByText(/^الحجم .*5[.٫]3|٥٫٣/)).toBeVisible()
})

test('a page can style the widget by properties and parts, and fill its slots', async ({ page, sites }) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}"><b slot="header">Ask the shop</b><p slot="empty">Welcome</p><small slot="footer">Small print</small></halfbyte-chat>`,
    script: `const sheet = new CSSStyleSheet()
sheet.replaceSync('halfbyte-chat { --halfbyte-accent: rgb(10, 20, 200); --halfbyte-height: 400px } halfbyte-chat::part(input) { border-radius: 3px }')
document.adoptedStyleSheets = [sheet]`,
  })
  await expect(chat(page)).toHaveCSS('height', '400px')
  await expect(field(page)).toHaveCSS('border-radius', '3px')
  await expect(chat(page).getByRole('button', { name: 'Send' })).toHaveCSS(
    'background-color',
    'rgb(10, 20, 200)',
  )
  for (const text of ['Ask the shop', 'Welcome', 'Small print'])
    await expect(page.getByText(text)).toBeVisible()
})
