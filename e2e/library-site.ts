// Builds a page with the public API, and serves it with model files, isolated and not.

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test as base, expect, type Page } from '@playwright/test'
import { build } from 'vite'
import { type HttpServer, ISOLATION, openServer, sendFile } from '../test/helpers/http-server.ts'

const BUILDS = fileURLToPath(new URL('../build/library-page', import.meta.url))

interface LibrarySite {
  /** The page with COOP and COEP: memory can be shared. */
  readonly isolated: string
  /** The same page without these headers. */
  readonly plain: string
  /** Starts a server for the isolated page with a Content-Security-Policy. Returns its address. */
  under(policy: string): Promise<string>
  /** Serves a file to both pages. Returns its address relative to them. */
  add(file: File): Promise<string>
  /** Serves files by their paths in a folder. Returns the folder's address, which ends with a slash. */
  addFolder(files: ReadonlyMap<string, File>): Promise<string>
}

interface SiteFile {
  readonly type: string
  readonly bytes: Uint8Array
}

export const test = base.extend<object, { site: LibrarySite }>({
  site: [
    async ({ browserName: _ }, use) => {
      const folder = await builtOnce()
      const files = new Map<string, SiteFile>()
      const servers = [await serve(folder, ISOLATION, files), await serve(folder, {}, files)]
      const add = async (own: ReadonlyMap<string, File>) => {
        const name = `models/${files.size}/`
        for (const [path, file] of own)
          files.set(`/${name}${path}`, { type: file.type, bytes: new Uint8Array(await file.arrayBuffer()) })
        return name
      }
      const [isolated, plain] = servers.map(({ address }) => address) as [string, string]
      await use({
        isolated,
        plain,
        async under(policy) {
          const headers = { ...ISOLATION, 'Content-Security-Policy': policy }
          const server = await serve(folder, headers, files)
          servers.push(server)
          return server.address
        },
        async add(file) {
          return `${await add(new Map([[file.name, file]]))}${file.name}`
        },
        addFolder: add,
      })
      await Promise.all(servers.map((server) => server.close()))
    },
    { scope: 'worker' },
  ],
})

/** The page's folder. All workers of a test run share one build, made by the first worker that needs it. */
async function builtOnce(): Promise<string> {
  const folder = join(BUILDS, String(process.ppid))
  const mark = join(folder, 'built')
  mkdirSync(BUILDS, { recursive: true })
  for (const name of readdirSync(BUILDS)) {
    if (!isRunning(Number(name))) rmSync(join(BUILDS, name), { recursive: true, force: true })
  }
  if (mkdirSync(folder, { recursive: true }) === undefined) {
    const message = 'the build of the library page by another worker'
    await expect.poll(() => existsSync(mark), { timeout: 100_000, message }).toBe(true)
    return folder
  }
  await build({
    configFile: false,
    root: fileURLToPath(new URL('library', import.meta.url)),
    base: './',
    publicDir: false,
    logLevel: 'warn',
    worker: { format: 'es' },
    build: { target: 'es2022', outDir: folder, emptyOutDir: true, assetsInlineLimit: 0 },
  })
  writeFileSync(mark, '')
  return folder
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Opens a page on the site and waits for the API. */
export async function openLibrary(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForFunction(() => globalThis.halfbyte !== undefined)
}

function serve(
  folder: string,
  headers: Readonly<Record<string, string>>,
  files: ReadonlyMap<string, SiteFile>,
): Promise<HttpServer> {
  return openServer((request, response, path) => {
    // Pages of other origins import the bundle.
    response.setHeaders(new Map(Object.entries({ ...headers, 'Access-Control-Allow-Origin': '*' })))
    const file = files.get(path)
    if (file === undefined)
      return sendFile(request, response, join(folder, path === '/' ? 'index.html' : path))
    const type = file.type === '' ? {} : { 'Content-Type': file.type }
    return response.writeHead(200, { ...type, 'Content-Length': file.bytes.byteLength }).end(file.bytes)
  })
}
