// Behaviour shared by the chat page and the widget. In: both, with a model that never stops answering. Out:
// whether the composer and the log behave the same in both.
import type { Locator, Page } from '@playwright/test'
import type { HalfbyteChat } from '../../src/ui/widget/element.ts'
import { openChat, openModels, ready } from '../chat/chat-page.ts'
import { endlessModel } from '../endless-model.ts'
import { type ModelServer, serveModels } from '../model-server.ts'
import { chat, expect, test, type WidgetSites } from './widget-site.ts'

let models: ModelServer
test.beforeAll(async () => {
  models = await serveModels(endlessModel())
})
test.afterAll(() => models.close())

const OPEN: Readonly<Record<string, (page: Page, sites: WidgetSites) => Promise<unknown>>> = {
  async page(page) {
    await openChat(page)
    await openModels(page)
    await page.getByLabel('From an address').fill(models.address)
    await page.getByRole('button', { name: 'Load', exact: true }).click()
    await ready(page)
  },
  async widget(page, sites) {
    await sites.open(page, {
      markup: `<halfbyte-chat model="${models.address}" autoload></halfbyte-chat>`,
      headers: {},
    })
    const state = () => chat(page).evaluate((element) => (element as unknown as HalfbyteChat).state)
    await expect.poll(state).toBe('ready')
  },
}

const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true })
const stop = (page: Page) => page.getByRole('button', { name: 'Stop', exact: true })
const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })

/**
 * Clicks Stop with a time stamp 200 ms after the message was sent, like the second click of a double click,
 * and once the answer has grown by 50 characters, with one 900 ms after. Runs in the page, because on a busy
 * machine the answer may end before the test sees it grow.
 */
const clickTwice = (button: Locator) =>
  button.evaluate((element) => {
    const { sentAt } = element.closest('form') as HTMLFormElement & { readonly sentAt: number }
    const clickAt = (ms: number) => {
      const click = new MouseEvent('click', { bubbles: true, composed: true, detail: 1 })
      Object.defineProperty(click, 'timeStamp', { value: sentAt + ms })
      element.dispatchEvent(click)
    }
    const root = element.getRootNode() as ShadowRoot | Document
    const length = () => root.querySelector('.message.growing .body')?.textContent.length ?? 0
    clickAt(200)
    const before = length()
    return new Promise<void>((done) => {
      new MutationObserver((_, observer) => {
        if (length() <= before + 50) return
        observer.disconnect()
        clickAt(900)
        done()
      }).observe(root, { subtree: true, childList: true, characterData: true })
    })
  })

for (const [name, open] of Object.entries(OPEN)) {
  test(`${name}: Send is disabled without text, and a double click on it does not stop the answer`, async ({
    page,
    sites,
  }) => {
    await open(page, sites)
    await expect(send(page)).toBeDisabled()
    await field(page).fill('   ')
    await expect(send(page)).toBeDisabled()
    // Asks for a long answer, because a short one could end before the second click.
    await field(page).fill('Tell me a long story about a fox.')
    await expect(send(page)).toBeEnabled()
    await page
      .locator('form.composer')
      .evaluate((form) =>
        form.addEventListener('submit', ({ timeStamp }) => Object.assign(form, { sentAt: timeStamp })),
      )
    await send(page).click()
    await expect(stop(page), 'the focus stays on the button').toBeFocused()

    await clickTwice(stop(page))
    await expect(page.getByText('Stopped', { exact: true })).toBeVisible()
    await expect(send(page)).toBeDisabled()
  })
}

test('the widget follows the end of the conversation when its height changes', async ({ page, sites }) => {
  const entries = Array.from({ length: 20 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `message ${at}`,
  }))
  await sites.open(page, {
    markup: '<halfbyte-chat model="/none.hbm" keep="tab"></halfbyte-chat>',
    script: `sessionStorage.setItem('halfbyte-chat:default', ${JSON.stringify(JSON.stringify(entries))})`,
  })
  const log = chat(page).getByRole('log')
  const left = () =>
    log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)
  await expect(chat(page).getByText('message 19')).toBeInViewport()
  expect(await left()).toBeLessThan(4)
  const resize = (height: string) =>
    chat(page).evaluate((element, to) => {
      ;(element as HTMLElement).style.height = to
    }, height)
  await resize('320px')
  await expect(chat(page).getByText('message 19')).toBeInViewport()
  await expect.poll(left).toBeLessThan(4)
  await log.evaluate((element) => element.scrollBy(0, -100))
  await expect(chat(page).getByRole('button', { name: 'Jump to the newest message' })).toBeVisible()
  await resize('400px')
  expect(await left(), 'the text being read stays in place').toBeGreaterThan(10)
})
