// Added tokens. In: text, tokens that are matched whole. Out: the ids found and the text between them.
import { QUOTING } from './quote.ts'
import { type AddedToken, TokenSearch } from './token-search.ts'

const SPACE = /\p{White_Space}+/uy
const WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const ASCII_SPACE = /[\t-\r ]+/y

export class AddedTokens {
  readonly tokens: readonly AddedToken[]
  readonly #literal: TokenSearch
  readonly #all: TokenSearch

  /** Throws `format` when the tokens together are too long. */
  constructor(tokens: readonly AddedToken[]) {
    this.tokens = tokens.filter(({ text }) => !QUOTING.test(text))
    this.#all = new TokenSearch(this.tokens)
    const literal = this.tokens.filter(({ special }) => !special)
    this.#literal = literal.length < this.tokens.length ? new TokenSearch(literal) : this.#all
  }

  /** Returns texts and ids in order. The longest token at a place wins. No text is empty. */
  split(text: string, withSpecial: boolean): (string | number)[] {
    const found = (withSpecial ? this.#all : this.#literal).find(text)
    const pieces: (string | number)[] = []
    let from = 0
    let searched = 0
    for (let next = found.pop(); next !== undefined; next = found.pop()) {
      const { at, token } = next
      // This match is part of the last one, or of white space that it took.
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
