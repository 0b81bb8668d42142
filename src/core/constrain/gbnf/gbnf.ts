// Reads a grammar in llama.cpp's notation (GBNF). Errors have line and column.
import { ANY, type CodePoints, codePoints, complement, ofText, union } from '../code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { gbnfFault, refused } from '../refuse.ts'

const MAX_LENGTH = 1 << 20
const MAX_DEPTH = 200
const MAX_COUNT = 1 << 20
const NAME = /[\w-]*/y
const CONTROLS: ReadonlyMap<string, number> = new Map(Object.entries({ n: 10, r: 13, t: 9 }))
/** Hexadecimal digits after an escape. */
const CODE_DIGITS: ReadonlyMap<string, number> = new Map(Object.entries({ x: 2, u: 4, U: 8 }))

/**
 * Reads `name ::= ...` rules and returns `root`. Supports literals, character ranges, `.`, groups, `|`, `* +
 * ? {m,n}`, comments and tokens (`<think>`, `<[1000]>`, `!<think>`). Throws `unsupported` with the position
 * of the error.
 */
export function parseGbnf(grammar: Grammar, source: string): NodeId {
  if (source.length > MAX_LENGTH) {
    throw refused(`has a grammar of ${source.length} characters; the limit is ${MAX_LENGTH}`, 'shorten it')
  }
  return new GbnfParser(grammar, source).parse()
}

class GbnfParser {
  readonly #grammar: Grammar
  readonly #source: string
  readonly #names = new Map<string, NodeId>()
  readonly #defined = new Set<string>()
  /** Where each name is first used, for errors about undefined names. */
  readonly #used = new Map<string, number>()
  #at = 0
  #depth = 0

  constructor(grammar: Grammar, source: string) {
    this.#grammar = grammar
    // Some editors put a byte order mark before UTF-8 text.
    this.#source = source.replace(/^\ufeff/, '')
  }

  parse(): NodeId {
    this.#readRules()
    const root = this.#names.get('root')
    if (root === undefined) throw refused('has a grammar without the rule root', 'name its start rule root')
    return root
  }

  #readRules(): void {
    this.#skipSpace(true)
    while (this.#at < this.#source.length) {
      const name = this.#match(NAME)
      if (name === '') throw this.#fault('lacks a rule name')
      this.#skipSpace(false)
      if (!this.#take('::=')) throw this.#fault(`lacks ::= after ${name}`)
      if (this.#defined.has(name)) throw this.#fault(`defines ${name} twice`)
      this.#defined.add(name)
      this.#skipSpace(true)
      this.#grammar.define(this.#ruleOf(name), this.#readAlternatives(false))
      this.#skipSpace(true)
    }
    for (const [name, start] of this.#used) {
      if (this.#defined.has(name)) continue
      this.#at = start
      throw this.#fault(`uses ${name}, which it does not define`)
    }
  }

  #ruleOf(name: string): NodeId {
    let rule = this.#names.get(name)
    if (rule === undefined) {
      rule = this.#grammar.declare(name)
      this.#names.set(name, rule)
    }
    return rule
  }

  /** `nested`: true inside parentheses, where line breaks are insignificant. */
  #readAlternatives(nested: boolean): NodeId {
    if (++this.#depth > MAX_DEPTH) throw this.#fault(`nests groups more than ${MAX_DEPTH} deep`)
    const options = [this.#readSequence(nested)]
    while (this.#take('|') || (!nested && this.#takeOnNextLine('|'))) {
      this.#skipSpace(true)
      options.push(this.#readSequence(nested))
    }
    this.#depth -= 1
    return this.#grammar.alt(...options)
  }

  /** No rule begins with an operator, so one on the next line belongs to this rule. */
  #takeOnNextLine(operator: string): boolean {
    const start = this.#at
    this.#skipSpace(true)
    if (this.#take(operator)) return true
    this.#at = start
    return false
  }

  #readSequence(nested: boolean): NodeId {
    const parts: NodeId[] = []
    for (;;) {
      const atom = this.#readAtom()
      if (atom === undefined) return this.#grammar.seq(...parts)
      parts.push(this.#readRepeated(atom))
      this.#skipSpace(nested)
    }
  }

  #readAtom(): NodeId | undefined {
    const char = this.#source[this.#at]
    if (char === '"') return this.#readLiteral()
    if (char === '[') return this.#grammar.chars(this.#readClass())
    if (char === '<' || char === '!') return this.#readToken()
    if (this.#take('.')) return this.#grammar.chars(ANY)
    if (this.#take('(')) {
      this.#skipSpace(true)
      const inside = this.#readAlternatives(true)
      this.#skipSpace(true)
      if (!this.#take(')')) throw this.#fault('has an unclosed (')
      return inside
    }
    const start = this.#at
    const name = this.#match(NAME)
    if (name === '') return undefined
    if (!this.#used.has(name)) this.#used.set(name, start)
    return this.#ruleOf(name)
  }

  #readRepeated(atom: NodeId): NodeId {
    this.#skipBlanks()
    let node = atom
    for (;;) {
      const counts = this.#readCounts()
      if (counts === undefined) return node
      node = this.#grammar.repeat(node, ...counts)
      this.#skipBlanks()
    }
  }

  #readCounts(): [number, number] | undefined {
    if (this.#take('*')) return [0, UNBOUNDED]
    if (this.#take('+')) return [1, UNBOUNDED]
    if (this.#take('?')) return [0, 1]
    if (!this.#take('{')) return undefined
    this.#skipBlanks()
    const min = this.#readNumber()
    this.#skipBlanks()
    let max = min
    if (this.#take(',')) {
      this.#skipBlanks()
      max = this.#readNumber() ?? UNBOUNDED
      this.#skipBlanks()
    }
    if (max === undefined || !this.#take('}')) throw this.#fault('has a { without a valid count')
    if ((min ?? 0) > max) throw this.#fault(`repeats from ${min} to ${max} times`)
    return [min ?? 0, max]
  }

  #readNumber(): number | undefined {
    const start = this.#at
    const digits = this.#match(/\d{0,16}/y)
    if (digits === '') return undefined
    if (Number(digits) <= MAX_COUNT) return Number(digits)
    this.#at = start
    throw this.#fault(`repeats ${digits} times, more than ${MAX_COUNT}`)
  }

  #readLiteral(): NodeId {
    this.#at += 1
    let text = ''
    while (!this.#take('"')) text += String.fromCodePoint(this.#readChar('a literal'))
    return this.#grammar.text(text)
  }

  #readClass(): CodePoints {
    this.#at += 1
    const isNegated = this.#take('^')
    const sets: CodePoints[] = []
    while (!this.#take(']')) {
      const low = this.#readChar('a range')
      const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']'
      if (isRange) this.#at += 1
      const high = isRange ? this.#readChar('a range') : low
      if (high < low) throw this.#fault('has a range that ends before it starts')
      sets.push(codePoints([low, high]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  /** One character of a literal or range, with escapes decoded. */
  #readChar(where: string): number {
    const point = this.#source.codePointAt(this.#at)
    if (point === undefined || point === 0x0a || point === 0x0d) throw this.#fault(`ends inside ${where}`)
    this.#at += point > 0xffff ? 2 : 1
    if (point !== 0x5c) return this.#checkPoint(point)
    const kind = this.#source[this.#at++] ?? ''
    const length = CODE_DIGITS.get(kind)
    if (length !== undefined) {
      const digits = this.#source.slice(this.#at, this.#at + length)
      if (!/^[\dA-F]+$/i.test(digits) || digits.length !== length) {
        throw this.#fault(`has \\${kind} without ${length} hexadecimal digits`)
      }
      this.#at += length
      return this.#checkPoint(Number.parseInt(digits, 16))
    }
    const control = CONTROLS.get(kind)
    if (control !== undefined) return control
    if (kind !== '' && '\\"[]^-'.includes(kind)) return kind.charCodeAt(0)
    throw this.#fault(`has the unknown escape \\${kind}`)
  }

  #checkPoint(point: number): number {
    if (point <= 0x10ffff && ofText(String.fromCodePoint(point)).length > 0) return point
    throw this.#fault(`names ${point}, which is not a character`)
  }

  #readToken(): NodeId {
    const isNegated = this.#take('!')
    if (!this.#take('<')) throw this.#fault('has a ! without a token')
    const end = this.#source.indexOf('>', this.#at)
    if (end < 0) throw this.#fault('has an unclosed <')
    const name = { text: this.#source.slice(this.#at, end), ...this.#placeOf(this.#at) }
    this.#at = end + 1
    return this.#grammar.namedToken(name, isNegated)
  }

  #skipBlanks(): void {
    this.#match(/[ \t]*/y)
  }

  /** Skips whitespace, comments, and insignificant line breaks. */
  #skipSpace(lines: boolean): void {
    while (this.#match(lines ? /[ \t\n\r]+|#[^\n]*|/y : /[ \t]+|#[^\n]*|/y) !== '');
  }

  /** Matches a sticky pattern at the current position; the pattern may match nothing. */
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

  #placeOf(position: number): { line: number; column: number } {
    const before = this.#source.slice(0, position).split('\n')
    return { line: before.length, column: before.at(-1)!.length + 1 }
  }

  #fault(what: string): Error {
    const { line, column } = this.#placeOf(this.#at)
    return gbnfFault(what, line, column)
  }
}
