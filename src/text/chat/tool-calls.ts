// Tool calls. In: a reply's text in pieces, the names of the tools. Out: its calls, and the text around them.
//
//   Hermes, Qwen   <tool_call>{"name": .., "arguments": {..}}</tool_call>, any number of them
//   Mistral        [TOOL_CALLS] [{"name": .., "arguments": {..}}, ..]
//   Llama 3        {"name": .., "parameters": {..}} as the whole reply, or after <|python_tag|>; separator: ;
//
// Text that does not match a call exactly stays text: a wrong call is worse than none.

import { isObject } from '../../base/values.ts'
import { jsonScan } from '../tokenize/read/json-scan.ts'

/** A call that a model requests. */
export interface ParsedCall {
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

type Marker = '<tool_call>' | '[TOOL_CALLS]' | '<|python_tag|>'

const MARKERS: readonly Marker[] = ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>']
const HERMES_END = '</tool_call>'

/** Tokens that must be written as text to find calls, although some vocabularies mark them as special. */
export const TOOL_CALL_TEXTS: readonly string[] = [...MARKERS, HERMES_END]

/** How a bare call of Llama 3 begins, ignoring white space around its brace. */
const BARE_STARTS = ['{"name"', '{"type"', '{"function"']

/** The text held since a marker, or since a bare call began. */
interface Block {
  readonly marker: Marker | ''
  /** Calls before the current value. */
  readonly before: readonly ParsedCall[]
  /** Where that value begins in the held text. */
  readonly start: number
  readonly scan: ReturnType<typeof jsonScan>
  /** The index after the value, once it is complete; -1 when it is not a value. */
  end: number | undefined
}

/** Parses a reply as it arrives. Text is released as soon as it cannot be part of a call. */
export interface ToolCallParser {
  readonly calls: readonly ParsedCall[]
  /** Adds a piece; returns the text that is now certain. */
  push(piece: string): string
  /** Ends the reply. Returns the remaining text, unless it was a complete call. */
  finish(): string
}

export function toolCallParser(names: readonly string[]): ToolCallParser {
  const calls: ParsedCall[] = []
  let held = ''
  // True while only white space has been released.
  let atStart = true
  let opened: Block | undefined
  return { calls, push, finish }

  function push(piece: string): string {
    held += piece
    let text = ''
    for (;;) {
      const length = held.length
      const before = opened
      text += before === undefined ? outside() : inBlock(before, false)
      if (held.length === length && before === opened) return letGo(text)
    }
  }

  function finish(): string {
    let text = ''
    while (opened !== undefined) {
      text += inBlock(opened, true)
      if (opened === undefined) text += outside()
    }
    const rest = held
    held = ''
    // White space after the last call belongs to it.
    return letGo(text + (calls.length > 0 && rest.trim() === '' ? '' : rest))
  }

  function letGo(text: string): string {
    if (text.trim() !== '') atStart = false
    return text
  }

  /** Releases text up to the next marker, or up to a possible beginning of one. */
  function outside(): string {
    if (atStart && calls.length === 0) {
      const dense = held.replace(/^\s*(\{?)\s*/, '$1')
      if (BARE_STARTS.some((start) => dense.startsWith(start))) {
        open('', held.search(/\{/))
        return ''
      }
      if (BARE_STARTS.some((start) => start.startsWith(dense))) return ''
    }
    const found = MARKERS.map((marker) => ({ marker, at: held.indexOf(marker) }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at)[0]
    if (found === undefined) return take(held.length - doubtful())
    const before = held.slice(0, found.at)
    // White space between two calls belongs to them.
    const isBetween = calls.length > 0 && before.trim() === ''
    held = held.slice(found.at)
    open(found.marker, found.marker.length)
    return isBetween ? '' : before
  }

  /** Number of characters at the end that may begin a marker, or that are white space before one. */
  function doubtful(): number {
    const most = Math.max(...MARKERS.map(({ length }) => length)) - 1
    for (let length = Math.min(most, held.length); length > 0; length--) {
      const end = held.slice(-length)
      if (MARKERS.some((marker) => marker.startsWith(end))) {
        const isBlank = calls.length > 0 && held.slice(0, -length).trim() === ''
        return isBlank ? held.length : length
      }
    }
    return calls.length > 0 && held.trim() === '' ? held.length : 0
  }

  function open(marker: Marker | '', start: number, before: readonly ParsedCall[] = []): Block {
    opened = { marker, before, start, scan: jsonScan(start), end: undefined }
    return opened
  }

  /** Follows a block to its end. Releases its beginning as text when it is not a call. */
  function inBlock(block: Block, isOver: boolean): string {
    block.end ??= block.scan(held)
    const { marker, before, start, end } = block
    if (end === undefined) return isOver ? afterLast(block) : ''
    const found = end < 0 ? undefined : read(held.slice(start, end), marker)
    if (found === undefined) return notACall(marker)
    const all = [...before, ...found]
    const rest = held.slice(end)
    const next = rest.trimStart()
    const at = end + rest.length - next.length
    switch (marker) {
      case '[TOOL_CALLS]':
        return close(all, end)
      case '<tool_call>':
        if (next.startsWith(HERMES_END)) return close(all, at + HERMES_END.length)
        return !isOver && HERMES_END.startsWith(next) ? '' : notACall(marker)
      default:
        if (next === '') return isOver ? close(all, at) : ''
        if (!next.startsWith(';')) return notACall(marker)
        return inBlock(open(marker, at + 1, all), isOver)
    }
  }

  /** At the end of the reply: calls are complete when only white space follows their last `;`. */
  function afterLast(block: Block): string {
    const isWhole = block.before.length > 0 && held.slice(block.start).trim() === ''
    return isWhole ? close(block.before, held.length) : notACall(block.marker)
  }

  function close(found: readonly ParsedCall[], length: number): string {
    calls.push(...found)
    held = held.slice(length)
    opened = undefined
    return ''
  }

  function notACall(marker: Marker | ''): string {
    opened = undefined
    atStart = false
    return take(Math.max(1, marker.length))
  }

  function take(length: number): string {
    const text = held.slice(0, length)
    held = held.slice(length)
    return text
  }

  function read(json: string, marker: Marker | ''): readonly ParsedCall[] | undefined {
    let value: unknown
    try {
      value = JSON.parse(json)
    } catch {
      return undefined
    }
    const list = marker === '[TOOL_CALLS]' ? value : [value]
    if (!Array.isArray(list) || list.length === 0) return undefined
    const found = list.map(callOf)
    return found.every((call) => call !== undefined) ? found : undefined
  }

  function callOf(value: unknown): ParsedCall | undefined {
    if (!isObject(value)) return undefined
    const { name, arguments: own, parameters } = value
    const given = own ?? parameters ?? {}
    if (typeof name !== 'string' || !names.includes(name) || !isObject(given)) return undefined
    return { name, arguments: given }
  }
}
