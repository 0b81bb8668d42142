// Tool calls. In: a reply's text in pieces, and the names of the tools. Out: the calls in it, and the text around them.
//
//   Hermes, Qwen   <tool_call>{"name": .., "arguments": {..}}</tool_call>, any number of them
//   Mistral        [TOOL_CALLS] [{"name": .., "arguments": {..}}, ..]
//   Llama 3        {"name": .., "parameters": {..}} as the whole reply, or behind <|python_tag|>; several with ; between
//
// What is not a call to the letter stays text: a wrong call is worse than none.
import { jsonScan } from './json-scan.ts'
import { isObject } from './spec.ts'

/** A call that a model asks for. */
export interface ParsedCall {
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

type Marker = '<tool_call>' | '[TOOL_CALLS]' | '<|python_tag|>'

const MARKERS: readonly Marker[] = ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>']
const HERMES_END = '</tool_call>'

/** Tokens that must be written for calls to be found, though some vocabularies count them as special. */
export const TOOL_CALL_TEXTS: readonly string[] = [...MARKERS, HERMES_END]

/** How a bare call of Llama 3 begins, but for blanks around its brace. */
const BARE_STARTS = ['{"name"', '{"type"', '{"function"']

/** What was held since a marker, or since a bare call began. */
interface Block {
  readonly marker: Marker | ''
  /** Calls before the value that is read now. */
  readonly before: readonly ParsedCall[]
  /** Where that value begins in what is held. */
  readonly start: number
  readonly scan: ReturnType<typeof jsonScan>
  /** Behind the value, once it is whole; -1 when it is none. */
  end: number | undefined
}

/** Takes a reply apart while it comes. Text is let go as soon as it can be no part of a call. */
export class ToolCallParser {
  readonly calls: ParsedCall[] = []
  readonly #names: ReadonlySet<string>
  #held = ''
  /** Nothing but blanks has been let go. */
  #atStart = true
  #block: Block | undefined

  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
  }

  /** The text that is certain with this piece. */
  push(piece: string): string {
    this.#held += piece
    let text = ''
    for (;;) {
      const length = this.#held.length
      const wasOpen = this.#block !== undefined
      text += wasOpen ? this.#inBlock(false) : this.#outside()
      if (this.#held.length === length && wasOpen === (this.#block !== undefined)) return this.#letGo(text)
    }
  }

  /** What is left when the reply has ended: text, unless it was a whole call. */
  finish(): string {
    let text = ''
    while (this.#block !== undefined)
      text += this.#inBlock(true) + (this.#block === undefined ? this.#outside() : '')
    const rest = this.#held
    this.#held = ''
    // Blanks behind the last call belong to it.
    return this.#letGo(text + (this.calls.length > 0 && rest.trim() === '' ? '' : rest))
  }

  #letGo(text: string): string {
    if (text.trim() !== '') this.#atStart = false
    return text
  }

  /** Lets text go up to the next marker, or to what may become one. */
  #outside(): string {
    if (this.#atStart && this.calls.length === 0) {
      const dense = this.#held.replace(/^\s*(\{?)\s*/, '$1')
      if (BARE_STARTS.some((start) => dense.startsWith(start))) {
        this.#open('', this.#held.search(/\{/))
        return ''
      }
      if (BARE_STARTS.some((start) => start.startsWith(dense))) return ''
    }
    const found = MARKERS.map((marker) => ({ marker, at: this.#held.indexOf(marker) }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at)[0]
    if (found === undefined) return this.#take(this.#held.length - this.#doubtful())
    const before = this.#held.slice(0, found.at)
    // Blanks between two calls are theirs.
    const isBetween = this.calls.length > 0 && before.trim() === ''
    this.#held = this.#held.slice(found.at)
    this.#open(found.marker, found.marker.length)
    return isBetween ? '' : before
  }

  /** Characters at the end that may be the beginning of a marker, or blanks before one. */
  #doubtful(): number {
    const most = Math.max(...MARKERS.map(({ length }) => length)) - 1
    for (let length = Math.min(most, this.#held.length); length > 0; length--) {
      const end = this.#held.slice(-length)
      if (MARKERS.some((marker) => marker.startsWith(end))) {
        const isBlank = this.calls.length > 0 && this.#held.slice(0, -length).trim() === ''
        return isBlank ? this.#held.length : length
      }
    }
    return this.calls.length > 0 && this.#held.trim() === '' ? this.#held.length : 0
  }

  #open(marker: Marker | '', start: number, before: readonly ParsedCall[] = []): void {
    this.#block = { marker, before, start, scan: jsonScan(start), end: undefined }
  }

  /** Follows the open block to its end; lets its beginning go as text when it turns out to be no call. */
  #inBlock(isOver: boolean): string {
    const block = this.#block!
    block.end ??= block.scan(this.#held)
    if (block.end === undefined) return isOver ? this.#afterLast(block) : ''
    const calls =
      block.end < 0 ? undefined : this.#read(this.#held.slice(block.start, block.end), block.marker)
    if (calls === undefined) return this.#notACall(block)
    const all = [...block.before, ...calls]
    const rest = this.#held.slice(block.end)
    const next = rest.trimStart()
    const at = block.end + rest.length - next.length
    switch (block.marker) {
      case '[TOOL_CALLS]':
        return this.#close(all, block.end)
      case '<tool_call>':
        if (next.startsWith(HERMES_END)) return this.#close(all, at + HERMES_END.length)
        return !isOver && HERMES_END.startsWith(next) ? '' : this.#notACall(block)
      default:
        if (next === '') return isOver ? this.#close(all, at) : ''
        if (!next.startsWith(';')) return this.#notACall(block)
        this.#open(block.marker, at + 1, all)
        return this.#inBlock(isOver)
    }
  }

  /** At the end of the reply: calls with nothing but blanks behind their last `;` are whole. */
  #afterLast(block: Block): string {
    const isWhole = block.before.length > 0 && this.#held.slice(block.start).trim() === ''
    return isWhole ? this.#close(block.before, this.#held.length) : this.#notACall(block)
  }

  #close(calls: readonly ParsedCall[], length: number): string {
    this.calls.push(...calls)
    this.#held = this.#held.slice(length)
    this.#block = undefined
    return ''
  }

  #notACall({ marker }: Block): string {
    this.#block = undefined
    this.#atStart = false
    return this.#take(Math.max(1, marker.length))
  }

  #take(length: number): string {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return text
  }

  #read(json: string, marker: Marker | ''): readonly ParsedCall[] | undefined {
    let value: unknown
    try {
      value = JSON.parse(json)
    } catch {
      return undefined
    }
    const list = marker === '[TOOL_CALLS]' ? value : [value]
    if (!Array.isArray(list) || list.length === 0) return undefined
    const calls = list.map((one) => this.#call(one))
    return calls.every((call) => call !== undefined) ? calls : undefined
  }

  #call(value: unknown): ParsedCall | undefined {
    if (!isObject(value)) return undefined
    const { name, arguments: own, parameters } = value
    const given = own ?? parameters ?? {}
    if (typeof name !== 'string' || !this.#names.has(name) || !isObject(given)) return undefined
    return { name, arguments: given }
  }
}
