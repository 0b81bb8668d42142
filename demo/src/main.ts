// The chat page's entry. In: nothing. Out: a working <chat-app>.
import { askEarly } from './models/early.ts'
import { awaitOffer } from './shell/install.ts'
import { readSettings } from './shell/settings.ts'
import { nextTask } from './shell/tasks.ts'
import { followVisualViewport } from './shell/viewport.ts'

askEarly()
awaitOffer()
void start()

/**
 * Fetches the app's modules in parallel and runs them one by one. As one script they block a phone for a
 * third of a second.
 */
async function start(): Promise<void> {
  const parts: Promise<unknown>[] = [
    import('./words/words.ts').then(({ languageFor, speak }) => speak(languageFor(readSettings().language))),
  ]
  for (const load of [
    () => import('./conversation/log.ts'),
    () => import('./conversation/chat.ts'),
    () => import('./conversation/composer.ts'),
  ]) {
    parts.push(load())
    // Requesting the files is long enough for one task.
    await nextTask()
  }
  await Promise.all(parts)
  await nextTask()
  const { ChatApp } = await import('./app.ts')
  await nextTask()
  customElements.define('chat-app', ChatApp)
  followVisualViewport()
}
