// Writes a model of another format as a Hugging Face folder: its settings, tokenizer and weights as plain
// floats.
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { type ExpectedTensor, expectedTensors } from '../../../core/arch/tensors/tensor-names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { readVector } from '../../../core/formats/dequantize.ts'
import { elementCount, rowBytes } from '../../../core/formats/dtypes.ts'
import { type NewTensor, writeSafetensors } from '../../../core/formats/safetensors/safetensors.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { modelTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { matrixBytes } from '../gguf/gguf-tensors.ts'
import { folderConfig } from './folder-config.ts'
import { folderTokenizer } from './folder-tokenizer.ts'

/** The types of matrices in safetensors that hold plain weights. Vectors are F32. */
export type FolderDType = 'F32' | 'F16' | 'BF16'

interface FolderOutput {
  /** The JSON files by name; config.json last, because a folder without it is not a model. */
  readonly json: ReadonlyMap<string, unknown>
  /** Total size of the tensors. */
  readonly bytes: number
  /** model.safetensors. */
  readonly chunks: AsyncGenerator<Uint8Array>
}

const DTYPE_NAMES = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' } as const

/**
 * `dtype`: default F16, or the model's own if its matrices are floats of one type. Before anything is
 * written, throws `unsupported` for other families, and for settings and tokenizers that the folder cannot
 * express.
 */
export async function modelFolder(
  prepared: PreparedModel,
  { dtype: asked, signal }: { readonly dtype?: FolderDType | undefined; readonly signal: AbortSignal },
): Promise<FolderOutput> {
  const { file, config } = prepared
  const stated = await folderConfig(config)
  const tokenizer = modelTokenizer(file, config.vocabSize)
  if (file.tokenizer === undefined)
    throw new HalfbyteError('internal', `${file.name} has no usable tokenizer`)
  const spec = folderTokenizer(file.name, file.tokenizer, tokenizer)
  const dtype = asked ?? ownDtype(prepared)
  const tensors = folderTensors(prepared, dtype, signal)
  const ids = { bos_token_id: tokenizer.bosId ?? null, eos_token_id: endIds(file, tokenizer.eosId) }
  const generation = { ...file.generationConfig, ...ids }
  return {
    json: new Map<string, unknown>([
      ['tokenizer.json', spec.tokenizer],
      ['tokenizer_config.json', spec.config ?? {}],
      ['generation_config.json', generation],
      ['config.json', { ...stated, ...ids, torch_dtype: DTYPE_NAMES[dtype] }],
    ]),
    bytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    chunks: writeSafetensors(tensors, signal),
  }
}

/** The ends of a reply that the file names. */
function endIds({ tokenizer, generationConfig }: PreparedModel['file'], eosId: number | undefined): unknown {
  if (tokenizer?.kind !== 'gguf') return generationConfig?.['eos_token_id'] ?? eosId ?? null
  const ids = [eosId, tokenizer.eotId, tokenizer.eomId].filter((id) => id !== undefined)
  return ids.length < 2 ? (eosId ?? null) : [...new Set(ids)]
}

function ownDtype({ weights, config }: PreparedModel): FolderDType {
  const dtypes = new Set(
    [...expectedTensors('hbm', config)].flatMap(({ name, shape }) =>
      shape.length < 2 ? [] : [weightOf(weights, name).dtype],
    ),
  )
  const [only] = dtypes
  return dtypes.size === 1 && (only === 'F32' || only === 'BF16') ? only : 'F16'
}

function folderTensors(
  { config, weights }: PreparedModel,
  dtype: FolderDType,
  signal: AbortSignal,
): NewTensor[] {
  return [...expectedTensors('safetensors', config)].map((expected) => {
    const { name, shape, place } = expected
    const [stored = place.tensor] = place.tensor.split('|')
    const weight = weightOf(weights, name)
    const order = orderOf(expected, config)
    const elements = elementCount(shape) ?? 0
    if (shape.length === 1) {
      const data = () => storedVector(expected, weight, order, signal)
      return { name: stored, dtype: 'F32', shape, bytes: rowBytes('F32', elements), data }
    }
    const data = () => matrixBytes(weight, { name, dtype, order }, signal)
    return { name: stored, dtype, shape, bytes: rowBytes(dtype, elements), data }
  })
}

/**
 * Rotated pairs are half a head apart in folders. In a model where they are adjacent, row i of a head is row
 * 2 i there, and row i + dims / 2 is row 2 i + 1.
 */
function orderOf({ name, shape }: ExpectedTensor, { rope, headDim }: ModelConfig): Uint32Array | undefined {
  if (rope.pairing !== 'interleaved' || !/attn_[qk]\.(weight|bias)$/.test(name)) return undefined
  const half = headDim / 2
  return Uint32Array.from({ length: shape[0] ?? 0 }, (_, row) => {
    const at = row % headDim
    return row - at + (at < half ? 2 * at : 2 * (at - half) + 1)
  })
}

/** Undoes the change that a reader makes to the values, such as Gemma's 1 that is added to norms. */
async function* storedVector(
  { place: { change } }: ExpectedTensor,
  weight: TensorInfo,
  order: Uint32Array | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const read = await readVector(weight, signal)
  const { scale = 1, offset = 0 } = change ?? {}
  const values = Float32Array.from(order ?? read.keys(), (from) => (read[from]! - offset) / scale)
  yield new Uint8Array(values.buffer)
}
