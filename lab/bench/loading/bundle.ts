// Bundles the loading bench's page as applications ship it, served at /bundle/index.html.
//
// A development server's modules include source maps, which every worker keeps in memory: 11 MB that an
// application does not have.

import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Connect } from 'vite'
import { ISOLATION, sendFile } from '../../../test/helpers/http-server.ts'
import { BENCH_FOLDER } from '../model-file.ts'
import { pageAround } from '../server.ts'

const FOLDER = new URL('loading/', BENCH_FOLDER)
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
}

export async function bundlePage(): Promise<void> {
  await build({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    base: './',
    logLevel: 'error',
    worker: { format: 'es' },
    build: {
      target: 'es2022',
      outDir: fileURLToPath(FOLDER),
      emptyOutDir: true,
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      rolldownOptions: {
        input: fileURLToPath(new URL('page.ts', import.meta.url)),
        output: { entryFileNames: 'page.js' },
      },
    },
  })
}

/** Serves it cross-origin isolated, and passes every other request to `otherwise`. */
export const serveBundle =
  (otherwise: Connect.NextHandleFunction): Connect.NextHandleFunction =>
  async (request, response, next) => {
    const [, name] = /^\/bundle\/([\w./-]+)$/.exec(request.url ?? '') ?? []
    if (name === undefined) return otherwise(request, response, next)
    const body =
      name === 'index.html'
        ? pageAround('page.js')
        : await readFile(new URL(name, FOLDER)).catch(() => undefined)
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': TYPES[extname(name)] ?? 'text/html',
      'cache-control': 'no-cache',
      ...ISOLATION,
    })
    response.end(body)
  }

/** Serves the named files of a folder at /model/, with versions, and passes every other request on. */
export const serveFiles =
  (
    folder: URL,
    names: readonly string[],
    otherwise: Connect.NextHandleFunction,
  ): Connect.NextHandleFunction =>
  async (request, response, next) => {
    const [, asked] = /^\/model\/([^/?]+)$/.exec(request.url ?? '') ?? []
    if (asked === undefined) return otherwise(request, response, next)
    const name = decodeURIComponent(asked)
    if (!names.includes(name)) {
      response.writeHead(404).end()
      return
    }
    const file = new URL(encodeURIComponent(name), folder)
    const { size, mtimeMs } = await stat(file)
    response.setHeaders(new Map(Object.entries({ ...ISOLATION, ETag: `"${size}-${mtimeMs}"` })))
    sendFile(request, response, fileURLToPath(file))
  }
