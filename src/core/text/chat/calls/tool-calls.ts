// Finds the tool calls in a reply that arrives in chunks, and releases the text around them.
//
// A complete block that does not match its form exactly stays text, because a wrong call is worse than none.
// A block that is cut off by the end of the reply becomes neither text nor a call, because half a call is
// useless.
import { MARKERS } from '../../../base/calls/marks.ts'
import { firstMark, partLength } from '../marks.ts'
import type { CallableTool, CallableTools, ParsedCall } from './call.ts'
import { bareCalls, bareStarts, type ReadCalls, readerAfter } from './forms.ts'
import { CUT, GrowingText, MISMATCH, type Reading } from './growing-text.ts'

/** Length of the longest opening, without whitespace, that may have to be compared. */
const MAX_START = 512

/** A block of calls that is being read. */
interface Block {
  /** '' if the whole reply consists of the calls. */
  readonly marker: string
  readonly reading: Reading<void>
  /** Its complete calls. */
  readonly found: ParsedCall[]
}

/** Parses a reply as it arrives. Text is released as soon as it cannot be part of a call. */
export class ToolCallParser {
  readonly #calls: ParsedCall[] = []
  readonly #tools: CallableTools
  readonly #bareStarts: readonly string[]
  /** The text not released yet. */
  readonly #source = new GrowingText()
  /** True while only white space has been released. */
  #atStart = true
  /** True while only white space has arrived since the last call. */
  #isBetween = false
  #block: Block | undefined

  /** `isMarked`: calls need a marker; without one they are text. */
  constructor(tools: readonly CallableTool[], { isMarked = false } = {}) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.#bareStarts = isMarked ? [] : bareStarts(this.#tools)
  }

  get calls(): readonly ParsedCall[] {
    return this.#calls
  }

  /** Adds a chunk; returns the text that is now certain. */
  push(piece: string): string {
    this.#source.text += piece
    return this.#advance()
  }

  /** Ends the reply. Returns the remaining text, without a call that was cut off. */
  finish(): string {
    this.#source.isOver = true
    return this.#advance()
  }

  /** Reads on as far as the text allows. */
  #advance(): string {
    let text = ''
    for (;;) {
      const { length } = this.#source.text
      const before = this.#block
      text += before === undefined ? this.#outside() : this.#inside(before)
      if (this.#source.text.length === length && before === this.#block) return text
    }
  }

  /** Releases text up to the next marker, or up to where one might begin. */
  #outside(): string {
    const { text, isOver } = this.#source
    if (this.#atStart && this.#calls.length === 0) {
      const dense = text.slice(0, MAX_START).replaceAll(/\s/g, '')
      if (this.#bareStarts.some((start) => dense.startsWith(start))) {
        this.#open('', bareCalls)
        return ''
      }
      if (!isOver && this.#bareStarts.some((start) => start.startsWith(dense))) return ''
    }
    const found = firstMark(text, MARKERS)
    const end = found?.at ?? text.length - (isOver ? 0 : partLength(text, MARKERS))
    const isBlank = this.#isBetween && text.slice(0, end).trim() === ''
    // White space after a call belongs to it, unless other text follows.
    if (isBlank && found === undefined) return isOver ? this.#drop(text.length) : ''
    const before = this.#take(end)
    if (found !== undefined) this.#open(found.mark, readerAfter(found.mark))
    return isBlank ? '' : before
  }

  #open(marker: string, read: ReadCalls): void {
    const found: ParsedCall[] = []
    this.#source.at = marker.length
    this.#block = { marker, reading: read(this.#source, this.#tools, found), found }
  }

  /** Reads a block to its end. If it turns out not to be a call, releases its beginning as text. */
  #inside({ marker, reading, found }: Block): string {
    try {
      if (reading.next().done !== true) return ''
    } catch (error) {
      if (error !== MISMATCH && error !== CUT) throw error
      this.#block = undefined
      if (error === MISMATCH || !this.#isCut(marker)) {
        this.#atStart = false
        return this.#take(Math.max(1, marker.length))
      }
      this.#source.at = this.#source.text.length
    }
    this.#block = undefined
    this.#calls.push(...found)
    this.#drop(this.#source.at)
    this.#isBetween = this.#calls.length > 0
    return ''
  }

  /**
   * Whether a text that the end of the reply cuts off is the beginning of a call. Without a marker, it must
   * name a tool.
   */
  #isCut(marker: string): boolean {
    if (marker !== '') return true
    const { text } = this.#source
    const named = /"(?:name|function)"\s*:\s*"([^"]*)"/.exec(text)?.[1]
    const called = /^\W*(?:tool_code\W*)?(?:\w+\s*=\s*)?(?:print\(\s*)?([\w.-]+)(?:\(|\s*\{)/.exec(text)?.[1]
    return this.#tools.has(named ?? called ?? '')
  }

  #take(length: number): string {
    const text = this.#source.text.slice(0, length)
    this.#drop(length)
    if (text.trim() !== '') {
      this.#atStart = false
      this.#isBetween = false
    }
    return text
  }

  #drop(length: number): string {
    this.#source.text = this.#source.text.slice(length)
    this.#source.at = 0
    return ''
  }
}
