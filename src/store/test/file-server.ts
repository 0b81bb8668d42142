// File server. In: files and how it misbehaves. Out: an HTTP server on this machine that sends them so, to any page.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

export interface Behaviour {
  /** Answers `Range` with 206. Default true. */
  ranges?: boolean
  /** Answers 401 to requests without this bearer token. */
  token?: string
  /** Answers every request so. */
  status?: number | undefined
  /** Sends this many bytes of each body and then drops the connection. */
  cutAfter?: number
  /** Bodies that are cut; default all. */
  cuts?: number
  /** Sends the length of the body; default true. */
  length?: boolean
  gzip?: boolean
  /** Lets pages of other origins see the range and the version. */
  exposes?: boolean
  etag?: string
  /** Sends the headers and the first bytes, and then nothing. */
  stalls?: boolean
  /** Does so for ranges that begin before this byte. */
  stallsBefore?: number | undefined
}

export interface FileServer {
  /** Ends with a slash. */
  readonly address: string
  /** `GET /path` or `GET /path bytes=0-9`, in order. */
  readonly requests: string[]
  /** By path. */
  readonly files: Map<string, Uint8Array>
  behaviour: Behaviour
  close(): Promise<void>
}

/** `/moved/x` redirects to `/x`. */
export async function serveFiles(files: Readonly<Record<string, Uint8Array>>): Promise<FileServer> {
  const server = createServer((request, response) => answer(self, request, response))
  const self: FileServer = {
    address: '',
    requests: [],
    files: new Map(Object.entries(files)),
    behaviour: {},
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(self, { address: `http://127.0.0.1:${port}/` })
}

function answer(server: FileServer, request: IncomingMessage, response: ServerResponse): void {
  const { behaviour } = server
  response.setHeader('Access-Control-Allow-Origin', '*')
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
  const path = (request.url ?? '/').replace(/\?.*/, '')
  const asked = request.headers.range
  if (behaviour.exposes === true) response.setHeader('Access-Control-Expose-Headers', 'Content-Range, ETag')
  server.requests.push(`GET ${path}${asked === undefined ? '' : ` ${asked}`}`)
  if (path.startsWith('/moved/')) {
    response.writeHead(302, { Location: path.slice('/moved'.length) }).end()
    return
  }
  if (behaviour.token !== undefined && request.headers.authorization !== `Bearer ${behaviour.token}`) {
    response.writeHead(401).end('no')
    return
  }
  const file = server.files.get(path.slice(1))
  if (behaviour.status !== undefined || file === undefined) {
    response.writeHead(behaviour.status ?? 404).end('no')
    return
  }
  if (behaviour.etag !== undefined) response.setHeader('ETag', behaviour.etag)
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(asked ?? '') ?? []
  const isPart = from !== undefined && behaviour.ranges !== false
  if (isPart && Number(from) >= file.byteLength) {
    response.writeHead(416, { 'Content-Range': `bytes */${file.byteLength}` }).end()
    return
  }
  const part = isPart ? file.subarray(Number(from), Number(to) + 1) : file
  const body = behaviour.gzip === true ? gzipSync(part) : part
  if (isPart) {
    const last = Number(from) + part.byteLength - 1
    response.setHeader('Content-Range', `bytes ${from}-${last}/${file.byteLength}`)
  }
  if (behaviour.gzip === true) response.setHeader('Content-Encoding', 'gzip')
  if (behaviour.length !== false) response.setHeader('Content-Length', body.byteLength)
  response.writeHead(isPart ? 206 : 200)
  const stalls = behaviour.stalls === true || Number(from ?? 0) < (behaviour.stallsBefore ?? 0)
  send(behaviour, stalls, response, body)
}

function send(behaviour: Behaviour, stalls: boolean, response: ServerResponse, body: Uint8Array): void {
  const { cutAfter, cuts = Number.POSITIVE_INFINITY } = behaviour
  if (stalls) {
    response.write(body.subarray(0, 16))
  } else if (cutAfter !== undefined && cuts > 0) {
    behaviour.cuts = cuts - 1
    response.write(body.subarray(0, cutAfter), () => response.destroy())
  } else response.end(body)
}
