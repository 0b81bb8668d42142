// Typed access to a header's values by the file's own keys. Errors name the key.
import { HalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { shown } from '../../formats/malformed.ts'
import type { MetaValue } from '../../formats/tensors.ts'
import type { ModelConfig, WindowConfig } from './config.ts'

/**
 * `pattern`: whether each layer uses the window, or a period: in each run of that many layers, the last has
 * full attention and the others use the window. With 0, all layers use it.
 */
export function windowOf(
  { layers }: Pick<ModelConfig, 'layers'>,
  positions: number,
  pattern: number | readonly boolean[],
): WindowConfig | undefined {
  if (positions === 0) return undefined
  const has = (layer: number): boolean =>
    typeof pattern === 'number' ? pattern === 0 || layer % pattern < pattern - 1 : pattern[layer] === true
  const those = layersOf({ layers }).filter(has)
  return those.length === 0 ? undefined : { positions, layers: those }
}

/**
 * Drops a window at least as long as the context, unless its layers also differ from the others in another
 * way.
 */
export function withoutIdleWindow(config: ModelConfig): ModelConfig {
  const { window: local, localRope, fullHeads, contextLength } = config
  const isIdle = local !== undefined && local.positions >= contextLength
  return isIdle && localRope === undefined && fullHeads === undefined
    ? { ...config, window: undefined }
    : config
}

/** Indices of a model's layers. The number of layers may not have been checked yet. */
export const layersOf = ({ layers }: Pick<ModelConfig, 'layers'>): number[] =>
  Array.from({ length: Math.min(layers, 1 << 10) }, (_, layer) => layer)

/**
 * The layers without a window, in models where only layers with a window rotate; none if there is no window.
 * `key` holds the window's length. Unless the file lists the layers, every `period`th layer has no window.
 */
export function unrotatedPast(
  fields: Fields,
  key: string,
  layers: number,
  period: number,
): Pick<ModelConfig, 'unrotatedLayers'> {
  if (fields.number(key, 0) === 0) return {}
  const listed = fields.isList(`${key}_pattern`) ? fields.list(`${key}_pattern`) : undefined
  const kinds = listed?.map(Boolean) ?? fields.list('layer_types').map((kind) => kind === 'sliding_attention')
  const every = kinds.length > 0 ? period : fields.number(`${key}_pattern`, period)
  const isLocal = (layer: number) => (kinds.length > 0 ? kinds[layer] : layer % every < every - 1)
  return { unrotatedLayers: layersOf({ layers }).filter((layer) => isLocal(layer) !== true) }
}

/** The layers of a hybrid in GGUF that have key and value heads. */
export function layersWithHeads(fields: Fields): number[] {
  const perLayer = fields.numberList('attention.head_count_kv')
  return [...perLayer.keys()].filter((layer) => (perLayer[layer] ?? 0) > 0)
}

/** The error for an unsupported variant of a family; both strings complete the sentence. */
export function unbuiltVariant(file: string, found: string, supported: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the model has ${found}, which is not supported; choose one with ${supported}`,
    { found, supported },
  )
}

/** Throws `unsupported` unless each key is absent or has its value in `wanted`. */
export function requireFacts(fields: Fields, wanted: Readonly<Record<string, boolean>>): void {
  for (const [key, value] of Object.entries(wanted)) {
    if (fields.fact(key, value) !== value)
      throw unbuiltVariant(fields.file, `${key} ${!value}`, `${key} ${value}`)
  }
}

/** Typed access to the values of one file's header. Without a fallback, an absent key throws. */
export class Fields {
  readonly file: string
  readonly #find: (key: string) => MetaValue | undefined
  readonly #unset: readonly MetaValue[]

  constructor(file: string, find: (key: string) => MetaValue | undefined, unset: readonly MetaValue[] = []) {
    this.file = file
    this.#find = find
    this.#unset = unset
  }

  static of(file: string, record: Readonly<Record<string, MetaValue>>): Fields {
    return new Fields(file, (key) => (Object.hasOwn(record, key) ? record[key] : undefined))
  }

  /**
   * The same values under other keys: `keys[wanted]` is the key in the file. Absent keys take their values
   * from `defaults`, except for the file's keys in `unset`, which stay absent.
   */
  renamed(
    keys: Readonly<Record<string, string>>,
    defaults: Readonly<Record<string, MetaValue>> = {},
    unset: readonly MetaValue[] = [],
  ): Fields {
    const find = (key: string) => {
      const own = keys[key] ?? key
      return this.#find(own) ?? this.#find(key) ?? (unset.includes(own) ? undefined : defaults[key])
    }
    return new Fields(this.file, find, unset)
  }

  /** Whether the file has null under a key, or under `key.part` of an object. */
  isNull(key: string): boolean {
    return this.#unset.includes(key)
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  number(key: string, fallback?: number): number {
    const value = this.#find(key) ?? fallback
    if (typeof value === 'number') return value
    throw this.#wrong(key, 'a number', value)
  }

  /** Numbers whose keys in the file equal our field names. */
  numbers<K extends string>(...keys: readonly K[]): Record<K, number> {
    return Object.fromEntries(keys.map((key) => [key, this.number(key)])) as Record<K, number>
  }

  /** Like `numbers`, but only the keys that are present. */
  someNumbers<K extends string>(...keys: readonly K[]): Partial<Record<K, number>> {
    return this.numbers(...keys.filter((key) => this.has(key)))
  }

  /** A number, or a string such as "auto". */
  either(key: string): number | string {
    const value = this.#find(key)
    if (typeof value === 'number' || typeof value === 'string') return value
    throw this.#wrong(key, 'a number or a string', value)
  }

  text(key: string, fallback?: string): string {
    const value = this.#find(key) ?? fallback
    if (typeof value === 'string') return value
    throw this.#wrong(key, 'a text', value)
  }

  fact(key: string, fallback?: boolean): boolean {
    const value = this.#find(key) ?? fallback
    if (typeof value === 'boolean') return value
    throw this.#wrong(key, 'true or false', value)
  }

  isList(key: string): boolean {
    return Array.isArray(this.#find(key))
  }

  /** Empty if the key is absent. */
  list(key: string): readonly MetaValue[] {
    const value = this.#find(key) ?? []
    if (Array.isArray(value)) return value
    throw this.#wrong(key, 'a list', value)
  }

  /** Empty if the key is absent. */
  numberList(key: string): readonly number[] {
    const list = this.list(key)
    if (list.every((item) => typeof item === 'number')) return list
    throw this.#wrong(key, 'a list of numbers', list)
  }

  /** One number, or the numbers of a list. */
  eachNumber(key: string): readonly number[] {
    return this.isList(key) ? this.numberList(key) : [this.number(key)]
  }

  /** Empty if the key is absent. */
  textList(key: string): readonly string[] {
    const list = this.list(key)
    if (list.every((item) => typeof item === 'string')) return list
    throw this.#wrong(key, 'a list of strings', list)
  }

  /** The fields of the object under `key`; undefined if it is absent. */
  record(key: string): Fields | undefined {
    const value = this.#find(key)
    if (value === undefined) return undefined
    if (!isObject(value)) throw this.#wrong(key, 'an object', value)
    return Fields.of(this.file, value as Readonly<Record<string, MetaValue>>)
  }

  /** The objects of a list. Empty if the key is absent. */
  records(key: string): Fields[] {
    const list = this.list(key)
    if (!list.every(isObject)) throw this.#wrong(key, 'a list of objects', list)
    return list.map((item) => Fields.of(this.file, item as Readonly<Record<string, MetaValue>>))
  }

  #wrong(key: string, wanted: string, value: MetaValue | undefined): HalfbyteError {
    const found = value === undefined ? 'is missing' : `is ${shown(value)}`
    return new HalfbyteError(
      'architecture',
      `${this.file}: ${key} ${found} but must be ${wanted}; fetch or convert the model again`,
      { key },
    )
  }
}
