// Opens safetensors models and adapters: reads and checks their headers.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { type Adapter, otherKind, pairsOf } from '../adapter.ts'
import { generationSettings, type MetaObject, readJson, readText, withoutNulls } from '../json-files.ts'
import { malformed, shown } from '../malformed.ts'
import { baseName, modelName } from '../names/named-files.ts'
import type { ModelFile } from '../readers.ts'
import type { MetaValue } from '../tensors.ts'
import { partTower } from './part-tower.ts'
import { unpackQuantized } from './quantized.ts'
import { floatTensor, readSafetensors, readShards } from './safetensors.ts'
import { readSentencePiece } from './sentencepiece.ts'

/** `others` are config.json and the further files of the model. Throws `format` where one is missing. */
export async function openSafetensors(
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
  const settings =
    chatTemplate === undefined ? tokenizerConfig : { ...tokenizerConfig, chat_template: chatTemplate }
  const pieces = tokenizer === undefined ? find('tokenizer.model') : undefined
  const generation = await json('generation_config.json')
  const named = config['_name_or_path']
  const tensors = unpackQuantized(file.name, stored, quantization_config)
  const { metadata, ...parts } = partTower(file.name, { config: rest, tensors }, await processorOf(json))
  return {
    format: 'safetensors',
    name: typeof named === 'string' && named !== '' ? baseName(named) : modelName(file.name),
    ...parts,
    quantization: isObject(quantization_config) ? quantization_config['quant_method'] : undefined,
    metadata: new Map<string, MetaValue>([
      ...metadata,
      ['unset', nullsOf(parts.tower === undefined ? config : config['text_config'])],
    ]),
    tokenizer:
      pieces === undefined
        ? tokenizer && { kind: 'json', tokenizer, config: settings }
        : readSentencePiece(pieces.name, await pieces.read(0, pieces.size, signal), settings),
    generationConfig: generationSettings(config, generation),
  }
}

const nullsOf = (object: unknown): readonly string[] =>
  isObject(object) ? Object.keys(object).filter((key) => object[key] === null) : []

/** How pictures are prepared: a file of its own, or since transformers 5 a part of the processor's. */
async function processorOf(
  json: (name: string) => Promise<JsonObject | undefined>,
): Promise<MetaObject | undefined> {
  const { image_processor: part } = (await json('processor_config.json')) ?? {}
  const found = (await json('preprocessor_config.json')) ?? part
  return isObject(found) ? withoutNulls(found) : undefined
}

/** PEFT's files. Throws `unsupported` for adapters other than LoRA. */
export async function readPeftAdapter(
  weights: ByteSource,
  config: ByteSource,
  signal?: AbortSignal,
): Promise<Adapter> {
  const settings = await readJson(config, signal)
  const stored = await readSafetensors(weights, signal)
  const tensors = new Map([...stored].map(([name, tensor]) => [name, floatTensor(tensor)]))
  const names = /^base_model\.model\.(.*)\.lora_(A|B)(?:\.\w+)?\.weight$/
  return {
    name: weights.name,
    format: 'safetensors',
    changes: pairsOf(weights.name, tensors, names, scaleOf(weights.name, settings), '.weight'),
  }
}

/** The scale that PEFT uses for a rank. */
function scaleOf(file: string, settings: JsonObject): (rank: number) => number {
  const { peft_type, r, lora_alpha: alpha, use_rslora, use_dora, rank_pattern, alpha_pattern } = settings
  const isPlain = (pattern: unknown) => !isObject(pattern) || Object.keys(pattern).length === 0
  if (peft_type !== 'LORA' || use_dora === true || !isPlain(alpha_pattern)) {
    throw otherKind(file, `it is ${shown(peft_type)}${use_dora === true ? ' with DoRA' : ''}`)
  }
  // Both change what the model computes beyond the sums of matrices.
  const other = ['alora_invocation_tokens', 'layer_replication'].find(
    (key) => (settings[key] ?? null) !== null,
  )
  if (other !== undefined) throw otherKind(file, `its adapter_config.json has ${other}`)
  if (typeof alpha !== 'number') throw malformed(file, 'adapter_config.json has no lora_alpha')
  return (rank) => {
    if (rank !== r && isPlain(rank_pattern)) throw malformed(file, `its rank is ${rank} but r is ${shown(r)}`)
    return alpha / (use_rslora === true ? Math.sqrt(rank) : rank)
  }
}
