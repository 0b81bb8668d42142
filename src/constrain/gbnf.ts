// GBNF. In: a grammar in llama.cpp's notation. Out: its root as a node; or a typed error with line and
// column.
import { ANY, type CodePoints, codePoints, complement, ofText, union } from './code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from './grammar.ts'
import { gbnfFault, refused } from './refuse.ts'

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
    throw refused(
      `has a grammar of ${source.length} characters; at most ${MAX_LENGTH} are read`,
      'shorten it',
    )
  }
  const names = new Map<string, NodeId>()
  const defined = new Set<string>()
  // Where each name was first used, for the error about names that are never defined.
  const used = new Map<string, number>()
  let at = 0
  let depth = 0
  readRules()
  const root = names.get('root')
  if (root === undefined) throw refused('has a grammar without the rule root', 'call its start rule root')
  return root

  function readRules(): void {
    skipSpace(true)
    while (at < source.length) {
      const name = match(NAME)
      if (name === '') throw fault('has no rule name')
      skipSpace(false)
      if (!take('::=')) throw fault(`has no ::= after ${name}`)
      if (defined.has(name)) throw fault(`defines ${name} twice`)
      defined.add(name)
      skipSpace(true)
      grammar.define(ruleOf(name), readAlternatives(false))
      skipSpace(true)
    }
    for (const [name, start] of used) {
      if (defined.has(name)) continue
      at = start
      throw fault(`uses ${name}, which it does not define`)
    }
  }

  function ruleOf(name: string): NodeId {
    let rule = names.get(name)
    if (rule === undefined) {
      rule = grammar.declare(name)
      names.set(name, rule)
    }
    return rule
  }

  /** `nested`: inside parentheses, where line breaks have no meaning. */
  function readAlternatives(nested: boolean): NodeId {
    if (++depth > MAX_DEPTH) throw fault(`nests more than ${MAX_DEPTH} groups`)
    const options = [readSequence(nested)]
    while (take('|')) {
      skipSpace(true)
      options.push(readSequence(nested))
    }
    depth -= 1
    return grammar.alt(...options)
  }

  function readSequence(nested: boolean): NodeId {
    const parts: NodeId[] = []
    for (;;) {
      const atom = readAtom()
      if (atom === undefined) return grammar.seq(...parts)
      parts.push(readRepeated(atom))
      skipSpace(nested)
    }
  }

  function readAtom(): NodeId | undefined {
    const char = source[at]
    if (char === '"') return readLiteral()
    if (char === '[') return grammar.chars(readClass())
    if (char === '<' || char === '!') return readToken()
    if (take('.')) return grammar.chars(ANY)
    if (take('(')) {
      skipSpace(true)
      const inside = readAlternatives(true)
      skipSpace(true)
      if (!take(')')) throw fault('has a ( that is not closed')
      return inside
    }
    const start = at
    const name = match(NAME)
    if (name === '') return undefined
    if (!used.has(name)) used.set(name, start)
    return ruleOf(name)
  }

  function readRepeated(atom: NodeId): NodeId {
    skipBlanks()
    let node = atom
    for (;;) {
      const counts = readCounts()
      if (counts === undefined) return node
      node = grammar.repeat(node, ...counts)
      skipBlanks()
    }
  }

  function readCounts(): [number, number] | undefined {
    if (take('*')) return [0, UNBOUNDED]
    if (take('+')) return [1, UNBOUNDED]
    if (take('?')) return [0, 1]
    if (!take('{')) return undefined
    skipBlanks()
    const min = readNumber()
    skipBlanks()
    let max = min
    if (take(',')) {
      skipBlanks()
      max = readNumber() ?? UNBOUNDED
      skipBlanks()
    }
    if (max === undefined || !take('}')) throw fault('has a { that is no count')
    if ((min ?? 0) > max) throw fault(`counts from ${min} to ${max}`)
    return [min ?? 0, max]
  }

  function readNumber(): number | undefined {
    const start = at
    const digits = match(/\d{0,16}/y)
    if (digits === '') return undefined
    if (Number(digits) <= MAX_COUNT) return Number(digits)
    at = start
    throw fault(`counts to ${digits}, more than ${MAX_COUNT}`)
  }

  function readLiteral(): NodeId {
    at += 1
    let text = ''
    while (!take('"')) text += String.fromCodePoint(readChar('a literal'))
    return grammar.text(text)
  }

  function readClass(): CodePoints {
    at += 1
    const isNegated = take('^')
    const sets: CodePoints[] = []
    while (!take(']')) {
      const low = readChar('a range')
      const isRange = source[at] === '-' && source[at + 1] !== ']'
      if (isRange) at += 1
      const high = isRange ? readChar('a range') : low
      if (high < low) throw fault('has a range whose end comes before its beginning')
      sets.push(codePoints([low, high]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  /** One character of a literal or range, with escapes decoded. */
  function readChar(where: string): number {
    const point = source.codePointAt(at)
    if (point === undefined || point === 0x0a || point === 0x0d) throw fault(`breaks off in ${where}`)
    at += point > 0xffff ? 2 : 1
    if (point !== 0x5c) return checkPoint(point)
    const kind = source[at++] ?? ''
    const length = CODE_DIGITS.get(kind)
    if (length !== undefined) {
      const digits = source.slice(at, at + length)
      if (!/^[\dA-F]+$/i.test(digits) || digits.length !== length) {
        throw fault(`has \\${kind} without ${length} hexadecimal digits`)
      }
      at += length
      return checkPoint(Number.parseInt(digits, 16))
    }
    const control = CONTROLS.get(kind)
    if (control !== undefined) return control
    if (kind !== '' && '\\"[]^-'.includes(kind)) return kind.charCodeAt(0)
    throw fault(`has the escape \\${kind}, which means nothing`)
  }

  function checkPoint(point: number): number {
    if (point <= 0x10ffff && ofText(String.fromCodePoint(point)).length > 0) return point
    throw fault(`names ${point}, which is no character`)
  }

  function readToken(): NodeId {
    const isNegated = take('!')
    if (!take('<')) throw fault('has a ! without a token')
    const end = source.indexOf('>', at)
    if (end < 0) throw fault('has a < that is not closed')
    const name = { text: source.slice(at, end), ...placeOf(at) }
    at = end + 1
    return grammar.namedToken(name, isNegated)
  }

  function skipBlanks(): void {
    match(/[ \t]*/y)
  }

  /** Skips blanks and comments, and line breaks where they have no meaning. */
  function skipSpace(lines: boolean): void {
    while (match(lines ? /[ \t\n\r]+|#[^\n]*|/y : /[ \t]+|#[^\n]*|/y) !== '');
  }

  /** Matches a sticky pattern at the current position; the pattern may match nothing. */
  function match(pattern: RegExp): string {
    pattern.lastIndex = at
    const [text] = pattern.exec(source)!
    at += text.length
    return text
  }

  function take(text: string): boolean {
    if (!source.startsWith(text, at)) return false
    at += text.length
    return true
  }

  function placeOf(position: number): { line: number; column: number } {
    const before = source.slice(0, position).split('\n')
    return { line: before.length, column: before.at(-1)!.length + 1 }
  }

  function fault(what: string): Error {
    const { line, column } = placeOf(at)
    return gbnfFault(what, line, column)
  }
}
