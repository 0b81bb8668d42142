// Text files. In: a path, or nothing for stdin. Out: the text in pieces, or as a whole if it is small enough.
import { createReadStream } from 'node:fs'
import { HalfbyteError } from '../base/errors.ts'
import { collectIds, encodeStream, takeIds } from '../text/tokenize/encode-stream.ts'
import type { Tokenizer } from '../text/tokenize/tokenizer.ts'
import { systemError } from './terminal/failure.ts'

/** Bytes of a text that is in memory as a whole, as schemas and data sets are. */
const MOST_BYTES = 256 << 20

/** The bytes as they come. Throws `format` if the file cannot be read. */
export async function* readBytes(path: string | undefined): AsyncGenerator<Uint8Array> {
  try {
    yield* path === undefined ? process.stdin : createReadStream(path)
  } catch (cause) {
    throw systemError(cause, 'format', `the text file ${path ?? 'stdin'} cannot be read`, 'check the path')
  }
}

/** UTF-8. Throws `format` if the file cannot be read. */
export async function* readPieces(path: string | undefined): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of readBytes(path)) yield decoder.decode(bytes, { stream: true })
  yield decoder.decode()
}

/** UTF-8. Throws `format` if the file cannot be read or is too long. */
export async function readText(path: string | undefined, mostBytes = MOST_BYTES): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const bytes of readBytes(path)) {
    parts.push(bytes)
    length += bytes.length
    if (length > mostBytes) {
      throw new HalfbyteError(
        'format',
        `the text file ${path ?? 'stdin'} has more than ${mostBytes} bytes, and it has to fit into memory; give a part of it`,
        { most: mostBytes },
      )
    }
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(parts))
}

/** The ids of a text, or the first `most` of them; what comes after those is not read. */
export async function readIds(path: string, tokenizer: Tokenizer, most?: number): Promise<Uint32Array> {
  const parts = encodeStream(tokenizer, readPieces(path), { addSpecial: true })
  return (await collectIds(most === undefined ? parts : takeIds(parts, most))).ids
}
