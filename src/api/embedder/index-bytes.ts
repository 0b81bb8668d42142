// An index as bytes. In: its parts. Out: little-endian bytes, and from bytes of outside the parts again, or
// `format`.
//
//   "HBVI", version, dimensions, count, next id   u32 each
//   ids                                           u32[count]
//   vectors                                       f32[count][dimensions]
import { malformed } from '../../formats/malformed.ts'

const MAGIC = 0x49_56_42_48
const VERSION = 1
const HEADER_BYTES = 20
const NAME = 'the index'

export interface IndexParts {
  readonly dimensions: number
  readonly nextId: number
  readonly ids: ArrayLike<number>
  /** [row][dimension] */
  readonly values: Float32Array
}

export function writeIndex({ dimensions, nextId, ids, values }: IndexParts): ArrayBuffer {
  const idBytes = 4 * ids.length
  const bytes = new ArrayBuffer(HEADER_BYTES + idBytes + 4 * values.length)
  const view = new DataView(bytes)
  const header = [MAGIC, VERSION, dimensions, ids.length, nextId, ...Array.from(ids)]
  for (const [at, word] of header.entries()) view.setUint32(4 * at, word, true)
  for (let at = 0; at < values.length; at++)
    view.setFloat32(HEADER_BYTES + idBytes + 4 * at, values[at] as number, true)
  return bytes
}

/** Looks at every size before it reads. Throws `format` with the numbers that do not fit. */
export function readIndex(
  bytes: Uint8Array,
  mostDimensions: number,
): IndexParts & { readonly ids: readonly number[] } {
  if (bytes.length < HEADER_BYTES)
    throw malformed(NAME, `it has ${bytes.length} bytes, fewer than its header of ${HEADER_BYTES}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number) => view.getUint32(4 * at, true)
  if (word(0) !== MAGIC) throw malformed(NAME, 'it does not begin with HBVI')
  const version = word(1)
  const dimensions = word(2)
  const count = word(3)
  const nextId = word(4)
  if (version !== VERSION) throw malformed(NAME, `its version is ${version}, and ${VERSION} is read`)
  if (dimensions < 1 || dimensions > mostDimensions)
    throw malformed(NAME, `its vectors have ${dimensions} values, and 1 to ${mostDimensions} are read`)
  const wanted = HEADER_BYTES + 4 * count * (1 + dimensions)
  if (bytes.length !== wanted)
    throw malformed(
      NAME,
      `${count} vectors of ${dimensions} values take ${wanted} bytes, but it has ${bytes.length}`,
    )
  const ids = Array.from({ length: count }, (_, at) => word(HEADER_BYTES / 4 + at))
  const last = ids.reduce((most, id) => Math.max(most, id), -1)
  if (last >= nextId || new Set(ids).size !== count)
    throw malformed(NAME, `its ${count} ids are not different numbers below ${nextId}`)
  const start = HEADER_BYTES + 4 * count
  const values = new Float32Array(count * dimensions)
  for (let at = 0; at < values.length; at++) values[at] = view.getFloat32(start + 4 * at, true)
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) throw malformed(NAME, `value ${wrong} of its vectors is ${values[wrong]}`)
  return { dimensions, nextId, ids, values }
}
