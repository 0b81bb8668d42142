// Coded panels. In: stored rows of codes with scales, a multiple of 8 rows. Out: the same in a kernel layout.
import { codedGroup } from '../formats/gguf/coded-group.ts'
import { GROUP_READERS } from '../formats/gguf/group-readers.ts'
import type { StoredRows } from '../formats/stored-rows.ts'
import type { CodedDType } from '../formats/tensors.ts'
import { layBytes, layNibbles } from './pack-quantized.ts'
import { shiftedFloat } from './scales.ts'

/** The encoding that holds a dtype's codes unchanged. Only scales are rounded, to f16. */
const OWN: Readonly<
  Partial<Record<CodedDType, { readonly encoding: CodedEncoding; readonly zero: number }>>
> = {
  Q4_K: { encoding: 'w4m_g32', zero: 0 },
  TQ1_0: { encoding: 'w4_g32', zero: 8 },
  TQ2_0: { encoding: 'w4_g32', zero: 8 },
  IQ3_S: { encoding: 'w4m_g32', zero: 0 },
  Q5_0: { encoding: 'w8_g32', zero: 128 },
  IQ2_XXS: { encoding: 'w8_g32', zero: 128 },
  IQ3_XXS: { encoding: 'w8_g32', zero: 128 },
  IQ4_NL: { encoding: 'w8_g32', zero: 128 },
  IQ4_XS: { encoding: 'w8_g32', zero: 128 },
  MXFP4: { encoding: 'w8_g32', zero: 128 },
}

type CodedEncoding = 'w8_g32' | 'w4_g32' | 'w4m_g32'

/** True when `packCoded` moves the codes. Otherwise they are converted through f32. */
export function keepsCodes(dtype: string, encoding: string): dtype is CodedDType {
  return OWN[dtype as CodedDType]?.encoding === encoding
}

/**
 * Moves codes into panels. A scale or minimum that is a product of two numbers (Q4_K, and all IQ types but
 * IQ4_NL) is rounded to f16, with a relative error of at most 2^-11. Everything else is exact. Throws `format`
 * for scales beyond f16.
 */
export function packCoded(
  rows: StoredRows,
  dtype: CodedDType,
  count: number,
  k: number,
  out: Uint32Array,
): void {
  const own = OWN[dtype]
  if (own === undefined) throw new RangeError(`${dtype} has no encoding of its own; pack it by way of f32`)
  const { encoding, zero } = own
  const read = GROUP_READERS[dtype]
  const group = codedGroup()
  const codes = new Uint8Array(8 * 32)
  const words = new Uint32Array(codes.buffer)
  const scales = new Uint16Array(8)
  const minimums = new Uint16Array(8)
  const groups = k / 32
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++) {
      for (let r = 0; r < 8; r++) {
        read(rows, (n + r) * groups + g, group)
        scales[r] = shiftedFloat(group.scales[0]!)
        minimums[r] = shiftedFloat(group.minimums[0]!)
        for (let i = 0; i < 32; i++) codes[32 * r + i] = group.codes[i]! + zero
      }
      block = layHalves(scales, out, block)
      if (encoding === 'w4m_g32') block = layHalves(minimums, out, block)
      if (encoding === 'w8_g32') layBytes(words, out, block)
      else layNibbles(words, out, block)
      block += encoding === 'w8_g32' ? 64 : 32
    }
  }
}

function layHalves(patterns: Uint16Array, out: Uint32Array, at: number): number {
  for (let r = 0; r < 4; r++) out[at + r] = patterns[r]! | (patterns[r + 4]! << 16)
  return at + 4
}
