// Reading aloud. In: the page, and voices that report what they read. Out: whether an answer is read aloud,
// and whether reading can be stopped and ends when the user leaves the conversation.
import { expect, test } from '@playwright/test'
import { answers, ask, openChat, ready } from '../chat-page.ts'
import { storeChats } from '../stored/stored-chats.ts'

/** A headless browser has no voices, so these record what they would say. */
const VOICES = () => {
  const voices = [
    { name: 'server', lang: 'en-US', localService: false },
    { name: 'own', lang: 'en-GB', localService: true },
    { name: 'own', lang: 'he-IL', localService: true },
  ]
  const said: Utterance[] = []
  const spoken: string[] = []
  class Utterance {
    lang = ''
    voice = { name: 'default' }
    onend = () => {}
    onerror = () => {}
    readonly text: string
    constructor(text: string) {
      this.text = text
    }
  }
  const speechSynthesis = {
    getVoices: () => voices,
    speak: (utterance: Utterance) => void said.push(utterance),
    cancel: () => {
      for (const { onerror } of said.splice(0)) onerror()
    },
  }
  const sayNext = () => {
    const next = said.shift()
    if (next === undefined) return
    spoken.push(`${next.voice.name} ${next.lang.slice(0, 2)}: ${next.text}`)
    next.onend()
  }
  Object.defineProperty(window, 'speechSynthesis', { value: speechSynthesis })
  Object.assign(window, { SpeechSynthesisUtterance: Utterance, sayNext, spoken, waiting: said })
}

test('an answer is read sentence by sentence, without its code, and reading can be stopped', async ({
  page,
}) => {
  await page.addInitScript(VOICES)
  await openChat(page)
  const content = '# A tale\n\nOnce *upon* a time. The end.\n\n```js\nlet x = 1\n```\n\nשלום'
  await storeChats(page, [
    {
      id: 'tale',
      messages: [
        { role: 'user', content: 'Tell me.' },
        { role: 'assistant', content },
      ],
    },
  ])
  await page.reload()
  await ready(page)
  const read = answers(page).getByRole('button', { name: 'Read aloud' })
  const stop = answers(page).getByRole('button', { name: 'Stop reading' })
  await read.click()
  await expect(stop).toBeFocused()
  for (let sentence = 0; sentence < 4; sentence++) {
    await expect.poll(() => page.evaluate('waiting.length')).toBe(1)
    await page.evaluate('sayNext()')
  }
  expect(await page.evaluate('spoken')).toEqual([
    'own en: A tale',
    'own en: Once upon a time.',
    'own en: The end.',
    'own he: שלום',
  ])
  await expect(read).toBeFocused()
  await read.click()
  await stop.click()
  await expect(read).toBeVisible()
  expect(await page.evaluate('waiting.length')).toBe(0)
})

test('reading stops when the user leaves the conversation', async ({ page }) => {
  await page.addInitScript(VOICES)
  await openChat(page)
  await ask(page, 'Hello!')
  await answers(page).getByRole('button', { name: 'Read aloud' }).click()
  await expect.poll(() => page.evaluate('waiting.length')).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  await expect.poll(() => page.evaluate('waiting.length')).toBe(0)
})

test('on a device without a local voice, the page says so and sends nothing to a server', async ({
  page,
}) => {
  await page.addInitScript(VOICES)
  await page.addInitScript('speechSynthesis.getVoices().splice(1)')
  await openChat(page)
  await ask(page, 'Hello!')
  await answers(page).getByRole('button', { name: 'Read aloud' }).click()
  await expect(answers(page).getByRole('status')).toHaveText('This device has no voice of its own')
  expect(await page.evaluate('waiting.length')).toBe(0)
})
