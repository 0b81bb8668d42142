// A model's weights as GGUF tensors: their names, row order and blocks.

import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { familyFile } from '../../../core/arch/families.ts'
import { roleOf, type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import { expectedTensors } from '../../../core/arch/tensors/tensor-names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { floatsToHalves } from '../../../core/base/half.ts'
import { readVector } from '../../../core/formats/dequantize.ts'
import { BLOCKS } from '../../../core/formats/dtypes.ts'
import type { GgufTensor } from '../../../core/formats/gguf/gguf-writer.ts'
import { matrixSlabs, readMatrix } from '../calibrate/gram.ts'
import { ggmlBlocks } from '../codes/foreign-codes.ts'
import { rtn } from '../matrix/grid.ts'

/** The type in which matrices are stored. */
export type GgufDType = 'F32' | 'F16' | 'Q8_0' | 'Q4_0'

/** The largest f16. */
const HALF_LIMIT = 65504

/** All GGUF tensors of the model. Vectors are F32, and tables in a Q4_0 file are Q8_0. */
export function ggufTensors(
  config: ModelConfig,
  weights: Weights,
  mostly: GgufDType,
  signal: AbortSignal,
): GgufTensor[] {
  const { pairing } = familyFile(config.family).gguf
  return [...expectedTensors('gguf', config)].map(({ name, shape, place }) => {
    const weight = weightOf(weights, name)
    if (shape.length === 1) {
      const data = async function* () {
        yield bytesOf(await readVector(weight, signal))
      }
      return { name: place.tensor, dtype: 'F32', shape, data }
    }
    const isReordered = pairing !== config.rope.pairing && /attn_[qk]\.weight$/.test(name)
    const dtype = dtypeOf(name, shape, mostly)
    const data = async function* () {
      const [, k = 0] = shape
      const slabs = isReordered ? [await adjacentPairs(weight, config, signal)] : matrixSlabs(weight, signal)
      for await (const { n, values } of slabs) yield encoded(name, values, n, k, dtype)
    }
    return { name: place.tensor, dtype, shape, data }
  })
}

/** Rows that do not fill whole blocks are stored in F16. */
function dtypeOf(name: string, shape: readonly number[], mostly: GgufDType): GgufDType {
  if ((shape.at(-1) ?? 0) % BLOCKS[mostly].elements !== 0) return 'F16'
  return mostly === 'Q4_0' && roleOf(name) === 'table' ? 'Q8_0' : mostly
}

function encoded(name: string, values: Float32Array, n: number, k: number, dtype: GgufDType): Uint8Array {
  if (dtype === 'F32') return bytesOf(values)
  if (dtype !== 'F16') return ggmlBlocks(rtn(values, n, k, dtype === 'Q8_0' ? 'w8_g32' : 'w4_g32'))
  const large = values.find((value) => !(Math.abs(value) <= HALF_LIMIT))
  if (large === undefined) return bytesOf(floatsToHalves(values))
  throw new HalfbyteError(
    'unsupported',
    `${name} has the weight ${large}, but F16 only goes up to ${HALF_LIMIT}; choose --format f32`,
    { matrix: name },
  )
}

/**
 * Reorders queries or keys, whose rotated pairs are half a head apart here and adjacent in GGUF: row 2 i + j
 * of a head in GGUF is row i + j dims / 2 here.
 */
async function adjacentPairs(
  weight: Parameters<typeof readMatrix>[0],
  { headDim }: ModelConfig,
  signal: AbortSignal,
): Promise<{ readonly n: number; readonly values: Float32Array }> {
  const [n = 0, k = 0] = weight.shape
  const from = await readMatrix(weight, signal)
  const values = new Float32Array(from.length)
  for (let row = 0; row < n; row++) {
    const at = row % headDim
    const old = row - at + (at >> 1) + (at & 1) * (headDim / 2)
    values.set(from.subarray(old * k, (old + 1) * k), row * k)
  }
  return { n, values }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array | Uint16Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
