// The vocabulary: ids by text, the bytes of each token, and the ids that end an answer.

import { MAX_TOKEN_LENGTH, MAX_TOKENS, malformed } from '../spec.ts'
import { bytesOfChars } from './byte-level.ts'

/**
 * Files name one or two ids, but models also end turns with others; llama.cpp has the same list, apart from
 * `<|observation|>`, which ends GLM's calls. The last texts are padding in code or the start of the next
 * file, which also end an answer.
 */
const END_TEXTS = [
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|flush|>',
  '<|calls|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<turn|>',
  '<|tool_response>',
  '<|observation|>',
  '<｜end▁of▁sentence｜>',
  '<|fim_pad|>',
  '<fim-pad>',
  '<fim_pad>',
  '<PAD>',
  '[PAD]',
  '<|fim_repo|>',
  '<|repo_name|>',
  '<fim-repo>',
  '<REPO>',
  '<reponame>',
  '<|file_sep|>',
] as const

/**
 * `idOf` returns the id of a token that may end an answer. `</s>` is a closing tag in vocabularies where it
 * is not a control token, such as Gemma's.
 */
export function endTokens(
  idOf: (text: string) => number | undefined,
  isSpecial: (id: number) => boolean,
): Set<number> {
  const texts = new Set<string>(END_TEXTS)
  const has = (text: string) => idOf(text) !== undefined
  // In vocabularies with these tokens, `<|end|>` ends a message but not the answer.
  if ((has('<|call|>') || has('<|calls|>')) && (has('<|return|>') || has('<|flush|>')))
    texts.delete('<|end|>')
  const closing = idOf('</s>')
  if (has('<|tool_response>') || (closing !== undefined && !isSpecial(closing))) texts.delete('</s>')
  const ids = new Set<number>()
  for (const text of texts) {
    const id = idOf(text)
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** How a token is written, and whether text may contain it. */
export const KIND = {
  /** Text in the vocabulary's spelling. */
  normal: 0,
  /** `<0x0A>`: one byte. */
  byte: 1,
  /** Found in any text before the rest is split into tokens. Spelled as its text. */
  literal: 2,
  /** Controls the model. Found in text only on request, and not written. */
  special: 3,
} as const

/** How the spelling of a normal token becomes text. */
export interface Spelling {
  /** True if its characters represent bytes; see byte-level.ts. */
  readonly byteLevel: boolean
  /** Replacements, applied in order, e.g. U+2581 with a space. */
  readonly replacements: readonly (readonly [string, string])[]
}

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)
/** Random on each visit, so that nobody can construct a vocabulary whose tokens all collide. */
const SEED = Math.random() * 1e9
const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/

/** The byte that `<0x0A>` names, or undefined for any other token. */
export function namedByte(token: string): number | undefined {
  const digits = BYTE_TOKEN.exec(token)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

/** The name a byte has in vocabularies with byte fallback. */
export function byteName(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`
}

export class Vocabulary {
  /** By id; undefined for an id without a token. */
  readonly tokens: readonly (string | undefined)[]
  /** UTF-16 units of the longest token. */
  readonly longest: number
  /**
   * A hash table with open addressing, which takes a quarter of a Map's memory. A slot holds an id plus 1; 0
   * is free.
   */
  readonly #slots: Int32Array
  readonly #kinds: Uint8Array
  readonly #spelling: Spelling

  /**
   * Among several tokens with the same spelling, the last one encodes text, as in llama.cpp. Throws `format`
   * if a token is too long or there are too many.
   */
  constructor(tokens: readonly (string | undefined)[], kinds: Uint8Array, spelling: Spelling) {
    if (tokens.length === 0 || tokens.length > MAX_TOKENS) {
      throw malformed(`has ${tokens.length} tokens; 1 to ${MAX_TOKENS} are supported`)
    }
    this.tokens = tokens
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(tokens.length * 1.5)))
    let longest = 0
    tokens.forEach((token, id) => {
      if (token === undefined) return
      longest = Math.max(longest, token.length)
      if (token.length > MAX_TOKEN_LENGTH) {
        throw malformed(
          `has a token of ${token.length} characters (id ${id}); the limit is ${MAX_TOKEN_LENGTH}`,
        )
      }
      this.#slots[this.#slotOf(token)] = id + 1
    })
    this.longest = longest
    this.#kinds = kinds
    this.#spelling = spelling
  }

  get size(): number {
    return this.tokens.length
  }

  /** The id of the token with this spelling. */
  idOf(token: string): number | undefined {
    const found = this.#slots[this.#slotOf(token)]
    return found ? found - 1 : undefined
  }

  /**
   * The id of the token spelled like the units [from, to) of `text` without the one at `gap`. Default: no
   * gap.
   */
  idWithin(text: string, from: number, to: number, gap = to): number | undefined {
    for (let slot = hashOf(text, from, to, gap); ; slot++) {
      slot &= this.#slots.length - 1
      const id = this.#slots[slot]! - 1
      if (id < 0) return undefined
      if (isSpelled(this.tokens[id]!, text, from, to, gap)) return id
    }
  }

  /** The slot of the token, or the free slot where it belongs. */
  #slotOf(token: string): number {
    for (let slot = hashOf(token, 0, token.length, token.length); ; slot++) {
      slot &= this.#slots.length - 1
      const id = this.#slots[slot]! - 1
      if (id < 0 || this.tokens[id] === token) return slot
    }
  }

  kind(id: number): number {
    return this.#kinds[id] ?? KIND.normal
  }

  /** The token's bytes; empty for an id without a token. */
  bytes(id: number): Uint8Array {
    const token = this.tokens[id]
    if (token === undefined) return NOTHING
    const kind = this.kind(id)
    const byte = kind === KIND.byte ? namedByte(token) : undefined
    if (byte !== undefined) return Uint8Array.of(byte)
    if (kind !== KIND.normal) return encoder.encode(token)
    if (this.#spelling.byteLevel) return bytesOfChars(token) ?? encoder.encode(token)
    return encoder.encode(
      this.#spelling.replacements.reduce((text, [from, to]) => text.replaceAll(from, to), token),
    )
  }
}

/** The hash of the units [from, to) of `text` without the one at `gap`. */
function hashOf(text: string, from: number, to: number, gap: number): number {
  let hash = SEED
  for (let at = from; at < to; at++) if (at !== gap) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}

/** Whether the token is the units [from, to) of `text` without the one at `gap`. */
function isSpelled(token: string, text: string, from: number, to: number, gap: number): boolean {
  if (token.length !== to - from - (gap < to ? 1 : 0)) return false
  for (let at = from, unit = 0; at < to; at++)
    if (at !== gap && token.charCodeAt(unit++) !== text.charCodeAt(at)) return false
  return true
}
