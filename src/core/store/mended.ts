// A source that refetches damaged bytes when a read finds them.
import type { ByteSource } from '../base/bytes.ts'
import { readInto } from '../base/bytes.ts'
import { isHalfbyteError } from '../base/errors.ts'
import type { LostBytes } from './device/part-file.ts'

/** How often wrong bytes are fetched again before giving up. */
const RENEWALS = 2

/**
 * `again` fetches bytes and reopens the file, after the earlier source has been closed. Reads wait for it and
 * throw its error.
 */
export function mendedSource(
  opened: ByteSource,
  again: (lost: LostBytes) => Promise<ByteSource>,
): ByteSource {
  let source = opened
  /** Resolves once no part is being fetched. */
  let renewal = Promise.resolve()
  const reads = new Set<Promise<unknown>>()

  const renew = (start: number, end: number): Promise<void> => {
    mended.isRenewed = true
    renewal = renewal.then(async () => {
      await Promise.allSettled(reads)
      source.close?.()
      source = await again({ start, end })
    })
    // The next read rejects with the same error.
    renewal.catch(() => undefined)
    return renewal
  }

  const once = async <T>(read: (from: ByteSource) => Promise<T>): Promise<T> => {
    await renewal
    const reading = read(source)
    reads.add(reading)
    try {
      return await reading
    } finally {
      reads.delete(reading)
    }
  }

  const mending = async <T>(read: (from: ByteSource) => Promise<T>): Promise<T> => {
    for (let renewals = 0; ; renewals++) {
      try {
        return await once(read)
      } catch (error) {
        const lost = lostBytes(error)
        if (lost === undefined || renewals === RENEWALS) throw error
        await renew(lost.start, lost.end)
      }
    }
  }

  const mended: ByteSource = {
    ...opened,
    read: (...range) => mending((from) => from.read(...range)),
    ...(opened.readAlone && {
      readAlone: (...range) => mending((from) => (from.readAlone ?? from.read).call(from, ...range)),
    }),
    readInto: (...range) => mending((from) => readInto(from, ...range)),
    close: () => source.close?.(),
    renew,
  }
  return mended
}

/** The damaged bytes of a stored file, as reported by a read's error. */
function lostBytes(error: unknown): LostBytes | undefined {
  if (!isHalfbyteError(error) || error.code !== 'integrity') return undefined
  const { start, end } = error.detail
  return typeof start === 'number' && typeof end === 'number' ? { start, end } : undefined
}
