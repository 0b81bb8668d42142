// The chat page's entry. In: nothing. Out: <chat-app> comes alive.
import { idle, nextTask } from './tasks.ts'
import { followVisualViewport } from './viewport.ts'

void start()

/** What the app is made of is fetched at once and runs piece by piece: as one script it would hold a phone up for a third of a second. */
async function start(): Promise<void> {
  await Promise.all([import('./chat.ts'), import('./log.ts'), import('./composer.ts')])
  await nextTask()
  const { ChatApp } = await import('./app.ts')
  await nextTask()
  customElements.define('chat-app', ChatApp)
  followVisualViewport()
  await idle()
  // Where it is refused, the page works as it did before there were service workers.
  if (import.meta.env.PROD) navigator.serviceWorker?.register('./sw.js').catch(() => undefined)
}
