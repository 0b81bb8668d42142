// Writes a safetensors model as one GGUF file for llama.cpp: its settings, tokenizer and weights.

import { familyFile } from '../../../core/arch/families.ts'
import { ROPE_FACTORS } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { FILE_TYPES } from '../../../core/formats/gguf/gguf-rewriter.ts'
import { type GgufTensor, type GgufValue, writeGguf } from '../../../core/formats/gguf/gguf-writer.ts'
import { modelTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { samplingValues, tokenizerValues } from './gguf-keys.ts'
import { checkSettings, GGUF_FAMILIES, ggufSettings, ropeFactors } from './gguf-settings.ts'
import { type GgufDType, ggufTensors } from './gguf-tensors.ts'
import { ggufVocabulary } from './gguf-vocabulary.ts'

interface GgufOptions {
  readonly dtype: GgufDType
  readonly name: string
  readonly license?: string | undefined
  readonly signal: AbortSignal
}

/** The ggml block version that is written. */
const QUANTIZATION_VERSION = 2

/**
 * The file as chunks. Before anything is written, throws `unsupported` for other formats and families, and
 * for settings and tokenizers that GGUF cannot express.
 */
export function modelGguf(prepared: PreparedModel, options: GgufOptions): AsyncGenerator<Uint8Array> {
  const { file, config, weights } = prepared
  const { dtype, name, license, signal } = options
  if (file.format !== 'safetensors' || !GGUF_FAMILIES.includes(config.family)) throw otherModel(prepared)
  const { vocabSize: rows } = config
  const tokenizer = modelTokenizer(file, rows)
  const spec = file.tokenizer
  if (spec === undefined) throw new HalfbyteError('internal', `${file.name} has no usable tokenizer`)
  const generation = file.generationConfig
  const vocabulary = ggufVocabulary(file.name, { spec, tokenizer, generation, rows })
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', ['string', familyFile(config.family).gguf.architecture ?? config.family]],
    ['general.type', ['string', 'model']],
    ['general.name', ['string', name]],
    ...(license === undefined ? [] : [['general.license', ['string', license]] as const]),
    ['general.file_type', ['u32', FILE_TYPES[dtype] ?? 0]],
    ['general.quantization_version', ['u32', QUANTIZATION_VERSION]],
    ...ggufSettings(config),
    ...samplingValues(generation),
    ...tokenizerValues(vocabulary),
  ])
  const factors = ropeFactors(config)
  checkSettings(config, metadata, factors)
  const tensors = ggufTensors(config, weights, dtype, signal)
  return writeGguf(metadata, factors === undefined ? tensors : [factorTensor(factors), ...tensors], signal)
}

const factorTensor = (factors: Float32Array): GgufTensor => ({
  name: ROPE_FACTORS,
  dtype: 'F32',
  shape: [factors.length],
  data: () => [new Uint8Array(factors.buffer)],
})

function otherModel({ file, config }: PreparedModel): HalfbyteError {
  const isFolder = file.format === 'safetensors'
  return new HalfbyteError(
    'unsupported',
    isFolder
      ? `${file.name} has the family ${config.family}, which cannot be written as GGUF, only ${GGUF_FAMILIES.join(', ')}; write a .hbm`
      : `${file.name} is ${file.format}, and GGUF is written from a folder with safetensors; write a .hbm, or re-quantize a GGUF file with "halfbyte quantize"`,
    { family: config.family, format: file.format },
  )
}
