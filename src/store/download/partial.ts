// Partial answers. In: an answer to a range request. Out: its file's size and version, and whether they
// changed.

import type { Version } from '../device/part-file.ts'

/**
 * Pages of other origins see the time, and the ETag if the server exposes it. Weak and strong ETags count as
 * the same version.
 */
export const tagOf = ({ headers }: Response): string =>
  (headers.get('etag') ?? headers.get('last-modified') ?? '').replace(/^W\//, '')

/** Bytes [start, end) of a file. */
export interface Part {
  readonly start: number
  readonly end: number
  readonly version: Version
}

const RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/

/** What a partial answer brings. Undefined for other answers, and for those that `partFault` names. */
export function partOf(response: Response): Part | undefined {
  if (response.status !== 206 || partFault(response) !== undefined) return undefined
  const [, start, last, size] = RANGE.exec(response.headers.get('content-range') ?? '') ?? []
  return {
    start: Number(start),
    end: Number(last) + 1,
    version: { size: Number(size), etag: tagOf(response) },
  }
}

/** Why the place of a partial answer's bytes is not known, as a clause; undefined when it is. */
export function partFault({ headers, type }: Response): string | undefined {
  const encoding = headers.get('content-encoding')
  if (encoding !== null) return `it is compressed (Content-Encoding: ${encoding})`
  const said = headers.get('content-range')
  const contentType = headers.get('content-type') ?? ''
  if (said === null && contentType.startsWith('multipart/'))
    return `it has several parts (Content-Type: ${contentType})`
  // Pages see it from other origins only where the server allows it.
  if (said === null) return 'no Content-Range can be read'
  const [, start, last, size] = (RANGE.exec(said) ?? []).map(Number)
  if (start === undefined || last === undefined || size === undefined)
    return `its Content-Range is "${said.slice(0, 80)}" instead of "bytes FIRST-LAST/SIZE"`
  if (start > last || last >= size || !Number.isSafeInteger(size))
    return `its Content-Range is "${said.slice(0, 80)}", which is no part of a file`
  const length = headers.get('content-length')
  // CORS hides that a body was compressed, whose length this is then.
  if (length !== null && Number(length) !== last - start + 1 && type !== 'cors')
    return `its Content-Range is "${said}", ${last - start + 1} bytes, and its Content-Length is ${length}`
  return undefined
}

/**
 * How an answer differs from the expected part at `start` of the given version; undefined when it does not.
 */
export function differenceOf(response: Response, start: number, { size, etag }: Version): string | undefined {
  const part = partOf(response)
  if (part === undefined) return 'the server no longer answers ranges'
  if (part.start !== start) return `bytes from ${part.start} came instead of ${start}`
  if (part.version.size !== size) return `it has ${part.version.size} bytes instead of ${size}`
  if (part.version.etag === etag) return undefined
  return `its version is ${part.version.etag || 'gone'} instead of ${etag || 'none'}`
}
