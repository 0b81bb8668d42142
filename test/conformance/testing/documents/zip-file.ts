// Writes ZIP archives, including ones that declare false sizes.
import { crc32, deflateRawSync } from 'node:zlib'

interface ZipOptions {
  /** The size that the archive declares for each entry. Default: the true one. */
  readonly announced?: number
  readonly isEncrypted?: boolean
}

/** An archive with compressed entries. */
export function zipFile(
  entries: Readonly<Record<string, string | Uint8Array>>,
  { announced, isEncrypted = false }: ZipOptions = {},
): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(entries)) {
    const data = Buffer.from(content)
    const packed = deflateRawSync(data)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(isEncrypted ? 1 : 0, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(data), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(announced ?? data.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), packed])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    const head = Buffer.from('PK\x01\x02\x14\x00', 'latin1')
    directory.push(Buffer.concat([head, fields, place, Buffer.from(name)]))
    parts.push(local)
    offset += local.length
  }
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(Buffer.concat(directory).length, 8)
  end.writeUInt32LE(offset, 12)
  return Uint8Array.from(Buffer.concat([...parts, ...directory, Buffer.from('PK\x05\x06', 'latin1'), end]))
}
