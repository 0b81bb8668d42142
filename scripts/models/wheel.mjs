// Reads files out of a wheel (a ZIP archive) on disk: one as a stream, or a whole folder.
import { createReadStream } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { createInflateRaw, inflateRawSync } from 'node:zlib'

const END_BYTES = 22
const MAX_COMMENT_BYTES = 65_535
const ENTRY_BYTES = 46
const LOCAL_BYTES = 30

/** Streams of the files. Throws an error that names the archive and the missing file. */
export async function readWheelFile(path, name) {
  const handle = await open(path)
  try {
    const entry = entriesOf(await directoryOf(handle, path)).find((each) => each.name === name)
    if (entry === undefined) throw new Error(`${path} does not contain ${name}`)
    const { packedBytes, isPacked, start } = await placeOf(handle, path, entry)
    const bytes =
      packedBytes === 0 ? Readable.from([]) : createReadStream(path, { start, end: start + packedBytes - 1 })
    return [bytes, isPacked ? createInflateRaw() : new PassThrough()]
  } finally {
    await handle.close()
  }
}

/** Writes each file below `prefix` to the same path below `folder`, and returns how many there were. */
export async function extractWheelFolder(path, prefix, folder) {
  const handle = await open(path)
  try {
    let count = 0
    const made = new Set()
    for (const entry of entriesOf(await directoryOf(handle, path))) {
      if (!entry.name.startsWith(prefix) || entry.name.endsWith('/')) continue
      const name = normalize(entry.name.slice(prefix.length))
      if (name.startsWith('..')) throw new Error(`${path} names a file outside its folder: ${entry.name}`)
      const { packedBytes, isPacked, start } = await placeOf(handle, path, entry)
      const packed = await readAt(handle, path, start, packedBytes)
      const target = join(folder, name)
      if (!made.has(dirname(target))) await mkdir(dirname(target), { recursive: true })
      made.add(dirname(target))
      await writeFile(target, isPacked ? inflateRawSync(packed) : packed)
      count += 1
    }
    return count
  } finally {
    await handle.close()
  }
}

async function readAt(handle, path, start, length) {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start)
  if (bytesRead < length) throw new Error(`${path} ends within a ZIP record`)
  return buffer
}

/** The archive's list of files. */
async function directoryOf(handle, path) {
  const { size } = await handle.stat()
  const tailStart = Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES)
  const tail = await readAt(handle, path, tailStart, size - tailStart)
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  if (end < 0 || end + END_BYTES > tail.length)
    throw new Error(`${path} is not a ZIP archive: it has no end record`)
  return readAt(handle, path, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
}

/** The offset of an entry's bytes, after its local header. */
async function placeOf(handle, path, { name, method, packedBytes, offset }) {
  if (method !== 0 && method !== 8)
    throw new Error(`${name} in ${path} is compressed with method ${method}, which is not supported`)
  const local = await readAt(handle, path, offset, LOCAL_BYTES)
  const start = offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28)
  return { packedBytes, isPacked: method === 8, start }
}

function entriesOf(directory) {
  const entries = []
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    const nameBytes = directory.readUInt16LE(at + 28)
    entries.push({
      name: directory.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes),
      method: directory.readUInt16LE(at + 10),
      packedBytes: directory.readUInt32LE(at + 20),
      offset: directory.readUInt32LE(at + 42),
    })
    at += ENTRY_BYTES + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
  }
  return entries
}
