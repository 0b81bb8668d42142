// Service worker. In: the list of its build's files, and pages' reports of the files they used. Out:
// these files as built, from the network or from the cache. docs/internals/offline.md has the rules.
const VERSION = '__VERSION__'
/** Files that every chat visitor needs: names, each with its SHA-256 and, for assets, the build-independent
 * name. */
const FILES = { __FILES__: [] }
/** Engine modules, models, other pages: cached once they were used. */
const LATER = { __LATER__: [] }
const BUILD = new Map(Object.entries({ ...FILES, ...LATER }))

const PREFIX = 'halfbyte-page-'
/** This build's cache, for files whose names contain no content hash. */
const PAGES = PREFIX + VERSION
/** The cache that all builds share, for assets whose names contain a content hash. */
const ASSETS = 'halfbyte-assets'
/** Header of a cached asset: its build-independent name. */
const KIND = 'x-halfbyte-kind'
const CHAT = 'index.html'
/** Browsers neither run nor show a file with the wrong content type, whatever its bytes. */
const TYPES = { js: /javascript/, css: /^text\/css/, html: /^text\/html/ }

const isAsset = (name) => name.startsWith('assets/')
const address = (name) => new URL(name, self.registration.scope).href
const cacheOf = (name) => caches.open(isAsset(name) ? ASSETS : PAGES)
const find = async (name) => (await cacheOf(name)).match(address(name))

/** Windows known to show this build. */
const mine = new Set()

// An older build stays until none of its pages is open: this worker waits automatically.
self.addEventListener('install', (event) => event.waitUntil(succeed()))

self.addEventListener('activate', (event) => {
  event.waitUntil(clean())
  // Not awaited: if a page is left meanwhile, Firefox never ends the claim, and the next page would wait for
  // the activation forever.
  self.clients.claim()
})

self.addEventListener('message', (event) => event.waitUntil(hear(event)))

self.addEventListener('fetch', (event) => {
  const { request } = event
  const name = nameOf(request.url)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (name === undefined || !isRead) return
  if (isAsset(name)) event.respondWith(keptFirst(event, name))
  else if (request.method === 'GET') event.respondWith(networkFirst(event, name))
})

/** The file for an address, ignoring its query; hosts may omit `.html`. */
function nameOf(url) {
  const { origin, pathname } = new URL(url)
  const place = origin + pathname
  const { scope } = self.registration
  if (!place.startsWith(scope)) return undefined
  const name = place.slice(scope.length)
  return [name, `${name || 'index'}.html`].find((each) => BUILD.has(each))
}

/**
 * If an older build is cached, this one must be cached completely before it may take over. If a file cannot
 * be fetched, the browser discards this worker and starts over at a later visit.
 */
async function succeed() {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX))
  if (names.length === 0) return
  const assets = await caches.open(ASSETS)
  const kept = await Promise.all((await assets.keys()).map((request) => assets.match(request)))
  const kinds = new Set(kept.map((response) => response?.headers.get(KIND)))
  const pages = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()))
  const used = new Set(pages.flat().map(({ url }) => url))
  const later = Object.entries(LATER).filter(([name, [, kind]]) => kinds.has(kind) || used.has(address(name)))
  const isWhole = await keep([...Object.keys(FILES), ...later.map(([name]) => name)])
  if (!isWhole) throw new Error(`build ${VERSION} could not be cached completely`)
}

/** Removes what only older builds need, now that none of their pages is open. */
async function clean() {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== PAGES)
  await Promise.all(names.map((name) => caches.delete(name)))
  const assets = await caches.open(ASSETS)
  const old = (await assets.keys()).filter(({ url }) => nameOf(url) === undefined)
  await Promise.all(old.map((request) => assets.delete(request)))
}

/** A page says which build it shows and, once it has answered, what it has loaded. */
async function hear({ data, source }) {
  if (data?.build !== VERSION || source === null) return
  mine.add(source.id)
  if (Array.isArray(data.used)) {
    const used = data.used.filter((url) => typeof url === 'string').map(nameOf)
    await keep([...Object.keys(FILES), ...used.filter((name) => name !== undefined)])
  }
  await takeOver()
}

/**
 * Replaces an older build if no window shows that any longer. A window that does not answer counts as showing
 * it.
 */
async function takeOver() {
  const open = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const others = open.filter(({ id, url }) => url.startsWith(self.registration.scope) && !mine.has(id))
  for (const page of others) page.postMessage({ type: 'build' })
  if (others.length === 0) await self.skipWaiting()
}

let earlier = Promise.resolve(true)

/** True if all are cached now. Calls run one after the other because several may name the same file. */
function keep(names) {
  earlier = earlier.then(() => keepAll(names))
  return earlier
}

/** The chat's page comes last: if it is cached, so are its files. */
async function keepAll(names) {
  const first = [...new Set(names)].filter((name) => name !== CHAT)
  const areKept = (await Promise.all(first.map(fetched))).every(Boolean)
  return areKept && (await fetched(CHAT))
}

async function fetched(name) {
  // Files that the page has just fetched come from the browser's HTTP cache, unless their contents differ.
  for (const cache of ['force-cache', 'reload']) {
    try {
      if ((await find(name)) !== undefined) return true
      if (await store(name, await fetch(address(name), { cache }))) return true
    } catch {
      // No network, a broken redirect, or no space left.
    }
  }
  return false
}

/** Caches a file if its bytes are those that the build produced. */
async function store(name, response) {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
  if (response.status !== 200 || type?.test(response.headers.get('content-type') ?? '') === false)
    return false
  const bytes = await response.arrayBuffer()
  if (!(await isRight(name, bytes))) return false
  const headers = new Headers(response.headers)
  for (const each of ['content-encoding', 'transfer-encoding', 'vary']) headers.delete(each)
  headers.set('content-length', bytes.byteLength)
  headers.set('accept-ranges', 'bytes')
  if (isAsset(name)) headers.set(KIND, BUILD.get(name)[1])
  // A copy, because a redirected response cannot answer a navigation.
  await (await cacheOf(name)).put(address(name), new Response(bytes, { headers }))
  return true
}

/** Hosts may add to pages, so pages are recognized by their build's mark. */
async function isRight(name, bytes) {
  if (name.endsWith('.html')) return new TextDecoder().decode(bytes).includes(VERSION)
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return btoa(String.fromCharCode(...sum)) === BUILD.get(name)[0]
}

async function keptFirst(event, name) {
  const { request } = event
  const kept = await find(name)
  if (kept !== undefined) return answered(request, kept)
  const response = await fetch(request)
  // A request for a range, or for the size only, may not need the whole file.
  if (response.ok && request.method === 'GET' && !request.headers.has('range')) {
    const copy = response.clone()
    event.waitUntil(
      store(name, copy)
        .catch(() => false)
        .then((isKept) => isKept || fetched(name)),
    )
  }
  return response
}

/** The requested part of a cached file. */
async function answered(request, kept) {
  const headers = new Headers(kept.headers)
  if (request.method === 'HEAD') return new Response(null, { headers })
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.get('range') ?? '')
  if (range === null || range[0] === 'bytes=-') return kept
  const blob = await kept.blob()
  const { size } = blob
  const [, first, last] = range
  const begin = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  if (begin >= end) {
    return new Response(null, { status: 416, headers: { 'content-range': `bytes */${size}` } })
  }
  headers.set('content-range', `bytes ${begin}-${end - 1}/${size}`)
  headers.set('content-length', end - begin)
  return new Response(blob.slice(begin, end), { status: 206, headers })
}

async function networkFirst(event, name) {
  const { request } = event
  let response
  try {
    response = await fetch(request)
  } catch (error) {
    return (await whole(name)) ?? Promise.reject(error)
  }
  if (response.status >= 500) return (await whole(name)) ?? response
  // The chat's page is cached only together with its files.
  if (response.status === 200 && (name in LATER || (await find(name)) !== undefined)) {
    const copy = response.clone()
    event.waitUntil(store(name, copy).catch(() => false))
  }
  return response
}

/** A cached page; the chat only if all of its files are cached: a browser may have evicted some. */
async function whole(name) {
  const kept = await find(name)
  if (kept === undefined || name !== CHAT) return kept
  const files = await Promise.all(Object.keys(FILES).map(find))
  return files.includes(undefined) ? undefined : kept
}
