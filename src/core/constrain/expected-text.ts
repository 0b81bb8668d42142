// The text that a grammar forces, except for whitespace, which is guessed from earlier whitespace.

import { type Automaton, type Closure, DEAD, mustEnd, type StateId } from './automaton.ts'
import { BLANKS, type ByteSet, hasByte, isBlank, unionOf } from './grammar-nodes.ts'

/** About thirty tokens, the most that one step verifies. */
const MAX_BYTES = 96
const SPACE = 0x20
const COMMA = 0x2c
const COLON = 0x3a
const BRACE = 0x7b
const NO_BLANKS: readonly number[] = []

/** The whitespace that a text has after each byte. Models format JSON consistently from beginning to end. */
export class BlankHabits {
  readonly #after = new Map<number, readonly number[]>([[COLON, [SPACE]]])
  #last = 0
  #blanks: number[] = []

  // hot
  read(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (isBlank(byte)) this.#blanks.push(byte)
      else {
        const isTold = this.#blanks.length > 0 || this.#after.has(this.#last)
        if (isTold || this.#last === COMMA) {
          this.#after.set(this.#last, this.#blanks)
          this.#blanks = []
        }
        this.#last = byte
      }
    }
  }

  /** The last byte that is not whitespace, and how much whitespace follows it. */
  get end(): { readonly last: number; readonly blanks: number } {
    return { last: this.#last, blanks: this.#blanks.length }
  }

  /**
   * Before the first comma, a line break is expected if the text already has one; otherwise the comma is
   * treated like a colon.
   */
  after(byte: number): readonly number[] {
    const own = this.#after.get(byte)
    if (own !== undefined || byte !== COMMA) return own ?? NO_BLANKS
    return this.#after.get(BRACE) ?? this.after(COLON)
  }

  copy(): BlankHabits {
    const copied = new BlankHabits()
    for (const [byte, blanks] of this.#after) copied.#after.set(byte, blanks)
    copied.#last = this.#last
    copied.#blanks = [...this.#blanks]
    return copied
  }
}

interface ExpectedText {
  readonly bytes: Uint8Array
  /** True if the text must end after the expected bytes. */
  readonly ends: boolean
}

/**
 * The bytes that follow `state` while the grammar allows only one byte, apart from whitespace. Empty if the
 * text may end or continue in several ways.
 */
export function expectedText(automaton: Automaton, state: StateId, habits: BlankHabits): ExpectedText {
  const bytes: number[] = []
  let { last, blanks } = habits.end
  let at = state
  for (; at !== DEAD && bytes.length < MAX_BYTES; at = automaton.step(at, bytes.at(-1)!)) {
    const allowed = allowedBytes(automaton.closure(at))
    const only = onlyByte(allowed)
    if (only === undefined) break
    const blank = habits.after(last)[blanks]
    const next = blank !== undefined && hasByte(allowed, blank) ? blank : only
    bytes.push(next)
    if (isBlank(next)) blanks++
    else {
      last = next
      blanks = 0
    }
  }
  return { bytes: Uint8Array.from(bytes), ends: mustEnd(automaton.closure(at)) }
}

/** The bytes that may follow; none if the text may end or a token without text may follow. */
const allowedBytes = ({ sets, tokens, hasEnd }: Closure): ByteSet =>
  unionOf(hasEnd || tokens.length > 0 ? [] : sets)

/** The only non-whitespace byte of a set, or the only byte of a whitespace set; undefined otherwise. */
function onlyByte(set: ByteSet): number | undefined {
  const words = set.slice()
  const found = BLANKS.filter((byte) => hasByte(set, byte))
  for (const byte of found) words[byte >> 5] = words[byte >> 5]! & ~(1 << (byte & 31))
  const filled = words.findIndex((word) => word !== 0)
  if (filled < 0) return found.length === 1 ? found[0] : undefined
  const word = words[filled]!
  const isOne = (word & (word - 1)) === 0 && words.every((other, index) => index === filled || other === 0)
  return isOne ? filled * 32 + (31 - Math.clz32(word)) : undefined
}
