// The chat page's entry. In: nothing. Out: <chat-app> comes alive.
import { idle, nextTask } from './shell/tasks.ts'
import { followVisualViewport } from './shell/viewport.ts'

void start()

/** What the app is made of is fetched side by side and runs piece by piece: as one script it would hold a phone up for a third of a second. */
async function start(): Promise<void> {
  const parts: Promise<unknown>[] = []
  for (const load of [
    () => import('./conversation/log.ts'),
    () => import('./conversation/chat.ts'),
    () => import('./conversation/composer.ts'),
  ]) {
    parts.push(load())
    // To ask for files takes long enough for a task.
    await nextTask()
  }
  await Promise.all(parts)
  await nextTask()
  const { ChatApp } = await import('./app.ts')
  await nextTask()
  customElements.define('chat-app', ChatApp)
  followVisualViewport()
  await idle()
  // Where it is refused, the page works as it did before there were service workers.
  if (import.meta.env.PROD) navigator.serviceWorker?.register('./sw.js').catch(() => undefined)
}
