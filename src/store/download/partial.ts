// Partial answers. In: an answer to a range. Out: what it says of the file it is a part of, and whether that is still the same.

/** What a server says of a file. Parts of two versions never go together. */
export interface Version {
  /** Bytes. */
  readonly size: number
  /** The ETag, else the time of the last change, else ''. */
  readonly etag: string
}

/** Pages of other origins see the time, and the ETag where the server exposes it; of those, weak and strong are the same bytes. */
export const tagOf = ({ headers }: Response): string =>
  (headers.get('etag') ?? headers.get('last-modified') ?? '').replace(/^W\//, '')

/**
 * Where a partial answer lies in its file, and in which; undefined for other answers, for those that were compressed on
 * the way, and where CORS hides it.
 */
export function partOf(
  response: Response,
): { readonly start: number; readonly version: Version } | undefined {
  if (response.status !== 206 || response.headers.has('content-encoding')) return undefined
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? []
  if (start === undefined) return undefined
  return { start: Number(start), version: { size: Number(size), etag: tagOf(response) } }
}

/** In what an answer is not the part from `start` of the file whose version is known; undefined when it is. */
export function differenceOf(response: Response, start: number, { size, etag }: Version): string | undefined {
  const part = partOf(response)
  if (part === undefined) return 'the server no longer answers ranges'
  if (part.start !== start) return `bytes from ${part.start} came instead of ${start}`
  if (part.version.size !== size) return `it has ${part.version.size} bytes instead of ${size}`
  if (part.version.etag === etag) return undefined
  return `its version is ${part.version.etag || 'gone'} instead of ${etag || 'none'}`
}
