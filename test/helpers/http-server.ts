// The HTTP server for tests and benches. It answers with a function or from a folder, and reports its address
// and the requested paths.
//
// For servers that misbehave (file-server.ts), respond slowly or change, pass an answer function to
// `openServer`.
import { createReadStream, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

export interface HttpServer {
  /** Ends with a slash. */
  readonly address: string
  readonly port: number
  /** Paths without a query, in the order of the requests. */
  readonly requests: string[]
  /** Also closes open connections. */
  close(): Promise<void>
}

/** `path`: the decoded path, without the query. */
export type Answer = (request: IncomingMessage, response: ServerResponse, path: string) => unknown

/** Headers that make a page cross-origin isolated. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

/** Headers that let pages of any origin, also isolated ones, load a file. */
export const CROSS_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
}

/** `port`: 0 for any free one. Only this machine can reach it. */
export async function openServer(answer: Answer, port = 0): Promise<HttpServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
    requests.push(path)
    answer(request, response, path)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const bound = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${bound.port}/`,
    port: bound.port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A port on which nothing listened a moment ago. */
export async function freePort(): Promise<number> {
  const { port, close } = await openServer(() => undefined)
  await close()
  return port
}

/** Sends the file or the requested range, or 404 if there is no such file. Returns the number of bytes. */
export function sendFile(request: IncomingMessage, response: ServerResponse, file: string): number {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isFile() !== true) {
    response.writeHead(404).end('not found')
    return 0
  }
  const { start, end } = begin(request, response, file, found.size)
  if (end < start) response.end()
  else createReadStream(file, { start, end }).pipe(response)
  return end - start + 1
}

/** The same for a file with this content; `name` determines its type. */
export function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  bytes: Uint8Array,
): void {
  const { start, end } = begin(request, response, name, bytes.byteLength)
  response.end(bytes.subarray(start, end + 1))
}

/** Sets status and headers. Returns the first and the last byte to send. */
function begin({ headers }: IncomingMessage, response: ServerResponse, name: string, size: number) {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
  const start = Number(from ?? 0)
  const end = Math.min(to === undefined || to === '' ? size : Number(to), size - 1)
  if (!response.hasHeader('Content-Type'))
    response.setHeader('Content-Type', TYPES[extname(name)] ?? 'application/octet-stream')
  response.setHeader('Content-Length', end - start + 1)
  if (from !== undefined) {
    response.statusCode = 206
    response.setHeader('Content-Range', `bytes ${start}-${end}/${size}`)
  }
  return { start, end }
}

/** Serves a folder; `pages` are documents by path, in addition to its files. */
export function serveFolder(
  folder: string,
  headers: Readonly<Record<string, string>> = {},
  pages: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<HttpServer> {
  return openServer((request, response, path) => {
    for (const [key, value] of Object.entries(headers)) response.setHeader(key, value)
    const name = normalize(path.endsWith('/') ? `${path}index.html` : path)
    const page = pages[path]
    if (page === undefined) return sendFile(request, response, join(folder, name))
    response.setHeader('Content-Type', TYPES[extname(name)] ?? TYPES['.html'] ?? '')
    return response.end(page)
  })
}
