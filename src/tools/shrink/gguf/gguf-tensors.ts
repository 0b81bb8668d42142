// A model's weights as GGUF tensors: their names, row order and blocks.

import type { PackedEncoding } from '../../../core/abi/encodings.ts'
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { familyFile } from '../../../core/arch/families.ts'
import { roleOf, type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import { expectedTensors } from '../../../core/arch/tensors/tensor-names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { floatsToBfloats, floatsToHalves } from '../../../core/base/half.ts'
import { readVector } from '../../../core/formats/dequantize.ts'
import { BLOCKS } from '../../../core/formats/dtypes.ts'
import type { GgufTensor } from '../../../core/formats/gguf/gguf-writer.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { matrixSlabs, readMatrix } from '../calibrate/gram.ts'
import { ggmlBlocks } from '../codes/foreign-codes.ts'
import { unlayMatrix } from '../codes/lay.ts'
import { rtn } from '../matrix/grid.ts'

/** The type in which matrices are stored. */
export type GgufDType = 'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_0' | 'Q4_1'

/** `keep`: each matrix in the type that holds its codes unchanged. */
export type GgufTarget = GgufDType | 'keep'

/** The largest f16. */
const HALF_LIMIT = 65504

/** The formats of rounded matrices. */
const FORMAT_OF = { Q8_0: 'w8_g32', Q4_0: 'w4_g32', Q4_1: 'w4m_g32' } as const
type RoundedDType = keyof typeof FORMAT_OF
const isRounded = (dtype: GgufDType): dtype is RoundedDType & GgufDType => Object.hasOwn(FORMAT_OF, dtype)

/** The encodings of packs that GGUF also has. */
const KEPT: ReadonlyMap<PackedEncoding, GgufDType> = new Map([
  ['f32', 'F32'],
  ['f16', 'F16'],
  ['bf16', 'BF16'],
  ['w8_g32', 'Q8_0'],
  ['w4_g32', 'Q4_0'],
  ['w4m_g32', 'Q4_1'],
])

/**
 * All GGUF tensors of the model. Vectors are F32, and tables in a Q4_0 or Q4_1 file are Q8_0. Throws
 * `unsupported` if codes are to be kept that GGUF does not have.
 */
export function ggufTensors(
  config: ModelConfig,
  weights: Weights,
  target: GgufTarget,
  signal: AbortSignal,
): GgufTensor[] {
  const { pairing } = familyFile(config.family).gguf
  return [...expectedTensors('gguf', config)].map(({ name, shape, place }) => {
    const weight = weightOf(weights, name)
    const isReordered = pairing !== config.rope.pairing && /attn_[qk]\.(weight|bias)$/.test(name)
    const order = isReordered ? adjacentPairs(shape[0] ?? 0, config) : undefined
    if (shape.length === 1) {
      const data = async function* () {
        const values = bytesOf(await readVector(weight, signal))
        yield order === undefined ? values : reordered(values, order)
      }
      return { name: place.tensor, dtype: 'F32', shape, data }
    }
    const dtype = target === 'keep' ? keptDtype(name, weight) : dtypeOf(name, shape, target)
    const data = () => matrixBytes(weight, { name, dtype, order, isKept: target === 'keep' }, signal)
    return { name: place.tensor, dtype, shape, data }
  })
}

/** Rows that do not fill whole blocks are stored in F16. */
export function dtypeOf(name: string, shape: readonly number[], mostly: GgufDType): GgufDType {
  if ((shape.at(-1) ?? 0) % BLOCKS[mostly].elements !== 0) return 'F16'
  return mostly.startsWith('Q4') && roleOf(name) === 'table' ? 'Q8_0' : mostly
}

function keptDtype(name: string, { packed, dtype, shape }: TensorInfo): GgufDType {
  const encoding = packed ?? FLOATS.find((each) => each === dtype.toLowerCase())
  const found = encoding && KEPT.get(encoding)
  if (found !== undefined && (shape[1] ?? 0) % BLOCKS[found].elements === 0) return found
  throw new HalfbyteError(
    'unsupported',
    `${name} [${shape}] is stored as ${packed ?? dtype}, which GGUF does not have; choose --format f16, q8_0 or q4_0`,
    { matrix: name, encoding: packed ?? dtype },
  )
}

const FLOATS = ['f32', 'f16', 'bf16'] as const

interface MatrixTarget {
  /** Canonical. */
  readonly name: string
  readonly dtype: GgufDType
  /** The source of each row. Default: the same row. */
  readonly order?: Uint32Array | undefined
  /** Whether codes are copied without rounding. */
  readonly isKept?: boolean
}

/** The rows of a matrix in a GGUF type, as chunks. */
export async function* matrixBytes(
  weight: TensorInfo,
  { name, dtype, order, isKept = false }: MatrixTarget,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const [n = 0, k = 0] = weight.shape
  if (isKept && weight.packed !== undefined && isRounded(dtype)) {
    const format = FORMAT_OF[dtype]
    const bytes = await weight.source.read(weight.offset, weight.byteLength, signal)
    // The codes may be unaligned within their buffer.
    const rows = ggmlBlocks(unlayMatrix(bytes.slice(), format, n, k))
    yield order === undefined ? rows : reordered(rows, order)
    return
  }
  const slabs =
    order === undefined ? matrixSlabs(weight, signal) : [await reorderedMatrix(weight, order, signal)]
  for await (const { n: count, values } of slabs) yield encoded(name, values, count, k, dtype)
}

function encoded(name: string, values: Float32Array, n: number, k: number, dtype: GgufDType): Uint8Array {
  if (dtype === 'F32') return bytesOf(values)
  if (dtype === 'BF16') return bytesOf(floatsToBfloats(values))
  if (dtype !== 'F16') return ggmlBlocks(rtn(values, n, k, FORMAT_OF[dtype]))
  const large = values.find((value) => !(Math.abs(value) <= HALF_LIMIT))
  if (large === undefined) return bytesOf(floatsToHalves(values))
  throw new HalfbyteError(
    'unsupported',
    `${name} has the weight ${large}, but F16 only goes up to ${HALF_LIMIT}; choose --format f32 or bf16`,
    { matrix: name },
  )
}

/** Rows of bytes in another order. */
function reordered(bytes: Uint8Array, order: Uint32Array): Uint8Array {
  const size = bytes.length / order.length
  const rows = new Uint8Array(bytes.length)
  for (const [row, from] of order.entries())
    rows.set(bytes.subarray(from * size, (from + 1) * size), row * size)
  return rows
}

/**
 * The order of queries or keys, whose rotated pairs are half a head apart here and adjacent in GGUF: row
 * 2i + j of a head there is row i + j * dims / 2 here.
 */
const adjacentPairs = (n: number, { headDim }: ModelConfig): Uint32Array =>
  Uint32Array.from({ length: n }, (_, row) => {
    const at = row % headDim
    return row - at + (at >> 1) + (at & 1) * (headDim / 2)
  })

async function reorderedMatrix(
  weight: TensorInfo,
  order: Uint32Array,
  signal: AbortSignal,
): Promise<{ readonly n: number; readonly values: Float32Array }> {
  const values = bytesOf(await readMatrix(weight, signal))
  const bytes = reordered(values, order)
  return { n: order.length, values: new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4) }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array | Uint16Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
