// Makes a Tokenizer from a tokenizer.json and its tokenizer_config.json, with the same ids as the library.
import { Tokenizer as Library } from '@huggingface/tokenizers'
import { reasonOf } from '../../../base/errors.ts'
import { isObject, type JsonObject } from '../../../base/values.ts'
import { type JsonTokenizerSpec, malformed, shown, unsupported } from '../../spec.ts'
import { createBpe } from '../bpe.ts'
import { markedWords } from '../byte-level.ts'
import { GPT2, unicodeSpace } from '../pre-tokenizers.ts'
import { unquote } from '../quote.ts'
import {
  AddedTokens,
  type Section,
  type Tokenizer,
  type TokenizerOptions,
  type TokenizerParts,
  tokenizerOf,
} from '../tokenizer.ts'
import { endTokens, KIND, namedByte, Vocabulary } from '../vocabulary.ts'
import { checkSteps } from './check-steps.ts'
import {
  type Affixes,
  isId,
  type JsonAddedToken,
  listAt,
  objectAt,
  readAdded,
  readAffixes,
  readDecoding,
  readTokens,
} from './json-parts.ts'

type EncodeText = (text: string, section: Section, out: number[]) => void

/**
 * The library normalises text and splits it into words, with its translation of Oniguruma patterns. Merging
 * is our own code, which is several times faster. Throws `format` or `unsupported`.
 */
export function jsonTokenizer(
  spec: JsonTokenizerSpec,
  { endIds: more = [], rows }: TokenizerOptions = {},
): Tokenizer {
  const json = spec.tokenizer
  const config = spec.config ?? {}
  const model = objectAt(json, 'model')
  checkModel(model)
  const added = readAdded(json, objectAt(model, 'vocab'))
  const addedIds = new Map(added.map(({ text, id }) => [text, id]))
  const tokens = readTokens(model, added)
  // All of the model's own tokens must have rows; only added tokens may lie beyond them.
  const own = tokens.findLastIndex((token) => token !== undefined && !addedIds.has(token)) + 1
  const idNamed = (key: string) => namedId(config, key, addedIds, tokens)
  const bosId = idNamed('bos_token')
  const eosId = idNamed('eos_token')
  const specialIds = new Set(added.filter(({ special }) => special).map(({ id }) => id))
  const endIds = endTokens(
    (text) => addedIds.get(text),
    (id) => specialIds.has(id),
  )
  for (const id of [eosId, ...more]) if (id !== undefined) endIds.add(id)
  const asSpecial = added.map((token) => ({ ...token, special: token.special || endIds.has(token.id) }))
  const decoding = readDecoding(json['decoder'])
  const kinds = readKinds(tokens, asSpecial, decoding.byteFallback)
  const vocabulary = new Vocabulary(tokens, kinds, decoding)
  return tokenizerOf({
    vocabulary,
    added: new AddedTokens(asSpecial.filter(({ normalized }) => !normalized)),
    ...textEncoder(json, model, vocabulary, asSpecial, decoding.byteLevel),
    ...affixes(readAffixes(json['post_processor']), config, bosId, eosId, tokens.length),
    bosId,
    eosId,
    endIds,
    addsSpacePrefix: decoding.stripsFirstSpace,
    chatTemplate: readTemplate(config, 'default'),
    toolTemplate: readTemplate(config, 'tool_use'),
    documentTemplate: readTemplate(config, 'rag'),
    ...(rows !== undefined && own <= rows && { rows }),
  })
}

function checkModel(model: JsonObject): void {
  const type = model['type'] ?? (model['merges'] === undefined ? 'none' : 'BPE')
  const next = 'use a model with a BPE vocabulary'
  if (type !== 'BPE') throw unsupported(`has the type ${shown(type)}; only BPE is supported`, next)
  for (const key of ['continuing_subword_prefix', 'end_of_word_suffix']) {
    if (model[key]) throw unsupported(`marks subwords with ${key} ${shown(model[key])}`, next)
  }
}

function readKinds(
  tokens: readonly (string | undefined)[],
  added: readonly JsonAddedToken[],
  byteFallback: boolean,
): Uint8Array {
  const kinds = new Uint8Array(tokens.length).fill(KIND.normal)
  if (byteFallback) {
    tokens.forEach((token, id) => {
      if (token !== undefined && namedByte(token) !== undefined) kinds[id] = KIND.byte
    })
  }
  // The decoder decides how all other added tokens are spelled.
  for (const { id, special } of added) if (special) kinds[id] = KIND.special
  return kinds
}

function textEncoder(
  json: JsonObject,
  model: JsonObject,
  vocabulary: Vocabulary,
  added: readonly JsonAddedToken[],
  byteLevelTokens: boolean,
): Pick<TokenizerParts, 'encodeText' | 'normalized'> {
  const { preTokenizer, byteLevel, prefixSpace } = withoutByteLevel(json['pre_tokenizer'])
  const { normalize, words } = libraryParts(json['normalizer'], preTokenizer)
  const unknown = model['unk_token']
  const bpe = createBpe(vocabulary, listAt(model, 'merges'), {
    byteLevel: byteLevel || (byteLevelTokens && preTokenizer === null),
    byteFallback: model['byte_fallback'] === true,
    ignoreMerges: model['ignore_merges'] === true,
    unknownId: typeof unknown === 'string' ? vocabulary.idOf(unknown) : undefined,
    fuseUnknown: model['fuse_unk'] === true,
  })
  const alike = new AddedTokens(
    added.filter((token) => token.normalized).map((token) => ({ ...token, text: normalize(token.text) })),
  )
  const cutsAtMarks = !byteLevel && !bpe.crossesWords
  const encodeText: EncodeText = (text, { isFirst, parseSpecial }, out) => {
    for (const found of alike.split(normalize(text), parseSpecial)) {
      const piece = parseSpecial && typeof found === 'string' ? unquote(found) : found
      if (typeof piece === 'number') {
        out.push(piece)
        continue
      }
      const spaced = prefixSpace && !piece.startsWith(' ') ? ` ${piece}` : piece
      for (const word of words(spaced, isFirst)) {
        if (cutsAtMarks) for (const part of markedWords(word)) bpe.encode(part, out)
        else bpe.encode(word, out)
      }
    }
  }
  return { encodeText, normalized: { added: alike, normalize } }
}

/** Splits a text into words like a byte-level tokenizer.json. Throws the same errors as reading it. */
export function wordCutter(json: JsonObject): (text: string) => readonly string[] {
  const { preTokenizer, prefixSpace } = withoutByteLevel(json['pre_tokenizer'])
  const { normalize, words } = libraryParts(json['normalizer'], preTokenizer)
  return (text) => words(prefixSpace && !text.startsWith(' ') ? ` ${normalize(text)}` : normalize(text), true)
}

interface ByteLevelSplit {
  /** The remaining steps, which the library performs; null if there are none. */
  readonly preTokenizer: JsonObject | null
  readonly byteLevel: boolean
  readonly prefixSpace: boolean
}

/**
 * Removes the last step, ByteLevel, from a pre-tokeniser. Words then arrive as text, and only new words are
 * converted to byte characters. ByteLevel's own pattern becomes a separate step.
 */
function withoutByteLevel(value: unknown): ByteLevelSplit {
  if (value === undefined || value === null)
    return { preTokenizer: null, byteLevel: false, prefixSpace: false }
  if (!isObject(value)) throw malformed(`has ${shown(value)} for pre_tokenizer instead of an object`)
  const isSequence = value['type'] === 'Sequence'
  const steps = isSequence ? listAt(value, 'pretokenizers') : [value]
  const last = steps.at(-1)
  const whole = { preTokenizer: value, byteLevel: false, prefixSpace: false }
  if (!isObject(last) || last['type'] !== 'ByteLevel') return whole
  const prefixSpace = last['add_prefix_space'] === true
  // In a sequence, the space is added before every piece, which only the library supports.
  if (prefixSpace && steps.length > 1) return whole
  const pattern = {
    type: 'Split',
    pattern: { Regex: unicodeSpace(GPT2) },
    behavior: 'Isolated',
    invert: false,
  }
  const kept = [...steps.slice(0, -1), ...(last['use_regex'] === false ? [] : [pattern])]
  return {
    preTokenizer: kept.length > 0 ? { type: 'Sequence', pretokenizers: kept } : null,
    byteLevel: true,
    prefixSpace,
  }
}

interface LibraryParts {
  readonly normalize: (text: string) => string
  readonly words: (text: string, isFirst: boolean) => readonly string[]
}

/** The library's steps before the model. Throws `unsupported` for unknown ones. */
export function libraryParts(normalizer: unknown, preTokenizer: JsonObject | null): LibraryParts {
  const library = ask(
    () =>
      new Library(
        {
          model: { type: 'BPE', vocab: {}, merges: [] },
          added_tokens: [],
          normalizer: normalizer ?? null,
          pre_tokenizer: preTokenizer,
          post_processor: null,
          decoder: null,
        },
        {},
      ),
  )
  const { normalizer: normalize, pre_tokenizer: words } = library
  checkSteps(normalize, words)
  return {
    normalize: normalize === null ? (text) => text : (text) => ask(() => normalize(text)),
    words:
      words === null
        ? (text) => (text === '' ? [] : [text])
        : (text, isFirst) => ask(() => words(text, { section_index: isFirst ? 0 : 1 })),
  }
}

/** Runs the library and turns its errors into ours. */
function ask<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    const message = reasonOf(cause)
    throw unsupported(`splits text in an unsupported way (${message})`, 'use the GGUF file of the model')
  }
}

/** The id of the token that a configuration key names, either by its text or as an added token. */
function namedId(
  config: JsonObject,
  key: string,
  added: ReadonlyMap<string, number>,
  tokens: readonly (string | undefined)[],
): number | undefined {
  const value = config[key]
  const text = isObject(value) ? value['content'] : value
  if (text === undefined || text === null) return undefined
  if (typeof text !== 'string') throw malformed(`has ${shown(value)} for ${key} instead of a token`)
  const id = added.get(text) ?? tokens.indexOf(text)
  if (id < 0)
    throw malformed(`names ${shown(text)} as ${key}, which is not among its ${tokens.length} tokens`)
  return id
}

/** The ids to add around a text. `add_bos_token` and `add_eos_token` override the post-processor. */
function affixes(
  { prefix, suffix }: Affixes,
  config: JsonObject,
  bosId: number | undefined,
  eosId: number | undefined,
  count: number,
): Affixes {
  const wrong = [...prefix, ...suffix].find((id) => !isId(id) || id >= count)
  if (wrong !== undefined) throw malformed(`adds the id ${wrong} to every text and has ${count} tokens`)
  const decide = (ids: readonly number[], id: number | undefined, says: unknown) =>
    id === undefined || typeof says !== 'boolean' || ids.includes(id) === says
      ? ids
      : says
        ? [id]
        : ids.filter((other) => other !== id)
  return {
    prefix: decide(prefix, bosId, config['add_bos_token']),
    suffix: decide(suffix, eosId, config['add_eos_token']),
  }
}

/**
 * The template with this name. A single unnamed template is the default, and so is the first of several if
 * none is named `default`.
 */
function readTemplate(config: JsonObject, wanted: 'default' | 'tool_use' | 'rag'): string | undefined {
  const value = config['chat_template']
  const isDefault = wanted === 'default'
  if (!Array.isArray(value)) return isDefault && typeof value === 'string' ? value : undefined
  const named = value.filter(isObject)
  const found = named.find(({ name }) => name === wanted) ?? (isDefault ? named[0] : undefined)
  const template = found?.['template']
  return typeof template === 'string' ? template : undefined
}
