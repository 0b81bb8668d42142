// Reads tool calls in Python's syntax, `[f(a=1), g(b='x')]`, as models write them.
import type { JsonObject } from '../../base/values.ts'

/** A call that a model requests. */
export interface ParsedCall {
  readonly name: string
  readonly arguments: JsonObject
}

/** The parts of a tool that are needed to read its calls. */
export interface CallableTool {
  readonly name: string
  /** JSON Schema of the arguments. Says which of them are texts where a form has no quotes. */
  readonly parameters?: object | undefined
}

export type CallableTools = ReadonlyMap<string, CallableTool>

/** Maximum depth of lists and objects in an argument. */
const MOST_DEPTH = 100

/**
 * Calls with or without brackets around them, separated by commas, semicolons or line ends. Arguments are
 * literals; positional ones take the names of the tool's properties in order. `cut` if the text ends within a
 * call, undefined if it is not a call.
 */
export function pythonCalls(text: string, tools: CallableTools): readonly ParsedCall[] | 'cut' | undefined {
  const reader = new Reader(text, tools)
  try {
    return reader.calls()
  } catch (error) {
    if (error !== NOT_CALLS) throw error
    return reader.isAtEnd() ? 'cut' : undefined
  }
}

/** Thrown within this file to leave nested readers. */
const NOT_CALLS = new Error('the text is not a list of calls')

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...([
    ['True', true],
    ['true', true],
    ['False', false],
    ['false', false],
  ] as const),
  ...([
    ['None', null],
    ['null', null],
  ] as const),
])
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ...([
    ['n', '\n'],
    ['t', '\t'],
    ['r', '\r'],
    ['b', '\b'],
    ['f', '\f'],
    ['0', '\0'],
    ['\n', ''],
  ] as const),
])

class Reader {
  readonly #text: string
  readonly #tools: CallableTools
  #at = 0

  constructor(text: string, tools: CallableTools) {
    this.#text = text
    this.#tools = tools
  }

  calls(): readonly ParsedCall[] {
    const isList = this.#takes('[')
    const found: ParsedCall[] = []
    while (!this.isAtEnd() && !(isList && this.#sees(']'))) {
      found.push(this.#call())
      while (this.#takes(',') || this.#takes(';'));
    }
    if (isList) this.#takes(']')
    if (!this.isAtEnd() || found.length === 0) throw NOT_CALLS
    return found
  }

  #call(): ParsedCall {
    const name = this.#word(/[\w.-]+/y)
    const tool = this.#tools.get(name)
    if (tool === undefined) throw NOT_CALLS
    this.#expect('(')
    const { properties = {} } = (tool.parameters ?? {}) as { properties?: object }
    const names = Object.keys(properties)
    const given: [string, unknown][] = []
    while (!this.#takes(')')) {
      const named = this.#word(/\s*[A-Za-z_]\w*\s*=(?!=)/y, true)
      const key = named === '' ? names[given.length] : named.replace('=', '').trim()
      if (key === undefined) throw NOT_CALLS
      given.push([key, this.#value(0)])
      if (!this.#takes(',') && !this.#sees(')')) throw NOT_CALLS
    }
    return { name, arguments: Object.fromEntries(given) }
  }

  #value(depth: number): unknown {
    if (depth > MOST_DEPTH) throw NOT_CALLS
    if (this.#takes('[')) return this.#list(']', depth)
    if (this.#takes('(')) return this.#list(')', depth)
    if (this.#takes('{')) return this.#object(depth)
    const char = this.#text[this.#at]
    if (char === '"' || char === "'") return this.#string()
    const number = this.#word(/[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])/y, true)
    if (number !== '') return Number(number.replaceAll('_', ''))
    const word = this.#word(/[A-Za-z]+/y)
    if (!WORDS.has(word)) throw NOT_CALLS
    return WORDS.get(word)
  }

  #list(end: string, depth: number): readonly unknown[] {
    const items: unknown[] = []
    while (!this.#takes(end)) {
      items.push(this.#value(depth + 1))
      if (!this.#takes(',') && !this.#sees(end)) throw NOT_CALLS
    }
    return items
  }

  #object(depth: number): JsonObject {
    const entries: [string, unknown][] = []
    while (!this.#takes('}')) {
      const key = this.#value(depth + 1)
      if (typeof key !== 'string') throw NOT_CALLS
      this.#expect(':')
      entries.push([key, this.#value(depth + 1)])
      if (!this.#takes(',') && !this.#sees('}')) throw NOT_CALLS
    }
    return Object.fromEntries(entries)
  }

  #string(): string {
    const quote = this.#text[this.#at]!
    const mark = this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote
    let found = ''
    for (this.#at += mark.length; !this.#text.startsWith(mark, this.#at); this.#at++) {
      const char = this.#text[this.#at]
      if (char === undefined) throw NOT_CALLS
      found += char === '\\' ? this.#escape() : char
    }
    this.#at += mark.length
    return found
  }

  /** The character of an escape; leaves the position at the last letter of the escape. */
  #escape(): string {
    const code = /\\(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4}))/y
    code.lastIndex = this.#at
    const found = code.exec(this.#text)
    if (found !== null) {
      this.#at += found[0].length - 1
      return String.fromCharCode(Number.parseInt(found[1] ?? found[2] ?? '', 16))
    }
    this.#at += 1
    const char = this.#text[this.#at]
    if (char === undefined) throw NOT_CALLS
    // Python keeps the backslash of an unknown escape.
    return ESCAPES.get(char) ?? (/['"\\]/.test(char) ? char : `\\${char}`)
  }

  #blanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1
  }

  isAtEnd(): boolean {
    this.#blanks()
    return this.#at >= this.#text.length
  }

  #sees(mark: string): boolean {
    this.#blanks()
    return this.#text.startsWith(mark, this.#at)
  }

  #takes(mark: string): boolean {
    const sees = this.#sees(mark)
    if (sees) this.#at += mark.length
    return sees
  }

  #expect(mark: string): void {
    if (!this.#takes(mark)) throw NOT_CALLS
  }

  /** The text that a sticky pattern matches here. Without `isOptional` it must not be empty. */
  #word(pattern: RegExp, isOptional = false): string {
    this.#blanks()
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    if (found === '' && !isOptional) throw NOT_CALLS
    this.#at += found.length
    return found
  }
}
