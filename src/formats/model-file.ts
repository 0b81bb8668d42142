// ModelFile. In: the files of one model in any format and order. Out: its tensors, metadata and tokenizer.
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { isObject } from '../base/values.ts'
import type { Graph } from '../graph/nodes.ts'
import type { TokenizerSpec } from '../text/spec.ts'
import { baseName, modelName } from './file-names.ts'
import { foreignFile } from './foreign.ts'
import { readGguf } from './gguf/gguf.ts'
import { mergeSplits } from './gguf/gguf-splits.ts'
import { scaleTensors } from './gguf/tensor-scales.ts'
import { readPack } from './hbm/hbm.ts'
import { joinParts } from './hbm/hbm-parts.ts'
import { type MetaObject, readJson, readText, withoutNulls } from './json.ts'
import { unpackQuantized } from './safetensors/quantized.ts'
import { readShards } from './safetensors/safetensors.ts'
import type { MetaValue, TensorIndex } from './tensors.ts'
import { ggufGeneration, ggufTokenizer } from './tokenizer-data.ts'

export type ModelFormat = 'gguf' | 'safetensors' | 'hbm' | 'onnx'

/** A model whose headers have been read and checked. Its data is still in the sources. */
export interface ModelFile {
  readonly format: ModelFormat
  /** The quantisation method that config.json names. */
  readonly quantization?: MetaValue | undefined
  /** The model's own name, or its file's name. */
  readonly name: string
  /** By the file's own names, which are canonical in a .hbm pack. */
  readonly tensors: TensorIndex
  /**
   * GGUF: the file's keys. safetensors: config.json as `config`, without `quantization_config` and nulls, and
   * the keys of the nulls as `unset`. .hbm: a ModelConfig as `config`, and the model card as `about`. ONNX: a
   * ModelConfig as `config`.
   */
  readonly metadata: ReadonlyMap<string, MetaValue>
  readonly tokenizer?: TokenizerSpec | undefined
  /** The graph of a step, of a file that has one. Weights then have the names that the graph gives them. */
  readonly graph?: Graph | undefined
  /** How the graph came to be, a line for each step; for prints. */
  readonly history?: readonly string[] | undefined
  /** Sampling defaults under the names of generation_config.json. */
  readonly generationConfig?: MetaObject | undefined
}

const HEAD_BYTES = 64

/**
 * Reads the headers of a model: one GGUF or all its splits, safetensors with config.json (and tokenizer.json,
 * tokenizer_config.json, generation_config.json, chat_template.jinja where they exist), or one .hbm pack or
 * all its parts. Throws `format` for files that are damaged, missing or not a model, `unsupported` for
 * unsupported formats.
 */
export async function openModel(sources: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
  const { kinds, others } = await sort(sources, signal)
  const [format, second] = kinds.keys()
  if (format === undefined) throw await refuse(others, signal)
  if (second !== undefined) {
    throw new HalfbyteError(
      'format',
      `the files are models of two formats, ${format} and ${second}; give one of them`,
      {
        files: sources.map((source) => source.name),
      },
    )
  }
  const files = kinds.get(format) as readonly ByteSource[]
  if (format === 'gguf') return openGguf(files, signal)
  if (format === 'hbm') return openPack(files, signal)
  return openSafetensors(files, others, signal)
}

interface Sorted {
  readonly kinds: ReadonlyMap<ModelFormat, readonly ByteSource[]>
  /** Configuration files, and all others that are not weights. */
  readonly others: readonly ByteSource[]
}

async function sort(sources: readonly ByteSource[], signal?: AbortSignal): Promise<Sorted> {
  const kinds = new Map<ModelFormat, ByteSource[]>()
  const others: ByteSource[] = []
  for (const source of sources) {
    const format = formatOf(source, await head(source, signal))
    if (format === undefined) others.push(source)
    else kinds.set(format, [...(kinds.get(format) ?? []), source])
  }
  return { kinds, others }
}

async function head(source: ByteSource, signal?: AbortSignal): Promise<Uint8Array> {
  return source.read(0, Math.min(source.size, HEAD_BYTES), signal)
}

function formatOf(source: ByteSource, bytes: Uint8Array): ModelFormat | undefined {
  const magic = String.fromCharCode(...bytes.subarray(0, 4))
  // Only the first part of a pack begins with the magic number.
  if (magic === 'HBM1' || /-\d{5}-of-\d{5}\.hbm$/.test(baseName(source.name))) return 'hbm'
  if (magic === 'GGUF') return 'gguf'
  // A safetensors file has no magic number. It begins with its header's length, then a JSON object.
  const isJsonBehindLength =
    bytes.length > 8 && bytes[8] === 0x7b && bytes[7] === 0 && bytes[6] === 0 && bytes[5] === 0
  const isNamed = baseName(source.name).endsWith('.safetensors') && !/^\s*[<v]/.test(magic)
  return isJsonBehindLength || isNamed ? 'safetensors' : undefined
}

async function refuse(others: readonly ByteSource[], signal?: AbortSignal): Promise<HalfbyteError> {
  if (others.length === 0)
    return new HalfbyteError('format', 'no files were given; give the files of a model')
  const suspect = others.find((source) => !/\.(json|txt|jinja|md)$/.test(baseName(source.name))) ?? others[0]
  const source = suspect as ByteSource
  return foreignFile(source.name, source.size, await head(source, signal))
}

async function openGguf(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
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

async function openPack(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
  const { header, tensors } = await readPack(joinParts(files as [ByteSource]), signal)
  const metadata = new Map<string, MetaValue>([['config', header.config]])
  if (header.about !== undefined) metadata.set('about', header.about)
  return {
    format: 'hbm',
    name: header.name,
    tensors,
    metadata,
    tokenizer: header.tokenizer,
    generationConfig: header.generation,
  }
}

async function openSafetensors(
  files: readonly ByteSource[],
  others: readonly ByteSource[],
  signal?: AbortSignal,
): Promise<ModelFile> {
  const find = (name: string) => others.find((source) => baseName(source.name) === name)
  const json = async (name: string) => {
    const source = find(name)
    return source === undefined ? undefined : readJson(source, signal)
  }
  const stored = await readShards(files, await json('model.safetensors.index.json'), signal)
  const config = await json('config.json')
  const file = files[0] as ByteSource
  if (config === undefined) {
    throw new HalfbyteError(
      'format',
      `${file.name}: safetensors hold no architecture; give the model's config.json (and tokenizer.json) with it`,
      { file: file.name },
    )
  }
  const { quantization_config, ...rest } = withoutNulls(config)
  const tokenizer = await json('tokenizer.json')
  const template = find('chat_template.jinja')
  const tokenizerConfig = await json('tokenizer_config.json')
  const chatTemplate = template === undefined ? undefined : await readText(template, signal)
  const generation = await json('generation_config.json')
  const named = config['_name_or_path']
  return {
    format: 'safetensors',
    name: typeof named === 'string' && named !== '' ? baseName(named) : modelName(file.name),
    tensors: unpackQuantized(file.name, stored, quantization_config),
    quantization: isObject(quantization_config) ? quantization_config['quant_method'] : undefined,
    metadata: new Map<string, MetaValue>([
      ['config', rest],
      ['unset', Object.keys(config).filter((key) => config[key] === null)],
    ]),
    tokenizer: tokenizer && {
      kind: 'json',
      tokenizer,
      config:
        chatTemplate === undefined ? tokenizerConfig : { ...tokenizerConfig, chat_template: chatTemplate },
    },
    generationConfig: generation && withoutNulls(generation),
  }
}
