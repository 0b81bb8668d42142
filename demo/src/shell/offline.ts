// Offline use. In: a page that has answered. Out: a service worker that stores the files that the page has
// used, and knows its build.

let registered: Promise<ServiceWorkerRegistration> | undefined

/** The mark that the build puts into the page; development has none. */
const build = (): string | undefined => document.querySelector<HTMLMetaElement>('meta[name="build"]')?.content

/** Tells service workers of other builds which build is open here. */
export function nameBuild(): void {
  navigator.serviceWorker?.addEventListener('message', ({ source }) => {
    ;(source as ServiceWorker | null)?.postMessage({ build: build() })
  })
}

/**
 * Registers the service worker, and tells it which files the page has used so far. Registered before the
 * first answer, it would compete for the network with the files of that answer. If registration fails, the
 * page works only online.
 */
export async function keepForOffline(): Promise<void> {
  if (!import.meta.env.PROD || navigator.serviceWorker === undefined) return
  try {
    registered ??= register()
    tell(await registered)
  } catch {
    registered = undefined
  }
}

async function register(): Promise<ServiceWorkerRegistration> {
  const registration = await navigator.serviceWorker.register('./sw.js')
  registration.addEventListener('updatefound', () => tell(registration))
  return navigator.serviceWorker.ready
}

/** After an update, the waiting worker stores this page's files, and the active one those of older pages. */
function tell({ installing, waiting, active }: ServiceWorkerRegistration): void {
  const used = performance.getEntriesByType('resource').map(({ name }) => name)
  for (const worker of [installing, waiting, active]) worker?.postMessage({ build: build(), used })
}
