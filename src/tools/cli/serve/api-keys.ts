// The keys that requests must present, from the command line and from a file.
import { createHash, timingSafeEqual } from 'node:crypto'
import { open } from 'node:fs/promises'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { systemError } from '../terminal/failure.ts'

/** Enough for thousands of keys, so a larger file must be something else. */
const MAX_FILE_BYTES = 1 << 20
/** The characters allowed in a header, except spaces. */
const KEY = /^[\x21-\x7e]+$/
const PRIVATE_MODE = 0o600

/** A set of keys that can be replaced while requests arrive. */
export class ApiKeys {
  #digests: readonly Buffer[] = []

  constructor(keys: readonly string[]) {
    this.replace(keys)
  }

  replace(keys: readonly string[]): void {
    this.#digests = keys.map(digest)
  }

  /** Whether a request with this `authorization` header is allowed. Without keys, all are. */
  allow(authorization: string | undefined): boolean {
    if (this.#digests.length === 0) return true
    const given = digest(/^bearer +(.*?) *$/i.exec(authorization ?? '')?.[1] ?? '')
    // Compares all keys, each in constant time, so that the timing reveals nothing about a key.
    return this.#digests.map((each) => timingSafeEqual(each, given)).includes(true)
  }
}

const digest = (key: string): Buffer => createHash('sha256').update(key).digest()

/**
 * The keys in a file, one per line. Blank lines and lines that begin with # are skipped. Warns if other users
 * of this machine may read it. Throws `unsupported` if it cannot be read, has no key or an invalid line.
 */
export async function readApiKeys(path: string, onWarning: (sentence: string) => void): Promise<string[]> {
  const { text, mode } = await readKeyFile(path)
  if (process.platform !== 'win32' && (mode & ~PRIVATE_MODE & 0o777) !== 0)
    onWarning(
      `other users may read the keys in ${path} (its mode is ${mode.toString(8)}); chmod 600 ${path} prevents that`,
    )
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const keys: string[] = []
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue
    if (KEY.test(line)) keys.push(line)
    // The line itself may be a secret.
    else
      throw keyError(`line ${index + 1} of ${path} is not a key; give one per line, in ASCII without spaces`)
  }
  if (keys.length === 0) throw keyError(`${path} has no key; write one per line`)
  return keys
}

async function readKeyFile(path: string): Promise<{ readonly text: string; readonly mode: number }> {
  try {
    await using file = await open(path)
    const { mode } = await file.stat()
    // The size of a pipe is unknown, so the limit applies to the bytes read.
    const pieces: Buffer[] = []
    let size = 0
    for await (const piece of file.createReadStream({ autoClose: false })) {
      size += (piece as Buffer).length
      if (size > MAX_FILE_BYTES)
        throw keyError(`${path} has more than ${MAX_FILE_BYTES} bytes; name a file of keys`)
      pieces.push(piece as Buffer)
    }
    return { text: Buffer.concat(pieces).toString('utf8'), mode: mode & 0o777 }
  } catch (error) {
    throw systemError(error, 'unsupported', `${path} cannot be read`, 'check --api-key-file')
  }
}

const keyError = (sentence: string) => new HalfbyteError('unsupported', sentence, { name: '--api-key-file' })
