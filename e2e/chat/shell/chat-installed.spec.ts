// The installed app. In: the built chat page, opened as an installed app. Out: whether its manifest is valid,
// and whether shortcuts, shared text, files and the install offer work.
import { expect, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { composer, openChat, openSettings, ready } from '../chat-page.ts'

test('an installed page starts with the action that it was opened for', async ({ page }) => {
  await page.addInitScript(() => {
    const launchQueue = { setConsumer: (consumer: unknown) => Object.assign(globalThis, { consumer }) }
    Object.defineProperty(globalThis, 'launchQueue', { value: launchQueue })
  })
  await openChat(page, '/?title=A%20fox&text=Tell%20me%20of%20it.')
  const session = await page.context().newCDPSession(page)
  const { errors, data } = await session.send('Page.getAppManifest')
  expect(errors).toEqual([])
  expect(Object.keys(JSON.parse(data ?? '{}'))).toEqual(
    expect.arrayContaining(['shortcuts', 'share_target', 'file_handlers', 'launch_handler']),
  )
  await expect(composer(page)).toHaveValue('A fox\nTell me of it.')
  await expect(composer(page)).toBeFocused()
  expect(new URL(page.url()).search, 'a reload does not repeat it').toBe('')

  await page.goto('/?models')
  await expect(page.getByRole('dialog', { name: 'Choose a model' })).toBeVisible()
  await page.keyboard.press('Escape')
  await ready(page)
  const open = (name: string, content: string) =>
    page.evaluate(
      ([fileName, text]) => {
        const { consumer } = globalThis as unknown as { consumer: (params: unknown) => void }
        consumer({ files: [{ getFile: async () => new File([text], fileName) }], targetURL: location.href })
      },
      [name, content] as const,
    )
  await open('wrong.gguf', 'no model')
  await expect(page.getByRole('alert')).toContainText('wrong.gguf')
  await page.getByRole('button', { name: /^Continue with/ }).click()
  await page.evaluate(() => {
    const { consumer } = globalThis as unknown as { consumer: (params: unknown) => void }
    consumer({ files: [], targetURL: `${location.origin}/?text=Again` })
  })
  await expect(composer(page)).toHaveValue('Again')
})

test('the settings offer to install the page if the browser does', async ({ page }) => {
  await openChat(page)
  await openSettings(page)
  const button = page.getByRole('button', { name: 'Install as an app' })
  await expect(button).toHaveCount(0)
  await page.evaluate(() => {
    const offer = Object.assign(new Event('beforeinstallprompt', { cancelable: true }), {
      prompt: async () => {
        Object.assign(globalThis, { prompted: true })
        return { outcome: 'accepted' }
      },
    })
    if (window.dispatchEvent(offer)) throw new Error('the browser would show a banner of its own')
  })
  await expect(button).toBeVisible()
  expect(await violations(page)).toEqual([])
  await button.click()
  expect(await page.evaluate(() => 'prompted' in globalThis)).toBe(true)
  await expect(button).toHaveCount(0)
})
