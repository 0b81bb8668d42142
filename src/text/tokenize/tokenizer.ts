// Tokenizer. In: text or ids. Out: the other. What it does with text between special tokens is given to it.

import { quoter } from '../chat/quote.ts'
import { type DetokenizeOptions, Detokenizer } from '../detokenizer.ts'
import type { AddedTokens } from './added-tokens.ts'
import type { AddedToken } from './token-search.ts'
import { KIND, type Vocabulary } from './vocabulary.ts'

export interface EncodeOptions {
  /** Adds what the model wants around a text: most often BOS in front, once. Default false. */
  readonly addSpecial?: boolean
  /** Reads `<|im_start|>` and its like as tokens. Default false: text of users must not control the model. */
  readonly parseSpecial?: boolean
  /** True when the text goes on from other text: no space is put in front of it. Default false. */
  readonly continues?: boolean
}

/** Text to ids and back, for one model. Holds no state that a caller could see. */
export interface Tokenizer {
  /** One more than the largest id. A model's logits may be longer: the ids beyond write nothing. */
  readonly vocabSize: number
  /** UTF-16 units of the longest token as the vocabulary spells it, which no token's text exceeds. */
  readonly longestToken: number
  readonly bosId: number | undefined
  readonly eosId: number | undefined
  /** Every id after which the model has nothing more to say: EOS, the end of a turn and their like. */
  readonly endIds: ReadonlySet<number>
  /** True when a prompt begins with BOS. */
  readonly addsBos: boolean
  /** True when encoding puts a space in front of a text, which decoding takes away again. */
  readonly addsSpacePrefix: boolean
  /** The template that comes with the model, in Jinja; see chat.ts. */
  readonly chatTemplate: string | undefined
  encode(text: string, options?: EncodeOptions): number[]
  /** The same text, whose special tokens `encode` takes for mere characters even with `parseSpecial`. */
  quote(text: string): string
  /** `quote` that breaks further tokens: those that text may contain and whose spelling is a marker. */
  quoter(isMarker: (spelling: string) => boolean): (text: string) => string
  /** The text of ids that begin a text; special tokens write nothing unless `options.special`. */
  decode(ids: Iterable<number>, options?: DetokenizeOptions): string
  /** The id of a token by its spelling, e.g. `<|im_end|>`; undefined when there is none. */
  idOf(token: string): number | undefined
  /** What a token writes. Half a character reads as U+FFFD here: stream ids through a Detokenizer. */
  tokenText(id: number): string
  /** The UTF-8 bytes a token writes, also of special ones; empty for an id without a token. */
  tokenBytes(id: number): Uint8Array
  /** True for tokens that control the model and are not written. */
  isSpecial(id: number): boolean
  isEnd(id: number): boolean
}

/** Where a text to encode stands. */
export interface Section {
  /** True when nothing but tokens stands before it. */
  readonly isFirst: boolean
  /** True at the beginning and behind a token. */
  readonly followsToken: boolean
  readonly parseSpecial: boolean
}

export interface TokenizerParts {
  readonly vocabulary: Vocabulary
  readonly added: AddedTokens
  /** Further ones, which `encodeText` finds in what `normalize` gives. */
  readonly normalized?: { readonly added: AddedTokens; readonly normalize: (text: string) => string }
  /** Adds the ids of text without added tokens to `out`. With `parseSpecial` the text is quoted: see quote.ts. */
  readonly encodeText: (text: string, section: Section, out: number[]) => void
  /** What `addSpecial` puts in front and behind. */
  readonly prefix: readonly number[]
  readonly suffix: readonly number[]
  readonly bosId: number | undefined
  readonly eosId: number | undefined
  readonly endIds: ReadonlySet<number>
  readonly addsSpacePrefix: boolean
  readonly chatTemplate: string | undefined
}

export function tokenizerOf(parts: TokenizerParts): Tokenizer {
  const { vocabulary, added, normalized, encodeText, prefix, suffix, ...facts } = parts
  const { bosId, endIds } = facts
  const quoterOf = (isMarker: (spelling: string) => boolean) => {
    const controls = (tokens: readonly AddedToken[]) =>
      tokens.filter(({ id, special }) => special || isMarker(vocabulary.tokens[id] ?? ''))
    const { added: alike, normalize } = normalized ?? {}
    return quoter([{ tokens: controls(added.tokens) }, { tokens: controls(alike?.tokens ?? []), normalize }])
  }
  const tokenizer: Tokenizer = {
    ...facts,
    vocabSize: vocabulary.size,
    longestToken: vocabulary.longest,
    addsBos: bosId !== undefined && prefix.includes(bosId),
    encode(text, { addSpecial = false, parseSpecial = false, continues = false } = {}) {
      const ids: number[] = []
      let isFirst = !continues
      let followsToken = !continues
      for (const piece of added.split(text, parseSpecial)) {
        if (typeof piece === 'number') ids.push(piece)
        else encodeText(piece, { isFirst, followsToken, parseSpecial }, ids)
        followsToken = typeof piece === 'number'
        isFirst &&= followsToken
      }
      if (!addSpecial) return ids
      // A rendered template often has its BOS already, and a second one spoils the answer.
      const has = prefix.length > 0 && prefix.every((id, at) => ids[at] === id)
      return [...(has ? [] : prefix), ...ids, ...suffix]
    },
    quote: quoterOf(() => false),
    quoter: quoterOf,
    decode(ids, options) {
      const detokenizer = new Detokenizer(tokenizer, { atStart: true, ...options })
      let text = ''
      for (const id of ids) text += detokenizer.push(id)
      return text + detokenizer.flush()
    },
    idOf: (token) => vocabulary.idOf(token),
    tokenText: (id) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(vocabulary.bytes(id)),
    tokenBytes: (id) => vocabulary.bytes(id),
    isSpecial: (id) => vocabulary.kind(id) === KIND.special,
    isEnd: (id) => endIds.has(id),
  }
  return tokenizer
}
