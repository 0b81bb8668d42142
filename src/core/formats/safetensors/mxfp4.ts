// Reads MXFP4 matrices, which are stored as two tensors, codes and exponents, as rows of Q8_0.
import { floatToHalf } from '../../base/half.ts'
import { rowBytes } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'
import { virtual } from './packed-ints.ts'
import type { StoredTensor } from './safetensors.ts'

/** Twice the value of each E2M1 code, which makes all of them whole numbers. */
const LEVELS = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
/** Number of elements that share an exponent, bytes of their codes, and bytes of a Q8_0 block. */
const GROUP = 32
const CODE_BYTES = 16
const BLOCK = rowBytes('Q8_0', GROUP)

/**
 * The matrices [..., inputs] with the codes `blocks` [..., inputs / 32, 16], two neighbours per byte, and the
 * exponents `scales` [..., inputs / 32]. Scales from 2^-24 to 2^15 are exact; smaller ones become 0, larger
 * ones infinite. Throws `format` if the two tensors do not match.
 */
export function mxfp4(name: string, blocks: StoredTensor, scales: StoredTensor): TensorInfo {
  const { source, shape } = blocks
  const groups = shape.slice(0, -1)
  if (shape.at(-1) !== CODE_BYTES || `${groups}` !== `${scales.shape}` || `${scales.dtype}` !== 'U8') {
    throw malformed(
      source.name,
      `${shown(blocks.name)} [${shape}] and ${shown(scales.name)}, ${scales.dtype} [${scales.shape}], are not MXFP4`,
    )
  }
  const whole = [...groups.slice(0, -1), (groups.at(-1) ?? 0) * GROUP]
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const first = offset / BLOCK
    const count = length / BLOCK
    const codes = await source.read(blocks.offset + first * CODE_BYTES, count * CODE_BYTES, signal)
    const exponents = await scales.source.read(scales.offset + first, count, signal)
    const made = new DataView(new ArrayBuffer(length))
    for (let group = 0; group < count; group++) {
      const at = group * BLOCK
      made.setUint16(at, floatToHalf(2 ** (exponents[group]! - 128)), true)
      for (let i = 0; i < GROUP; i++) {
        const code = (codes[group * CODE_BYTES + (i >> 1)]! >> (4 * (i & 1))) & 15
        made.setInt8(at + 2 + i, LEVELS[code]!)
      }
    }
    return new Uint8Array(made.buffer)
  }
  return virtual(source.name, name, 'Q8_0', whole, scales.byteLength * BLOCK, read)
}
