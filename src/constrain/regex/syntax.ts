// Pattern syntax. In: a regular expression as text. Out: its tree, or a typed error that names what is not
// regular.
import { memo } from '../../base/values.ts'
import { ANY, type CodePoints, codePoints, complement, DIGITS, ofText, pairs, union } from '../code-points.ts'
import { UNBOUNDED } from '../grammar.ts'
import { refused, shown } from '../refuse.ts'

/**
 * A pattern as a tree, which describes a set of texts. `start`, `end` and `ahead` are resolved by anchors.ts
 * and lookahead.ts: later code meets none of them.
 */
export type Regex =
  | { readonly type: 'chars'; readonly set: CodePoints }
  | { readonly type: 'seq'; readonly parts: readonly Regex[] }
  | { readonly type: 'alt'; readonly options: readonly Regex[] }
  | { readonly type: 'repeat'; readonly body: Regex; readonly min: number; readonly max: number }
  | { readonly type: 'start' | 'end' }
  /** A lookahead: what follows here begins with the body, or with `isNegated` does not. */
  | { readonly type: 'ahead'; readonly body: Regex; readonly isNegated: boolean }
  /** The texts that are in all languages of `within` and in none of `outside`. */
  | { readonly type: 'meet'; readonly within: readonly Regex[]; readonly outside: readonly Regex[] }

const MAX_LENGTH = 1 << 16
const MAX_DEPTH = 200
const MAX_COUNT = 1 << 20
/** Most Unicode properties of a pattern: each is looked up among all characters. */
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
/** Characters that are looked up at once. */
const CHUNK = 1 << 12
const CONTROLS: ReadonlyMap<string, number> = new Map(
  Object.entries({ t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }),
)

/**
 * Reads a pattern as JavaScript does with the flag `u`: characters are code points. Throws `unsupported` for
 * lookbehind, back-references, word boundaries, flags, and invalid patterns.
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
    // Some JavaScript engines put the whole pattern before the reason.
    const reason = (error as Error).message.split(': ').at(-1)
    throw refused(`has the pattern ${shown(source)}, which is not valid: ${reason}`, 'correct it', {
      pattern: source,
    })
  }
  // RegExp has accepted the pattern, so parentheses are balanced and ranges are in order.
  const chars = Array.from(source)
  let at = 0
  let depth = 0
  let properties = 0
  return readAlternatives()

  function readAlternatives(): Regex {
    if (++depth > MAX_DEPTH) throw fault(`nests more than ${MAX_DEPTH} groups`)
    const options = [readSequence()]
    while (take('|')) options.push(readSequence())
    depth -= 1
    return options.length === 1 ? options[0]! : { type: 'alt', options }
  }

  function readSequence(): Regex {
    const parts: Regex[] = []
    while (!['', '|', ')'].includes(peek())) parts.push(readRepeated())
    return parts.length === 1 ? parts[0]! : { type: 'seq', parts }
  }

  function readRepeated(): Regex {
    const body = readAtom()
    const counts = readCounts()
    if (counts === undefined) return body
    // Lazy and greedy repetitions have the same language.
    take('?')
    return { type: 'repeat', body, ...counts }
  }

  function readCounts(): { min: number; max: number } | undefined {
    if (take('*')) return { min: 0, max: UNBOUNDED }
    if (take('+')) return { min: 1, max: UNBOUNDED }
    if (take('?')) return { min: 0, max: 1 }
    if (!take('{')) return undefined
    const min = readNumber()
    const max = !take(',') ? min : peek() === '}' ? UNBOUNDED : readNumber()
    take('}')
    return { min, max }
  }

  function readNumber(): number {
    let digits = ''
    while (/^[0-9]$/.test(peek())) digits += next()
    const value = Number(digits)
    if (value > MAX_COUNT) throw fault(`counts to ${digits}, more than ${MAX_COUNT}`)
    return value
  }

  function readAtom(): Regex {
    const char = next()
    switch (char) {
      case '^':
        return { type: 'start' }
      case '$':
        return { type: 'end' }
      case '.':
        return { type: 'chars', set: complement(LINE_END) }
      case '(':
        return readGroup()
      case '[':
        return { type: 'chars', set: readClass() }
      case '\\':
        return { type: 'chars', set: readEscape(false) }
      default:
        return { type: 'chars', set: literal(char) }
    }
  }

  function readGroup(): Regex {
    if (take('?')) {
      const kind = next()
      if (kind === '=' || kind === '!') return { type: 'ahead', body: readInside(), isNegated: kind === '!' }
      if (kind === '<' && !['=', '!'].includes(peek())) while (!take('>')) at += 1
      else if (kind !== ':') {
        throw fault('uses lookbehind or flags', 'write what must be there in its place instead')
      }
    }
    return readInside()
  }

  /** The inside of a group, with its closing parenthesis. */
  function readInside(): Regex {
    const inside = readAlternatives()
    take(')')
    return inside
  }

  function readClass(): CodePoints {
    const isNegated = take('^')
    const sets: CodePoints[] = []
    while (!take(']')) {
      const low = readMember()
      if (peek() !== '-' || chars[at + 1] === ']') {
        sets.push(low)
        continue
      }
      at += 1
      // The ends of a range must be single characters.
      sets.push(codePoints([low[0]!, readMember()[0]!]))
    }
    return isNegated ? complement(union(...sets)) : union(...sets)
  }

  function readMember(): CodePoints {
    const char = next()
    return char === '\\' ? readEscape(true) : literal(char)
  }

  function literal(char: string): CodePoints {
    const set = ofText(char)
    if (set.length === 0) throw fault('has half a surrogate pair, which no text holds')
    return set
  }

  function readEscape(inClass: boolean): CodePoints {
    const char = next()
    const set = CLASSES.get(char)
    if (set !== undefined) return set
    const control = char === 'b' && inClass ? 8 : CONTROLS.get(char)
    if (control !== undefined) return codePoints([control, control])
    switch (char) {
      case 'x':
        return pointSet(readHex(2))
      case 'u':
        return pointSet(readUnicode())
      case 'c':
        return pointSet(next().charCodeAt(0) & 31)
      case 'b':
      case 'B':
        throw fault(`uses \\${char}, a word boundary`, 'write the characters around it instead')
      case 'p':
      case 'P':
        return readProperty(char === 'P')
      default:
        if (/^[1-9k]$/.test(char)) {
          throw fault('uses a back-reference', 'no grammar can repeat what was written')
        }
        return literal(char)
    }
  }

  function readProperty(isNegated: boolean): CodePoints {
    if (++properties > MAX_PROPERTIES) throw fault(`uses more than ${MAX_PROPERTIES} Unicode properties`)
    let name = ''
    for (take('{'); !take('}'); ) name += next()
    const set = memo(known, name, () => charactersOf(name))
    return isNegated ? complement(set) : set
  }

  function readUnicode(): number {
    if (take('{')) {
      let digits = ''
      while (!take('}')) digits += next()
      return Number.parseInt(digits, 16)
    }
    const first = readHex(4)
    // Two escapes (surrogates) that together encode one character.
    const behind = chars.slice(at, at + 6).join('')
    if (first < 0xd800 || first > 0xdbff || !/^\\ud[c-f]/i.test(behind)) return first
    at += 2
    return (first - 0xd800) * 0x400 + (readHex(4) - 0xdc00) + 0x10000
  }

  function pointSet(point: number): CodePoints {
    return literal(String.fromCodePoint(point))
  }

  function readHex(length: number): number {
    at += length
    return Number.parseInt(chars.slice(at - length, at).join(''), 16)
  }

  function peek(): string {
    return chars[at] ?? ''
  }

  function next(): string {
    return chars[at++]!
  }

  function take(char: string): boolean {
    if (peek() !== char) return false
    at += 1
    return true
  }

  function fault(what: string, instead = 'change the pattern'): Error {
    return refused(`has the pattern ${shown(source)}, which ${what} at character ${at}`, instead, { at })
  }
}

/** By property. There are a few hundred. */
const known = new Map<string, CodePoints>()

/**
 * The characters of a Unicode property, such as `L` or `Script=Greek`, as this JavaScript engine knows it.
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
