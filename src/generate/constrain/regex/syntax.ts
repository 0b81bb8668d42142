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
const SPACE = codePoints(
  ...([
    [9, 13],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
  ] as const),
  ...([
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] as const),
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
  const reader = new Reader(source)
  const tree = reader.alternatives()
  if (!reader.isDone) throw reader.error('has a ) that nothing opens')
  return tree
}

class Reader {
  readonly #source: string
  readonly #chars: readonly string[]
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
    this.#chars = Array.from(source)
  }

  get isDone(): boolean {
    return this.#at >= this.#chars.length
  }

  error(what: string, next = 'change the pattern'): Error {
    return refused(`has the pattern ${shown(this.#source)}, which ${what} at character ${this.#at}`, next, {
      pattern: this.#source,
      at: this.#at,
    })
  }

  alternatives(): Regex {
    if (++this.#depth > MAX_DEPTH) throw this.error(`nests more than ${MAX_DEPTH} groups`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth -= 1
    return options.length === 1 ? options[0]! : { type: 'alt', options }
  }

  #sequence(): Regex {
    const parts: Regex[] = []
    while (!this.isDone && this.#peek() !== '|' && this.#peek() !== ')') parts.push(this.#repeated())
    return parts.length === 1 ? parts[0]! : { type: 'seq', parts }
  }

  #repeated(): Regex {
    const body = this.#atom()
    const counts = this.#quantifier()
    if (counts === undefined) return body
    // Lazy or greedy, the language is the same.
    this.#take('?')
    if (body.type === 'start' || body.type === 'end') throw this.error('repeats an anchor')
    if (this.#quantifier() !== undefined) throw this.error('repeats a repetition')
    return { type: 'repeat', body, ...counts }
  }

  #quantifier(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: UNBOUNDED }
    if (this.#take('+')) return { min: 1, max: UNBOUNDED }
    if (this.#take('?')) return { min: 0, max: 1 }
    if (!this.#take('{')) return undefined
    const min = this.#number()
    const max = this.#take(',') ? (this.#number() ?? UNBOUNDED) : min
    if (min === undefined || max === undefined || !this.#take('}')) {
      throw this.error('has a { that is no count', 'write \\{ for the character')
    }
    if (min > max) throw this.error(`counts from ${min} to ${max}`)
    return { min, max }
  }

  #number(): number | undefined {
    let digits = ''
    while (/^[0-9]$/.test(this.#peek())) digits += this.#next()
    if (digits === '') return undefined
    const value = Number(digits)
    if (value > MAX_COUNT) throw this.error(`counts to ${digits}, more than ${MAX_COUNT}`)
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
      case '*':
      case '+':
      case '?':
        throw this.error(`has ${char} with nothing to repeat`)
      case '{':
      case '}':
      case ']':
        throw this.error(`has ${char} alone`, `write \\${char} for the character`)
      default:
        return { type: 'chars', set: this.#literal(char) }
    }
  }

  #group(): Regex {
    if (this.#take('?')) {
      const kind = this.#next()
      if (kind === '<' && this.#peek() !== '=' && this.#peek() !== '!') this.#name()
      else if (kind !== ':') {
        throw this.error('uses lookaround or flags', 'write what must be there in its place instead')
      }
    }
    const inside = this.alternatives()
    if (!this.#take(')')) throw this.error('has a ( that is not closed')
    return inside
  }

  #name(): void {
    while (this.#peek() !== '>' && !this.isDone) this.#at += 1
    if (!this.#take('>')) throw this.error('has a group name without end')
  }

  #class(): CodePoints {
    const isNegated = this.#take('^')
    const sets: CodePoints[] = []
    while (!this.#take(']')) {
      if (this.isDone) throw this.error('has a [ that is not closed')
      const low = this.#member()
      if (this.#peek() !== '-' || this.#chars[this.#at + 1] === ']') {
        sets.push(low)
        continue
      }
      this.#at += 1
      const high = this.#member()
      const [first, last] = [single(low), single(high)]
      if (first === undefined || last === undefined || first > last) {
        throw this.error('has a range whose ends are no characters in order')
      }
      sets.push(codePoints([first, last]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  #member(): CodePoints {
    const char = this.#next()
    return char === '\\' ? this.#escape(true) : this.#literal(char)
  }

  #literal(char: string): CodePoints {
    const set = ofText(char)
    if (set.length === 0) throw this.error('has half a surrogate pair, which no text holds')
    return set
  }

  #escape(inClass: boolean): CodePoints {
    const char = this.#next()
    const set = CLASSES[char]
    if (set !== undefined) return set
    if (char === 'b' && inClass) return codePoints([8, 8])
    if (char === '0' && /^[0-9]$/.test(this.#peek())) throw this.error('has an octal escape', 'write \\xHH')
    const control = CONTROLS[char]
    if (control !== undefined) return codePoints([control, control])
    switch (char) {
      case 'x':
        return this.#point(this.#hex(2))
      case 'u':
        return this.#unicode()
      case 'c': {
        const letter = this.#next()
        if (!/^[A-Za-z]$/.test(letter)) throw this.error('has \\c without a letter')
        return this.#point(letter.charCodeAt(0) & 31)
      }
      case 'b':
      case 'B':
        throw this.error(`uses \\${char}, a word boundary`, 'write the characters around it instead')
      case 'p':
      case 'P':
        throw this.error(`uses \\${char}, a Unicode property`, 'write the ranges of characters instead')
      case 'k':
        throw this.error('uses a back-reference', 'no grammar can repeat what was written')
      default:
        if (/^[1-9]$/.test(char)) {
          throw this.error('uses a back-reference', 'no grammar can repeat what was written')
        }
        if (/^[A-Za-z]$/.test(char)) throw this.error(`uses \\${char}, which means nothing`)
        return this.#literal(char)
    }
  }

  #unicode(): CodePoints {
    if (!this.#take('{')) {
      const first = this.#hex(4)
      // Two escapes that spell one character.
      const isLead = first >= 0xd800 && first <= 0xdbff
      if (!isLead || this.#peek() !== '\\' || this.#chars[this.#at + 1] !== 'u') return this.#point(first)
      this.#at += 2
      return this.#point((first - 0xd800) * 0x400 + (this.#hex(4) - 0xdc00) + 0x10000)
    }
    let digits = ''
    while (/^[0-9A-Fa-f]$/.test(this.#peek())) digits += this.#next()
    if (digits === '' || !this.#take('}')) throw this.error('has \\u{ without a hexadecimal number')
    return this.#point(Number.parseInt(digits, 16))
  }

  #point(point: number): CodePoints {
    const set = point <= 0x10ffff ? codePoints([point, point]) : []
    if (set.length === 0) throw this.error(`names ${point}, which is no character`)
    return set
  }

  #hex(length: number): number {
    const digits = this.#chars.slice(this.#at, this.#at + length).join('')
    if (!new RegExp(`^[0-9A-Fa-f]{${length}}$`).test(digits)) {
      throw this.error(`has an escape without ${length} hexadecimal digits`)
    }
    this.#at += length
    return Number.parseInt(digits, 16)
  }

  #peek(): string {
    return this.#chars[this.#at] ?? ''
  }

  #next(): string {
    const char = this.#chars[this.#at]
    if (char === undefined) throw this.error('ends too soon')
    this.#at += 1
    return char
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at += 1
    return true
  }
}

/** The one character of a set; undefined when it has more. */
function single(set: CodePoints): number | undefined {
  return set.length === 2 && set[0] === set[1] ? set[0] : undefined
}

/** Any text. */
export const ANYTHING: Regex = { type: 'repeat', body: { type: 'chars', set: ANY }, min: 0, max: UNBOUNDED }
export const NOTHING: Regex = { type: 'seq', parts: [] }
