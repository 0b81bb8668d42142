// Converts panels in a kernel layout back to f32 rows, to load a pack at another precision.

import { columnUnit, type Encoding, GROUP_SIZE, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import { halfTable, halfToFloat } from '../base/half.ts'
import { storedRows } from '../formats/dtypes.ts'
import { SCALE_FACTOR } from './quantize-weights.ts'

/** The weights of all panels in `panels`, each of which has 8 rows of `k`. */
export function unpackPanels(encoding: Encoding, panels: Uint8Array, k: number): Float32Array {
  const count = panels.byteLength / panelBytes(encoding, k)
  const out = new Float32Array(count * PANEL_ROWS * k)
  const views = storedRows('F32', panels)
  for (let panel = 0; panel < count; panel++) {
    for (let r = 0; r < PANEL_ROWS; r++) {
      const at = (panel * PANEL_ROWS + r) * k
      const row = out.subarray(at, at + k)
      const first = panel * panelBytes(encoding, k)
      if (encoding === 'f32' || encoding === 'f16' || encoding === 'bf16') {
        unpackFloats(encoding, views, first, r, row)
      } else if (encoding === 'w2_g256') unpackTernary(views, first, r, row)
      else unpackCodes(encoding, views, first, r, row)
    }
  }
  return out
}

type Views = ReturnType<typeof storedRows>

/** The scale or minimum of row r among those that start at `byte`: row i with row i + 4. */
const scaleAt = (u16: Uint16Array, byte: number, r: number): number =>
  halfToFloat(u16[byte / 2 + (r & 3) * 2 + (r >>> 2)]!) / SCALE_FACTOR

function unpackFloats(
  encoding: 'f32' | 'f16' | 'bf16',
  { u16, f32 }: Views,
  first: number,
  r: number,
  out: Float32Array,
): void {
  const half = halfTable()
  const word = new Uint32Array(1)
  const wordAsFloat = new Float32Array(word.buffer)
  for (let i = 0; i < out.length; i++) {
    const element = i * PANEL_ROWS + r
    if (encoding === 'f32') out[i] = f32[first / 4 + element]!
    else if (encoding === 'f16') out[i] = half[u16[first / 2 + element]!]!
    else {
      word[0] = u16[first / 2 + element]! << 16
      out[i] = wordAsFloat[0]!
    }
  }
}

function unpackTernary({ u8, u16 }: Views, first: number, r: number, out: Float32Array): void {
  const share = columnUnit('w2_g256')
  const runBytes = panelBytes('w2_g256', share)
  for (let i = 0; i < out.length; i++) {
    const run = first + Math.floor(i / share) * runBytes
    const scale = scaleAt(u16, run, r)
    const inRun = i % share
    const byte = u8[run + 16 + (inRun >>> 3) * 16 + 4 * (r & 3) + (i & 3)]!
    out[i] = scale * (((byte >>> ((i & 4) + 2 * (r >>> 2))) & 3) - 1)
  }
}

function unpackCodes(
  encoding: 'w8_g32' | 'w4_g32' | 'w4m_g32' | 'w4_channel',
  { u8, u16 }: Views,
  first: number,
  r: number,
  out: Float32Array,
): void {
  const isChannel = encoding === 'w4_channel'
  const blockBytes = panelBytes(encoding, GROUP_SIZE) - panelBytes(encoding, 0)
  // Row i shares a word of scales with row i + 4 and, in w4, a byte of codes.
  const lane = r & 3
  const isHigh = r >= 4
  for (let i = 0; i < out.length; i++) {
    const block = first + Math.floor(i / GROUP_SIZE) * blockBytes
    const scale = scaleAt(u16, isChannel ? first : block, r)
    const j = (i % GROUP_SIZE) >>> 2
    if (encoding === 'w8_g32') {
      out[i] = scale * (u8[block + 16 + 32 * j + 4 * r + (i & 3)]! - 128)
      continue
    }
    const vectors = block + (encoding === 'w4m_g32' ? 32 : 16)
    const pair = u8[vectors + 16 * j + 4 * lane + (i & 3)]!
    const code = isHigh ? pair >>> 4 : pair & 15
    out[i] = encoding === 'w4m_g32' ? scale * code + scaleAt(u16, block + 16, r) : scale * (code - 8)
  }
}
