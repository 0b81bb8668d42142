// Offline use. In: a page that has answered. Out: a service worker that keeps what the page has used.

let isAsked = false

/**
 * Registers the service worker once. It is not needed before the first answer, whose files it would compete
 * with. If registration fails, the page works, but only online.
 */
export async function keepForOffline(): Promise<void> {
  if (isAsked || !import.meta.env.PROD || navigator.serviceWorker === undefined) return
  isAsked = true
  try {
    await navigator.serviceWorker.register('./sw.js')
    const { active } = await navigator.serviceWorker.ready
    active?.postMessage({ used: performance.getEntriesByType('resource').map(({ name }) => name) })
  } catch {
    isAsked = false
  }
}
