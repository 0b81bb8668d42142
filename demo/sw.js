// Service worker. In: the names of the page's files, put in by the build, and what a visit has used. Out: the
// page, from the network or from what was kept.
const VERSION = '__VERSION__'
/** What every visitor of the chat needs. */
const FILES = ['__FILES__']
/** Engine modules, models, other pages: kept once they were used. */
const LATER = ['__LATER__']
const PREFIX = 'halfbyte-page-'
const KEPT = PREFIX + VERSION

const address = (name) => new URL(name, self.registration.scope).href
const pages = new Set([...FILES, ...LATER].filter((name) => name.endsWith('.html')).map(address))
/** Names of these change with their contents, so that what was kept is what would be fetched. */
const assets = new Set([...FILES, ...LATER].filter((name) => name.startsWith('assets/')).map(address))

self.addEventListener('install', () => self.skipWaiting())

self.addEventListener('activate', (event) => {
  event.waitUntil(succeed())
  // Not waited for: when a page is left meanwhile, Firefox never ends the claim, and the next page would
  // wait for the activation for ever.
  self.clients.claim()
})

/** A page that has answered tells what it has loaded. */
self.addEventListener('message', (event) => {
  const used = Array.isArray(event.data?.used) ? event.data.used : []
  event.waitUntil(keep([...FILES.map(address), ...used.filter((url) => assets.has(url))]))
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method !== 'GET') return
  const page = pageOf(request.url)
  if (assets.has(request.url)) event.respondWith(keptFirst(request))
  else if (request.mode === 'navigate' && pages.has(page)) event.respondWith(networkFirst(request, page))
})

/** Takes the place of an older release: keeps what that one had kept, and then removes it. */
async function succeed() {
  const names = await caches.keys()
  const older = names.filter((name) => name.startsWith(PREFIX) && name !== KEPT)
  if (older.length === 0) return
  const requests = await Promise.all(older.map(async (name) => (await caches.open(name)).keys()))
  const kinds = new Set(requests.flat().map(({ url }) => kindOf(url)))
  const used = LATER.map(address).filter((url) => kinds.has(kindOf(url)))
  await keep([...FILES.map(address), ...used])
  await Promise.all(older.map((name) => caches.delete(name)))
}

/** The name without the part that changes with the contents. */
const kindOf = (url) => url.replace(/-[^-]{8}(\.\w+)$/, '$1')

async function keep(urls) {
  const cache = await caches.open(KEPT)
  await Promise.all(
    [...new Set(urls)].map(async (url) => {
      if ((await cache.match(url, { ignoreVary: true })) !== undefined) return
      // What the page has just fetched comes from the browser's own cache.
      const response = await fetch(url, { cache: assets.has(url) ? 'force-cache' : 'default' })
      if (response.ok) await cache.put(url, response)
    }),
  )
}

async function keptFirst(request) {
  const cache = await caches.open(KEPT)
  const find = () => cache.match(request, { ignoreVary: true })
  const found = await find()
  if (found !== undefined) return found
  // All of a file, whatever part of it was asked for; where nothing can be kept, just that part.
  const isKept = await keep([request.url]).then(
    () => true,
    () => false,
  )
  return (isKept ? await find() : undefined) ?? fetch(request)
}

async function networkFirst(request, page) {
  try {
    const response = await fetch(request)
    // The chat's page is kept together with its files.
    if (response.ok && LATER.map(address).includes(page)) await put(page, response.clone())
    return response
  } catch (error) {
    const kept = await (await caches.open(KEPT)).match(page, { ignoreVary: true })
    if (kept === undefined) throw error
    return kept
  }
}

async function put(page, response) {
  const cache = await caches.open(KEPT)
  await cache.put(page, response)
}

/** The file that an address means, whatever it asks for beside it. */
function pageOf(url) {
  const { origin, pathname } = new URL(url)
  const place = origin + pathname
  return place === self.registration.scope ? address('index.html') : place
}
