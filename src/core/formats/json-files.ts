// Reads a small JSON file. Errors include the file's name.

import type { ByteSource } from '../base/bytes.ts'
import { reasonOf } from '../base/errors.ts'
import { parseJson } from '../base/json.ts'
import { isObject, type JsonObject } from '../base/values.ts'
import { malformed } from './malformed.ts'
import type { MetaValue } from './tensors.ts'

export type MetaObject = { readonly [key: string]: MetaValue }

/** The largest tokenizer.json published is about 35 MB. */
const TEXT_LIMIT_BYTES = 128 << 20

export async function readText(source: ByteSource, signal?: AbortSignal): Promise<string> {
  if (source.size > TEXT_LIMIT_BYTES) {
    throw malformed(
      source.name,
      `it has ${source.size} bytes, but a model's text files may have at most ${TEXT_LIMIT_BYTES}`,
    )
  }
  return new TextDecoder().decode(await source.read(0, source.size, signal))
}

export async function readJson(source: ByteSource, signal?: AbortSignal): Promise<JsonObject> {
  return parseObject(source.name, await readText(source, signal))
}

export function parseObject(file: string, text: string): JsonObject {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (cause) {
    throw malformed(file, `it is not valid JSON (${reasonOf(cause)})`)
  }
  if (isObject(value)) return value
  throw malformed(file, 'it is not a JSON object')
}

/** The settings of generation_config.json. If it is missing, config.json has the ids that end a reply. */
export function generationSettings(
  config: JsonObject | undefined,
  generation: JsonObject | undefined,
): MetaObject | undefined {
  if (generation !== undefined) return withoutNulls(generation)
  const eos_token_id = config?.['eos_token_id'] ?? undefined
  return eos_token_id === undefined ? undefined : withoutNulls({ eos_token_id })
}

/**
 * Omits keys and elements that are null, because MetaValue has no null. Reads `{"__float__": "Infinity"}`, as
 * transformers 5 writes infinities, as the number.
 */
export function withoutNulls(object: JsonObject): MetaObject {
  const entries = Object.entries(object).flatMap(([key, value]) => {
    const kept = keep(value)
    return kept === undefined ? [] : [[key, kept] as const]
  })
  return Object.fromEntries(entries)
}

function keep(value: unknown): MetaValue | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map(keep).filter((item) => item !== undefined)
  if (!isObject(value)) return undefined
  const tag = value['__float__']
  return tag === 'Infinity' || tag === '-Infinity' ? Number(tag) : withoutNulls(value)
}
