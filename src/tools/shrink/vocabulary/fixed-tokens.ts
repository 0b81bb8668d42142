// The tokens that a trimmed vocabulary always keeps. In: a specification and its tokenizer. Out: the ids of
// bytes, special tokens, and the chat template's tokens.

import { isHalfbyteError } from '../../../core/base/errors.ts'
import { isObject } from '../../../core/base/values.ts'
import type { TokenizerSpec } from '../../../core/text/spec.ts'
import { BYTE_CHARS } from '../../../core/text/tokenize/byte-level.ts'
import { readDecoding } from '../../../core/text/tokenize/read/json-parts.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { byteName, namedByte } from '../../../core/text/tokenize/vocabulary.ts'
import type { Message, Tool } from '../../../engine/api/types.ts'
import { modelText } from '../../../engine/load/model-text.ts'
import { idsOf, type Tokens } from './merges.ts'

/** Reserved tokens that never occur in training text. */
const PLACEHOLDER =
  /^(?:<unused_?\d+>|\[unused_?\d+\]|<\|?reserved_(?:special_)?(?:token_)?\d+\|?>|\[PAD\d+\]|\[EMPTY_\d+\])$/i
export const isPlaceholder = (token: string): boolean => PLACEHOLDER.test(token)
/** GGUF token types for tokens that are merged from others, or unused. */
const TEXT_TYPES: readonly number[] = [0, 1, 5]

/** `tokens`: those of `spec`, by id. */
export function fixedTokens(spec: TokenizerSpec, tokens: Tokens, tokenizer: Tokenizer): ReadonlySet<number> {
  const { bosId, eosId, endIds, prefix, suffix } = tokenizer
  const ids = new Set([...endIds, ...prefix, ...suffix, ...templateIds(tokenizer)])
  for (const id of [bosId, eosId, ...unknownIds(spec, tokens)]) if (id !== undefined) ids.add(id)
  const isAdded = addedIds(spec)
  const keepsCharacters = !writesAllBytes(spec, tokens)
  const byteLevel = isByteLevel(spec)
  for (const [id, token] of tokens.entries()) {
    if (token === undefined) continue
    const isMark = (isAdded.has(id) || tokenizer.isSpecial(id)) && !isPlaceholder(token)
    const isByte = namedByte(token) !== undefined || (byteLevel && BYTE_CHARS.includes(token))
    if (isMark || isByte || (keepsCharacters && [...token].length === 1)) ids.add(id)
  }
  return ids
}

const isByteLevel = (spec: TokenizerSpec): boolean =>
  spec.kind === 'gguf' ? spec.model === 'gpt2' : readDecoding(spec.tokenizer['decoder']).byteLevel

/** Without tokens for all bytes, characters without a token cannot be spelled. */
function writesAllBytes(spec: TokenizerSpec, tokens: Tokens): boolean {
  const nameOf = isByteLevel(spec) ? (byte: number) => BYTE_CHARS[byte] ?? '' : byteName
  const ids = idsOf(tokens)
  return Array.from({ length: 256 }, (_, byte) => nameOf(byte)).every((name) => ids.has(name))
}

/** Tokens that are matched before text is split. */
function addedIds(spec: TokenizerSpec): ReadonlySet<number> {
  if (spec.kind === 'gguf') {
    const { types = [] } = spec
    return new Set(types.flatMap((type, id) => (TEXT_TYPES.includes(type) ? [] : [id])))
  }
  const { added_tokens: added, model } = spec.tokenizer
  const vocab = isObject(model) && isObject(model['vocab']) ? model['vocab'] : {}
  const list = Array.isArray(added) ? added.filter(isObject) : []
  return new Set(list.map(({ content, id }) => Number(vocab[String(content)] ?? id)))
}

function unknownIds(spec: TokenizerSpec, tokens: Tokens): readonly (number | undefined)[] {
  if (spec.kind === 'gguf') {
    // A SentencePiece vocabulary's default ids.
    return spec.model === 'llama' ? [spec.unknownId ?? 0, spec.bosId ?? 1, spec.eosId ?? 2] : [spec.unknownId]
  }
  const { model } = spec.tokenizer
  const unknown = isObject(model) ? model['unk_token'] : undefined
  return typeof unknown === 'string' ? [idsOf(tokens).get(unknown)] : []
}

const QUESTION: Message = { role: 'user', content: 'a' }
const TURNS: readonly Message[] = [QUESTION, { role: 'assistant', content: 'a' }, QUESTION]
const TOOLS: readonly Tool[] = [
  {
    name: 'a',
    description: 'a',
    parameters: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  },
]
/** A template's strings, and the text between its blocks. */
const STRINGS = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs
const BLOCKS = /\{[{%#].*?[}%#]\}/gs
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
])

/** Tokens of conversations rendered with the template, and of every string in it. */
function templateIds(tokenizer: Tokenizer): readonly number[] {
  const { renderPrompt } = modelText(tokenizer)
  const asked: [readonly Message[], readonly Tool[] | undefined][] = [
    [TURNS, undefined],
    [[{ role: 'system', content: 'a' }, ...TURNS], undefined],
    [TURNS, TOOLS],
  ]
  // A template may lack a system role or tools, and may write tokens without rows in the model.
  const texts = asked.flatMap(([messages, tools]) =>
    unlessRefused(() => [renderPrompt(messages, tools === undefined ? {} : { tools })]),
  )
  const { chatTemplate = '', toolTemplate = '', documentTemplate = '' } = tokenizer
  for (const source of [chatTemplate, toolTemplate, documentTemplate]) {
    texts.push(...source.split(BLOCKS))
    for (const [text] of source.matchAll(STRINGS))
      texts.push(text.slice(1, -1).replace(/\\(.)/gs, (_, letter: string) => ESCAPES.get(letter) ?? letter))
  }
  return texts.flatMap((text) => unlessRefused(() => tokenizer.encode(text, { parseSpecial: true })))
}

function unlessRefused<Item>(make: () => Item[]): Item[] {
  try {
    return make()
  } catch (error) {
    if (isHalfbyteError(error)) return []
    throw error
  }
}
