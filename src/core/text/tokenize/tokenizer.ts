// The Tokenizer: splits a text at special tokens, encodes the rest, and turns ids back into text.

import { type DetokenizeOptions, Detokenizer } from '../detokenizer.ts'
import { shown, unsupported } from '../spec.ts'
import { QUOTING, quoter } from './quote.ts'
import { type AddedToken, TokenSearch } from './token-search.ts'
import { KIND, type Vocabulary } from './vocabulary.ts'

const SPACE = /\p{White_Space}+/uy
const WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const ASCII_SPACE = /[\t-\r ]+/y

export class AddedTokens {
  readonly tokens: readonly AddedToken[]
  readonly #literal: TokenSearch
  readonly #all: TokenSearch

  /** Throws `format` if the tokens together are too long. */
  constructor(tokens: readonly AddedToken[]) {
    this.tokens = tokens.filter(({ text }) => !QUOTING.test(text))
    this.#all = new TokenSearch(this.tokens)
    const literal = this.tokens.filter(({ special }) => !special)
    this.#literal = literal.length < this.tokens.length ? new TokenSearch(literal) : this.#all
  }

  /** Returns texts and ids in order. The longest token at a position wins. No text is empty. */
  split(text: string, withSpecial: boolean): (string | number)[] {
    const found = (withSpecial ? this.#all : this.#literal).find(text)
    const pieces: (string | number)[] = []
    let from = 0
    let searched = 0
    for (let next = found.pop(); next !== undefined; next = found.pop()) {
      const { at, token } = next
      // This match lies within the previous one, or within white space that it stripped.
      if (at < from || at < searched) continue
      searched = at + token.text.length
      if (token.isWord && touchesWord(text, at, searched)) continue
      const before = text.slice(from, at)
      const kept = token.stripsLeft ? before.trimEnd() : before
      if (kept !== '') pieces.push(kept)
      pieces.push(token.id)
      from = searched
      if (token.stripsRight) from = skipSpace(text, from, token.stripsRight === 'ascii' ? ASCII_SPACE : SPACE)
    }
    if (from < text.length) pieces.push(text.slice(from))
    return pieces
  }
}

function skipSpace(text: string, at: number, space: RegExp): number {
  space.lastIndex = at
  return space.test(text) ? space.lastIndex : at
}

function touchesWord(text: string, from: number, to: number): boolean {
  const before = text.slice(Math.max(0, from - 2), from)
  return WORD.test([...before].at(-1) ?? '') || WORD.test(String.fromCodePoint(text.codePointAt(to) ?? 0x20))
}

export interface EncodeOptions {
  /** Adds the tokens that the model expects around a text: usually one BOS at the start. Default false. */
  readonly addSpecial?: boolean
  /**
   * Parses `<|im_start|>` and similar texts as tokens. Default false: users' text must not control the model.
   */
  readonly parseSpecial?: boolean
  /** True when the text continues other text, so no space is added before it. Default false. */
  readonly continues?: boolean
  /** The id before a continued text. A space is added after a special token, as within one text. */
  readonly after?: number | undefined
}

export interface TokenizerOptions {
  /** Further ids that end an answer, such as the `eos_token_id` list of generation_config.json. */
  readonly endIds?: readonly number[]
  /**
   * Number of tokens that the model has rows for. Added tokens of a tokenizer.json may lie beyond them, such
   * as Gemma 3's token for images. Encoding a text that contains one fails.
   */
  readonly rows?: number | undefined
}

/** Converts text to ids and back, for one model. Has no state that callers can observe. */
export interface Tokenizer {
  /** The largest id plus 1. A model may have more logits; the ids beyond produce no text. */
  readonly vocabSize: number
  /** UTF-16 units of the longest token in the vocabulary's spelling. No token's text is longer. */
  readonly longestToken: number
  readonly bosId: number | undefined
  readonly eosId: number | undefined
  /** Every id that ends an answer: EOS, the end of a turn and similar tokens. */
  readonly endIds: ReadonlySet<number>
  /** The ids that `addSpecial` adds before a text that does not begin with them, and after it. */
  readonly prefix: readonly number[]
  readonly suffix: readonly number[]
  /** True if a prompt begins with BOS. */
  readonly addsBos: boolean
  /** True if encoding adds a space before a text. Decoding removes it. */
  readonly addsSpacePrefix: boolean
  /** The model's own Jinja template; see chat.ts. */
  readonly chatTemplate: string | undefined
  /** The template for conversations with tools, if the model has a separate one. */
  readonly toolTemplate?: string | undefined
  /** The template for conversations with documents, if the model has a separate one. */
  readonly documentTemplate?: string | undefined
  encode(text: string, options?: EncodeOptions): number[]
  /** Quotes a text: `encode` then reads its special tokens as plain characters, even with `parseSpecial`. */
  quote(text: string): string
  /** Like `quote`, but also quotes tokens that text may normally contain, if they spell a marker. */
  quoter(isMarker: (spelling: string) => boolean): (text: string) => string
  /** Decodes ids from the start of a text. Special tokens are omitted unless `options.special` is true. */
  decode(ids: Iterable<number>, options?: DetokenizeOptions): string
  /** The id of the token with a spelling, e.g. `<|im_end|>`; undefined if there is none. */
  idOf(token: string): number | undefined
  /** The text of one token. Part of a character becomes U+FFFD; to stream ids, use a Detokenizer. */
  tokenText(id: number): string
  /** The UTF-8 bytes of a token, special or not; empty for an id without a token. */
  tokenBytes(id: number): Uint8Array
  /** True for tokens that control the model and are not written as text. */
  isSpecial(id: number): boolean
  isEnd(id: number): boolean
}

/** The position of a text to encode among special tokens. */
export interface Section {
  /** True if only special tokens precede the text. */
  readonly isFirst: boolean
  /** True at the beginning and after a special token. */
  readonly followsToken: boolean
  readonly parseSpecial: boolean
}

export interface TokenizerParts {
  readonly vocabulary: Vocabulary
  readonly added: AddedTokens
  /** Additional tokens, which `encodeText` finds in normalised text. */
  readonly normalized?: { readonly added: AddedTokens; readonly normalize: (text: string) => string }
  /**
   * Adds the ids of text without added tokens to `out`. With `parseSpecial`, the text is quoted: see
   * quote.ts.
   */
  readonly encodeText: (text: string, section: Section, out: number[]) => void
  /** The ids that `addSpecial` adds before and after a text. */
  readonly prefix: readonly number[]
  readonly suffix: readonly number[]
  readonly bosId: number | undefined
  readonly eosId: number | undefined
  readonly endIds: ReadonlySet<number>
  readonly addsSpacePrefix: boolean
  readonly chatTemplate: string | undefined
  readonly toolTemplate?: string | undefined
  readonly documentTemplate?: string | undefined
  /** Ids from here on exist only in the vocabulary. Default: none. */
  readonly rows?: number
}

export function tokenizerOf(parts: TokenizerParts): Tokenizer {
  const { vocabulary, added, normalized, encodeText, rows = vocabulary.size, ...facts } = parts
  const { prefix, suffix, bosId, endIds } = facts
  const quoterOf = (isMarker: (spelling: string) => boolean) => {
    const controls = (tokens: readonly AddedToken[]) =>
      tokens.filter(({ id, special }) => special || isMarker(vocabulary.tokens[id] ?? ''))
    const { added: alike, normalize } = normalized ?? {}
    return quoter([{ tokens: controls(added.tokens) }, { tokens: controls(alike?.tokens ?? []), normalize }])
  }
  const tokenizer: Tokenizer = {
    ...facts,
    vocabSize: Math.min(vocabulary.size, rows),
    longestToken: vocabulary.longest,
    addsBos: bosId !== undefined && prefix.includes(bosId),
    encode(text, { addSpecial = false, parseSpecial = false, continues = false, after } = {}) {
      const ids: number[] = []
      let isFirst = !continues
      let followsToken = !continues || (after !== undefined && tokenizer.isSpecial(after))
      for (const piece of added.split(text, parseSpecial)) {
        if (typeof piece === 'number') ids.push(piece)
        else encodeText(piece, { isFirst, followsToken, parseSpecial }, ids)
        followsToken = typeof piece === 'number'
        isFirst &&= followsToken
      }
      if (rows < vocabulary.size) checkRows(vocabulary, ids, rows)
      if (!addSpecial) return ids
      return [...withPrefix(prefix, ids), ...suffix]
    },
    quote: quoterOf(() => false),
    quoter: quoterOf,
    decode(ids, options) {
      const detokenizer = new Detokenizer(tokenizer, { atStart: true, ...options })
      let text = ''
      for (const id of ids) text += detokenizer.push(id)
      return text + detokenizer.flush()
    },
    idOf: (token) => {
      const id = vocabulary.idOf(token)
      return id !== undefined && id < rows ? id : undefined
    },
    tokenText: (id) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(vocabulary.bytes(id)),
    tokenBytes: (id) => vocabulary.bytes(id),
    isSpecial: (id) => vocabulary.kind(id) === KIND.special,
    isEnd: (id) => endIds.has(id),
  }
  return tokenizer
}

/** A rendered template often contains BOS already. A second one makes the answer worse. */
export const withPrefix = (prefix: readonly number[], ids: readonly number[]): number[] =>
  prefix.length > 0 && prefix.every((id, at) => ids[at] === id) ? [...ids] : [...prefix, ...ids]

function checkRows(vocabulary: Vocabulary, ids: readonly number[], rows: number): void {
  const id = ids.find((each) => each >= rows)
  if (id === undefined) return
  throw unsupported(
    `maps ${shown(vocabulary.tokens[id])} to token ${id}, but the model only has the first ${rows}`,
    'remove it from the text',
    { id, rows },
  )
}
