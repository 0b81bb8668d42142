// The chat page's entry. Out: a working <chat-app>.
import { askEarly } from './models/early.ts'
import { awaitOffer } from './shell/install.ts'
import { nextFrame, nextTask } from './shell/tasks.ts'
import { followVisualViewport } from './shell/viewport.ts'

askEarly()
awaitOffer()
void start()

/**
 * Fetches the app's modules in parallel and runs them one by one. As one script, they would block a phone for
 * a third of a second. The chat comes first: its engine loads in a worker while the others run.
 */
async function start(): Promise<void> {
  // Before the first paint, this would delay it.
  if (performance.getEntriesByType('paint').length === 0) await nextFrame()
  const parts: Promise<unknown>[] = [import('./conversation/start.ts').then(({ spoken }) => spoken)]
  for (const load of [() => import('./conversation/log.ts'), () => import('./conversation/composer.ts')]) {
    // Requesting the files is long enough for one task.
    await nextTask()
    parts.push(load())
  }
  await Promise.all(parts)
  await nextTask()
  const { ChatApp } = await import('./app.ts')
  await nextTask()
  customElements.define('chat-app', ChatApp)
  followVisualViewport()
}
