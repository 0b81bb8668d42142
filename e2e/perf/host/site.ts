// The suite's site. In: files to serve. Out: the built page, the peers' packages as they are installed and
// the models, isolated.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const SITE = path('../../../build/perf/site')

const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
}

export interface Site {
  readonly url: string
  /** Changes with Halfbyte's code, kernels included. */
  readonly fingerprint: string
  /** Serves a file, or a folder, under `name`; the result is its address. */
  add(name: string, place: string): string
  close(): Promise<void>
}

/** Builds the page and serves it on a free port. */
export async function openSite(): Promise<Site> {
  await build({
    ...{ configFile: false, root: path('../page'), base: './', publicDir: false, logLevel: 'warn' },
    worker: { format: 'es' },
    build: { target: 'es2022', outDir: SITE, emptyOutDir: true, assetsInlineLimit: 0 },
  })
  const places = new Map([['', SITE]])
  const server = createServer((request, response) => {
    const [, mount = '', ...rest] = decodeURI(new URL(request.url ?? '/', 'http://local').pathname).split('/')
    const added = places.get(mount)
    const file =
      added === undefined || mount === '' ? join(SITE, mount || 'index.html', ...rest) : join(added, ...rest)
    const isInside = normalize(file).startsWith(added === undefined || mount === '' ? SITE : added)
    send(response, isInside ? file : undefined, request.headers.range).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  const url = `http://127.0.0.1:${address.port}/`
  return {
    url,
    fingerprint: await fingerprintOf(SITE),
    add(name, place) {
      places.set(name, place)
      return url + name
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** `range`: like `bytes=0-99`. */
async function send(
  response: ServerResponse,
  file: string | undefined,
  range: string | undefined,
): Promise<void> {
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined)
  if (file === undefined || !found?.isFile()) {
    response.writeHead(404, HEADERS).end()
    return
  }
  const type = TYPES[extname(file)] ?? 'application/octet-stream'
  const headers = { ...HEADERS, 'Content-Type': type, 'Last-Modified': found.mtime.toUTCString() }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
  if (first === undefined) {
    response.writeHead(200, { ...headers, 'Accept-Ranges': 'bytes', 'Content-Length': found.size })
    createReadStream(file).pipe(response)
    return
  }
  const start = Number(first)
  const end = Math.min(found.size - 1, last === '' ? Infinity : Number(last))
  const part = { 'Content-Range': `bytes ${start}-${end}/${found.size}`, 'Content-Length': end + 1 - start }
  response.writeHead(206, { ...headers, ...part })
  createReadStream(file, { start, end }).pipe(response)
}

async function fingerprintOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(await readFile(file))
  return hash.digest('hex').slice(0, 12)
}
