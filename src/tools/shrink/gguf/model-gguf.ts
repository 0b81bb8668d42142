// Writes a model of another format as one GGUF file for llama.cpp: its settings, tokenizer and weights.

import { familyFile } from '../../../core/arch/families.ts'
import { ROPE_FACTORS } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { elementCount, rowBytes } from '../../../core/formats/dtypes.ts'
import { FILE_TYPES } from '../../../core/formats/gguf/gguf-rewriter.ts'
import { type GgufTensor, type GgufValue, writeGguf } from '../../../core/formats/gguf/gguf-writer.ts'
import type { DType } from '../../../core/formats/tensors.ts'
import { modelTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { samplingValues, tokenizerValues } from './gguf-keys.ts'
import { checkSettings, GGUF_FAMILIES, ggufSettings, ropeFactors } from './gguf-settings.ts'
import { type GgufTarget, ggufTensors } from './gguf-tensors.ts'
import { ggufVocabulary } from './gguf-vocabulary.ts'

interface GgufOptions {
  readonly dtype: GgufTarget
  readonly name: string
  readonly license?: string | undefined
  readonly signal: AbortSignal
}

/** The ggml block version that is written. */
const QUANTIZATION_VERSION = 2

/** A file that is ready to be written. */
export interface GgufOutput {
  /** Total size of the tensors. */
  readonly bytes: number
  readonly chunks: AsyncGenerator<Uint8Array>
}

/**
 * Before anything is written, throws `unsupported` for other families, and for settings, tokenizers and codes
 * that GGUF cannot express.
 */
export function modelGguf(prepared: PreparedModel, options: GgufOptions): GgufOutput {
  const { file, config, weights } = prepared
  const { dtype, name, license, signal } = options
  if (!GGUF_FAMILIES.includes(config.family)) throw otherFamily(prepared)
  const { vocabSize: rows } = config
  const tokenizer = modelTokenizer(file, rows)
  const spec = file.tokenizer
  if (spec === undefined) throw new HalfbyteError('internal', `${file.name} has no usable tokenizer`)
  const tensors = ggufTensors(config, weights, dtype, signal)
  const generation = file.generationConfig
  const vocabulary = ggufVocabulary(file.name, { spec, tokenizer, generation, rows })
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', ['string', familyFile(config.family).gguf.architecture ?? config.family]],
    ['general.type', ['string', 'model']],
    ['general.name', ['string', name]],
    ...(license === undefined ? [] : [['general.license', ['string', license]] as const]),
    ['general.file_type', ['u32', FILE_TYPES[dtype === 'keep' ? mostOf(tensors) : dtype] ?? 0]],
    ['general.quantization_version', ['u32', QUANTIZATION_VERSION]],
    ...ggufSettings(config),
    ...samplingValues(generation),
    ...tokenizerValues(vocabulary),
  ])
  const factors = ropeFactors(config)
  checkSettings(config, metadata, factors)
  const all = factors === undefined ? tensors : [factorTensor(factors), ...tensors]
  return { bytes: tensorBytes(all), chunks: writeGguf(metadata, all, signal) }
}

const tensorBytes = (tensors: readonly Pick<GgufTensor, 'dtype' | 'shape'>[]): number =>
  tensors.reduce((sum, { dtype, shape }) => sum + rowBytes(dtype, elementCount(shape) ?? 0), 0)

/** The dtype of most weights. */
function mostOf(tensors: readonly GgufTensor[]): DType {
  const counts = new Map<DType, number>()
  for (const { dtype, shape } of tensors)
    counts.set(dtype, (counts.get(dtype) ?? 0) + (elementCount(shape) ?? 0))
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 'F32'
}

const factorTensor = (factors: Float32Array): GgufTensor => ({
  name: ROPE_FACTORS,
  dtype: 'F32',
  shape: [factors.length],
  data: () => [new Uint8Array(factors.buffer)],
})

const otherFamily = ({ file, config }: PreparedModel): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file.name} has the family ${config.family}, which cannot be written as GGUF, only ${GGUF_FAMILIES.join(', ')}; write a .hbm`,
    { family: config.family, format: file.format },
  )
