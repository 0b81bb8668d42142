// A user's unit test, for Vitest and Jest. `spyOn` is the runner's own.
import { Engine, HalfbyteError } from 'halfbyte'
import { fakeEngine } from 'halfbyte/testing'
import { defined } from 'halfbyte/widget'

let chats = 0

/** Adds a widget to the page, with a model that no other widget uses. */
async function chatOnPage() {
  await defined
  const chat = document.createElement('halfbyte-chat')
  chats += 1
  chat.model = `/model-${chats}.gguf`
  document.body.append(chat)
  await chat.updateComplete
  return chat
}

/** Waits for something that the widget renders in a later update. */
async function rendered(chat, selector) {
  for (let turn = 0; turn < 1000; turn += 1) {
    const found = chat.shadowRoot.querySelector(selector)
    if (found !== null) return found
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  throw new Error(`no ${selector} in ${chat.shadowRoot.innerHTML}`)
}

export async function widgetAnswers(spyOn) {
  const engine = await fakeEngine(['Hello **you**.'])
  const load = spyOn(Engine, 'load').mockResolvedValue(engine)
  const chat = await chatOnPage()
  const before = load.mock.calls.length
  await chat.load()
  chat.send('Hi')
  const strong = await rendered(chat, 'strong')
  const { textContent } = strong
  chat.remove()
  load.mockRestore()
  await engine.dispose()
  return { before, textContent }
}

export async function failuresAreTold(spyOn) {
  const lost = new HalfbyteError('network', 'the server did not answer')
  const load = spyOn(Engine, 'load').mockRejectedValue(lost)
  const chat = await chatOnPage()
  const failed = await chat.load().catch((error) => error)
  const alert = await rendered(chat, '[role=alert]')
  const said = alert.textContent.trim() !== ''
  chat.remove()
  load.mockRestore()
  return { isOwn: failed === lost, said }
}

export async function sessionsStream() {
  const engine = await fakeEngine(() => 'one two three')
  const session = engine.createSession()
  const chunks = []
  for await (const { text } of session.send('Count.')) chunks.push(text)
  await engine.dispose()
  return chunks
}
