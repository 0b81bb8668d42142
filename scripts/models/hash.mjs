// Hashes a file piece by piece.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

export async function hashOf(path, algorithm, encoding) {
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path), hash)
  return hash.digest(encoding)
}
