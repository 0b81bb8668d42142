// Adapters. In: a GGUF LoRA, or PEFT's safetensors with adapter_config.json. Out: the matrices it adds, by
// tensor.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { baseName } from '../file-names.ts'
import { readGguf } from '../gguf/gguf.ts'
import { readJson } from '../json.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'
import { floatTensor, readSafetensors } from './safetensors.ts'

/** A change that adds scale * up * down to a matrix [outputs, inputs]. */
export interface LowRank {
  /** A: [rank, inputs] */
  readonly down: TensorInfo
  /** B: [outputs, rank] */
  readonly up: TensorInfo
  readonly scale: number
}

export interface Adapter {
  readonly name: string
  readonly format: 'gguf' | 'safetensors'
  /** `general.architecture` of a GGUF. */
  readonly architecture?: unknown
  /** By the matrix's name in model files of the same format. */
  readonly changes: ReadonlyMap<string, LowRank>
}

/** The files of an adapter: two when `source` is a folder, otherwise one. */
export const adapterFiles = (source: string): string[] =>
  source.endsWith('/')
    ? ['adapter_config.json', 'adapter_model.safetensors'].map((name) => source + name)
    : [source]

/**
 * Reads the headers of one adapter. Throws `format` when a file is missing or damaged or when matrices do not
 * belong together, `unsupported` for other kinds of adapter (DoRA, trained biases, whole modules).
 */
export async function readAdapter(sources: readonly ByteSource[], signal?: AbortSignal): Promise<Adapter> {
  const find = (ending: RegExp) => sources.find((source) => ending.test(baseName(source.name)))
  const gguf = find(/\.gguf$/)
  const weights = find(/\.safetensors$/)
  const config = find(/^adapter_config\.json$/)
  if (gguf !== undefined) {
    const { metadata, tensors } = await readGguf(gguf, signal)
    const [type, kind] = [metadata.get('general.type'), metadata.get('adapter.type')]
    if (type !== 'adapter' || kind !== 'lora') {
      const found = type === undefined ? 'a model' : `${shown(type)}, ${shown(kind ?? '')}`
      throw otherKind(gguf.name, `it is ${found}`)
    }
    const alpha = metadata.get('adapter.lora.alpha') ?? 0
    if (typeof alpha !== 'number')
      throw malformed(gguf.name, `its alpha is ${shown(alpha)} but must be a number`)
    const changes = pairsOf(gguf.name, tensors, /^(.*)\.lora_(a|b)$/, (rank) =>
      alpha === 0 ? 1 : alpha / rank,
    )
    return { name: gguf.name, format: 'gguf', architecture: metadata.get('general.architecture'), changes }
  }
  if (weights === undefined || config === undefined) {
    throw new HalfbyteError(
      'format',
      `an adapter is a GGUF, or adapter_model.safetensors and adapter_config.json, but ${sources.map(({ name }) => name).join(' and ')} was given; give its folder`,
    )
  }
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
  if (typeof alpha !== 'number') throw malformed(file, 'adapter_config.json has no lora_alpha')
  return (rank) => {
    if (rank !== r && isPlain(rank_pattern)) throw malformed(file, `its rank is ${rank} but r is ${shown(r)}`)
    return alpha / (use_rslora === true ? Math.sqrt(rank) : rank)
  }
}

function pairsOf(
  file: string,
  tensors: ReadonlyMap<string, TensorInfo>,
  pattern: RegExp,
  scale: (rank: number) => number,
  ending = '',
): Map<string, LowRank> {
  const halves = new Map<string, { a?: TensorInfo; b?: TensorInfo }>()
  for (const [name, tensor] of tensors) {
    const [, module, half] = pattern.exec(name) ?? []
    if (module === undefined || half === undefined) throw otherKind(file, `it changes ${shown(name)}`)
    halves.set(module, { ...halves.get(module), [half.toLowerCase()]: tensor })
  }
  return new Map(
    [...halves].map(([module, { a: down, b: up }]) => {
      const [rank, inner] = [down?.shape[0], up?.shape[1]]
      if (down?.shape.length !== 2 || up?.shape.length !== 2 || !rank || rank !== inner) {
        throw malformed(
          file,
          `${shown(module)} has A [${down?.shape}] and B [${up?.shape}] where ranks must agree`,
        )
      }
      return [module + ending, { down, up, scale: scale(rank) }]
    }),
  )
}

const otherKind = (file: string, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: ${what}, and Halfbyte reads LoRA adapters of matrices; merge it into its model`,
  )
