// Service worker. In: the names of the page's files, put in by the build. Out: the page, from the network or
// from what was kept.
const VERSION = '__VERSION__'
const FILES = ['__FILES__']
/** Large ones that not everybody uses: kept once they were fetched. */
const LATER = ['__LATER__']
const KEPT = `halfbyte-page-${VERSION}`

const address = (name) => new URL(name, self.registration.scope).href
const pages = new Set(FILES.filter((name) => name.endsWith('.html')).map(address))
/** Names of these change with their contents, so that what was kept is what would be fetched. */
const assets = new Set([...FILES, ...LATER].filter((name) => name.startsWith('assets/')).map(address))

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES.map(address))))
})

self.addEventListener('activate', (event) => {
  event.waitUntil(removeOlder().then(() => self.clients.claim()))
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method !== 'GET') return
  const page = pageOf(request.url)
  if (assets.has(request.url)) event.respondWith(keptFirst(request))
  else if (request.mode === 'navigate' && pages.has(page)) event.respondWith(networkFirst(request, page))
})

async function removeOlder() {
  const names = await caches.keys()
  const older = names.filter((name) => name.startsWith('halfbyte-page-') && name !== KEPT)
  await Promise.all(older.map((name) => caches.delete(name)))
}

async function keptFirst(request) {
  const cache = await caches.open(KEPT)
  const find = () => cache.match(request, { ignoreVary: true })
  // All of a file, whatever part of it was asked for; where nothing can be kept, just that part.
  const keep = () => cache.add(request.url).then(find, () => undefined)
  return (await find()) ?? (await keep()) ?? fetch(request)
}

async function networkFirst(request, page) {
  try {
    return await fetch(request)
  } catch (error) {
    const kept = await (await caches.open(KEPT)).match(page, { ignoreVary: true })
    if (kept === undefined) throw error
    return kept
  }
}

/** The file that an address means, whatever it asks for beside it. */
function pageOf(url) {
  const { origin, pathname } = new URL(url)
  const place = origin + pathname
  return place === self.registration.scope ? address('index.html') : place
}
