// Quotes a user's text so that nothing in it can be read as a control token.
import { type AddedToken, TokenSearch } from './token-search.ts'

/**
 * Escape character before a UTF-16 unit that is spelled as four digits. The escape and the digits are
 * noncharacters: normalisation does not change them, and no template looks for them.
 */
const ESCAPE = '\uFDD0'
const DIGIT_0 = 0xfde0
/** Matches the characters that quoting produces. Tokens that contain one of them are never found. */
export const QUOTING = /[\uFDD0\uFDE0-\uFDEF]/
const ESCAPED = /\uFDD0([\uFDE0-\uFDEF]{4})/g

/** Tokens as spelled in text after `normalize`. */
export interface Controls {
  readonly tokens: readonly AddedToken[]
  readonly normalize?: ((text: string) => string) | undefined
}

/**
 * Escapes the first unit of every control token that the normalised text would contain. `unquote` reverses
 * it.
 */
export function quoter(controls: readonly Controls[]): (text: string) => string {
  const searches = controls
    .map(({ tokens, normalize }) => ({ search: new TokenSearch(tokens), normalize }))
    .filter(({ search }) => !search.isEmpty)
  return (text) => {
    const own = text.replaceAll(ESCAPE, escaped)
    return searches.reduce(
      (quoted, { search, normalize }) =>
        normalize === undefined ? escapeStarts(search, quoted) : escapeAlike(search, normalize, quoted),
      own,
    )
  }
}

/** Restores quoted text. */
export function unquote(text: string): string {
  if (!text.includes(ESCAPE)) return text
  return text.replace(ESCAPED, (_, digits: string) =>
    String.fromCharCode([...digits].reduce((unit, digit) => unit * 16 + digit.charCodeAt(0) - DIGIT_0, 0)),
  )
}

function escapeStarts(search: TokenSearch, text: string): string {
  let quoted = ''
  let from = 0
  for (const { at } of search.find(text).reverse()) {
    quoted += text.slice(from, at) + escaped(text.charAt(at))
    from = at + 1
  }
  return quoted + text.slice(from)
}

/**
 * For tokens in normalised text: escapes every character that normalises to the first character of a token,
 * `＜` as well as `<`.
 */
function escapeAlike(search: TokenSearch, normalize: (text: string) => string, text: string): string {
  const starts = new Set(
    search.find(normalize(text)).map(({ token }) => String.fromCodePoint(token.text.codePointAt(0)!)),
  )
  if (starts.size === 0) return text
  const escapeIf = (isAlike: (character: string) => boolean) =>
    Array.from(text, (character) =>
      !QUOTING.test(character) && isAlike(character) ? escaped(character) : character,
    ).join('')
  const quoted = escapeIf((character) => [...normalize(character)].some((each) => starts.has(each)))
  return search.find(normalize(quoted)).length === 0 ? quoted : escapeIf(() => true)
}

function escaped(character: string): string {
  let text = ''
  for (let at = 0; at < character.length; at++) {
    const unit = character.charCodeAt(at)
    text += ESCAPE
    for (let shift = 12; shift >= 0; shift -= 4) text += String.fromCharCode(DIGIT_0 + ((unit >> shift) & 15))
  }
  return text
}
