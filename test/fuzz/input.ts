// Converts the parts of an input to JSON for the corpus, and back.
import { gunzipSync, gzipSync } from 'node:zlib'

/** The files and texts, by name, that one run of a target reads. */
export type Input = Readonly<Record<string, string | Uint8Array>>

/** An input as stored with a finding: texts unchanged, bytes packed. */
export type StoredInput = Readonly<Record<string, string | { readonly gzip: string }>>

export function storeInput(input: Input): StoredInput {
  return Object.fromEntries(
    Object.entries(input).map(([name, part]) => [
      name,
      typeof part === 'string' ? part : { gzip: gzipSync(part, { level: 9 }).toString('base64') },
    ]),
  )
}

export function restoreInput(stored: StoredInput): Input {
  return Object.fromEntries(
    Object.entries(stored).map(([name, part]) => [
      name,
      typeof part === 'string' ? part : new Uint8Array(gunzipSync(Buffer.from(part.gzip, 'base64'))),
    ]),
  )
}

/** The text of a part; empty when the input has none. */
export const textOf = (input: Input, name: string): string => {
  const part = input[name]
  return typeof part === 'string' ? part : new TextDecoder('latin1').decode(part ?? new Uint8Array())
}

/** The bytes of a part; a text as UTF-8. */
export const bytesOf = (input: Input, name: string): Uint8Array => {
  const part = input[name] ?? ''
  return typeof part === 'string' ? new TextEncoder().encode(part) : part
}

/** Bytes and characters of all parts. */
export const sizeOf = (input: Input): number =>
  Object.values(input).reduce((sum, part) => sum + part.length, 0)
