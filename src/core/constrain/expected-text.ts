// The text that a grammar forces, except for whitespace, which is guessed from earlier whitespace.

import { type Automaton, type Closure, DEAD, mustEnd, type StateId } from './automaton.ts'
import { BLANKS, type ByteSet, hasByte, isBlank, unionOf } from './grammar-nodes.ts'

/** About thirty tokens, the most that one step verifies. */
const MAX_BYTES = 96
const LINE_BREAK = 0x0a
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [BRACKET, CLOSING_BRACKET] = [0x5b, 0x5d]
const [BRACE, CLOSING_BRACE] = [0x7b, 0x7d]
const NO_BLANKS: readonly number[] = []

/** Whitespace in one place: these bytes, or a line break with an indentation by depth. */
type Habit = readonly number[] | 'line'

/** A position in a JSON text: what its next whitespace depends on. */
interface TextPlace {
  /** The last byte that is not whitespace. */
  last: number
  /** Number of open brackets. */
  depth: number
  /** Whether a string is open, whose whitespace belongs to its value. */
  isQuoted: boolean
  isEscaped: boolean
}

const isOpening = (byte: number): boolean => byte === BRACE || byte === BRACKET
const isClosing = (byte: number): boolean => byte === CLOSING_BRACE || byte === CLOSING_BRACKET

/** Moves `place` past a byte, which is not whitespace unless it is in a string. */
function pass(place: TextPlace, byte: number): void {
  if (place.isQuoted) {
    // A string of JSON has no line breaks; the quotes of other grammars may be unpaired.
    place.isQuoted = (byte !== QUOTE || place.isEscaped) && byte !== LINE_BREAK
    place.isEscaped = byte === BACKSLASH && !place.isEscaped
  } else {
    place.isQuoted = byte === QUOTE
    if (isOpening(byte)) place.depth++
    else if (isClosing(byte)) place.depth = Math.max(0, place.depth - 1)
  }
  place.last = byte
}

/** The whitespace that a text has in each place. Models format JSON consistently from beginning to end. */
export class BlankHabits {
  /** After each byte, except before a closing bracket: there, by that bracket's negative. */
  readonly #habits = new Map<number, Habit>([[COLON, [SPACE]]])
  readonly #place: TextPlace = { last: 0, depth: 0, isQuoted: false, isEscaped: false }
  #blanks: number[] = []
  /** The indentation of one level. */
  #indent = NO_BLANKS

  // hot
  read(bytes: Uint8Array): void {
    const place = this.#place
    for (const byte of bytes) {
      if (isBlank(byte) && !place.isQuoted) this.#blanks.push(byte)
      else {
        if (!place.isQuoted) this.#learn(isClosing(byte) ? -byte : place.last, isClosing(byte))
        pass(place, byte)
      }
    }
  }

  /** The end of the text, and how much whitespace it has there. */
  get end(): { readonly place: TextPlace; readonly blanks: number } {
    return { place: { ...this.#place }, blanks: this.#blanks.length }
  }

  /** The whitespace that is expected at `place`, before `next`. */
  before(next: number, { last, depth }: TextPlace): readonly number[] {
    const habit = isClosing(next) ? this.#habitBefore(next) : this.#habitAfter(last)
    if (habit !== 'line') return habit
    const levels = Math.max(0, depth - (isClosing(next) ? 1 : 0))
    return [LINE_BREAK, ...Array.from({ length: levels }, () => this.#indent).flat()]
  }

  copy(): BlankHabits {
    const copied = new BlankHabits()
    for (const [byte, habit] of this.#habits) copied.#habits.set(byte, habit)
    Object.assign(copied.#place, this.#place)
    copied.#blanks = [...this.#blanks]
    copied.#indent = this.#indent
    return copied
  }

  #learn(key: number, closes: boolean): void {
    const blanks = this.#blanks
    if (blanks.length === 0 && key !== COMMA && !closes && !this.#habits.has(key)) return
    this.#habits.set(key, this.#habitOf(blanks, this.#place.depth - (closes ? 1 : 0)))
    this.#blanks = []
  }

  #habitOf(blanks: readonly number[], depth: number): Habit {
    if (blanks[0] !== LINE_BREAK) return blanks
    const width = blanks.length - 1
    if (depth <= 0 || width % depth !== 0) return width === 0 ? 'line' : blanks
    this.#indent = blanks.slice(1, 1 + width / depth)
    return 'line'
  }

  /**
   * Before the first comma, a line break is expected if the text already has one; otherwise the comma is
   * treated like a colon.
   */
  #habitAfter(byte: number): Habit {
    const own = this.#habits.get(byte)
    if (own !== undefined) return own
    if (byte === COMMA) return this.#habits.get(BRACE) ?? this.#habitAfter(COLON)
    return (byte === BRACKET && this.#habits.get(BRACE)) || NO_BLANKS
  }

  /** The first closing bracket is treated like an opening one. */
  #habitBefore(closing: number): Habit {
    const opening = closing === CLOSING_BRACE ? BRACE : BRACKET
    return this.#habits.get(-closing) ?? this.#habitAfter(opening)
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
  const { place, blanks: written } = habits.end
  let blanks = written
  let at = state
  for (; at !== DEAD && bytes.length < MAX_BYTES; at = automaton.step(at, bytes.at(-1)!)) {
    const allowed = allowedBytes(automaton.closure(at))
    const only = onlyByte(allowed)
    if (only === undefined) break
    const blank = place.isQuoted ? undefined : habits.before(only, place)[blanks]
    const next = blank !== undefined && hasByte(allowed, blank) ? blank : only
    bytes.push(next)
    if (isBlank(next) && !place.isQuoted) blanks++
    else {
      pass(place, next)
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
