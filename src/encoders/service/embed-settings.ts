// Reads from an encoder's files how a text becomes a vector: pooling, normalisation, prompts, maximum tokens.

import { HalfbyteError } from '../../core/base/errors.ts'
import { isCount, isObject, type JsonObject } from '../../core/base/values.ts'
import { shown } from '../../core/formats/malformed.ts'
import { type InnerPath, pathInside } from '../../core/formats/names/named-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { RANK } from '../families/stated.ts'

/** How the hidden states of a text become one vector. */
export type Pooling = 'mean' | 'cls' | 'last' | 'weighted-mean' | 'max'
export const POOLINGS: readonly Pooling[] = ['mean', 'cls', 'last', 'weighted-mean', 'max']

export interface EmbedSettings {
  /** True if the files say how texts become vectors. The files of chat models do not. */
  readonly isStated: boolean
  readonly pooling: Pooling
  readonly normalize: boolean
  /** Folders of Dense modules, which are applied to the pooled vector in order. GGUF has them in the file. */
  readonly dense: readonly InnerPath[]
  /**
   * Maximum number of tokens of a text, including those around it. Undefined: the model's number of
   * positions.
   */
  readonly mostTokens: number | undefined
  /** Prompts by name: `query`, `document`, `passage` and others. */
  readonly prompts: Readonly<Record<string, string>>
  /** The prompt for texts without a kind. */
  readonly defaultPrompt: string
  /** False: the rows of a prompt are read but not pooled. */
  readonly poolsPrompt: boolean
}

const PLAIN: EmbedSettings = {
  isStated: false,
  pooling: 'mean',
  normalize: true,
  dense: [],
  mostTokens: undefined,
  prompts: {},
  defaultPrompt: '',
  poolsPrompt: true,
}

/** Reads a JSON file from the model's folder; undefined if it does not exist. */
export type ReadJson = (path: InnerPath) => Promise<JsonObject | readonly unknown[] | undefined>

/** Poolings by GGUF's numbers. */
const GGUF_POOLINGS: readonly (Pooling | undefined)[] = [undefined, 'mean', 'cls', 'last']
/** Architectures of rerankers, whose heads define the pooling. */
const RANKING: readonly unknown[] = ['bert', 'modern-bert']

/** Throws `unsupported` for an unsupported pooling. */
export function ggufSettings({ name, metadata }: ModelFile): EmbedSettings {
  const stated = metadata.get('general.architecture')
  const architecture = typeof stated === 'string' ? stated : ''
  const key = `${architecture}.pooling_type`
  const type = metadata.get(key) ?? 1
  const isRanked = type === RANK && RANKING.includes(architecture)
  const pooling = isRanked ? 'cls' : typeof type === 'number' ? GGUF_POOLINGS[type] : undefined
  if (type === 0) return PLAIN
  if (pooling === undefined) throw otherSettings(name, `pooling_type ${shown(type)}`)
  return { ...PLAIN, pooling, isStated: metadata.has(key) }
}

/** Lists the modules of a sentence-transformers folder, with their subfolders. */
export const MODULES = 'modules.json'

/** The pooling settings. Repositories of ONNX graphs may contain only this file. */
const POOLING = '1_Pooling/config.json'

const ownFile = (name: string): InnerPath => pathInside(name, 'an encoder')

/** The last part of a module's type, e.g. `Pooling` for `sentence_transformers.models.Pooling`. */
const kindOf = (type: unknown): string => (typeof type === 'string' ? (type.split('.').at(-1) ?? '') : '')

/**
 * Reads sentence-transformers' files. A folder without them has mean pooling. Throws `format` for files with
 * impossible values, `unsupported` for unsupported modules and poolings.
 */
export async function folderSettings(name: string, readJson: ReadJson): Promise<EmbedSettings> {
  const modules = await readJson(ownFile(MODULES))
  const length = await readJson(ownFile('sentence_bert_config.json'))
  const own = await readJson(ownFile('config_sentence_transformers.json'))
  const mostTokens = isObject(length) ? length['max_seq_length'] : undefined
  const settings = {
    ...PLAIN,
    ...promptsOf(isObject(own) ? own : {}),
    mostTokens: isCount(mostTokens) && mostTokens > 0 ? mostTokens : undefined,
  }
  if (!Array.isArray(modules)) {
    const pooling = await readJson(ownFile(POOLING))
    return isObject(pooling) ? { ...settings, ...poolingOf(name, pooling), isStated: true } : settings
  }
  let pooling: Partial<EmbedSettings> | undefined
  let normalize = false
  const dense: InnerPath[] = []
  for (const module of modules) {
    const { type, path } = isObject(module) ? module : {}
    const kind = kindOf(type)
    if (kind === 'Transformer') continue
    if (kind === 'Normalize') normalize = true
    else if (kind === 'Pooling' && typeof path === 'string')
      pooling = poolingOf(name, await readJson(pathInside(`${path}/config.json`, MODULES)))
    else if (kind === 'Dense' && typeof path === 'string' && pooling !== undefined && !normalize)
      dense.push(pathInside(path, MODULES))
    else throw otherSettings(name, `the module ${shown(type)} in this position`)
  }
  return { ...settings, ...pooling, normalize, dense, isStated: true }
}

function promptsOf(own: JsonObject): Pick<EmbedSettings, 'prompts' | 'defaultPrompt'> {
  const { prompts: given, default_prompt_name: chosen } = own
  const entries = Object.entries(isObject(given) ? given : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const prompts = Object.fromEntries(entries)
  const isChosen = typeof chosen === 'string' && Object.hasOwn(prompts, chosen)
  return { prompts, defaultPrompt: isChosen ? (prompts[chosen] ?? '') : '' }
}

/** The keys of 1_Pooling/config.json. Exactly one of them is true. */
const POOLING_KEYS: ReadonlyMap<string, Pooling | undefined> = new Map([
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_weightedmean_tokens', 'weighted-mean'],
  ['pooling_mode_lasttoken', 'last'],
  ['pooling_mode_mean_sqrt_len_tokens', undefined],
])
/** Newer files' names for the same poolings. */
const POOLING_WORDS: ReadonlyMap<unknown, Pooling> = new Map([
  ['cls', 'cls'],
  ['mean', 'mean'],
  ['max', 'max'],
  ['weightedmean', 'weighted-mean'],
  ['lasttoken', 'last'],
])

function poolingOf(name: string, config: unknown): Partial<EmbedSettings> {
  if (!isObject(config)) return {}
  const poolsPrompt = config['include_prompt'] !== false
  const chosen = [...POOLING_KEYS].filter(([key]) => config[key] === true)
  const [one, another] = chosen
  const { pooling_mode: word } = config
  const pooling = one === undefined ? POOLING_WORDS.get(word) : another === undefined ? one[1] : undefined
  if (pooling !== undefined) return { pooling, poolsPrompt }
  const keys = chosen.map(([key]) => key).join(' and ')
  throw otherSettings(name, keys || `the pooling ${shown(word)}`)
}

function otherSettings(file: string, found: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the encoder has ${found}, which is not supported; choose one with a single pooling of ` +
      `${POOLINGS.join(', ')}`,
    { found, supported: POOLINGS },
  )
}
