// Partial answers. In: an answer to a range request. Out: its file's size and version, and whether they
// changed.

/** The version of a file on a server. Parts of two versions are never combined. */
export interface Version {
  /** Bytes. */
  readonly size: number
  /** The ETag; without one, the time of the last change; otherwise ''. */
  readonly etag: string
}

/**
 * Pages of other origins see the time, and the ETag if the server exposes it. Weak and strong ETags count as
 * the same version.
 */
export const tagOf = ({ headers }: Response): string =>
  (headers.get('etag') ?? headers.get('last-modified') ?? '').replace(/^W\//, '')

/**
 * The position of a partial answer in its file, and the file's version. Undefined for other answers, for
 * answers that were compressed in transit, and when CORS hides the range.
 */
export function partOf(
  response: Response,
): { readonly start: number; readonly version: Version } | undefined {
  if (response.status !== 206 || response.headers.has('content-encoding')) return undefined
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? []
  if (start === undefined) return undefined
  return { start: Number(start), version: { size: Number(size), etag: tagOf(response) } }
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
