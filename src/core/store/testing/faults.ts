// Faults. A table of server and network faults, and the outcome of a load with each.
//
// docs/guide/loading.md has the same table for readers. faults.test.ts compares the two, and runs every
// fault.
import { gzipSync } from 'node:zlib'
import type { Behaviour, FileServer } from '../../../../test/helpers/file-server.ts'
import type { ErrorCode } from '../../base/errors.ts'

export interface Fault {
  /** Completes "A server or a network that …". */
  readonly title: string
  readonly behaviour: Behaviour
  /** What the user gets. */
  readonly sees: string
  /** The error's code; absent if the load succeeds. */
  readonly code?: ErrorCode
  /** Maximum number of requests, for a file in three chunks. */
  readonly requests: number
  /** Maximum seconds until the load ends, with the default delays. */
  readonly seconds: number
  /** True when there is no server. */
  readonly isAbsent?: boolean
  /** True when the loaded model is the server's second version. */
  readonly isNext?: boolean
}

/** Path of the second version on the server. */
export const NEXT = 'next'
const CHANGED = 'Tue, 01 Sep 2026 10:00:00 GMT'
const CHANGED_AGAIN = 'Wed, 02 Sep 2026 10:00:00 GMT'

/** Replaces the first version with the second after `requests` requests. */
const changeAfter = (requests: number, behaviour: Behaviour = {}) => ({
  onRequest(server: FileServer) {
    if (server.requests.length !== requests) return
    server.files.set('m.gguf', server.files.get(NEXT) as Uint8Array)
    Object.assign(server.behaviour, behaviour)
  },
})

const LOADS = 'the model'
const ANEW = 'the current version of the model'
const UNREACHED = 'could not be fetched; check the address, the connection and the server'
const MIB = 1 << 20

export const FAULTS: readonly Fault[] = [
  {
    title: 'breaks every connection after 1 MB',
    behaviour: { etag: '"1"', cutAfter: MIB },
    sees: LOADS,
    requests: 24,
    seconds: 5,
  },
  {
    title: 'disconnects midway, and then has another file, with another `Last-Modified`',
    behaviour: { changed: CHANGED, cutAfter: MIB, cuts: 1, ...changeAfter(4, { changed: CHANGED_AGAIN }) },
    sees: ANEW,
    isNext: true,
    requests: 12,
    seconds: 5,
  },
  {
    title: 'disconnects midway, and then has another file of the same size, without stating versions',
    behaviour: { cutAfter: MIB, cuts: 1, ...changeAfter(4) },
    sees: ANEW,
    isNext: true,
    requests: 14,
    seconds: 5,
  },
  {
    title: 'has another file for every request',
    behaviour: { etags: Array.from({ length: 99 }, (_, index) => `"${index}"`) },
    sees: 'keeps changing on the server; try later',
    code: 'integrity',
    requests: 8,
    seconds: 2,
  },
  {
    title: 'alternates weak and strong ETags for the same version',
    behaviour: { etags: Array.from({ length: 99 }, (_, index) => `${index % 2 === 0 ? 'W/' : ''}"1"`) },
    sees: LOADS,
    requests: 3,
    seconds: 2,
  },
  {
    title: 'sends an endless body, and no ranges',
    behaviour: { isEndless: true },
    sees: 'the free space, and how to get more',
    code: 'storage-full',
    requests: 1,
    seconds: 10,
  },
  {
    title: 'sends a gzip bomb',
    behaviour: { raw: bomb() },
    sees: 'the free space, and how to get more',
    code: 'storage-full',
    requests: 1,
    seconds: 10,
  },
  {
    title: 'once sends a part that starts elsewhere',
    behaviour: { etag: '"1"', shifts: 4 * MIB, shiftTimes: 1 },
    sees: LOADS,
    requests: 7,
    seconds: 2,
  },
  {
    title: 'sends parts that are shifted by one byte',
    behaviour: { etag: '"1"', shifts: 1 },
    sees: 'keeps changing on the server; try later',
    code: 'integrity',
    requests: 2,
    seconds: 2,
  },
  {
    title: 'sends at most 64 kB of each part, and says so',
    behaviour: { etag: '"1"', most: 64 << 10 },
    sees: LOADS,
    requests: 162,
    seconds: 5,
  },
  {
    title: 'sends 10 bytes of each part, and says so',
    behaviour: { etag: '"1"', most: 10 },
    sees: 'the server sent 10 of the requested bytes; load it from another server',
    code: 'network',
    requests: 26,
    seconds: 20,
  },
  {
    title: 'sends 1 MB of each part, and says in `Content-Range` that it is all of it',
    behaviour: { etag: '"1"', most: MIB, saysAll: true },
    sees: LOADS,
    requests: 2,
    seconds: 2,
  },
  {
    title: 'compresses parts',
    behaviour: { etag: '"1"', gzip: true },
    sees: LOADS,
    requests: 2,
    seconds: 5,
  },
  {
    title: 'always answers 206, and compresses everything',
    behaviour: { etag: '"1"', gzip: true, isAlwaysPart: true },
    sees: 'the server answered 206, and it is compressed (`Content-Encoding: gzip`); load it from another server',
    code: 'network',
    requests: 2,
    seconds: 5,
  },
  {
    title: 'always answers 206, and sends no `Content-Range`',
    behaviour: { etag: '"1"', isAlwaysPart: true, saysRange: '' },
    sees: 'the server answered 206, and its `Content-Range` is missing or hidden by CORS; load it from another server',
    code: 'network',
    requests: 2,
    seconds: 2,
  },
  {
    title: 'always answers 206, and does not say how long the file is',
    behaviour: { etag: '"1"', isAlwaysPart: true, saysRange: 'bytes 0-99/*' },
    sees: 'the server answered 206, and its `Content-Range` is "bytes 0-99/*"; load it from another server',
    code: 'network',
    requests: 2,
    seconds: 2,
  },
  {
    title: 'once sends HTML instead of a part',
    behaviour: { etag: '"1"', htmlAt: 2 },
    sees: LOADS,
    requests: 4,
    seconds: 2,
  },
  {
    title: 'sends a login page midway, until the user logs in',
    behaviour: { etag: '"1"', raw: answer('text/html', '<title>Log in</title>'), rawAfter: 2 },
    sees: 'received a web page instead; log in to this network, or check the address',
    code: 'network',
    requests: 20,
    seconds: 20,
  },
  {
    title: 'sends HTML instead of the file',
    behaviour: { raw: answer('text/html', '<!doctype html><title>Log in</title>') },
    sees: 'it is a web page, not a model; use the download link',
    code: 'format',
    requests: 1,
    seconds: 2,
  },
  {
    title: 'answers 503 twice',
    behaviour: { etag: '"1"', status: 503, refusals: 2 },
    sees: LOADS,
    requests: 5,
    seconds: 3,
  },
  {
    title: 'always answers 503',
    behaviour: { status: 503 },
    sees: 'the server answered 503; check the address or try later',
    code: 'network',
    requests: 6,
    seconds: 20,
  },
  {
    title: 'answers 429, and says when to try again',
    behaviour: { etag: '"1"', status: 429, refusals: 1, retryAfter: 1 },
    sees: LOADS,
    requests: 4,
    seconds: 3,
  },
  {
    title: 'answers 401 or 403',
    behaviour: { status: 403 },
    sees: 'the server answered 403; check the address or try later',
    code: 'network',
    requests: 1,
    seconds: 2,
  },
  {
    title: 'answers 404',
    behaviour: { status: 404 },
    sees: 'does not exist on the server; check the address',
    code: 'network',
    requests: 2,
    seconds: 2,
  },
  {
    title: 'redirects in a loop',
    behaviour: { redirect: '/m.gguf' },
    sees: UNREACHED,
    code: 'network',
    requests: 130,
    seconds: 2,
  },
  {
    title: 'redirects to `data:`',
    behaviour: { redirect: 'data:text/plain,GGUF' },
    sees: UNREACHED,
    code: 'network',
    requests: 6,
    seconds: 2,
  },
  {
    title: 'sends garbage instead of HTTP',
    behaviour: { raw: '\x00\x01 no HTTP \r\n\r\n' },
    sees: UNREACHED,
    code: 'network',
    requests: 6,
    seconds: 2,
  },
  {
    title: 'sends two different lengths',
    behaviour: { raw: 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nGGUFx' },
    sees: UNREACHED,
    code: 'network',
    requests: 6,
    seconds: 2,
  },
  {
    title: 'hangs up before it answers',
    behaviour: { raw: '' },
    sees: UNREACHED,
    code: 'network',
    requests: 6,
    seconds: 2,
  },
  {
    title: 'refuses connections, or does not exist',
    behaviour: {},
    isAbsent: true,
    sees: UNREACHED,
    code: 'network',
    requests: 0,
    seconds: 2,
  },
  {
    title: 'accepts a request and never answers',
    behaviour: { isSilent: true },
    sees: UNREACHED,
    code: 'network',
    requests: 1,
    seconds: 32,
  },
  {
    title: 'stalls in the middle of a body and never continues',
    behaviour: { etag: '"1"', stalls: true },
    sees: 'stopped after so many bytes; load it again',
    code: 'network',
    requests: 21,
    seconds: 200,
  },
  {
    title: 'says that the file is longer than it is',
    behaviour: { etag: '"1"', liesBy: 8 * MIB },
    sees: 'the server answered 416; check the address or try later',
    code: 'network',
    requests: 8,
    seconds: 20,
  },
]

function answer(type: string, body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** 200 MB of zeros in 200 kB. */
function bomb(): Buffer {
  const body = gzipSync(new Uint8Array(200 * MIB), { level: 1 })
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}
