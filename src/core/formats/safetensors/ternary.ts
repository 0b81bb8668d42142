// Presents BitNet's 2-bit matrices as TQ2_0, which holds the same values, or as Q4_0 if rows do not fill its
// blocks.
import { floatToHalf } from '../../base/half.ts'
import type { JsonObject } from '../../base/values.ts'
import { BLOCKS, rowBytes } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'
import { readTQ2, writeTQ2Row } from '../tq2.ts'
import { floatsOf, unread, virtual } from './packed-ints.ts'
import type { StoredTensor } from './safetensors.ts'

/** Inputs per Q4_0 block, and the difference between its codes and the file's. */
const GROUP = 32
const OFFSET = 7
/** Rows whose codes share a byte. */
const ROWS = 4

/**
 * Column c of byte row r in `weight` [n / 4, k] holds the codes of rows r, r + n/4, r + 2n/4 and r + 3n/4, 0
 * to 2 for -1 to 1, starting at the low bits. The single number in `scale` multiplies them, or divides them
 * in BitLinear layers. Throws `format` for other shapes, `unsupported` for rows that are not whole groups.
 */
export function ternaryMatrix(weight: StoredTensor, scale: StoredTensor, settings: JsonObject): TensorInfo {
  const { name, shape, source: file } = weight
  const [quarter = 0, k = 0] = shape
  if (shape.length !== 2 || scale.shape.some((size) => size !== 1)) {
    throw malformed(
      file.name,
      `${shown(name)} is [${shape}] with scales [${scale.shape}], not a matrix with one scale`,
    )
  }
  if (k % GROUP !== 0) throw unread(file.name, `${shown(name)} has rows of ${k}`, `multiples of ${GROUP}`)
  const form = k % BLOCKS.TQ2_0.elements === 0 ? 'TQ2_0' : 'Q4_0'
  const bytes = rowBytes(form, k)
  const write = form === 'TQ2_0' ? writeTQ2Row : writeQ4Row
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const [stored = 0] = floatsOf(scale, await scale.source.read(scale.offset, scale.byteLength, signal))
    const factor = floatToHalf(settings['linear_class'] === 'autobitlinear' ? stored : 1 / stored)
    const out = new Uint8Array(length)
    for (let at = 0; at < length; at += bytes) {
      const row = (offset + at) / bytes
      const shared = await file.read(weight.offset + (row % quarter) * k, k, signal)
      const shift = 2 * Math.floor(row / quarter)
      const codes = shared.map((byte) => (byte >> shift) & 3)
      write(out.subarray(at, at + bytes), codes, factor)
    }
    return out
  }
  const matrix = virtual(file.name, name, form, [ROWS * quarter, k], ROWS * quarter * bytes, read)
  return form === 'TQ2_0' ? { ...matrix, coding: { read: readTQ2, hasMinimum: false } } : matrix
}

/**
 * Writes blocks of an f16 scale and 32 codes. The low bits hold the codes of the first half of the inputs.
 */
function writeQ4Row(out: Uint8Array, codes: Uint8Array, factor: number): void {
  const code = (column: number) => codes[column]! + OFFSET
  for (let group = 0, at = 0; group < codes.length; group += GROUP) {
    out[at++] = factor & 255
    out[at++] = factor >> 8
    for (let i = group; i < group + GROUP / 2; i++) out[at++] = code(i) | (code(i + GROUP / 2) << 4)
  }
}
