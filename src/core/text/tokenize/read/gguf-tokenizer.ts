// Makes a Tokenizer from the vocabulary of a GGUF file, with the same ids as llama.cpp.
import { isCount } from '../../../base/values.ts'
import { type GgufTokenizerSpec, malformed, shown, unsupported } from '../../spec.ts'
import { createBpe } from '../bpe.ts'
import { MARK } from '../byte-level.ts'
import { cut, type PreTokenizer, preTokenizer } from '../pre-tokenizers.ts'
import { unquote } from '../quote.ts'
import { createSpm } from '../spm.ts'
import type { AddedToken } from '../token-search.ts'
import {
  AddedTokens,
  type Section,
  type Tokenizer,
  type TokenizerOptions,
  tokenizerOf,
} from '../tokenizer.ts'
import { endTokens, KIND, namedByte, Vocabulary } from '../vocabulary.ts'

/** Kind by GGUF token type. Text may still contain an unused token. */
const KINDS: readonly (number | undefined)[] = [
  KIND.normal,
  KIND.normal,
  KIND.special,
  KIND.special,
  KIND.literal,
  KIND.normal,
  KIND.byte,
]

/** The ids that llama.cpp uses if a SentencePiece vocabulary does not name them. */
const SPM_IDS = { unknownId: 0, bosId: 1, eosId: 2 } as const

/**
 * Models in which most control tokens also strip the white space after them. No metadata key says so;
 * llama.cpp recognises these models by name.
 */
const STRIPPING = /phi-?3/i
const KEEPING_SPACE: readonly string[] = ['<unk>', '<s>', '<|endoftext|>']

/** Gemma 4 splits text only at line ends. */
const LINES: PreTokenizer = { patterns: [/[^\n]+|\n+/gu], addBos: true }

type EncodeText = (text: string, section: Section, out: number[]) => void

/**
 * Throws `format` if a vocabulary contradicts itself, `unsupported` for an unknown model or pre-tokeniser.
 */
export function ggufTokenizer(spec: GgufTokenizerSpec, options: TokenizerOptions = {}): Tokenizer {
  const isSpm = spec.model === 'llama'
  // A vocabulary like SentencePiece's, with BPE merges.
  const isGemma = spec.model === 'gemma4'
  const isMarked = isSpm || isGemma
  if (!isMarked && spec.model !== 'gpt2') {
    throw unsupported(
      `has the type ${shown(spec.model)}; only gpt2, llama and gemma4 are supported`,
      'use a model with a byte-level BPE or SentencePiece vocabulary',
      { model: spec.model },
    )
  }
  checkLengths(spec)
  const pre = isSpm ? undefined : isGemma ? LINES : preTokenizer(spec.pre)
  const tokens = spec.tokens.map((token, id) => token || `[EMPTY_${id}]`)
  const inRange = (id: number | undefined, name: string) => checkId(id, name, tokens.length)
  const defaults = isSpm && tokens.length > 2 ? SPM_IDS : undefined
  const bosId = inRange(spec.bosId, 'BOS') ?? defaults?.bosId
  const eosId = inRange(spec.eosId, 'EOS') ?? defaults?.eosId
  const unknownId = inRange(spec.unknownId, 'unknown token') ?? defaults?.unknownId
  const kinds = readKinds(spec, tokens, isMarked)
  const vocabulary = new Vocabulary(tokens, kinds, {
    byteLevel: !isMarked,
    replacements: isMarked ? [[MARK, ' ']] : [],
  })
  const endIds = endTokens(
    (text) => vocabulary.idOf(text),
    (id) => kinds[id] === KIND.special,
  )
  const named = [
    eosId,
    inRange(spec.eotId, 'end of turn'),
    inRange(spec.eomId, 'end of message'),
    ...(options.endIds ?? []),
  ]
  for (const id of named) if (id !== undefined) endIds.add(id)
  for (const id of endIds) kinds[id] = KIND.special
  const addsSpacePrefix = spec.addSpacePrefix ?? isSpm
  const addBos = spec.addBos ?? (isSpm || (pre?.addBos ?? false))
  return tokenizerOf({
    vocabulary,
    added: new AddedTokens(addedTokens(tokens, kinds, spec.name ?? '')),
    encodeText: pre
      ? byBpe(vocabulary, spec, pre, isGemma)
      : bySpm(vocabulary, spec.scores ?? [], unknownId, addsSpacePrefix),
    prefix: addBos ? [required(bosId, 'BOS')] : [],
    suffix: spec.addEos ? [required(eosId, 'EOS')] : [],
    bosId,
    eosId,
    endIds,
    addsSpacePrefix,
    chatTemplate: spec.chatTemplate,
    toolTemplate: spec.toolTemplate,
    documentTemplate: spec.documentTemplate,
  })
}

function byBpe(
  vocabulary: Vocabulary,
  spec: GgufTokenizerSpec,
  pre: PreTokenizer,
  isMarked: boolean,
): EncodeText {
  const bpe = createBpe(vocabulary, spec.merges ?? [], {
    byteLevel: !isMarked,
    byteFallback: isMarked,
    ignoreMerges: pre.ignoreMerges,
  })
  return (text, { parseSpecial }, out) => {
    const plain = parseSpecial ? unquote(text) : text
    for (const word of cut(isMarked ? plain.replaceAll(' ', MARK) : plain, pre.patterns)) {
      // GGUF's list of merges cannot express merges of line ends.
      const id = isMarked && word.startsWith('\n') ? vocabulary.idOf(word) : undefined
      if (id === undefined) bpe.encode(word, out)
      else out.push(id)
    }
  }
}

function bySpm(
  vocabulary: Vocabulary,
  scores: readonly number[],
  unknownId: number | undefined,
  addsSpacePrefix: boolean,
): EncodeText {
  const encode = createSpm(vocabulary, scores, unknownId)
  return (text, { followsToken, parseSpecial }, out) => {
    const marked = (parseSpecial ? unquote(text) : text).replaceAll(' ', MARK)
    encode(addsSpacePrefix && followsToken ? MARK + marked : marked, out)
  }
}

function checkLengths({ model, tokens, scores, types, merges }: GgufTokenizerSpec): void {
  const count = tokens.length
  if (types !== undefined && types.length !== count) {
    throw malformed(`has ${types.length} token types for ${count} tokens`)
  }
  if (model === 'llama' && scores?.length !== count) {
    throw malformed(`has ${scores?.length ?? 'no'} scores for ${count} tokens, which SentencePiece needs`)
  }
  if (model !== 'llama' && merges === undefined) {
    throw malformed(`has no merges for its ${count} tokens, which BPE needs`)
  }
  const bad = scores?.findIndex((score) => Number.isNaN(score)) ?? -1
  if (bad >= 0) throw malformed(`has score ${bad}, which is not a number`)
}

function readKinds({ types }: GgufTokenizerSpec, tokens: readonly string[], isMarked: boolean): Uint8Array {
  return new Uint8Array(tokens.length).map((_, id) => {
    const type = types?.[id]
    if (type === undefined) return isMarked && namedByte(tokens[id]!) !== undefined ? KIND.byte : KIND.normal
    const kind = KINDS[type]
    if (kind === undefined)
      throw malformed(`has the type ${type} for token ${id}; types are 0 to ${KINDS.length - 1}`)
    return kind
  })
}

function addedTokens(tokens: readonly string[], kinds: Uint8Array, name: string): AddedToken[] {
  const strips = STRIPPING.test(name)
  const added: AddedToken[] = []
  kinds.forEach((kind, id) => {
    const special = kind === KIND.special
    const text = tokens[id]!
    const stripsRight = strips && !KEEPING_SPACE.includes(text) && ('ascii' as const)
    if (special || kind === KIND.literal) added.push({ id, text, special, stripsRight })
  })
  return added
}

function checkId(id: number | undefined, name: string, count: number): number | undefined {
  if (id === undefined || (isCount(id) && id < count)) return id
  throw malformed(`has the id ${id} for ${name} and ${count} tokens`)
}

function required(id: number | undefined, name: string): number {
  if (id === undefined) throw malformed(`adds ${name} to every text but does not say which token that is`)
  return id
}
