// Makes matrices for the kernel tests: extreme codes, zero, negative and tiny scales.

import { type Encoding, panelBytes } from '../../src/core/abi/encodings.ts'
import { floatToHalf } from '../../src/core/base/half.ts'
import { randomFrom } from '../../test/helpers/random.ts'

const BLOCK_BYTES = { w4_g32: 144, w4m_g32: 160, w8_g32: 272 } as const

/** Stored scales: ordinary, zero, negative, and an f16 subnormal. */
function storedScale(random: () => number): number {
  const kind = Math.floor(random() * 8)
  if (kind === 0) return 0
  if (kind === 1) return floatToHalf(-random())
  if (kind === 2) return Math.floor(random() * 1024)
  return floatToHalf(random() + 0.25)
}

export function fillMatrix(
  encoding: Encoding,
  seed: number,
  extreme = false,
): (bytes: Uint8Array, k?: number) => void {
  return (bytes, k = 32) => {
    const random = randomFrom(seed)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (encoding === 'f32') {
      for (let at = 0; at < bytes.length; at += 4) view.setFloat32(at, random() * 2 - 1, true)
      return
    }
    if (encoding === 'f16' || encoding === 'bf16') {
      // Every tenth weight is an f16 subnormal or a zero of either sign.
      for (let at = 0; at < bytes.length; at += 2) {
        const tiny = random() < 0.1
        if (encoding === 'f16') view.setUint16(at, floatToHalf((random() * 2 - 1) * (tiny ? 6e-5 : 1)), true)
        else
          view.setUint16(
            at,
            ((random() < 0.5 ? 0 : 0x8000) + 0x3800 + Math.floor(random() * 0x180)) & 0xffff,
            true,
          )
      }
      return
    }
    if (encoding === 'w2_g256') return fillTernary(bytes, k, random, extreme)
    const size = encoding === 'w4_channel' ? panelBytes(encoding, k) : BLOCK_BYTES[encoding]
    const scales = encoding === 'w4m_g32' ? 16 : 8
    for (let block = 0; block < bytes.length; block += size) {
      for (let i = 0; i < scales; i++) view.setUint16(block + 2 * i, storedScale(random), true)
      for (let i = 2 * scales; i < size; i++) {
        const code = extreme ? 255 : Math.floor(random() * 256)
        bytes[block + i] = encoding === 'w8_g32' ? Math.max(code, 1) : code
      }
    }
  }
}

/** Runs of a scale and codes 0 to 3. Extreme: all are 3. */
function fillTernary(bytes: Uint8Array, k: number, random: () => number, extreme: boolean): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const panel = panelBytes('w2_g256', k)
  const run = panelBytes('w2_g256', 256)
  for (let at = 0; at < bytes.length; at++) {
    if ((at % panel) % run >= 16) bytes[at] = extreme ? 255 : Math.floor(random() * 256)
    else if (at % 2 === 0) view.setUint16(at, storedScale(random), true)
  }
}
