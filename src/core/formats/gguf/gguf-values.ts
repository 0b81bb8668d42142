// Reads a typed value of a GGUF header. Every length is checked first.
import { malformed, shown } from '../malformed.ts'
import type { SlabReader } from '../slab-reader.ts'
import type { MetaValue } from '../tensors.ts'

/**
 * Longer strings and arrays are rejected as damaged. Real templates reach 100 KB, real vocabularies 300,000
 * entries.
 */
const STRING_LIMIT_BYTES = 16 << 20
const ARRAY_LIMIT = 16 << 20
const NESTING_LIMIT = 4

const STRING = 8
const ARRAY = 9

/** Bytes of one value, by GGUF type number; for strings and arrays, the minimum. */
const LEAST_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8]

/** Reads a length-prefixed string of at most `limit` bytes. */
export async function readString(
  reader: SlabReader,
  file: string,
  what: string,
  limit = STRING_LIMIT_BYTES,
): Promise<string> {
  if (reader.available < 8) await reader.fill(8)
  const length = reader.u64()
  if (length > BigInt(Math.min(reader.remaining, limit))) {
    throw malformed(
      file,
      `${what} claims ${length} bytes, but only ${reader.remaining} are left in the file`,
      {
        offset: reader.position,
      },
    )
  }
  const byteLength = Number(length)
  if (reader.available < byteLength) await reader.fill(byteLength)
  return reader.text(byteLength)
}

/** Reads one value. 64-bit integers beyond 2^53 become decimal strings, so that no digits are lost. */
export async function readValue(
  reader: SlabReader,
  file: string,
  key: string,
  type: number,
  depth = 0,
): Promise<MetaValue> {
  const least = leastBytes(type, file, key)
  if (reader.available < least) await reader.fill(least)
  if (type === STRING) return readString(reader, file, `the text of ${shown(key)}`)
  if (type === ARRAY) return readArray(reader, file, key, depth)
  return readScalar(reader, file, key, type)
}

async function readArray(reader: SlabReader, file: string, key: string, depth: number): Promise<MetaValue> {
  if (depth >= NESTING_LIMIT) throw malformed(file, `${shown(key)} nests arrays deeper than ${NESTING_LIMIT}`)
  const type = reader.u32()
  const length = reader.u64()
  const least = leastBytes(type, file, key)
  if (length > BigInt(ARRAY_LIMIT) || length * BigInt(least) > BigInt(reader.remaining)) {
    throw malformed(
      file,
      `${shown(key)} claims ${length} elements, but only ${reader.remaining} bytes are left in the file`,
      { offset: reader.position },
    )
  }
  const count = Number(length)
  const values: MetaValue[] = []
  while (values.length < count) {
    if (type === STRING) {
      // Vocabularies have 10^5 strings, so only a string that crosses the end of the slab creates a promise.
      for (const text of reader.prefixedTexts(count - values.length)) values.push(text)
      if (values.length < count) values.push(await readString(reader, file, `an element of ${shown(key)}`))
    } else if (type === ARRAY) {
      values.push(await readValue(reader, file, key, type, depth + 1))
    } else {
      if (reader.available < least) await reader.fill(least)
      values.push(readScalar(reader, file, key, type))
    }
  }
  return values
}

function readScalar(reader: SlabReader, file: string, key: string, type: number): number | boolean | string {
  switch (type) {
    case 0:
      return reader.u8()
    case 1:
      return reader.i8()
    case 2:
      return reader.u16()
    case 3:
      return reader.i16()
    case 4:
      return reader.u32()
    case 5:
      return reader.i32()
    case 6:
      return reader.f32()
    case 7:
      return truth(reader.u8(), file, key)
    case 10:
      return exact(reader.u64())
    case 11:
      return exact(reader.i64())
    default:
      return reader.f64()
  }
}

function leastBytes(type: number, file: string, key: string): number {
  const least = LEAST_BYTES[type]
  if (least !== undefined) return least
  throw malformed(file, `${shown(key)} has value type ${type}, but GGUF's types are 0 to 12`)
}

function truth(byte: number, file: string, key: string): boolean {
  if (byte > 1)
    throw malformed(file, `${shown(key)} is a boolean with the value ${byte}, which must be 0 or 1`)
  return byte === 1
}

function exact(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}
