// GBNF. In: a grammar as llama.cpp writes it. Out: its root as a node; or the typed error with line and column.
import { ANY, type CodePoints, codePoints, complement, ofText, union } from './code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from './grammar.ts'
import { refused } from './refuse.ts'

/** The tokens that a grammar may name. */
export interface TokenNames {
  /** Ids of the logits. */
  readonly vocab: number
  /** The id of the token that is spelled so; undefined when no one token is. */
  idOf(text: string): number | undefined
}

const MAX_LENGTH = 1 << 20
const MAX_DEPTH = 200
const MAX_COUNT = 1 << 20
const NAME = /[\w-]*/y

/**
 * Reads `name ::= ...` rules and returns `root`. Literals, character ranges, `.`, groups, `|`, `* + ? {m,n}`, comments and
 * tokens (`<think>`, `<[1000]>`, `!<think>`). Throws `unsupported` with the place of what is wrong.
 */
export function parseGbnf(grammar: Grammar, source: string, tokens: TokenNames): NodeId {
  if (source.length > MAX_LENGTH) {
    throw refused(
      `has a grammar of ${source.length} characters; at most ${MAX_LENGTH} are read`,
      'shorten it',
    )
  }
  const reader = new Reader(grammar, source, tokens)
  reader.rules()
  const root = reader.names.get('root')
  if (root === undefined)
    throw refused('has a grammar without the rule root', 'name what the text must be root')
  return root
}

class Reader {
  readonly names = new Map<string, NodeId>()
  readonly #defined = new Set<string>()
  /** Where a name was used first, for those that are never defined. */
  readonly #used = new Map<string, number>()
  readonly #grammar: Grammar
  readonly #source: string
  readonly #tokens: TokenNames
  #at = 0
  #depth = 0

  constructor(grammar: Grammar, source: string, tokens: TokenNames) {
    this.#grammar = grammar
    this.#source = source
    this.#tokens = tokens
  }

  rules(): void {
    this.#space(true)
    while (this.#at < this.#source.length) {
      const name = this.#match(NAME)
      if (name === '') throw this.#error('has no rule name')
      this.#space(false)
      if (!this.#take('::=')) throw this.#error(`has no ::= after ${name}`)
      if (this.#defined.has(name)) throw this.#error(`defines ${name} twice`)
      this.#defined.add(name)
      this.#space(true)
      this.#grammar.define(this.#rule(name), this.#alternatives(false))
      this.#space(true)
    }
    for (const [name, at] of this.#used) {
      if (this.#defined.has(name)) continue
      this.#at = at
      throw this.#error(`uses ${name}, which it does not define`)
    }
  }

  #rule(name: string): NodeId {
    let rule = this.names.get(name)
    if (rule === undefined) {
      rule = this.#grammar.declare(name)
      this.names.set(name, rule)
    }
    return rule
  }

  /** `nested`: inside parentheses, where a line break means nothing. */
  #alternatives(nested: boolean): NodeId {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`nests more than ${MAX_DEPTH} groups`)
    const options = [this.#sequence(nested)]
    while (this.#take('|')) {
      this.#space(true)
      options.push(this.#sequence(nested))
    }
    this.#depth -= 1
    return this.#grammar.alt(...options)
  }

  #sequence(nested: boolean): NodeId {
    const parts: NodeId[] = []
    for (;;) {
      const atom = this.#atom()
      if (atom === undefined) return this.#grammar.seq(...parts)
      parts.push(this.#repeated(atom))
      this.#space(nested)
    }
  }

  #atom(): NodeId | undefined {
    const char = this.#source[this.#at]
    if (char === '"') return this.#literal()
    if (char === '[') return this.#grammar.chars(this.#class())
    if (char === '<' || char === '!') return this.#token()
    if (this.#take('.')) return this.#grammar.chars(ANY)
    if (this.#take('(')) {
      this.#space(true)
      const inside = this.#alternatives(true)
      this.#space(true)
      if (!this.#take(')')) throw this.#error('has a ( that is not closed')
      return inside
    }
    const at = this.#at
    const name = this.#match(NAME)
    if (name === '') return undefined
    if (!this.#used.has(name)) this.#used.set(name, at)
    return this.#rule(name)
  }

  #repeated(atom: NodeId): NodeId {
    this.#blanks()
    let node = atom
    for (;;) {
      const counts = this.#counts()
      if (counts === undefined) return node
      node = this.#grammar.repeat(node, ...counts)
      this.#blanks()
    }
  }

  #counts(): [number, number] | undefined {
    if (this.#take('*')) return [0, UNBOUNDED]
    if (this.#take('+')) return [1, UNBOUNDED]
    if (this.#take('?')) return [0, 1]
    if (!this.#take('{')) return undefined
    this.#blanks()
    const min = this.#number()
    this.#blanks()
    let max = min
    if (this.#take(',')) {
      this.#blanks()
      max = this.#number() ?? UNBOUNDED
      this.#blanks()
    }
    if (max === undefined || !this.#take('}')) throw this.#error('has a { that is no count')
    if ((min ?? 0) > max) throw this.#error(`counts from ${min} to ${max}`)
    return [min ?? 0, max]
  }

  #number(): number | undefined {
    const start = this.#at
    const digits = this.#match(/\d{0,16}/y)
    if (digits === '') return undefined
    if (Number(digits) <= MAX_COUNT) return Number(digits)
    this.#at = start
    throw this.#error(`counts to ${digits}, more than ${MAX_COUNT}`)
  }

  #literal(): NodeId {
    this.#at += 1
    let text = ''
    while (!this.#take('"')) text += String.fromCodePoint(this.#char('a literal'))
    return this.#grammar.text(text)
  }

  #class(): CodePoints {
    this.#at += 1
    const isNegated = this.#take('^')
    const sets: CodePoints[] = []
    while (!this.#take(']')) {
      const low = this.#char('a range')
      const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']'
      if (isRange) this.#at += 1
      const high = isRange ? this.#char('a range') : low
      if (high < low) throw this.#error('has a range whose end comes before its beginning')
      sets.push(codePoints([low, high]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  /** One character of a literal or range, escapes read. */
  #char(where: string): number {
    const point = this.#source.codePointAt(this.#at)
    if (point === undefined || point === 0x0a || point === 0x0d) throw this.#error(`breaks off in ${where}`)
    this.#at += point > 0xffff ? 2 : 1
    if (point !== 0x5c) return this.#real(point)
    const kind = this.#source[this.#at++] ?? ''
    const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 }
    const lengths: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }
    const length = lengths[kind]
    if (length !== undefined) {
      const digits = this.#source.slice(this.#at, this.#at + length)
      if (!/^[\dA-F]+$/i.test(digits) || digits.length !== length) {
        throw this.#error(`has \\${kind} without ${length} hexadecimal digits`)
      }
      this.#at += length
      return this.#real(Number.parseInt(digits, 16))
    }
    const control = controls[kind]
    if (control !== undefined) return control
    if (kind !== '' && '\\"[]^-'.includes(kind)) return kind.charCodeAt(0)
    throw this.#error(`has the escape \\${kind}, which means nothing`)
  }

  #real(point: number): number {
    if (point <= 0x10ffff && ofText(String.fromCodePoint(point)).length > 0) return point
    throw this.#error(`names ${point}, which is no character`)
  }

  #token(): NodeId {
    const isNegated = this.#take('!')
    if (!this.#take('<')) throw this.#error('has a ! without a token')
    const end = this.#source.indexOf('>', this.#at)
    if (end < 0) throw this.#error('has a < that is not closed')
    const text = this.#source.slice(this.#at, end)
    const number = /^\[([0-9]{1,9})\]$/.exec(text)?.[1]
    const id = number === undefined ? this.#tokens.idOf(`<${text}>`) : Number(number)
    if (id === undefined || id >= this.#tokens.vocab)
      throw this.#error(`names <${text}>, which is not one token of this model`)
    this.#at = end + 1
    return this.#grammar.token(id, isNegated)
  }

  #blanks(): void {
    this.#match(/[ \t]*/y)
  }

  /** Blanks and comments; line breaks only where they mean nothing. */
  #space(lines: boolean): void {
    while (this.#match(lines ? /[ \t\n\r]+|#[^\n]*|/y : /[ \t]+|#[^\n]*|/y) !== '');
  }

  /** What a sticky pattern, which may match nothing, finds here. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [text] = pattern.exec(this.#source)!
    this.#at += text.length
    return text
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #error(what: string): Error {
    const before = this.#source.slice(0, this.#at).split('\n')
    const [line, column] = [before.length, before.at(-1)!.length + 1]
    return refused(`has a grammar that ${what} in line ${line}, column ${column}`, 'correct it', {
      line,
      column,
    })
  }
}
