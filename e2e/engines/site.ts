// Site. In: the built page in build/demo. Out: a server for it with COOP and COEP, and a log of the page's
// errors.
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Plugin, preview } from 'vite'

const INDEX = new URL('../../build/demo/index.html', import.meta.url)
const CONFIG = fileURLToPath(new URL('../../demo/vite.config.ts', import.meta.url))

declare global {
  /** The page's errors, unhandled rejections and files that did not load, in order of occurrence. */
  var halfbyteProblems: string[]
}

/**
 * Classic WebDriver does not report page errors, so the page records them itself, before its first script.
 */
function recordProblems(): void {
  globalThis.halfbyteProblems = []
  const problems = globalThis.halfbyteProblems
  const listen = (type: string, describe: (event: Event) => string) =>
    globalThis.addEventListener(type, (event) => problems.push(describe(event)), true)
  listen('error', (event) =>
    event instanceof ErrorEvent ? event.message : `not loaded: ${(event.target as Element).outerHTML}`,
  )
  listen('unhandledrejection', (event) => `unhandled: ${(event as PromiseRejectionEvent).reason}`)
}

const recorder: Plugin = {
  name: 'record-problems',
  configurePreviewServer({ middlewares }) {
    const send = (response: ServerResponse, html: string) =>
      response.setHeader('Content-Type', 'text/html').end(html)
    middlewares.use('/empty', (_request, response) => send(response, '<!doctype html><title>Empty</title>'))
    middlewares.use((request, response, next) => {
      if (request.url !== '/') return next()
      readFile(INDEX, 'utf8').then(
        (html) => send(response, html.replace('<head>', `<head><script>(${recordProblems})()</script>`)),
        next,
      )
    })
  },
}

export interface Site {
  /** The chat page. */
  readonly page: string
  /** An empty page of the same origin. */
  readonly empty: string
  close(): Promise<void>
}

export async function serveSite(): Promise<Site> {
  const server = await preview({
    configFile: CONFIG,
    plugins: [recorder],
    preview: { host: '127.0.0.1', port: 0 },
    logLevel: 'warn',
  })
  const address = server.httpServer.address()
  if (typeof address !== 'object' || address === null) throw new Error('the preview server has no port')
  const page = `http://127.0.0.1:${address.port}/`
  return { page, empty: new URL('empty', page).href, close: () => server.close() }
}
