// Trust. In: a model's address, and how reading it went. Out: stored files that the next load reads as they
// are, or looks at again.
import type { HalfbyteError } from '../../base/errors.ts'
import { fileName, isFileOf } from '../address.ts'
import { Opfs, type StoredFile } from './opfs.ts'
import type { LostBytes } from './part-file.ts'

/** Takes note that all stored files of `address` match the hashes in them. Never rejects. */
export async function trust(address: string): Promise<void> {
  try {
    const store = await Opfs.open()
    const isOfModel = isFileOf(address)
    for (const { url, isComplete } of (await store?.list()) ?? []) {
      if (isComplete && isOfModel(url)) await store?.noteChecked(url)
    }
  } catch {
    // Then they are compared again the next time.
  }
}

/** What a damaged or exchanged file may be taken for. */
const SUSPICIOUS: ReadonlySet<string> = new Set(['integrity', 'format', 'architecture'])

/**
 * Nothing wrong may be read again and again from storage: what does not fit together is compared with the
 * server, and what does not match its hash is downloaded anew. Where the error is not about what was read,
 * nothing happens. Never rejects.
 */
export async function distrust(address: string, { code, detail }: HalfbyteError): Promise<void> {
  // A file that this release cannot read may by now be one that it can.
  const isUnread = code === 'unsupported' && detail['file'] !== undefined
  if (!SUSPICIOUS.has(code) && !isUnread) return
  try {
    const store = await Opfs.open()
    const isOfModel = isFileOf(address)
    const files = ((await store?.list()) ?? []).filter(({ url, isComplete }) => isComplete && isOfModel(url))
    const named = files.filter(({ url }) => fileName(url) === detail['file'])
    const { start = 0, end = Number.POSITIVE_INFINITY } = detail as Partial<LostBytes>
    // The parts of a pack are counted through.
    let at = 0
    for (const { url, size } of named.length > 0 ? named : files.sort(byUrl)) {
      await store?.doubt(url, code === 'integrity' ? { start: start - at, end: end - at } : undefined)
      at += size
    }
  } catch {
    // The error that led here is the one to report.
  }
}

const byUrl = (a: StoredFile, b: StoredFile): number => (a.url < b.url ? -1 : 1)
