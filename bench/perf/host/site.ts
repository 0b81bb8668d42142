// The suite's site. In: files to serve. Out: the built page, the peers' packages as they are installed and
// the models, isolated.
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'vite'
import { fileHandler } from '../../server.ts'

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
    configFile: false,
    root: path('../page'),
    base: './',
    publicDir: false,
    logLevel: 'warn',
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
    send(request, response, isInside ? file : undefined).catch(() => response.destroy())
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

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  file: string | undefined,
): Promise<void> {
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined)
  if (file === undefined || !found?.isFile()) {
    response.writeHead(404, HEADERS).end()
    return
  }
  const type = TYPES[extname(file)]
  const handle = await fileHandler(pathToFileURL(file), {
    ...HEADERS,
    ...(type !== undefined && { 'content-type': type }),
  })
  handle(request, response)
}

async function fingerprintOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(await readFile(file))
  return hash.digest('hex').slice(0, 12)
}
