// Splits a template into tokens, and removes white space as trim_blocks and lstrip_blocks do.
import { TemplateError } from './values.ts'

export interface Token {
  readonly type: 'data' | 'begin' | 'end' | 'name' | 'string' | 'int' | 'float' | 'operator' | 'eof'
  readonly value: string
}

export const syntaxError = (what: string) => new TemplateError('TemplateSyntaxError', what)

/** The characters that Python's `str.isspace` accepts, for a character class in a regular expression. */
export const SPACES = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const SPACE = new RegExp(`[${SPACES}]`)
const RUN = new RegExp(`[${SPACES}]*`, 'y')

/** What opens a tag, with the sign that controls the white space before it. */
const OPEN = /\{%([-+]?)|\{\{([-+]?)|\{#([-+]?)/g
const RAW = new RegExp(`\\{%[-+]?[${SPACES}]*raw[${SPACES}]*(?:-%\\}[${SPACES}]*|%\\})`, 'y')
const END_RAW = new RegExp(
  `\\{%([-+]?)[${SPACES}]*endraw[${SPACES}]*(?:\\+%\\}|-%\\}[${SPACES}]*|%\\}\\n?)`,
  'g',
)
const CLOSE = {
  '{%': new RegExp(`\\+%\\}|-%\\}[${SPACES}]*|%\\}\\n?`, 'y'),
  '{{': new RegExp(`-\\}\\}[${SPACES}]*|\\}\\}`, 'y'),
  '{#': new RegExp(`\\+#\\}|-#\\}[${SPACES}]*|#\\}\\n?`, 'g'),
} as const

const STRING = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"/y
const NUMBER =
  /0b[01](?:_?[01])*|0o[0-7](?:_?[0-7])*|0x[\da-f](?:_?[\da-f])*|\d(?:_?\d)*(?:\.\d(?:_?\d)*)?(?:e[-+]?\d(?:_?\d)*)?/iy
const DIGITS = /\d+/y
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy
const OPERATOR = /\*\*|\/\/|==|!=|>=|<=|[-+*/%~[\](){}<>=.:|,;]/y
const PAIRS: ReadonlyMap<string, string> = new Map(Object.entries({ ')': '(', ']': '[', '}': '{' }))

/** Throws TemplateError wherever Jinja finds a syntax error. */
export function tokenize(template: string): Token[] {
  return new Lexer(template.replace(/\r\n?/g, '\n').replace(/\n$/, '')).tokens
}

class Lexer {
  readonly tokens: Token[] = []
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
    while (this.#at < source.length) this.#next()
    this.tokens.push({ type: 'eof', value: '' })
  }

  /** Reads the text up to the next tag, and the tag itself. */
  #next(): void {
    OPEN.lastIndex = this.#at
    const found = OPEN.exec(this.#source)
    if (found === null) {
      this.#data(this.#source.slice(this.#at))
      this.#at = this.#source.length
      return
    }
    const kind = found[0].slice(0, 2) as keyof typeof CLOSE
    const sign = found[0].slice(2)
    this.#data(this.#before(found.index, sign, kind !== '{{'))
    this.#at = found.index
    if (kind === '{%' && this.#match(RAW) !== undefined) {
      this.#raw()
      return
    }
    this.#at = found.index + found[0].length
    if (kind === '{#') this.#comment()
    else this.#tag(kind)
  }

  #comment(): void {
    const close = CLOSE['{#']
    close.lastIndex = this.#at
    if (close.exec(this.#source) === null) throw syntaxError('missing end of comment tag')
    this.#at = close.lastIndex
  }

  #raw(): void {
    END_RAW.lastIndex = this.#at
    const end = END_RAW.exec(this.#source)
    if (end === null) throw syntaxError('missing end of raw directive')
    this.#data(this.#before(end.index, end[1] ?? '', true))
    this.#at = END_RAW.lastIndex
  }

  /**
   * The text up to a tag. `-` strips all white space before the tag; lstrip_blocks strips the indentation of
   * a line that begins with it.
   */
  #before(end: number, sign: string, isBlock: boolean): string {
    const text = this.#source.slice(this.#at, end)
    if (sign === '-') return trimEnd(text)
    if (sign === '+' || !isBlock) return text
    const line = text.lastIndexOf('\n') + 1
    const startsLine = line > 0 || this.#at === 0 || this.#source[this.#at - 1] === '\n'
    return startsLine && trimEnd(text.slice(line)) === '' ? text.slice(0, line) : text
  }

  #data(value: string): void {
    if (value !== '') this.tokens.push({ type: 'data', value })
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #tag(kind: '{%' | '{{'): void {
    this.tokens.push({ type: 'begin', value: kind })
    const open: string[] = []
    for (;;) {
      this.#match(RUN)
      // Inside brackets, `}}` and `%}` are operators.
      if (open.length === 0 && this.#match(CLOSE[kind]) !== undefined) break
      if (this.#at >= this.#source.length) throw syntaxError('unexpected end of template')
      this.tokens.push(this.#token(open))
    }
    this.tokens.push({ type: 'end', value: kind })
  }

  #token(open: string[]): Token {
    const last = this.tokens.at(-1)
    const isIndex = last?.type === 'operator' && last.value === '.'
    const number = this.#match(isIndex ? DIGITS : NUMBER)
    if (number !== undefined) {
      const isFloat = /^\d[\d_]*(?:\.|e)/i.test(number)
      return { type: isFloat ? 'float' : 'int', value: number.replaceAll('_', '') }
    }
    const name = this.#match(NAME)
    if (name !== undefined) return { type: 'name', value: name }
    const string = this.#match(STRING)
    if (string !== undefined) return { type: 'string', value: unescaped(string.slice(1, -1)) }
    const value = this.#match(OPERATOR)
    if (value === undefined) {
      throw syntaxError(`unexpected character ${JSON.stringify(this.#source[this.#at])} at ${this.#at}`)
    }
    if ('([{'.includes(value)) open.push(value)
    const opener = PAIRS.get(value)
    if (opener !== undefined && open.pop() !== opener) throw syntaxError(`unexpected '${value}'`)
    return { type: 'operator', value }
  }
}

/** Python's `rstrip` in linear time. */
function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    n: '\n',
    t: '\t',
    r: '\r',
    a: '\x07',
    b: '\b',
    f: '\f',
    v: '\v',
    '\\': '\\',
    "'": "'",
    '"': '"',
    '\n': '',
  }),
)

/** Resolves Python's string escapes; unknown ones keep their backslash. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(
    /\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|([0-7]{1,3})|([\s\S]))/gi,
    (whole, x?: string, u?: string, long?: string, octal?: string, other = '') => {
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
      const hex = x ?? u ?? long
      if (hex === undefined || !/^\\[xuU]/.test(whole)) {
        if ('xuUN'.includes(other) && other !== '') throw syntaxError(`truncated escape \\${other}`)
        return ESCAPES.get(other) ?? whole
      }
      const code = Number.parseInt(hex, 16)
      if (code > 0x10ffff) throw syntaxError(`illegal Unicode character ${whole}`)
      return String.fromCodePoint(code)
    },
  )
}
