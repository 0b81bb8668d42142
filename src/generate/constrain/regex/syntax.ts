// Pattern syntax. In: a regular expression as text. Out: its tree, or the typed error that names what is not regular.
import { ANY, type CodePoints, codePoints, complement, ofText, union } from '../code-points.ts'
import { UNBOUNDED } from '../grammar.ts'
import { refused, shown } from '../refuse.ts'

/** A pattern as a tree. The language is that of its texts; `start` and `end` are places, see anchors.ts. */
export type Regex =
  | { readonly type: 'chars'; readonly set: CodePoints }
  | { readonly type: 'seq'; readonly parts: readonly Regex[] }
  | { readonly type: 'alt'; readonly options: readonly Regex[] }
  | { readonly type: 'repeat'; readonly body: Regex; readonly min: number; readonly max: number }
  | { readonly type: 'start' | 'end' }

const MAX_LENGTH = 1 << 16
const MAX_DEPTH = 200
const MAX_COUNT = 1 << 20

const DIGIT = codePoints([0x30, 0x39])
const WORD = union(DIGIT, codePoints([0x41, 0x5a], [0x61, 0x7a], [0x5f, 0x5f]))
const SPACE = union(
  codePoints([9, 13], [0xa0, 0xa0], [0x2000, 0x200a]),
  ofText(' \u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
)
const LINE_END = ofText('\n\r\u2028\u2029')
const CLASSES: Readonly<Record<string, CodePoints>> = {
  d: DIGIT,
  D: complement(DIGIT),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
}
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

/**
 * Reads a pattern as JavaScript does with the flag `u`: characters are code points. Throws `unsupported` for lookaround,
 * back-references, word boundaries, Unicode properties and flags, and for what is no pattern.
 */
export function parseRegex(source: string): Regex {
  if (source.length > MAX_LENGTH) {
    throw refused(
      `has a pattern of ${source.length} characters; at most ${MAX_LENGTH} are read`,
      'shorten it',
    )
  }
  try {
    new RegExp(source, 'u')
  } catch (error) {
    // Some engines put the whole pattern before the reason.
    const reason = (error as Error).message.split(': ').at(-1)
    throw refused(`has the pattern ${shown(source)}, which is none: ${reason}`, 'correct it', {
      pattern: source,
    })
  }
  return new Reader(source).alternatives()
}

/** Of what RegExp has taken, so that nothing is open, misplaced or out of order. */
class Reader {
  readonly #source: string
  readonly #chars: readonly string[]
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
    this.#chars = Array.from(source)
  }

  alternatives(): Regex {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`nests more than ${MAX_DEPTH} groups`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth -= 1
    return options.length === 1 ? options[0]! : { type: 'alt', options }
  }

  #sequence(): Regex {
    const parts: Regex[] = []
    while (!['', '|', ')'].includes(this.#peek())) parts.push(this.#repeated())
    return parts.length === 1 ? parts[0]! : { type: 'seq', parts }
  }

  #repeated(): Regex {
    const body = this.#atom()
    const counts = this.#quantifier()
    if (counts === undefined) return body
    // Lazy or greedy, the language is the same.
    this.#take('?')
    return { type: 'repeat', body, ...counts }
  }

  #quantifier(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: UNBOUNDED }
    if (this.#take('+')) return { min: 1, max: UNBOUNDED }
    if (this.#take('?')) return { min: 0, max: 1 }
    if (!this.#take('{')) return undefined
    const min = this.#number()
    const max = !this.#take(',') ? min : this.#peek() === '}' ? UNBOUNDED : this.#number()
    this.#take('}')
    return { min, max }
  }

  #number(): number {
    let digits = ''
    while (/^[0-9]$/.test(this.#peek())) digits += this.#next()
    const value = Number(digits)
    if (value > MAX_COUNT) throw this.#error(`counts to ${digits}, more than ${MAX_COUNT}`)
    return value
  }

  #atom(): Regex {
    const char = this.#next()
    switch (char) {
      case '^':
        return { type: 'start' }
      case '$':
        return { type: 'end' }
      case '.':
        return { type: 'chars', set: complement(LINE_END) }
      case '(':
        return this.#group()
      case '[':
        return { type: 'chars', set: this.#class() }
      case '\\':
        return { type: 'chars', set: this.#escape(false) }
      default:
        return { type: 'chars', set: this.#literal(char) }
    }
  }

  #group(): Regex {
    if (this.#take('?')) {
      const kind = this.#next()
      if (kind === '<' && !['=', '!'].includes(this.#peek())) while (!this.#take('>')) this.#at += 1
      else if (kind !== ':') {
        throw this.#error('uses lookaround or flags', 'write what must be there in its place instead')
      }
    }
    const inside = this.alternatives()
    this.#take(')')
    return inside
  }

  #class(): CodePoints {
    const isNegated = this.#take('^')
    const sets: CodePoints[] = []
    while (!this.#take(']')) {
      const low = this.#member()
      if (this.#peek() !== '-' || this.#chars[this.#at + 1] === ']') {
        sets.push(low)
        continue
      }
      this.#at += 1
      // Only single characters can be the ends.
      sets.push(codePoints([low[0]!, this.#member()[0]!]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  #member(): CodePoints {
    const char = this.#next()
    return char === '\\' ? this.#escape(true) : this.#literal(char)
  }

  #literal(char: string): CodePoints {
    const set = ofText(char)
    if (set.length === 0) throw this.#error('has half a surrogate pair, which no text holds')
    return set
  }

  #escape(inClass: boolean): CodePoints {
    const char = this.#next()
    const set = CLASSES[char]
    if (set !== undefined) return set
    const control = char === 'b' && inClass ? 8 : CONTROLS[char]
    if (control !== undefined) return codePoints([control, control])
    switch (char) {
      case 'x':
        return this.#point(this.#hex(2))
      case 'u':
        return this.#point(this.#unicode())
      case 'c':
        return this.#point(this.#next().charCodeAt(0) & 31)
      case 'b':
      case 'B':
        throw this.#error(`uses \\${char}, a word boundary`, 'write the characters around it instead')
      case 'p':
      case 'P':
        throw this.#error(`uses \\${char}, a Unicode property`, 'write the ranges of characters instead')
      default:
        if (/^[1-9k]$/.test(char)) {
          throw this.#error('uses a back-reference', 'no grammar can repeat what was written')
        }
        return this.#literal(char)
    }
  }

  #unicode(): number {
    if (this.#take('{')) {
      let digits = ''
      while (!this.#take('}')) digits += this.#next()
      return Number.parseInt(digits, 16)
    }
    const first = this.#hex(4)
    // Two escapes that spell one character.
    const behind = this.#chars.slice(this.#at, this.#at + 6).join('')
    if (first < 0xd800 || first > 0xdbff || !/^\\ud[c-f]/i.test(behind)) return first
    this.#at += 2
    return (first - 0xd800) * 0x400 + (this.#hex(4) - 0xdc00) + 0x10000
  }

  #point(point: number): CodePoints {
    return this.#literal(String.fromCodePoint(point))
  }

  #hex(length: number): number {
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

  #error(what: string, next = 'change the pattern'): Error {
    return refused(`has the pattern ${shown(this.#source)}, which ${what} at character ${this.#at}`, next, {
      at: this.#at,
    })
  }
}

/** Any text. */
export const ANYTHING: Regex = { type: 'repeat', body: { type: 'chars', set: ANY }, min: 0, max: UNBOUNDED }
export const NOTHING: Regex = { type: 'seq', parts: [] }
