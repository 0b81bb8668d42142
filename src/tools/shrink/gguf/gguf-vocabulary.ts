// A model's tokenizer in GGUF's form. GGUF names a pre-tokenizer instead of spelling it out. So each known
// name is tried on texts in every script, and the closest one whose ids all agree is used.

import { HalfbyteError } from '../../../core/base/errors.ts'
import type { JsonObject } from '../../../core/base/values.ts'
import type { MetaObject } from '../../../core/formats/json-files.ts'
import type { GgufTokenizerSpec, JsonTokenizerSpec, TokenizerSpec } from '../../../core/text/spec.ts'
import { cut, preTokenizer, preTokenizerNames } from '../../../core/text/tokenize/pre-tokenizers.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import { listAt, objectAt, readAdded, readDecoding } from '../../../core/text/tokenize/read/json-parts.ts'
import { wordCutter } from '../../../core/text/tokenize/read/json-tokenizer.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { namedByte } from '../../../core/text/tokenize/vocabulary.ts'
import { pairOf } from '../vocabulary/merges.ts'
import { SAMPLES, WRITTEN } from '../vocabulary/samples.ts'
import { tokensOf } from '../vocabulary/trim-spec.ts'

/** GGUF's token types. */
const TYPE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

interface OwnTokenizer {
  readonly spec: TokenizerSpec
  /** Made from `spec`. */
  readonly tokenizer: Tokenizer
  readonly generation?: MetaObject | undefined
  /** Number of rows in the model's table. */
  readonly rows: number
}

/** Throws `unsupported` for a tokenizer whose ids GGUF cannot reproduce, `format` for a damaged one. */
export function ggufVocabulary(model: string, own: OwnTokenizer): GgufTokenizerSpec {
  const { spec, tokenizer, rows } = own
  const candidates = spec.kind === 'gguf' ? [spec] : candidatesOf(spec, own)
  let most = 0
  for (const candidate of candidates) {
    const padded = withRows(candidate, rows)
    const other = createTokenizer(padded)
    const same = SAMPLES.filter((text) => hasSameIds(text, tokenizer, other)).length
    if (same === SAMPLES.length) return padded
    most = Math.max(most, same)
  }
  throw new HalfbyteError(
    'unsupported',
    `${model}: with the best of GGUF's pre-tokenizers, only ${most} of ${SAMPLES.length} texts get the same tokens; write a .hbm`,
    { same: most, texts: SAMPLES.length },
  )
}

function hasSameIds(text: string, own: Tokenizer, other: Tokenizer): boolean {
  const [a, b] = [own, other].map((each) => each.encode(text, { addSpecial: true }).join())
  return a === b
}

/** A table often has more rows than the vocabulary has tokens. Added tokens may have ids beyond the rows. */
function withRows(spec: GgufTokenizerSpec, rows: number): GgufTokenizerSpec {
  const { tokens, scores, types } = spec
  const ids = Array.from({ length: rows }, (_, id) => id)
  return {
    ...spec,
    tokens: ids.map((id) => tokens[id] ?? `[PAD${id}]`),
    scores: scores && ids.map((id) => scores[id] ?? -rows),
    types: types && ids.map((id) => (id < tokens.length ? (types[id] ?? TYPE.normal) : TYPE.unused)),
  }
}

function candidatesOf(spec: JsonTokenizerSpec, own: OwnTokenizer): GgufTokenizerSpec[] {
  const { tokenizer: json } = spec
  const model = objectAt(json, 'model')
  const isByteLevel = readDecoding(json['decoder']).byteLevel
  const plain = plainSpec(spec, own, isByteLevel)
  if (!isByteLevel) {
    const scores = scoresOf(plain.tokens, listAt(model, 'merges'))
    return [own.tokenizer.addsSpacePrefix, !own.tokenizer.addsSpacePrefix].map((addSpacePrefix) => ({
      ...plain,
      model: 'llama',
      scores,
      addSpacePrefix,
    }))
  }
  const merges = listAt(model, 'merges').map((merge) => (pairOf(merge) ?? []).join(' '))
  const nearest = byLikeness(json, model['ignore_merges'] === true)
  return nearest.map((pre) => ({ ...plain, model: 'gpt2', pre, merges, addSpacePrefix: false }))
}

/**
 * GGUF's names, sorted by how many texts they split like the tokenizer. Ordinary texts decide, because names
 * and files differ on rare characters, such as digits of other scripts.
 */
function byLikeness(json: JsonObject, ignores: boolean): string[] {
  const wordsOf = wordCutter(json)
  const words = new Map(SAMPLES.map((text) => [text, wordsOf(text).filter(Boolean).join('\0')]))
  const counted = preTokenizerNames().flatMap((pre) => {
    const { patterns, ignoreMerges = false } = preTokenizer(pre)
    const alike = (texts: readonly string[]) =>
      texts.filter((text) => cut(text, patterns).join('\0') === words.get(text)).length
    return ignoreMerges === ignores ? [{ pre, written: alike(WRITTEN), all: alike(SAMPLES) }] : []
  })
  return counted.sort((a, b) => b.written - a.written || b.all - a.all).map(({ pre }) => pre)
}

function plainSpec(
  spec: JsonTokenizerSpec,
  { tokenizer, generation, rows }: OwnTokenizer,
  isByteLevel: boolean,
): Omit<GgufTokenizerSpec, 'model'> {
  const tokens = tokensOf(spec).slice(0, rows)
  const model = objectAt(spec.tokenizer, 'model')
  const unknown = model['unk_token']
  const unknownId = typeof unknown === 'string' ? tokens.indexOf(unknown) : -1
  const types = tokens.map((token, id): number => {
    if (token === undefined) return TYPE.unused
    if (id === unknownId && !isByteLevel) return TYPE.unknown
    return !isByteLevel && namedByte(token) !== undefined ? TYPE.byte : TYPE.normal
  })
  for (const { id, special } of readAdded(spec.tokenizer, objectAt(model, 'vocab')))
    if (id < types.length && types[id] !== TYPE.unknown) types[id] = special ? TYPE.control : TYPE.userDefined
  const ends = [generation?.['eos_token_id'] ?? []].flat().filter((id) => typeof id === 'number')
  return {
    kind: 'gguf',
    tokens: tokens.map((token, id) => token ?? `[PAD${id}]`),
    types,
    bosId: tokenizer.bosId ?? tokenizer.prefix[0],
    eosId: tokenizer.eosId ?? tokenizer.suffix[0],
    eotId: ends.find((id) => id !== tokenizer.eosId && id < tokens.length),
    unknownId: unknownId < 0 ? undefined : unknownId,
    addBos: tokenizer.prefix.length > 0,
    addEos: tokenizer.suffix.length > 0,
    chatTemplate: tokenizer.chatTemplate,
    toolTemplate: tokenizer.toolTemplate,
    documentTemplate: tokenizer.documentTemplate,
  }
}

/**
 * SentencePiece merges the pair whose result has the highest score, and a tokenizer.json lists merges in
 * that order. Pieces that no merge produces come last.
 */
function scoresOf(tokens: readonly string[], merges: readonly unknown[]): number[] {
  const ranks = new Map<string, number>()
  for (const merge of merges) {
    const made = (pairOf(merge) ?? []).join('')
    if (!ranks.has(made)) ranks.set(made, ranks.size)
  }
  return tokens.map((token) => -(ranks.get(token) ?? ranks.size))
}
