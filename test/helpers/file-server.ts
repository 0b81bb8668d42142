// A local HTTP server that sends files to any page, with configurable faults.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { openServer } from './http-server.ts'

export interface Behaviour {
  /** Misbehaves only for the file at this path. */
  only?: string
  /** Answers `Range` with 206. Default true. */
  ranges?: boolean
  /** The `Content-Type` of files. Default: none. */
  type?: string
  /** Answers 401 to requests without this bearer token. */
  token?: string
  /** Answers every request with this status. */
  status?: number | undefined
  /** Number of requests that get that status; default all. */
  refusals?: number
  /** Sends this `Retry-After`, in seconds, with the status. */
  retryAfter?: number
  /** Sends this byte of the file with all bits inverted. */
  flips?: number
  /** Number of bodies in which that byte is inverted; default all. */
  flipTimes?: number
  /** Sends this many additional bytes after each range, and declares them in Content-Range. */
  excess?: number
  /** Sends at most this many bytes of each range, and declares them in Content-Range. */
  most?: number
  /** Does not declare the shorter range: Content-Range has the requested one. */
  saysAll?: boolean
  /** Answers every request with 206. */
  isAlwaysPart?: boolean
  /** The `Content-Range` of every 206; '' for none. */
  saysRange?: string
  /** Sends the beginning of the file instead of each range, and declares it in Content-Range. */
  rewinds?: boolean
  /** Shifts each range by this many bytes, and declares it in Content-Range. */
  shifts?: number
  /** Number of ranges that are shifted; default all. */
  shiftTimes?: number
  /** Declares a file size that is wrong by this many bytes. */
  liesBy?: number
  /** ETags of the next answers, in order; the last one is repeated. */
  etags?: string[]
  /** Sends this many bytes of each body and then drops the connection. */
  cutAfter?: number
  /** Number of bodies that are cut off; default all. */
  cuts?: number
  /** Whether to send the body's length; default true. */
  length?: boolean
  gzip?: boolean
  /** Whether pages from other origins can see the range and the version. */
  exposes?: boolean | undefined
  etag?: string | undefined
  /** `Last-Modified`. */
  changed?: string | undefined
  /** Sends this text in place of HTTP, and closes the connection. */
  raw?: string | Uint8Array
  /** Number of requests to answer before that. */
  rawAfter?: number
  /** Answers this request, by number, with an HTML page. */
  htmlAt?: number
  /** Redirects every request to this URL. */
  redirect?: string
  /** Never answers. */
  isSilent?: boolean
  /** Sends bytes without a length until the client closes the connection. */
  isEndless?: boolean
  /** Runs before each answer. */
  onRequest?: (server: FileServer) => void
  /** Sends the headers and the first bytes, then nothing more. */
  stalls?: boolean
  /** Bytes of the body sent before it stalls. Default 16. */
  stallsAfter?: number
  /** Stalls only for ranges that begin before this byte. */
  stallsBefore?: number | undefined
}

export interface FileServer {
  /** Ends with a slash. */
  readonly address: string
  /** `GET /path` or `GET /path bytes=0-9`, in order. */
  readonly requests: string[]
  /** Files by path. */
  readonly files: Map<string, Uint8Array>
  behaviour: Behaviour
  close(): Promise<void>
}

/** `/moved/x` redirects to `/x`. */
export async function serveFiles(files: Readonly<Record<string, Uint8Array>>): Promise<FileServer> {
  const server = await openServer((request, response) => answer(self, request, response))
  const self: FileServer = {
    address: server.address,
    requests: [],
    files: new Map(Object.entries(files)),
    behaviour: {},
    close: server.close,
  }
  return self
}

function answer(server: FileServer, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').replace(/\?.*/, '')
  const { only = path.slice(1), exposes, etag: version } = server.behaviour
  const behaviour: Behaviour = path === `/${only}` ? server.behaviour : { exposes, etag: version }
  response.setHeader('Access-Control-Allow-Origin', '*')
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
  const asked = request.headers.range
  if (behaviour.exposes === true) {
    response.setHeader('Access-Control-Expose-Headers', 'Content-Range, ETag, Retry-After')
  }
  server.requests.push(`GET ${path}${asked === undefined ? '' : ` ${asked}`}`)
  behaviour.onRequest?.(server)
  if (path.startsWith('/moved/')) {
    response.writeHead(302, { Location: path.slice('/moved'.length) }).end()
    return
  }
  if (behaviour.token !== undefined && request.headers.authorization !== `Bearer ${behaviour.token}`) {
    response.writeHead(401).end('no')
    return
  }
  const { raw, redirect } = behaviour
  if (server.requests.length === behaviour.htmlAt) {
    response.setHeader('Content-Type', 'text/html')
    response.end('<!doctype html><title>Log in</title>')
    return
  }
  if (behaviour.isSilent === true) return
  if (raw !== undefined && server.requests.length > (behaviour.rawAfter ?? 0)) {
    request.socket.end(raw)
    return
  }
  if (redirect !== undefined) {
    response.writeHead(302, { Location: redirect }).end()
    return
  }
  if (behaviour.isEndless === true) {
    response.writeHead(200)
    sendEndless(response)
    return
  }
  const file = server.files.get(path.slice(1))
  const { status, refusals = Number.POSITIVE_INFINITY, retryAfter } = behaviour
  if ((status !== undefined && refusals > 0) || file === undefined) {
    behaviour.refusals = refusals - 1
    response.writeHead(status ?? 404, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }).end('no')
    return
  }
  const etag = (behaviour.etags?.length ?? 0) > 1 ? behaviour.etags?.shift() : behaviour.etags?.[0]
  if (behaviour.changed !== undefined) response.setHeader('Last-Modified', behaviour.changed)
  if (behaviour.type !== undefined) response.setHeader('Content-Type', behaviour.type)
  if (etag ?? behaviour.etag) response.setHeader('ETag', etag ?? behaviour.etag ?? '')
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(asked ?? '') ?? []
  const isPart = from !== undefined && behaviour.ranges !== false
  if (isPart && Number(from) >= file.byteLength) {
    response.writeHead(416, { 'Content-Range': `bytes */${file.byteLength}` }).end()
    return
  }
  const size = file.byteLength + (behaviour.liesBy ?? 0)
  const { rewinds = false, excess = 0, most = size } = behaviour
  const { shifts = 0, shiftTimes = Number.POSITIVE_INFINITY } = behaviour
  if (isPart) behaviour.shiftTimes = shiftTimes - 1
  const begin = isPart && !rewinds ? Number(from) + (shiftTimes > 0 ? shifts : 0) : 0
  const length = Math.min(Number(to) - Number(from) + 1 + excess, most)
  const [start, end] = isPart ? [begin, Math.min(begin + length, size)] : [0]
  const part = flipped(behaviour, start, file.subarray(start, end))
  const body = behaviour.gzip === true ? gzipSync(part) : part
  if (isPart || behaviour.isAlwaysPart === true) {
    const sent = start + part.byteLength - 1
    const last = behaviour.saysAll === true ? Math.min(Number(to), size - 1) : sent
    const said = behaviour.saysRange ?? `bytes ${start}-${last}/${size}`
    if (said !== '') response.setHeader('Content-Range', said)
  }
  if (behaviour.gzip === true) response.setHeader('Content-Encoding', 'gzip')
  const lie = isPart ? 0 : (behaviour.liesBy ?? 0)
  if (behaviour.length !== false) response.setHeader('Content-Length', body.byteLength + lie)
  response.writeHead(isPart || behaviour.isAlwaysPart === true ? 206 : 200)
  const stalls = behaviour.stalls === true || Number(from ?? 0) < (behaviour.stallsBefore ?? 0)
  send(behaviour, stalls, response, body)
}

function sendEndless(response: ServerResponse): void {
  const bytes = new Uint8Array(1 << 20)
  const fill = () => {
    while (!response.destroyed && response.write(bytes));
  }
  response.on('drain', fill)
  fill()
}

/** A range that begins at `start`, possibly with one byte inverted. */
function flipped(behaviour: Behaviour, start: number, part: Uint8Array): Uint8Array {
  const { flips = -1, flipTimes = Number.POSITIVE_INFINITY } = behaviour
  const index = flips - start
  if (index < 0 || index >= part.byteLength || flipTimes === 0) return part
  behaviour.flipTimes = flipTimes - 1
  const copy = new Uint8Array(part)
  copy[index] = (copy[index] ?? 0) ^ 255
  return copy
}

function send(behaviour: Behaviour, stalls: boolean, response: ServerResponse, body: Uint8Array): void {
  const { cutAfter, cuts = Number.POSITIVE_INFINITY } = behaviour
  if (stalls) {
    response.flushHeaders()
    response.write(body.subarray(0, behaviour.stallsAfter ?? 16))
  } else if (cutAfter !== undefined && cuts > 0) {
    behaviour.cuts = cuts - 1
    response.write(body.subarray(0, cutAfter), () => response.destroy())
  } else response.end(body)
}
