// Opens a LoRA adapter: a GGUF, or PEFT's safetensors with adapter_config.json.
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Adapter } from './adapter.ts'
import { baseName, type Place, pathInside, placeInside } from './names/named-files.ts'
import type { LoadReaders } from './readers.ts'

/** The files of an adapter: two if `source` is a folder, one otherwise. */
export const adapterFiles = (source: Place): Place[] =>
  source.endsWith('/')
    ? ['adapter_config.json', 'adapter_model.safetensors'].map((name) =>
        placeInside(source, pathInside(name, source)),
      )
    : [source]

/**
 * Reads the headers of one adapter. Throws `format` if a file is missing or damaged or if matrices do not
 * belong together, `unsupported` for other kinds of adapters, and any error from loading a reader.
 */
export async function openAdapter(
  sources: readonly ByteSource[],
  readers: LoadReaders,
  signal?: AbortSignal,
): Promise<Adapter> {
  const find = (ending: RegExp) => sources.find((source) => ending.test(baseName(source.name)))
  const gguf = find(/\.gguf$/)
  if (gguf !== undefined) return (await readers.loadGguf()).readGgufAdapter(gguf, signal)
  const weights = find(/\.safetensors$/)
  const config = find(/^adapter_config\.json$/)
  if (weights === undefined || config === undefined) {
    throw new HalfbyteError(
      'format',
      `an adapter is a GGUF, or adapter_model.safetensors and adapter_config.json, but ${sources.map(({ name }) => name).join(' and ')} was given; give its folder`,
    )
  }
  return (await readers.loadSafetensors()).readPeftAdapter(weights, config, signal)
}
