// Makes the text side of a sentence encoder: WordPiece or a unigram model, from tokenizer.json or GGUF, or a
// decoder's tokenizer.
import { ABI } from '../../../abi/constants.ts'
import { isObject, type JsonObject } from '../../../base/values.ts'
import {
  type GgufTokenizerSpec,
  type JsonTokenizerSpec,
  malformed,
  shown,
  type TokenizerSpec,
} from '../../spec.ts'
import { AddedTokens } from '../tokenizer.ts'
import { createUnigram } from '../unigram.ts'
import { Vocabulary } from '../vocabulary.ts'
import { createWordPiece } from '../word-piece.ts'
import { bertNormalizer, bertWords } from './bert-steps.ts'
import { charactersMap } from './characters-map.ts'
import { checkedSpec } from './check-steps.ts'
import { createTokenizer } from './create.ts'
import {
  checkGrowth,
  isId,
  type JsonAddedToken,
  listAt,
  objectAt,
  readAdded,
  readAffixes,
  readTokens,
  stepsAt,
} from './json-parts.ts'
import { libraryParts } from './json-tokenizer.ts'
import { type PairPart, pairForm, readPairForm } from './pair-form.ts'

/** Turns a text into the ids that an encoder reads. */
export interface EncoderTokenizer {
  readonly vocabSize: number
  /** Ids before and after each text, such as [CLS] and [SEP]. */
  readonly prefix: readonly number[]
  readonly suffix: readonly number[]
  /** How two texts are joined; undefined if the file does not say. */
  readonly pair: readonly PairPart[] | undefined
  /** The ids of a text without prefix and suffix. */
  encode(text: string): readonly number[]
}

/** Maximum length of a WordPiece word in characters, if the file does not say. */
const LONGEST_WORD = 100
/** Begins words in GGUF's vocabularies, where llama.cpp's converter has removed the `##` of other pieces. */
const PHANTOM_SPACE = '\u2581'
/** Normalisation before splitting into words: BERT's own rules, which strip case and accents. */
const UNCASED = { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true }
const CASED = { ...UNCASED, lowercase: false, strip_accents: false }

/** Settings of a GGUF file besides the vocabulary: the ids around each text, and SentencePiece's table. */
interface GgufExtras {
  readonly cls?: unknown
  readonly sep?: unknown
  readonly charsmap?: unknown
}

/**
 * Special tokens in a text are recognised, as in the encoders' reference implementations. Throws
 * `format` or `unsupported`.
 */
export function encoderTokenizer(
  spec: TokenizerSpec,
  { cls, sep, charsmap, rows }: GgufExtras & { readonly rows?: number } = {},
): EncoderTokenizer {
  if (spec.kind === 'json') {
    const { model } = spec.tokenizer
    const type = isObject(model) ? model['type'] : undefined
    if (type === 'WordPiece') return jsonWordPiece(checkedSpec(spec) as JsonTokenizerSpec)
    if (type === 'Unigram') return jsonUnigram(checkedSpec(spec) as JsonTokenizerSpec)
  } else if (spec.model === 'bert') return ggufWordPiece(checkedSpec(spec) as GgufTokenizerSpec, cls, sep)
  else if (spec.model === 't5')
    return ggufUnigram(checkedSpec(spec) as GgufTokenizerSpec, { cls, sep, charsmap })
  const tokenizer = createTokenizer(spec, { rows })
  const { vocabSize, prefix, suffix } = tokenizer
  return {
    vocabSize,
    prefix,
    suffix,
    pair:
      spec.kind === 'json'
        ? readPairForm(spec.tokenizer['post_processor'])
        : pairForm(prefix, spec.pre === 'roberta-bpe' ? [...suffix, ...suffix] : suffix, suffix),
    encode: (text) => tokenizer.encode(text, { parseSpecial: true }),
  }
}

function jsonWordPiece({ tokenizer: json }: JsonTokenizerSpec): EncoderTokenizer {
  const model = objectAt(json, 'model')
  const added = readAdded(json, objectAt(model, 'vocab'))
  const tokens = readTokens(model, added)
  const vocabulary = plainVocabulary(tokens)
  const {
    unk_token: unknown = '[UNK]',
    continuing_subword_prefix: inner = '##',
    max_input_chars_per_word: longestWord = LONGEST_WORD,
  } = model
  if (typeof inner !== 'string')
    throw malformed(`has ${shown(inner)} as its subword prefix instead of a string`)
  if (typeof longestWord !== 'number')
    throw malformed(`has a maximum word length of ${shown(longestWord)} characters`)
  const unknownId = typeof unknown === 'string' ? vocabulary.idOf(unknown) : undefined
  if (unknownId === undefined)
    throw malformed(`names ${shown(unknown)} as unknown, which is not among its tokens`)
  return wordsTokenizer(json, vocabulary, added, {
    normalize: normaliser(json['normalizer']),
    encodeWord: createWordPiece(vocabulary, { first: '', inner, unknownId, longestWord }),
  })
}

/** Reads a unigram model from SentencePiece, such as XLM-RoBERTa's: pieces with scores, by id. */
function jsonUnigram({ tokenizer: json }: JsonTokenizerSpec): EncoderTokenizer {
  const model = objectAt(json, 'model')
  const pieces = listAt(model, 'vocab').map((entry, id) => {
    const [piece, score] = Array.isArray(entry) ? entry : []
    if (typeof piece === 'string' && Number.isFinite(score)) return { piece, score: score as number }
    throw malformed(`has ${shown(entry)} as piece ${id} instead of a string with its score`)
  })
  const own = Object.fromEntries(pieces.map(({ piece }, id) => [piece, id]))
  const added = readAdded(json, own)
  const tokens = pieces.map(({ piece }): string | undefined => piece)
  for (const { id, text } of added) {
    while (tokens.length < id) tokens.push(undefined)
    tokens[id] ??= text
  }
  const vocabulary = plainVocabulary(tokens)
  const { unk_id: unknownId } = model
  if (!isId(unknownId) || unknownId >= pieces.length)
    throw malformed(`has ${shown(unknownId)} for unk_id; ids go to ${pieces.length - 1}`)
  return wordsTokenizer(json, vocabulary, added, {
    normalize: normaliser(json['normalizer']),
    encodeWord: createUnigram(vocabulary, {
      scores: pieces.map(({ score }) => score),
      unknownId,
      byteFallback: model['byte_fallback'] === true,
    }),
  })
}

/**
 * We implement SentencePiece's table and BERT's steps, because the library only approximates them; it
 * performs all other steps.
 */
function normaliser(json: unknown): (text: string) => string {
  if (!isObject(json)) return (text) => text
  if (json['type'] === 'Precompiled') return charactersMap(json['precompiled_charsmap'])
  if (json['type'] === 'BertNormalizer') return bertNormalizer(json)
  if (json['type'] !== 'Sequence') return libraryParts(json, null).normalize
  const steps = stepsAt(json, 'normalizers').map(normaliser)
  return (text) =>
    steps.reduce((done, step) => {
      const next = step(done)
      if (text !== '') checkGrowth(next.length / text.length)
      return next
    }, text)
}

/** How text is split into words; see `normaliser`. */
const cutter = (json: JsonObject | null): ReturnType<typeof libraryParts>['words'] =>
  json?.['type'] === 'BertPreTokenizer' ? bertWords : libraryParts(null, json).words

const plainVocabulary = (tokens: readonly (string | undefined)[]): Vocabulary =>
  new Vocabulary(tokens, new Uint8Array(tokens.length), { byteLevel: false, replacements: [] })

interface WordSteps {
  readonly normalize: (text: string) => string
  readonly encodeWord: (word: string, out: number[]) => void
}

/** Finds added tokens first, then splits the normalised rest into words. */
function wordsTokenizer(
  json: JsonObject,
  vocabulary: Vocabulary,
  added: readonly JsonAddedToken[],
  { normalize, encodeWord }: WordSteps,
): EncoderTokenizer {
  const preTokenizer = json['pre_tokenizer'] ?? null
  const words = cutter(isObject(preTokenizer) ? preTokenizer : null)
  const literal = new AddedTokens(added.filter(({ normalized }) => !normalized))
  const alike = new AddedTokens(
    added.filter(({ normalized }) => normalized).map((token) => ({ ...token, text: normalize(token.text) })),
  )
  return {
    vocabSize: vocabulary.size,
    ...readAffixes(json['post_processor']),
    pair: readPairForm(json['post_processor']),
    encode(text) {
      const ids: number[] = []
      for (const part of literal.split(text, true)) {
        for (const piece of typeof part === 'number' ? [part] : alike.split(normalize(part), true)) {
          if (typeof piece === 'number') ids.push(piece)
          else for (const word of words(piece, true)) encodeWord(word, ids)
        }
      }
      return ids
    },
  }
}

function ggufWordPiece(spec: GgufTokenizerSpec, cls: unknown, sep: unknown): EncoderTokenizer {
  const { tokens, types, addBos = true, addEos = true } = spec
  const vocabulary = plainVocabulary(tokens)
  const hasPhantom = tokens.some((token) => token.startsWith(PHANTOM_SPACE))
  const [first, inner] = hasPhantom ? [PHANTOM_SPACE, ''] : ['', '##']
  const idOf = (name: string, id: unknown): number => {
    const found = typeof id === 'number' && id >= 0 && id < tokens.length ? id : vocabulary.idOf(name)
    if (found === undefined) throw malformed(`does not say which of its ${tokens.length} tokens is ${name}`)
    return found
  }
  const unknownId = idOf('[UNK]', spec.unknownId)
  const encodeWord = createWordPiece(vocabulary, { first, inner, unknownId, longestWord: LONGEST_WORD })
  // No key says whether a vocabulary is cased, so its words are checked.
  const isCased = tokens.some((token, id) => types?.[id] !== 3 && /^\u2581?[A-Z][a-z]+$/.test(token))
  const normalize = bertNormalizer(isCased ? CASED : UNCASED)
  const special = tokens.flatMap((text, id) => (types?.[id] === 3 ? [{ id, text, special: true }] : []))
  const added = new AddedTokens(special)
  const prefix = addBos ? [idOf('[CLS]', cls ?? spec.bosId)] : []
  const suffix = addEos ? [idOf('[SEP]', sep ?? spec.eosId)] : []
  return {
    vocabSize: vocabulary.size,
    prefix,
    suffix,
    pair: pairForm(prefix, suffix, suffix, 1),
    encode(text) {
      const ids: number[] = []
      for (const piece of added.split(text, true)) {
        if (typeof piece === 'number') ids.push(piece)
        else for (const word of bertWords(normalize(piece))) encodeWord(word, ids)
      }
      return ids
    },
  }
}

/** GGUF token types that may occur in texts: normal, user-defined and unused. */
const PIECE_TYPES: readonly (number | undefined)[] = [undefined, 1, 4, 5]
const METASPACE = { type: 'Metaspace', replacement: PHANTOM_SPACE, prepend_scheme: 'always', split: true }

/**
 * llama.cpp calls SentencePiece's unigram models "t5". Texts cannot contain control tokens, so these are
 * omitted.
 */
function ggufUnigram(spec: GgufTokenizerSpec, { cls, sep, charsmap }: GgufExtras): EncoderTokenizer {
  const { tokens, types, scores = [], addBos = true, addEos = true } = spec
  if (scores.length !== tokens.length)
    throw malformed(`has ${scores.length} scores for ${tokens.length} tokens`)
  const idOf = (name: string, ...ids: readonly unknown[]): number => {
    const found = ids.find((id) => isId(id) && id < tokens.length)
    if (found !== undefined) return found as number
    throw malformed(`does not say which of its ${tokens.length} tokens is ${name}`)
  }
  const pieces = tokens.map((token, id) => (PIECE_TYPES.includes(types?.[id]) ? token : undefined))
  const unknownId = idOf('the unknown token', spec.unknownId, types?.indexOf(2))
  const encodeWord = createUnigram(plainVocabulary(pieces), { scores, unknownId, byteFallback: false })
  const replaced = charsmap === undefined ? (text: string) => text : charactersMap(charsmap)
  const { words } = libraryParts(null, METASPACE)
  const special = tokens.flatMap((text, id) =>
    [3, 4].includes(types?.[id] ?? 1) ? [{ id, text, special: true }] : [],
  )
  const added = new AddedTokens(special)
  const prefix = addBos ? [idOf('the first', spec.bosId, cls)] : []
  const suffix = addEos ? [idOf('the last', spec.eosId, sep)] : []
  const between = [...suffix, ...(isId(sep) ? [idOf('the separator', sep)] : [])]
  return {
    vocabSize: tokens.length,
    prefix,
    suffix,
    pair: pairForm(prefix, between, suffix),
    encode(text) {
      const ids: number[] = []
      for (const piece of added.split(text, true)) {
        if (typeof piece === 'number') ids.push(piece)
        else {
          const plain = replaced(piece).replaceAll(/ {2,}/g, ' ').replace(/^ | $/g, '')
          if (plain !== '') for (const word of words(plain, true)) encodeWord(word, ids)
        }
      }
      return ids
    },
  }
}

/** The ids of a text with prefix and suffix, truncated to `most` ids. */
export function encodeWhole(
  tokenizer: EncoderTokenizer,
  text: string,
  most: number,
): { readonly ids: readonly number[]; readonly isTruncated: boolean } {
  const { prefix, suffix } = tokenizer
  const own = tokenizer.encode(text)
  const room = Math.max(0, most - prefix.length - suffix.length)
  return { ids: [...prefix, ...own.slice(0, room), ...suffix], isTruncated: own.length > room }
}

/**
 * The 32-bit words of a pair, which hold each token's id and kind (abi.h), in the tokenizer's form. If both
 * texts and the tokens that join them exceed `most`, the longer text is truncated until they fit or are
 * equally long; after that, both are, as in Hugging Face's `longest_first`.
 */
export function encodePair(
  form: readonly PairPart[],
  first: readonly number[],
  second: readonly number[],
  most: number,
): { readonly words: readonly number[]; readonly isTruncated: boolean } {
  const joining = form.reduce((sum, part) => sum + ('ids' in part ? part.ids.length : 0), 0)
  const kept = fittingPair(first.length, second.length, Math.max(0, most - joining))
  const words = form.flatMap((part) => {
    const ids =
      'ids' in part ? part.ids : part.text === 'first' ? first.slice(0, kept[0]) : second.slice(0, kept[1])
    return ids.map((id) => id + part.kind * 2 ** ABI.ID_BITS)
  })
  return { words, isTruncated: kept[0] < first.length || kept[1] < second.length }
}

/** Truncates two lengths so that they fit into `room`. */
function fittingPair(first: number, second: number, room: number): readonly [number, number] {
  if (first + second <= room) return [first, second]
  const shorter = Math.min(first, second)
  const half = Math.floor(room / 2)
  const [small, large] = shorter <= room - shorter ? [shorter, room - shorter] : [half, room - half]
  return first <= second ? [small, large] : [large, small]
}
