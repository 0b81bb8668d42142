// Finds the tool calls in a reply that arrives in pieces, and releases the text around them.
//
// A complete block that does not match its form exactly stays text: a wrong call is worse than none. A block
// that the end of the reply cuts off becomes neither text nor a call, because half of a call is of no use.
import { firstMark, partLength } from './marks.ts'
import type { CallableTool, CallableTools, ParsedCall } from './python-calls.ts'
import { type BlockReader, bareStarts, MARKERS, openBare, openMarked } from './tool-call-forms.ts'

/** The longest prefix, without whitespace, that may have to be compared. */
const MOST_START = 512

/** Parses a reply as it arrives. Text is released as soon as it cannot be part of a call. */
export class ToolCallParser {
  readonly #calls: ParsedCall[] = []
  readonly #tools: CallableTools
  readonly #bareStarts: readonly string[]
  #held = ''
  /** True while only white space has been released. */
  #atStart = true
  #block: { readonly marker: string; readonly read: BlockReader } | undefined

  /** `isMarked`: calls without a marker are text. */
  constructor(tools: readonly CallableTool[], { isMarked = false } = {}) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.#bareStarts = isMarked ? [] : bareStarts(this.#tools)
  }

  get calls(): readonly ParsedCall[] {
    return this.#calls
  }

  /** Adds a piece; returns the text that is now certain. */
  push(piece: string): string {
    this.#held += piece
    return this.#letGo(this.#advance(false))
  }

  /** Ends the reply. Returns the remaining text, without an incomplete call. */
  finish(): string {
    let text = this.#advance(true)
    if (this.#block !== undefined && this.#isCut(this.#block.marker)) this.#held = ''
    this.#block = undefined
    const rest = this.#held
    this.#held = ''
    // White space after the last call belongs to it.
    if (this.#calls.length === 0 || rest.trim() !== '') text += rest
    return this.#letGo(text)
  }

  /** Whether the held text is the beginning of a call. Without a marker it must name a tool. */
  #isCut(marker: string): boolean {
    if (marker !== '') return true
    const named = /"(?:name|function)"\s*:\s*"([^"]*)"/.exec(this.#held)?.[1]
    const called = /^\W*(?:tool_code\W*)?([\w.-]+)\(/.exec(this.#held)?.[1]
    return this.#tools.has(named ?? called ?? '')
  }

  /** Reads as much of the text as possible. */
  #advance(isOver: boolean): string {
    let text = ''
    for (;;) {
      const { length } = this.#held
      const before = this.#block
      text += before === undefined ? this.#outside(isOver) : this.#inside(before.marker, before.read, isOver)
      if (this.#held.length === length && before === this.#block) return text
    }
  }

  #letGo(text: string): string {
    if (text.trim() !== '') this.#atStart = false
    return text
  }

  /** Releases text up to the next marker, or up to a possible beginning of one. */
  #outside(isOver: boolean): string {
    if (this.#atStart && this.#calls.length === 0) {
      const dense = this.#held.slice(0, MOST_START).replaceAll(/\s/g, '')
      if (this.#bareStarts.some((start) => dense.startsWith(start))) {
        this.#block = { marker: '', read: openBare(this.#held, this.#tools) }
        return ''
      }
      if (!isOver && this.#bareStarts.some((start) => start.startsWith(dense))) return ''
    }
    const found = firstMark(this.#held, MARKERS)
    if (found === undefined) return this.#take(this.#held.length - this.#doubtful(isOver))
    const before = this.#take(found.at)
    this.#block = { marker: found.mark, read: openMarked(found.mark, this.#tools) }
    // White space between two calls belongs to them.
    return this.#calls.length > 0 && before.trim() === '' ? '' : before
  }

  /** Number of characters at the end that may begin a marker, or that are white space after a call. */
  #doubtful(isOver: boolean): number {
    const held = this.#held
    if (this.#calls.length > 0 && held.trim() === '') return held.length
    if (isOver) return 0
    const length = partLength(held, MARKERS)
    const isBlank = length > 0 && this.#calls.length > 0 && held.slice(0, -length).trim() === ''
    return isBlank ? held.length : length
  }

  /** Follows a block to its end. Releases its beginning as text when it is not a call. */
  #inside(marker: string, read: BlockReader, isOver: boolean): string {
    const state = read(this.#held, isOver)
    if (state === 'more') return ''
    this.#block = undefined
    if (state === 'none') {
      this.#atStart = false
      return this.#take(Math.max(1, marker.length))
    }
    this.#calls.push(...state.calls)
    this.#held = this.#held.slice(state.end)
    return ''
  }

  #take(length: number): string {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return text
  }
}
