// Packing. In: a slab of stored rows. Out: the same rows in a kernel layout, in a view of linear memory.

import { type Encoding, PANEL_ROWS, panelBytes } from '../../abi/encodings.ts'
import type { Coding } from '../../formats/coded-group.ts'
import { rowBytes } from '../../formats/dtypes.ts'
import { type StoredRows, storedRows } from '../../formats/stored-rows.ts'
import type { DType } from '../../formats/tensors.ts'
import { relayQ4_0, relayQ4_0AsW8, relayQ4_1, relayQ8_0 } from '../relay.ts'
import { keepsCodes, packCoded } from './pack-coded.ts'
import { packFloats, packHalves } from './pack-float.ts'
import { packQuantized } from './pack-quantized.ts'

/** Rows of one tensor. `target` has room for them in whole panels of 8. */
export interface PackJob {
  readonly dtype: DType
  /** Of rows in coded groups. */
  readonly coding?: Coding | undefined
  readonly encoding: Encoding
  /** Elements of a row. */
  readonly k: number
  /** Number of rows in `source`. `target` may have more, which become zero rows. */
  readonly rows: number
  readonly source: Uint8Array
  /** Whole panels, aligned to 4 bytes. */
  readonly target: Uint8Array
}

/**
 * Moves codes and scales of Q8_0, Q4_0 and Q4_1 without loss into the encodings that hold them. Moves float
 * elements, widens them to f32, or quantises them. Converts everything else through f32. Throws `format` for
 * weights or scales that the encoding cannot hold.
 */
export function packRows(job: PackJob): void {
  const { dtype, coding, encoding, k, source, target } = job
  const panel = panelBytes(encoding, k)
  const whole = Math.floor(job.rows / PANEL_ROWS)
  const panels = target.byteLength / panel
  if (whole > 0) {
    packPanels(storedRows(dtype, source, coding), encoding, k, whole, target.subarray(0, whole * panel))
  }
  if (panels === whole) return
  const rest = new Uint8Array((panels - whole) * PANEL_ROWS * rowBytes(dtype, k))
  // A nibble of 8 is Q4_0's zero. Its scale stays zero too.
  if (dtype === 'Q4_0') fillZeroBlocks(rest)
  rest.set(source.subarray(whole * PANEL_ROWS * rowBytes(dtype, k), job.rows * rowBytes(dtype, k)))
  packPanels(storedRows(dtype, rest, coding), encoding, k, panels - whole, target.subarray(whole * panel))
}

function fillZeroBlocks(blocks: Uint8Array): void {
  blocks.fill(0x88)
  for (let at = 0; at < blocks.length; at += 18) blocks.fill(0, at, at + 2)
}

function packPanels(
  rows: StoredRows,
  encoding: Encoding,
  k: number,
  panels: number,
  target: Uint8Array,
): void {
  const count = panels * PANEL_ROWS
  const { buffer, byteOffset, byteLength } = target
  const words = new Uint32Array(buffer, byteOffset, byteLength / 4)
  const { dtype } = rows
  const isOwnHalf = (encoding === 'f16' && dtype === 'F16') || (encoding === 'bf16' && dtype === 'BF16')
  if (encoding === 'f32') packFloats(rows, count, k, new Float32Array(buffer, byteOffset, byteLength / 4))
  else if (isOwnHalf) packHalves(rows, count, k, new Uint16Array(buffer, byteOffset, byteLength / 2))
  else if (encoding === 'w8_g32' && dtype === 'Q8_0') relayQ8_0(rows, count, k, words)
  else if (encoding === 'w8_g32' && dtype === 'Q4_0') relayQ4_0AsW8(rows, count, k, words)
  else if (encoding === 'w4_g32' && dtype === 'Q4_0') relayQ4_0(rows, count, k, words, false)
  else if (encoding === 'w4m_g32' && dtype === 'Q4_0') relayQ4_0(rows, count, k, words, true)
  else if (encoding === 'w4m_g32' && dtype === 'Q4_1') relayQ4_1(rows, count, k, words)
  else if (keepsCodes(dtype, encoding)) packCoded(rows, dtype, encoding, count, k, words)
  else if (encoding === 'w8_g32' || encoding === 'w4_g32' || encoding === 'w4_channel')
    packQuantized(rows, count, k, encoding, words)
  else
    throw new RangeError(`${dtype} rows cannot be packed as ${encoding}; ask chooseEncoding for an encoding`)
}
