// Sites of the library. In: e2e/library and model files. Out: a built page with the public API, isolated and
// not, and its models.

import { fileURLToPath } from 'node:url'
import { test as base, type Page } from '@playwright/test'
import { build, type Plugin, type PreviewServer, preview } from 'vite'
import { ISOLATION } from '../test/helpers/http-server.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

const CONFIG = {
  configFile: false,
  root: path('library'),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  worker: { format: 'es' },
} as const

export interface LibrarySite {
  /** The page with COOP and COEP: memory can be shared. */
  readonly isolated: string
  /** The same page without. */
  readonly plain: string
  /** Serves a file to both pages. Returns its address relative to them. */
  add(file: File): Promise<string>
}

interface SiteFile {
  readonly type: string
  readonly bytes: Uint8Array
}

/** One build serves all specs of a Playwright worker. */
export const test = base.extend<object, { site: LibrarySite }>({
  site: [
    async ({ browserName: _ }, use, { parallelIndex }) => {
      // A worker that begins must not empty the folder that another one serves.
      const outDir = path(`../build/library-page/${parallelIndex}`)
      await build({ ...CONFIG, build: { target: 'es2022', outDir, emptyOutDir: true, assetsInlineLimit: 0 } })
      const files = new Map<string, SiteFile>()
      const servers = [await serve(outDir, ISOLATION, files), await serve(outDir, {}, files)]
      const [isolated, plain] = servers.map(address) as [string, string]
      await use({
        isolated,
        plain,
        async add(file) {
          const name = `models/${files.size}/${file.name}`
          files.set(`/${name}`, { type: file.type, bytes: new Uint8Array(await file.arrayBuffer()) })
          return name
        },
      })
      await Promise.all(servers.map((server) => server.close()))
    },
    { scope: 'worker' },
  ],
})

/** Opens a page of the site and waits for the API. */
export async function openLibrary(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForFunction(() => globalThis.halfbyte !== undefined)
}

function serve(
  outDir: string,
  headers: Record<string, string>,
  files: ReadonlyMap<string, SiteFile>,
): Promise<PreviewServer> {
  const models: Plugin = {
    name: 'models',
    configurePreviewServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        const file = files.get(request.url ?? '')
        if (file === undefined) return next()
        const type = file.type === '' ? {} : { 'Content-Type': file.type }
        response
          .writeHead(200, { ...headers, ...type, 'Content-Length': file.bytes.byteLength })
          .end(file.bytes)
      })
    },
  }
  return preview({
    ...CONFIG,
    // Missing files must give a 404, not the page.
    appType: 'mpa',
    plugins: [models],
    build: { outDir },
    preview: { host: '127.0.0.1', port: 0, headers },
  })
}

function address({ httpServer }: PreviewServer): string {
  const found = httpServer.address()
  if (typeof found !== 'object' || found === null) throw new Error('the preview server has no port')
  return `http://127.0.0.1:${found.port}/`
}
