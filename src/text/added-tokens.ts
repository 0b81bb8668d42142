// Added tokens. In: text and the tokens to be found in it whole. Out: the ids found and the text between them.

export interface AddedToken {
  readonly id: number
  readonly text: string
  /** Only found on request: text of users must not control the model. */
  readonly special: boolean
  /** Takes the white space before or behind it with it. */
  readonly stripsLeft?: boolean
  readonly stripsRight?: boolean
}

interface Node {
  readonly next: Map<number, Node>
  token?: AddedToken
}

const newNode = (): Node => ({ next: new Map() })
const LEADING_SPACE = /\p{White_Space}+/uy

export class AddedTokens {
  readonly #literal: Node = newNode()
  readonly #all: Node = newNode()

  constructor(tokens: readonly AddedToken[]) {
    for (const token of tokens) {
      if (token.text === '') continue
      insert(this.#all, token)
      if (!token.special) insert(this.#literal, token)
    }
  }

  /** Texts and ids in order; of tokens that begin at one place the longest is taken. No text is empty. */
  split(text: string, withSpecial: boolean): (string | number)[] {
    const root = withSpecial ? this.#all : this.#literal
    if (root.next.size === 0) return text === '' ? [] : [text]
    const pieces: (string | number)[] = []
    let from = 0
    let at = 0
    while (at < text.length) {
      const token = find(root, text, at)
      if (token === undefined) {
        at++
        continue
      }
      const before = text.slice(from, at)
      const kept = token.stripsLeft ? before.trimEnd() : before
      if (kept !== '') pieces.push(kept)
      pieces.push(token.id)
      at += token.text.length
      if (token.stripsRight) at = skipSpace(text, at)
      from = at
    }
    if (from < text.length) pieces.push(text.slice(from))
    return pieces
  }

  /** The text with every special token in it broken, so that `split` never finds it; `unquote` mends it. */
  quote(text: string): string {
    const clean = unquote(text)
    let quoted = ''
    let from = 0
    for (let at = 0; at < clean.length; at++) {
      if (find(this.#all, clean, at)?.special !== true) continue
      quoted += clean.slice(from, at + 1) + QUOTE
      from = at + 1
    }
    return quoted + clean.slice(from)
  }
}

/**
 * Stands inside the text of a special token that somebody only quotes. A noncharacter: no text has it, and encoding
 * takes it out again.
 */
const QUOTE = '\uFDD0'

/** Text as it was before `quote`. */
export function unquote(text: string): string {
  return text.includes(QUOTE) ? text.replaceAll(QUOTE, '') : text
}

function insert(root: Node, token: AddedToken): void {
  let node = root
  for (let at = 0; at < token.text.length; at++) {
    const code = token.text.charCodeAt(at)
    let next = node.next.get(code)
    if (next === undefined) {
      next = newNode()
      node.next.set(code, next)
    }
    node = next
  }
  node.token = token
}

/** The longest token that begins at `at`. */
function find(root: Node, text: string, at: number): AddedToken | undefined {
  let found: AddedToken | undefined
  let node = root.next.get(text.charCodeAt(at))
  while (node !== undefined) {
    found = node.token ?? found
    node = node.next.get(text.charCodeAt(++at))
  }
  return found
}

function skipSpace(text: string, at: number): number {
  LEADING_SPACE.lastIndex = at
  return LEADING_SPACE.test(text) ? LEADING_SPACE.lastIndex : at
}
