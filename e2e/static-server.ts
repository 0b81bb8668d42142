// Static servers. In: a folder, headers. Out: its address on this machine; a missing file is a 404.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

/** Headers with which a page is cross-origin isolated. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
}

export interface StaticServer {
  /** Ends with a slash. */
  readonly address: string
  /** Requested paths, in order. */
  readonly requests: string[]
  close(): Promise<void>
}

/** `pages` are documents by path, beside the folder's files. */
export async function serveFolder(
  folder: string,
  headers: Readonly<Record<string, string>> = {},
  pages: Readonly<Record<string, string>> = {},
): Promise<StaticServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    requests.push(path)
    const name = normalize(path.endsWith('/') ? `${path}index.html` : path)
    const page = pages[path]
    const file = join(folder, name)
    const type = TYPES[extname(name)] ?? (page === undefined ? undefined : TYPES['.html'])
    for (const [key, value] of Object.entries(headers)) response.setHeader(key, value)
    if (type !== undefined) response.setHeader('Content-Type', type)
    if (page !== undefined) response.end(page)
    else if (existsSync(file) && statSync(file).isFile()) {
      response.setHeader('Content-Length', statSync(file).size)
      createReadStream(file).pipe(response)
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}/`, requests, close: () => closed(server) }
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
