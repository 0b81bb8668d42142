// Tokenizer data. In: GGUF metadata or a folder's JSON. Out: what src/text makes a tokenizer from, by one shape.
import { HalfbyteError } from '../base/errors.ts'
import type { GgufTokenizerSpec } from '../text/spec.ts'
import type { MetaObject } from './json.ts'
import type { MetaValue } from './tensors.ts'

/** Undefined when the file has no vocabulary. Throws `format` when a key has the wrong type or length. */
export function ggufTokenizer(
  file: string,
  metadata: ReadonlyMap<string, MetaValue>,
): GgufTokenizerSpec | undefined {
  if (!metadata.has('tokenizer.ggml.tokens')) return undefined
  const read = new MetadataReader(file, metadata)
  const tokens = read.texts('tokenizer.ggml.tokens') ?? []
  const idOf = (key: string) => read.id(`tokenizer.ggml.${key}_token_id`, tokens.length)
  return {
    kind: 'gguf',
    model: read.text('tokenizer.ggml.model') ?? '',
    pre: read.text('tokenizer.ggml.pre'),
    tokens,
    scores: read.numbers('tokenizer.ggml.scores', tokens.length),
    types: read.numbers('tokenizer.ggml.token_type', tokens.length),
    merges: read.texts('tokenizer.ggml.merges'),
    bosId: idOf('bos'),
    eosId: idOf('eos'),
    eotId: idOf('eot'),
    eomId: idOf('eom'),
    unknownId: idOf('unknown'),
    addBos: read.fact('tokenizer.ggml.add_bos_token'),
    addEos: read.fact('tokenizer.ggml.add_eos_token'),
    addSpacePrefix: read.fact('tokenizer.ggml.add_space_prefix'),
    chatTemplate: read.text('tokenizer.chat_template'),
  }
}

/** The sampling defaults some GGUF files carry, under the names of generation_config.json. */
export function ggufGeneration(metadata: ReadonlyMap<string, MetaValue>): MetaObject | undefined {
  const names = {
    temp: 'temperature',
    top_k: 'top_k',
    top_p: 'top_p',
    min_p: 'min_p',
    penalty_repeat: 'repetition_penalty',
  }
  const found: Record<string, MetaValue> = {}
  for (const [key, name] of Object.entries(names)) {
    const value = metadata.get(`general.sampling.${key}`)
    if (typeof value === 'number') found[name] = value
  }
  return Object.keys(found).length > 0 ? found : undefined
}

class MetadataReader {
  readonly #file: string
  readonly #metadata: ReadonlyMap<string, MetaValue>

  constructor(file: string, metadata: ReadonlyMap<string, MetaValue>) {
    this.#file = file
    this.#metadata = metadata
  }

  text(key: string): string | undefined {
    return this.#typed(key, 'a text', (value) => typeof value === 'string')
  }
  fact(key: string): boolean | undefined {
    return this.#typed(key, 'a boolean', (value) => typeof value === 'boolean')
  }
  texts(key: string): readonly string[] | undefined {
    return this.#typed(
      key,
      'an array of texts',
      (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
    )
  }
  numbers(key: string, length: number): readonly number[] | undefined {
    return this.#typed(
      key,
      `an array of ${length} numbers`,
      (value) =>
        Array.isArray(value) && value.length === length && value.every((item) => typeof item === 'number'),
    )
  }
  /** An id beyond the vocabulary means "none": converters write 2^32 - 1. */
  id(key: string, vocabulary: number): number | undefined {
    const id = this.#typed<number>(key, 'a number', (value) => typeof value === 'number')
    return id !== undefined && id >= 0 && id < vocabulary ? id : undefined
  }

  #typed<T>(key: string, what: string, fits: (value: MetaValue) => boolean): T | undefined {
    const value = this.#metadata.get(key)
    if (value === undefined) return undefined
    if (fits(value)) return value as T
    throw new HalfbyteError('format', `${this.#file}: ${key} must be ${what}; convert the model again`, {
      key,
    })
  }
}
