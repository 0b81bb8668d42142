// Fixtures: files of test/fixtures by name. The README there says where each comes from.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

/** The path of a file or folder that is stored uncompressed. */
export const fixturePath = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

/**
 * The bytes of `name`, decompressed if it is stored as `name.br`. They start at offset 0 of their
 * ArrayBuffer.
 */
export function fixture(name: string): Buffer<ArrayBuffer> {
  const path = fixturePath(name)
  const bytes = existsSync(path) ? readFileSync(path) : brotliDecompressSync(readFileSync(`${path}.br`))
  return Buffer.from(Uint8Array.from(bytes).buffer)
}

export const fixtureText = (name: string): string => fixture(name).toString('utf8')

export const fixtureFile = (name: string): File => new File([fixture(name)], basename(name))

/** Little-endian f32 numbers. */
export const fixtureFloats = (name: string): Float32Array => new Float32Array(fixture(name).buffer)
