// Coded panels. In: stored rows of codes with scales, a multiple of 8 rows. Out: the same in a kernel layout.
import { codedGroup } from '../../formats/coded-group.ts'
import { codingOf } from '../../formats/dequantize.ts'
import type { StoredRows } from '../../formats/stored-rows.ts'
import type { CodedDType } from '../../formats/tensors.ts'
import { shiftedFloat } from '../scales.ts'
import { layBytes, layNibbles } from './pack-quantized.ts'

/** The encoding that holds a dtype's codes unchanged. Only scales are rounded, to f16. */
const OWN: Readonly<
  Partial<Record<CodedDType, { readonly encoding: CodedEncoding; readonly zero: number }>>
> = {
  Q4_K: { encoding: 'w4m_g32', zero: 0 },
  TQ1_0: { encoding: 'w4_g32', zero: 8 },
  TQ2_0: { encoding: 'w4_g32', zero: 8 },
  Q1_0: { encoding: 'w4_g32', zero: 8 },
  Q2_0: { encoding: 'w4_g32', zero: 8 },
  IQ1_S: { encoding: 'w4m_g32', zero: 0 },
  IQ3_S: { encoding: 'w4m_g32', zero: 0 },
  Q8_1: { encoding: 'w8_g32', zero: 128 },
  Q5_0: { encoding: 'w8_g32', zero: 128 },
  IQ2_XXS: { encoding: 'w8_g32', zero: 128 },
  IQ3_XXS: { encoding: 'w8_g32', zero: 128 },
  IQ4_NL: { encoding: 'w8_g32', zero: 128 },
  IQ4_XS: { encoding: 'w8_g32', zero: 128 },
  MXFP4: { encoding: 'w8_g32', zero: 128 },
}

/**
 * Levels that are nearly evenly spaced: W = scale * step * (code - offset / step), with codes under 16.
 * IQ2_XXS has 8, 25 and 43 of either sign, which become 8.5, 25.5 and 42.5. IQ3_XXS has 4 and each eighth
 * level from there to 52 as they are, and 62, which becomes 60.
 */
const NEAR: Readonly<Partial<Record<CodedDType, { readonly step: number; readonly offset: number }>>> = {
  IQ2_XXS: { step: 17, offset: 42.5 },
  IQ3_XXS: { step: 8, offset: 60 },
}

type CodedEncoding = 'w8_g32' | 'w4_g32' | 'w4m_g32'

/** True when `packCoded` moves the codes or takes the nearest. Otherwise they are converted through f32. */
export function keepsCodes(dtype: string, encoding: string): dtype is CodedDType {
  const coded = dtype as CodedDType
  return OWN[coded]?.encoding === encoding || (encoding === 'w4m_g32' && NEAR[coded] !== undefined)
}

/**
 * Moves codes into panels. A scale or minimum that is a product of two numbers (Q4_K, and all IQ types but
 * IQ4_NL) is rounded to f16, with a relative error of at most 2^-11. Everything else is exact. Throws
 * `format` for scales beyond f16.
 */
export function packCoded(
  rows: StoredRows,
  dtype: CodedDType,
  encoding: string,
  count: number,
  k: number,
  out: Uint32Array,
): void {
  const own = OWN[dtype]
  if (own === undefined) throw new RangeError(`${dtype} has no encoding of its own; pack it by way of f32`)
  const near = own.encoding === encoding ? undefined : NEAR[dtype]
  const { step, offset } = near ?? { step: 1, offset: own.zero }
  const codeOf = Uint8Array.from({ length: 256 }, (_, code) => Math.round((code - 128 + offset) / step))
  const { read } = codingOf(rows)
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
        const scale = group.scales[0]!
        scales[r] = shiftedFloat(scale * step)
        minimums[r] = shiftedFloat(near === undefined ? group.minimums[0]! : -scale * offset)
        for (let i = 0; i < 32; i++) codes[32 * r + i] = codeOf[group.codes[i]! + 128]!
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
