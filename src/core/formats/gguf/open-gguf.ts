// Opens GGUF models and adapters: reads and checks their headers, and combines NVFP4 matrices with their
// scales.
import { type ByteSource, filledSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isCount } from '../../base/values.ts'
import { type Adapter, otherKind, pairsOf } from '../adapter.ts'
import { dequantize } from '../dequantize.ts'
import { BLOCKS, elementCount, storedRows } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import { modelName } from '../names/named-files.ts'
import type { ModelFile } from '../readers.ts'
import { inOrder } from '../splits.ts'
import type { MetaValue, TensorIndex, TensorInfo } from '../tensors.ts'
import { type GgufFile, readGguf } from './gguf.ts'
import { ggufGeneration, ggufTokenizer } from './tokenizer-data.ts'

/** Throws `format` unless a matrix has one scale in total or one per expert. */
export function scaleTensors(tensors: TensorIndex): TensorIndex {
  const all = new Map(tensors)
  for (const [name, tensor] of tensors) {
    if (tensor.dtype !== 'NVFP4' || !name.endsWith('.weight')) continue
    const scale = tensors.get(name.replace(/weight$/, 'scale'))
    if (scale !== undefined) {
      all.delete(scale.name)
      all.set(name, scaled(tensor, scale))
    }
    all.delete(name.replace(/weight$/, 'input_scale'))
  }
  return all
}

/** An F32 tensor that is computed as it is read, in whole blocks. */
function scaled(tensor: TensorInfo, scale: TensorInfo): TensorInfo {
  const { name, shape, source: file } = tensor
  const count = elementCount(shape) as number
  const factors = elementCount(scale.shape) as number
  const experts = shape.length === 3 ? shape[0]! : 1
  if (scale.dtype !== 'F32' || (factors !== 1 && factors !== experts)) {
    throw malformed(
      file.name,
      `the scales of ${shown(name)} [${shape}] are ${scale.dtype} [${scale.shape}] but must be F32 [1] or [${experts}]`,
    )
  }
  let scales: Float32Array | undefined
  const { elements, bytes } = BLOCKS.NVFP4
  const source = filledSource(file.name, 4 * count, async (target, offset, signal) => {
    const first = offset / 4
    const length = target.byteLength / 4
    const from = (first / elements) * bytes
    const size = (length / elements) * bytes
    const rows = storedRows('NVFP4', await file.read(tensor.offset + from, size, signal), tensor.coding)
    scales ??= storedRows('F32', await scale.source.read(scale.offset, scale.byteLength, signal)).f32
    const out = new Float32Array(length)
    dequantize(rows, 0, length, out, 0)
    for (let i = 0; i < length; i++) out[i]! *= scales[Math.floor(((first + i) * factors) / count)]!
    target.set(new Uint8Array(out.buffer))
  })
  return {
    ...tensor,
    dtype: 'F32',
    coding: undefined,
    like: 'NVFP4',
    source,
    offset: 0,
    byteLength: 4 * count,
  }
}

const SPLIT_LIMIT = 65535

/**
 * Throws `format` if splits are missing, given twice or from different models. The first split's metadata
 * applies.
 */
export function mergeSplits(files: readonly GgufFile[]): Pick<GgufFile, 'metadata' | 'tensors'> {
  const [first, ...others] = files.map((file) => ({
    ...file,
    name: file.source.name,
    number: integerOf(file, 'split.no', 0),
    count: splitCount(file),
  }))
  if (first === undefined) throw new HalfbyteError('format', 'no GGUF file was given; pass the model file')
  const splits = inOrder([first, ...others])
  if (splits.length === 1) return first
  const tensors = new Map<string, TensorInfo>()
  for (const { source, tensors: own } of splits) {
    for (const tensor of own.values()) {
      const before = tensors.get(tensor.name)
      if (before !== undefined) {
        throw malformed(source.name, `the tensor ${shown(tensor.name)} is also in ${before.source.name}`)
      }
      tensors.set(tensor.name, tensor)
    }
  }
  const head = splits[0] as GgufFile
  const expected = integerOf(head, 'split.tensors.count', tensors.size)
  if (expected !== tensors.size) {
    throw malformed(
      head.source.name,
      `split.tensors.count is ${expected} but the splits hold ${tensors.size} tensors`,
    )
  }
  return { metadata: head.metadata, tensors }
}

function splitCount(file: GgufFile): number {
  // In a file that is not split, llama.cpp writes 0 or omits the key.
  return Math.max(1, integerOf(file, 'split.count', 1))
}

function integerOf(file: GgufFile, key: string, fallback: number): number {
  const value: MetaValue = file.metadata.get(key) ?? fallback
  if (isCount(value) && (key !== 'split.count' || value <= SPLIT_LIMIT)) return value
  throw malformed(file.source.name, `${key} is ${shown(value)}, which must be a whole number of at least 0`)
}

/** One file or all its splits, in any order. */
export async function openGguf(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
  const parts = []
  for (const file of files) parts.push(await readGguf(file, signal))
  const { metadata, tensors } = mergeSplits(parts)
  const file = files[0] as ByteSource
  const name = metadata.get('general.name')
  return {
    format: 'gguf',
    name: typeof name === 'string' && name !== '' ? name : modelName(file.name),
    tensors: scaleTensors(tensors),
    metadata,
    tokenizer: ggufTokenizer(file.name, metadata),
    generationConfig: ggufGeneration(metadata),
  }
}

/** Throws `unsupported` if the file is not a LoRA adapter. */
export async function readGgufAdapter(file: ByteSource, signal?: AbortSignal): Promise<Adapter> {
  const { metadata, tensors } = await readGguf(file, signal)
  const type = metadata.get('general.type')
  const kind = metadata.get('adapter.type')
  if (type !== 'adapter' || kind !== 'lora') {
    const found = type === undefined ? 'a model' : `${shown(type)}, ${shown(kind ?? '')}`
    throw otherKind(file.name, `it is ${found}`)
  }
  const alpha = metadata.get('adapter.lora.alpha') ?? 0
  if (typeof alpha !== 'number')
    throw malformed(file.name, `its alpha is ${shown(alpha)} but must be a number`)
  const changes = pairsOf(file.name, tensors, /^(.*)\.lora_(a|b)$/, (rank) =>
    alpha === 0 ? 1 : alpha / rank,
  )
  return { name: file.name, format: 'gguf', architecture: metadata.get('general.architecture'), changes }
}
