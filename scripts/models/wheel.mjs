// Streams one file out of a wheel (a ZIP archive) on disk. Only a buffer of it is in memory at a time.
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { PassThrough, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'

const END_BYTES = 22
const MAX_COMMENT_BYTES = 65_535
const ENTRY_BYTES = 46
const LOCAL_BYTES = 30

/** The streams, or an error that names the archive and what it lacks. */
export async function readWheelFile(path, name) {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const read = async (start, length) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start)
      if (bytesRead < length) throw new Error(`${path} ends within a ZIP record`)
      return buffer
    }
    const tail = await read(
      Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES),
      Math.min(size, END_BYTES + MAX_COMMENT_BYTES),
    )
    const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1')
    if (end < 0 || end + END_BYTES > tail.length)
      throw new Error(`${path} is not a ZIP archive: it has no end record`)
    const directory = await read(tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
    const entry = entryOf(directory, name)
    if (entry === undefined) throw new Error(`${path} holds no ${name}`)
    const { method, packedBytes, offset } = entry
    if (method !== 0 && method !== 8)
      throw new Error(`${name} in ${path} is packed by method ${method}, which is not read here`)
    const local = await read(offset, LOCAL_BYTES)
    const start = offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28)
    const bytes =
      packedBytes === 0 ? Readable.from([]) : createReadStream(path, { start, end: start + packedBytes - 1 })
    return [bytes, method === 8 ? createInflateRaw() : new PassThrough()]
  } finally {
    await handle.close()
  }
}

function entryOf(directory, name) {
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    const nameBytes = directory.readUInt16LE(at + 28)
    const next =
      at + ENTRY_BYTES + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
    if (directory.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes) === name) {
      return {
        method: directory.readUInt16LE(at + 10),
        packedBytes: directory.readUInt32LE(at + 20),
        offset: directory.readUInt32LE(at + 42),
      }
    }
    at = next
  }
  return undefined
}
