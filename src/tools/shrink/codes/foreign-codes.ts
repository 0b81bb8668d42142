// Writes a coded matrix as ggml blocks or GPTQ tensors.
//
// Codes are only rearranged. Scales, which are f16 patterns of 2^8 times their value here, become plain f16;
// that is exact down to 2^-14 and rounded to nearest below it.
import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { floatToHalf, halfTable } from '../../../core/base/half.ts'
import { SCALE_FACTOR } from '../../../core/weights/quantize-weights.ts'
import { CODES, type CodedMatrix, decode, type Format, groupCount, groupSize } from './coded-matrix.ts'

type BlockDType = 'Q4_0' | 'Q4_1' | 'Q8_0' | 'F32'

const BLOCK_DTYPES: Readonly<Record<Format, BlockDType>> = {
  w4_g32: 'Q4_0',
  w4m_g32: 'Q4_1',
  w8_g32: 'Q8_0',
  w4_channel: 'Q4_0',
}

/** F32 if rows are not whole blocks, because it represents the codes' values exactly. */
export const blockDType = (format: Format, k: number): BlockDType =>
  k % GROUP_SIZE === 0 ? BLOCK_DTYPES[format] : 'F32'

/** Rows of ggml blocks of 32. `w4_channel` repeats its scale in each block. */
export function ggmlBlocks(coded: CodedMatrix): Uint8Array {
  const { format, n, k, codes, scales, minimums } = coded
  if (blockDType(format, k) === 'F32') return new Uint8Array(Float32Array.from(decode(coded)).buffer)
  const headBytes = minimums === undefined ? 2 : 4
  const blockBytes = headBytes + (format === 'w8_g32' ? GROUP_SIZE : GROUP_SIZE / 2)
  const bytes = new Uint8Array(n * (k / GROUP_SIZE) * blockBytes)
  const view = new DataView(bytes.buffer)
  const groups = groupCount(format, k)
  const size = groupSize(format, k)
  const { zero } = CODES[format]
  let at = 0
  for (let row = 0; row < n; row++) {
    for (let i = 0; i < k; i += GROUP_SIZE) {
      const group = row * groups + Math.floor(i / size)
      view.setUint16(at, half(scales[group]!), true)
      if (minimums !== undefined) view.setUint16(at + 2, half(minimums[group]!), true)
      const own = codes.subarray(row * k + i, row * k + i + GROUP_SIZE)
      for (let j = 0; j < GROUP_SIZE; j++) {
        if (format === 'w8_g32') view.setInt8(at + headBytes + j, own[j]! - zero)
        else bytes[at + headBytes + (j & 15)]! |= own[j]! << (j < 16 ? 0 : 4)
      }
      at += blockBytes
    }
  }
  return bytes
}

/** The f16 pattern of a stored pattern's value. */
const half = (pattern: number): number => floatToHalf(halfTable()[pattern]! / SCALE_FACTOR)

interface GptqTensor {
  readonly dtype: 'I32' | 'F16'
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

/** `qweight`, `qzeros`, `scales` and `g_idx` of AutoGPTQ's checkpoint format `gptq`, symmetric. */
interface GptqMatrix {
  readonly bits: 4 | 8
  /** Number of inputs that share a scale; -1: all. */
  readonly groupSize: number
  readonly tensors: Readonly<Record<'qweight' | 'qzeros' | 'scales' | 'g_idx', GptqTensor>>
}

/**
 * A weight is scale x (code - zero - 1), with a word's codes from its lowest bits up. Throws `unsupported`
 * for minimums, which integer zero points cannot represent, and for sizes that do not fill words and groups.
 */
export function gptqMatrix(name: string, { format, n, k, codes, scales }: CodedMatrix): GptqMatrix {
  const isBytes = format === 'w8_g32'
  const bits = isBytes ? 8 : 4
  const inWord = 32 / bits
  const size = groupSize(format, k)
  const groups = groupCount(format, k)
  if (format === 'w4m_g32' || k % GROUP_SIZE !== 0 || n % inWord !== 0) {
    throw new HalfbyteError(
      'unsupported',
      format === 'w4m_g32'
        ? 'GPTQ files have integer zero points, and w4m has minimums between them; choose --weights w4, or write a .gguf'
        : `${name} [${n}, ${k}] does not fill GPTQ's groups of ${GROUP_SIZE} inputs and words of ${inWord} outputs; write a .hbm or a .gguf`,
      { matrix: name, outputs: n, inputs: k },
    )
  }
  const words = new Uint32Array((k / inWord) * n)
  for (let row = 0; row < n; row++) {
    for (let i = 0; i < k; i++) {
      words[Math.floor(i / inWord) * n + row]! |= codes[row * k + i]! << (bits * (i % inWord))
    }
  }
  const zeros = new Uint32Array(groups * (n / inWord)).fill(isBytes ? 0x7f7f7f7f : 0x77777777)
  const halves = new Uint16Array(groups * n)
  for (let row = 0; row < n; row++) {
    for (let g = 0; g < groups; g++) halves[g * n + row] = half(scales[row * groups + g]!)
  }
  const groupOf = Int32Array.from({ length: k }, (_, i) => Math.floor(i / size))
  const tensor = (
    dtype: 'I32' | 'F16',
    shape: number[],
    { buffer }: { buffer: ArrayBuffer },
  ): GptqTensor => ({
    dtype,
    shape,
    data: new Uint8Array(buffer),
  })
  return {
    bits,
    groupSize: format === 'w4_channel' ? -1 : size,
    tensors: {
      qweight: tensor('I32', [k / inWord, n], words),
      qzeros: tensor('I32', [groups, n / inWord], zeros),
      scales: tensor('F16', [groups, n], halves),
      g_idx: tensor('I32', [k], groupOf),
    },
  }
}
