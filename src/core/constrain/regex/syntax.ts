// Parses a regular expression into a tree. Errors name anything that is not regular.
import { memo } from '../../base/values.ts'
import { ANY, type CodePoints, codePoints, complement, DIGITS, ofText, pairs, union } from '../code-points.ts'
import { UNBOUNDED } from '../grammar.ts'
import { refused, shown } from '../refuse.ts'
import { modernPattern } from './dialects.ts'

/**
 * A pattern as a tree that describes a set of texts. `start`, `end` and `ahead` occur only until anchors.ts
 * has resolved them.
 */
export type Regex =
  | { readonly type: 'chars'; readonly set: CodePoints }
  | { readonly type: 'seq'; readonly parts: readonly Regex[] }
  | { readonly type: 'alt'; readonly options: readonly Regex[] }
  | { readonly type: 'repeat'; readonly body: Regex; readonly min: number; readonly max: number }
  | { readonly type: 'start' | 'end' }
  /** A lookahead: the text that follows begins with the body; with `isNegated`, it does not. */
  | { readonly type: 'ahead'; readonly body: Regex; readonly isNegated: boolean }
  /** The texts that all languages in `within` contain and none in `outside`. */
  | { readonly type: 'meet'; readonly within: readonly Regex[]; readonly outside: readonly Regex[] }

const MAX_LENGTH = 1 << 16
const MAX_DEPTH = 200
const MAX_COUNT = 1 << 20
/** Maximum number of Unicode properties in a pattern, because each is evaluated for all characters. */
const MAX_PROPERTIES = 16

const WORD = union(DIGITS, codePoints([0x41, 0x5a], [0x61, 0x7a], [0x5f, 0x5f]))
const SPACE = union(
  codePoints([9, 13], [0xa0, 0xa0], [0x2000, 0x200a]),
  ofText(' \u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
)
const LINE_END = ofText('\n\r\u2028\u2029')
const CLASSES: ReadonlyMap<string, CodePoints> = new Map(
  Object.entries({
    d: DIGITS,
    D: complement(DIGITS),
    w: WORD,
    W: complement(WORD),
    s: SPACE,
    S: complement(SPACE),
  }),
)
/** Python's inline flags. */
const FLAGS = /\(\?[aiLmsux]+\)/
/** Number of characters that are tested at once. */
const CHUNK = 1 << 12
const CONTROLS: ReadonlyMap<string, number> = new Map(
  Object.entries({ t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }),
)

/**
 * Reads a pattern as JavaScript does with the `u` flag: characters are code points. Patterns that are invalid
 * in this dialect are read as Python or as JavaScript without flags. Throws `unsupported` for lookbehind,
 * back-references, word boundaries, flags, and invalid patterns.
 */
export function parseRegex(source: string): Regex {
  if (source.length > MAX_LENGTH) {
    throw refused(`has a pattern of ${source.length} characters; the limit is ${MAX_LENGTH}`, 'shorten it')
  }
  const fault = faultOf(source)
  if (fault === undefined) return new PatternParser(source).parse()
  const modern = modernPattern(source)
  if (faultOf(modern) === undefined) return new PatternParser(modern).parse()
  const [flags] = FLAGS.exec(source) ?? []
  if (flags !== undefined)
    throw refused(
      `has the pattern ${shown(source)}, which uses the flags ${flags}`,
      'write the pattern without flags',
      {
        pattern: source,
      },
    )
  throw refused(`has the pattern ${shown(source)}, which is not valid: ${fault}`, 'correct it', {
    pattern: source,
  })
}

/** JavaScript's error message for a pattern; undefined if the pattern is valid. */
function faultOf(source: string): string | undefined {
  try {
    new RegExp(source, 'u')
    return undefined
  } catch (error) {
    // Some JavaScript engines prefix the reason with the whole pattern.
    return (error as Error).message.split(': ').at(-1) ?? 'it cannot be read'
  }
}

/** Reads a pattern that RegExp has accepted, so parentheses are balanced and ranges are in order. */
class PatternParser {
  readonly #source: string
  readonly #chars: readonly string[]
  #at = 0
  #depth = 0
  #properties = 0

  constructor(source: string) {
    this.#source = source
    this.#chars = Array.from(source)
  }

  parse(): Regex {
    return this.#readAlternatives()
  }

  #readAlternatives(): Regex {
    if (++this.#depth > MAX_DEPTH) throw this.#fault(`nests groups more than ${MAX_DEPTH} deep`)
    const options = [this.#readSequence()]
    while (this.#take('|')) options.push(this.#readSequence())
    this.#depth -= 1
    return options.length === 1 ? options[0]! : { type: 'alt', options }
  }

  #readSequence(): Regex {
    const parts: Regex[] = []
    while (!['', '|', ')'].includes(this.#peek())) parts.push(this.#readRepeated())
    return parts.length === 1 ? parts[0]! : { type: 'seq', parts }
  }

  #readRepeated(): Regex {
    const body = this.#readAtom()
    const counts = this.#readCounts()
    if (counts === undefined) return body
    // Lazy and greedy repetitions match the same language.
    this.#take('?')
    return { type: 'repeat', body, ...counts }
  }

  #readCounts(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: UNBOUNDED }
    if (this.#take('+')) return { min: 1, max: UNBOUNDED }
    if (this.#take('?')) return { min: 0, max: 1 }
    if (!this.#take('{')) return undefined
    const min = this.#readNumber()
    const max = !this.#take(',') ? min : this.#peek() === '}' ? UNBOUNDED : this.#readNumber()
    this.#take('}')
    return { min, max }
  }

  #readNumber(): number {
    let digits = ''
    while (/^[0-9]$/.test(this.#peek())) digits += this.#next()
    const value = Number(digits)
    if (value > MAX_COUNT) throw this.#fault(`repeats ${digits} times, more than ${MAX_COUNT}`)
    return value
  }

  #readAtom(): Regex {
    const char = this.#next()
    switch (char) {
      case '^':
        return { type: 'start' }
      case '$':
        return { type: 'end' }
      case '.':
        return { type: 'chars', set: complement(LINE_END) }
      case '(':
        return this.#readGroup()
      case '[':
        return { type: 'chars', set: this.#readClass() }
      case '\\':
        return { type: 'chars', set: this.#readEscape(false) }
      default:
        return { type: 'chars', set: this.#literal(char) }
    }
  }

  #readGroup(): Regex {
    if (this.#take('?')) {
      const kind = this.#next()
      if (kind === '=' || kind === '!')
        return { type: 'ahead', body: this.#readInside(), isNegated: kind === '!' }
      if (kind === '<' && !['=', '!'].includes(this.#peek())) while (!this.#take('>')) this.#at += 1
      else if (kind !== ':') {
        throw this.#fault('uses lookbehind or flags', 'write out the required text instead')
      }
    }
    return this.#readInside()
  }

  /** The contents of a group, including its closing parenthesis. */
  #readInside(): Regex {
    const inside = this.#readAlternatives()
    this.#take(')')
    return inside
  }

  #readClass(): CodePoints {
    const isNegated = this.#take('^')
    const sets: CodePoints[] = []
    while (!this.#take(']')) {
      const low = this.#readMember()
      if (this.#peek() !== '-' || this.#chars[this.#at + 1] === ']') {
        sets.push(low)
        continue
      }
      this.#at += 1
      // Both ends of a range must be single characters.
      sets.push(codePoints([low[0]!, this.#readMember()[0]!]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  #readMember(): CodePoints {
    const char = this.#next()
    return char === '\\' ? this.#readEscape(true) : this.#literal(char)
  }

  #literal(char: string): CodePoints {
    const set = ofText(char)
    if (set.length === 0) throw this.#fault('has a lone surrogate, which is not valid text')
    return set
  }

  #readEscape(inClass: boolean): CodePoints {
    const char = this.#next()
    const set = CLASSES.get(char)
    if (set !== undefined) return set
    const control = char === 'b' && inClass ? 8 : CONTROLS.get(char)
    if (control !== undefined) return codePoints([control, control])
    switch (char) {
      case 'x':
        return this.#pointSet(this.#readHex(2))
      case 'u':
        return this.#pointSet(this.#readUnicode())
      case 'c':
        return this.#pointSet(this.#next().charCodeAt(0) & 31)
      case 'b':
      case 'B':
        throw this.#fault(`uses \\${char}, a word boundary`, 'write the characters around it instead')
      case 'p':
      case 'P':
        return this.#readProperty(char === 'P')
      default:
        if (/^[1-9k]$/.test(char)) {
          throw this.#fault('uses a back-reference', 'a grammar cannot repeat earlier text')
        }
        return this.#literal(char)
    }
  }

  #readProperty(isNegated: boolean): CodePoints {
    if (++this.#properties > MAX_PROPERTIES)
      throw this.#fault(`uses more than ${MAX_PROPERTIES} Unicode properties`)
    let name = ''
    for (this.#take('{'); !this.#take('}'); ) name += this.#next()
    const set = memo(known, name, () => charactersOf(name))
    return isNegated ? complement(set) : set
  }

  #readUnicode(): number {
    if (this.#take('{')) {
      let digits = ''
      while (!this.#take('}')) digits += this.#next()
      return Number.parseInt(digits, 16)
    }
    const first = this.#readHex(4)
    // Two escapes (surrogates) that together encode one character.
    const behind = this.#chars.slice(this.#at, this.#at + 6).join('')
    if (first < 0xd800 || first > 0xdbff || !/^\\ud[c-f]/i.test(behind)) return first
    this.#at += 2
    return (first - 0xd800) * 0x400 + (this.#readHex(4) - 0xdc00) + 0x10000
  }

  #pointSet(point: number): CodePoints {
    return this.#literal(String.fromCodePoint(point))
  }

  #readHex(length: number): number {
    this.#at += length
    return Number.parseInt(this.#chars.slice(this.#at - length, this.#at).join(''), 16)
  }

  #peek(): string {
    return this.#chars[this.#at] ?? ''
  }

  #next(): string {
    return this.#chars[this.#at++]!
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at += 1
    return true
  }

  #fault(what: string, instead = 'change the pattern'): Error {
    return refused(
      `has the pattern ${shown(this.#source)}, which ${what} at character ${this.#at}`,
      instead,
      { at: this.#at },
    )
  }
}

/** Keyed by property. There are a few hundred. */
const known = new Map<string, CodePoints>()

/**
 * The characters of a Unicode property, such as `L` or `Script=Greek`, as this JavaScript engine defines it.
 */
function charactersOf(property: string): CodePoints {
  const runs = new RegExp(`\\p{${property}}+`, 'gu')
  const ranges: [number, number][] = []
  for (const [low, high] of pairs(ANY)) {
    for (let first = low; first <= high; first += CHUNK) {
      const points = Array.from({ length: Math.min(CHUNK, high - first + 1) }, (_, index) => first + index)
      const text = String.fromCodePoint(...points)
      for (const { index, 0: run } of text.matchAll(runs)) {
        const start = text.codePointAt(index) as number
        ranges.push([start, start + Array.from(run).length - 1])
      }
    }
  }
  return codePoints(...ranges)
}

/** Any text. */
export const ANYTHING: Regex = { type: 'repeat', body: { type: 'chars', set: ANY }, min: 0, max: UNBOUNDED }
export const NOTHING: Regex = { type: 'seq', parts: [] }
