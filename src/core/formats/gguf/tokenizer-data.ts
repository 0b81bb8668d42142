// Reads a tokenizer's specification from GGUF metadata.
import { HalfbyteError } from '../../base/errors.ts'
import type { GgufTokenizerSpec } from '../../text/spec.ts'
import type { MetaObject } from '../json-files.ts'
import type { MetaValue } from '../tensors.ts'

/**
 * Returns undefined if the file has no vocabulary. Throws `format` if a value has the wrong type or length.
 */
export function ggufTokenizer(
  file: string,
  metadata: ReadonlyMap<string, MetaValue>,
): GgufTokenizerSpec | undefined {
  if (!metadata.has('tokenizer.ggml.tokens')) return undefined
  const typed = <T>(key: string, what: string, fits: (value: MetaValue) => boolean): T | undefined => {
    const value = metadata.get(key)
    if (value === undefined) return undefined
    if (fits(value)) return value as T
    throw new HalfbyteError('format', `${file}: ${key} must be ${what}; convert the model again`, { key })
  }
  const text = (key: string) => typed<string>(key, 'a text', (value) => typeof value === 'string')
  const fact = (key: string) =>
    typed<boolean>(`tokenizer.ggml.${key}`, 'a boolean', (value) => typeof value === 'boolean')
  const list = <T>(key: string, what: string, of: string, length?: number) =>
    typed<readonly T[]>(`tokenizer.ggml.${key}`, `an array of ${what}`, (value) => {
      const fits = Array.isArray(value) && value.every((item) => typeof item === of)
      return fits && (length === undefined || value.length === length)
    })
  const texts = (key: string) => list<string>(key, 'texts', 'string')
  const tokens = texts('tokens') ?? []
  const count = tokens.length
  const numbers = (key: string) => list<number>(key, `${count} numbers`, 'number', count)
  // An id outside the vocabulary means "none": converters write 2^32 - 1.
  const idOf = (name: string) => {
    const key = `tokenizer.ggml.${name}_token_id`
    const id = typed<number>(key, 'a number', (value) => typeof value === 'number')
    return id !== undefined && id >= 0 && id < count ? id : undefined
  }
  return {
    kind: 'gguf',
    model: text('tokenizer.ggml.model') ?? '',
    name: text('general.name'),
    pre: text('tokenizer.ggml.pre'),
    tokens,
    scores: numbers('scores'),
    types: numbers('token_type'),
    merges: texts('merges'),
    bosId: idOf('bos'),
    eosId: idOf('eos'),
    eotId: idOf('eot'),
    eomId: idOf('eom'),
    unknownId: idOf('unknown'),
    addBos: fact('add_bos_token'),
    addEos: fact('add_eos_token'),
    addSpacePrefix: fact('add_space_prefix'),
    chatTemplate: text('tokenizer.chat_template'),
    toolTemplate: text('tokenizer.chat_template.tool_use'),
    documentTemplate: text('tokenizer.chat_template.rag'),
  }
}

/**
 * GGUF's names of sampling defaults, with the names in generation_config.json, or the same name if that file
 * has none.
 */
export const SAMPLING_NAMES = {
  temp: 'temperature',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  penalty_repeat: 'repetition_penalty',
  penalty_last_n: 'penalty_last_n',
  xtc_probability: 'xtc_probability',
  xtc_threshold: 'xtc_threshold',
  mirostat: 'mirostat',
  mirostat_tau: 'mirostat_tau',
  mirostat_eta: 'mirostat_eta',
}

/** The sampling defaults, which some GGUF files have. */
export function ggufGeneration(metadata: ReadonlyMap<string, MetaValue>): MetaObject | undefined {
  const found: Record<string, MetaValue> = {}
  for (const [key, name] of Object.entries(SAMPLING_NAMES)) {
    const value = metadata.get(`general.sampling.${key}`)
    if (typeof value === 'number') found[name] = value
  }
  return Object.keys(found).length > 0 ? found : undefined
}
