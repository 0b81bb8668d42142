// Serves the built page, the peers' installed packages and the models, cross-origin isolated.

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { ISOLATION, openServer, sendFile } from '../../../../test/helpers/http-server.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const SITES = path('../../../../build/perf/site-')

const HEADERS = {
  ...ISOLATION,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

export interface Site {
  readonly url: string
  /** Changes with Halfbyte's code, including kernels. */
  readonly fingerprint: string
  /** Serves a file or folder under `name`; returns its address. */
  add(name: string, place: string): string
  close(): Promise<void>
}

/** Builds the page into its own folder, so as not to disturb tests, and serves it on a free port. */
export async function openSite(): Promise<Site> {
  await mkdir(dirname(SITES), { recursive: true })
  const folder = await mkdtemp(SITES)
  await build({
    configFile: false,
    root: path('../page'),
    base: './',
    publicDir: false,
    logLevel: 'warn',
    worker: { format: 'es' },
    build: { target: 'es2022', outDir: folder, emptyOutDir: true, assetsInlineLimit: 0 },
  })
  const places = new Map([['', folder]])
  const server = await openServer((request, response, path) => {
    const [, mount = '', ...rest] = path.split('/')
    const added = mount === '' ? undefined : places.get(mount)
    const file = added === undefined ? join(folder, mount || 'index.html', ...rest) : join(added, ...rest)
    response.setHeaders(new Map(Object.entries(HEADERS)))
    if (normalize(file).startsWith(added ?? folder)) sendFile(request, response, file)
    else response.writeHead(404).end()
  })
  const url = server.address
  return {
    url,
    fingerprint: await fingerprintOf(folder),
    add(name, place) {
      places.set(name, place)
      return url + name
    },
    async close() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}

async function fingerprintOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(await readFile(file))
  return hash.digest('hex').slice(0, 12)
}
