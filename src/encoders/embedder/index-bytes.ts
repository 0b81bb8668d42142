// Serialises an index. In: its parts. Out: little-endian bytes; and from untrusted bytes the parts, or
// `format`.
//
//   "HBVI", version, dimensions, count, next id   u32 each
//   ids                                           u32[count]
//   vectors                                       f32[count][dimensions]
//   checksum of all bytes before it               u32[4]; version 1 has none
import { checksum } from '../../core/base/sha256.ts'
import { malformed } from '../../core/formats/malformed.ts'

const MAGIC = 0x49_56_42_48
const VERSION = 2
/** The version without a checksum: its bytes end with the vectors. */
const WITHOUT_SUM = 1
const HEADER_BYTES = 20
const SUM_BYTES = 16
const NAME = 'the index'

interface IndexParts {
  readonly dimensions: number
  readonly nextId: number
  readonly ids: ArrayLike<number>
  /** [row][dimension] */
  readonly values: Float32Array
}

export function writeIndex({ dimensions, nextId, ids, values }: IndexParts): ArrayBuffer {
  const idBytes = 4 * ids.length
  const sumAt = HEADER_BYTES + idBytes + 4 * values.length
  const bytes = new ArrayBuffer(sumAt + SUM_BYTES)
  const view = new DataView(bytes)
  const header = [MAGIC, VERSION, dimensions, ids.length, nextId, ...Array.from(ids)]
  for (const [at, word] of header.entries()) view.setUint32(4 * at, word, true)
  for (let at = 0; at < values.length; at++)
    view.setFloat32(HEADER_BYTES + idBytes + 4 * at, values[at] as number, true)
  for (const [at, word] of sumOf(new Uint8Array(bytes), sumAt).entries())
    view.setUint32(sumAt + 4 * at, word, true)
  return bytes
}

/** The words of the checksum of the first `end` bytes. */
function sumOf(bytes: Uint8Array, end: number): number[] {
  const digits = checksum(bytes.subarray(0, end))
  return Array.from({ length: SUM_BYTES / 4 }, (_, at) =>
    Number.parseInt(digits.slice(8 * at, 8 * at + 8), 16),
  )
}

/** Checks every size and the checksum before reading. Throws `format` with the numbers that do not match. */
export function readIndex(
  bytes: Uint8Array,
  mostDimensions: number,
): IndexParts & { readonly ids: readonly number[] } {
  if (bytes.length < HEADER_BYTES)
    throw malformed(NAME, `it has ${bytes.length} bytes, fewer than its header of ${HEADER_BYTES}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number) => view.getUint32(4 * at, true)
  if (word(0) !== MAGIC) throw malformed(NAME, 'it does not start with HBVI')
  const version = word(1)
  const dimensions = word(2)
  const count = word(3)
  const nextId = word(4)
  if (version !== VERSION && version !== WITHOUT_SUM)
    throw malformed(NAME, `its version is ${version}, but only ${WITHOUT_SUM} and ${VERSION} are supported`)
  if (dimensions < 1 || dimensions > mostDimensions)
    throw malformed(NAME, `its vectors have ${dimensions} values, but 1 to ${mostDimensions} are supported`)
  const sumAt = HEADER_BYTES + 4 * count * (1 + dimensions)
  const wanted = sumAt + (version === WITHOUT_SUM ? 0 : SUM_BYTES)
  if (bytes.length !== wanted)
    throw malformed(
      NAME,
      `${count} vectors of ${dimensions} values take ${wanted} bytes, but it has ${bytes.length}`,
    )
  const isRight =
    version === WITHOUT_SUM || sumOf(bytes, sumAt).every((sum, at) => sum === word(sumAt / 4 + at))
  if (!isRight) throw malformed(NAME, 'its checksum does not match')
  const ids = Array.from({ length: count }, (_, at) => word(HEADER_BYTES / 4 + at))
  const last = ids.reduce((most, id) => Math.max(most, id), -1)
  if (last >= nextId || new Set(ids).size !== count)
    throw malformed(NAME, `its ${count} ids are not distinct numbers below ${nextId}`)
  const start = HEADER_BYTES + 4 * count
  const values = new Float32Array(count * dimensions)
  for (let at = 0; at < values.length; at++) values[at] = view.getFloat32(start + 4 * at, true)
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) throw malformed(NAME, `value ${wrong} of its vectors is ${values[wrong]}`)
  return { dimensions, nextId, ids, values }
}
