// Writes a model's header and its tensors in kernel layout as the chunks of a .hbm pack.

import type { PackedEncoding } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { sha256 } from '../../base/sha256.ts'
import { gzip } from '../gzip.ts'
import { shown } from '../malformed.ts'
import {
  alignUp,
  CHUNK_BYTES,
  headerHash,
  type PackEntry,
  type PackHeader,
  PREFIX_BYTES,
  packVersion,
} from './hbm.ts'

export interface PackTensor {
  readonly name: string
  readonly encoding: PackedEncoding
  readonly shape: readonly number[]
  readonly bytes: number
  /**
   * Called twice: first for the hashes, then for the file, because the header, which holds the hashes, comes
   * first.
   */
  readonly data: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export interface PackContents extends Omit<PackHeader, 'tensors'> {
  readonly tensors: readonly PackTensor[]
}

/**
 * Tensors keep their order. Throws `internal` if data has the wrong length, and the signal's reason if
 * aborted.
 */
export async function* writePack(contents: PackContents, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const tensors: PackEntry[] = []
  let end = 0
  for (const { name, encoding, shape, bytes, data } of contents.tensors) {
    const offset = alignUp(end)
    tensors.push({ name, encoding, shape, offset, bytes, sha256: await hashes(name, bytes, data(), signal) })
    end = offset + bytes
  }
  const head = await packHead({ ...contents, tensors }, end)
  yield head
  let written = alignUp(head.length)
  if (tensors.length > 0) yield new Uint8Array(written - head.length)
  const dataStart = written
  for (const [index, { data }] of contents.tensors.entries()) {
    const { offset } = tensors[index] as PackEntry
    if (dataStart + offset > written) yield new Uint8Array(dataStart + offset - written)
    written = dataStart + offset
    for await (const chunk of data()) {
      signal?.throwIfAborted()
      written += chunk.length
      yield chunk
    }
  }
  if (tensors.length > 0 && written !== dataStart + end)
    throw wrongLength(contents.name, written, dataStart + end)
}

async function hashes(
  name: string,
  bytes: number,
  data: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<string[]> {
  const done: string[] = []
  const chunk = new Uint8Array(Math.min(CHUNK_BYTES, bytes))
  let filled = 0
  let total = 0
  for await (const part of data) {
    signal?.throwIfAborted()
    total += part.length
    for (let at = 0; at < part.length; ) {
      const count = Math.min(part.length - at, chunk.length - filled)
      chunk.set(part.subarray(at, at + count), filled)
      at += count
      filled += count
      if (filled === chunk.length) {
        done.push(await sha256(chunk))
        filled = 0
      }
    }
  }
  if (total !== bytes) throw wrongLength(name, total, bytes)
  if (filled > 0) done.push(await sha256(chunk.subarray(0, filled)))
  return done
}

/** The prefix and the header, without the padding after it. */
async function packHead(header: PackHeader, dataBytes: number): Promise<Uint8Array> {
  const json = new TextEncoder().encode(JSON.stringify(header))
  const stored = await gzip(json)
  const head = new Uint8Array(PREFIX_BYTES + stored.length)
  const fileBytes = header.tensors.length > 0 ? alignUp(head.length) + dataBytes : head.length
  const view = new DataView(head.buffer)
  head.set(new TextEncoder().encode('HBM1'))
  view.setUint32(4, packVersion(header.tensors), true)
  view.setUint32(8, stored.length, true)
  view.setUint32(12, json.length, true)
  view.setBigUint64(16, BigInt(fileBytes), true)
  head.set(stored, PREFIX_BYTES)
  const hash = await headerHash(head)
  for (let i = 0; i < 32; i++) head[32 + i] = Number.parseInt(hash.slice(2 * i, 2 * i + 2), 16)
  return head
}

function wrongLength(name: string, came: number, due: number): HalfbyteError {
  return new HalfbyteError('internal', `${shown(name)}: got ${came} bytes instead of ${due}; this is a bug`, {
    came,
    due,
  })
}
