// The chat page's entry. In: nothing. Out: a working <chat-app>.
import { idle, nextTask } from './shell/tasks.ts'
import { followVisualViewport } from './shell/viewport.ts'

void start()

/**
 * Fetches the app's modules in parallel and runs them one by one. As one script they block a phone for a
 * third of a second.
 */
async function start(): Promise<void> {
  const parts: Promise<unknown>[] = []
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
  await idle()
  // If registration fails, the page works, but only online.
  if (import.meta.env.PROD) navigator.serviceWorker?.register('./sw.js').catch(() => undefined)
}
