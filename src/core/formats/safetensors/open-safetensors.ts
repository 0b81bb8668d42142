// Opens safetensors models: reads and checks their headers.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { generationSettings, type MetaObject, readJson, readText, withoutNulls } from '../json-files.ts'
import { baseName, statedName } from '../names/named-files.ts'
import type { ModelFile } from '../readers.ts'
import type { MetaValue } from '../tensors.ts'
import { partTower } from './part-tower.ts'
import { unpackQuantized } from './quantized.ts'
import { readShards } from './safetensors.ts'
import { readSentencePiece } from './sentencepiece.ts'

export { readPeftAdapter } from './peft-adapter.ts'

/** `others` are config.json and the model's other files. Throws `format` if one is missing. */
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
      `${file.name}: safetensors files do not name an architecture; add the model's config.json (and tokenizer.json)`,
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
  const tensors = unpackQuantized(file.name, stored, quantization_config)
  const { metadata, ...parts } = partTower(file.name, { config: rest, tensors }, await processorOf(json))
  return {
    format: 'safetensors',
    name: statedName(config, file.name),
    ...parts,
    quantization: isObject(quantization_config) ? quantization_config['quant_method'] : undefined,
    metadata: new Map<string, MetaValue>([
      ...metadata,
      ['unset', nullsOf(parts.tensors === tensors ? config : config['text_config'])],
    ]),
    tokenizer:
      pieces === undefined
        ? tokenizer && { kind: 'json', tokenizer, config: settings }
        : readSentencePiece(pieces.name, await pieces.read(0, pieces.size, signal), settings),
    generationConfig: generationSettings(config, generation),
  }
}

/** The keys whose values are null; those of nested objects as `key.part`. */
export function nullsOf(object: unknown, prefix = ''): readonly string[] {
  if (!isObject(object)) return []
  return Object.entries(object).flatMap(([key, value]) => {
    if (value === null) return [prefix + key]
    return prefix === '' ? nullsOf(value, `${key}.`) : []
  })
}

/** How images are prepared: a separate file or, since transformers 5, part of the processor's file. */
async function processorOf(
  json: (name: string) => Promise<JsonObject | undefined>,
): Promise<MetaObject | undefined> {
  const { image_processor: part } = (await json('processor_config.json')) ?? {}
  const found = (await json('preprocessor_config.json')) ?? part
  return isObject(found) ? withoutNulls(found) : undefined
}
