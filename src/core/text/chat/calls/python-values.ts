// Converts Python literals in models' calls to JSON text.
import { listJson, objectJson } from './call.ts'
import { CUT, GrowingText, MISMATCH, type Reading } from './growing-text.ts'

/** Maximum depth of lists and objects in a value. */
export const MAX_DEPTH = 100

const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['true', 'true'],
  ['False', 'false'],
  ['false', 'false'],
  ['None', 'null'],
  ['null', 'null'],
])

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ['0', '\0'],
  ['\n', ''],
])

/** The number of digits in numeric escapes. */
const CODES: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
])
const LAST_CODE = 0x10_ff_ff

const NUMBER = /^([-+]?)(?:(\d[\d_]*)(?:\.([\d_]*))?|\.(\d[\d_]*))((?:[eE][-+]?\d+)?)$/

/** The whole text converted to JSON, if it is a Python literal. */
export function pythonLiteral(text: string): string | undefined {
  const source = new GrowingText()
  source.text = text
  source.isOver = true
  try {
    const { value } = pythonValue(source).next()
    return source.at === text.length ? (value ?? undefined) : undefined
  } catch (error) {
    if (error === MISMATCH || error === CUT) return undefined
    throw error
  }
}

/** A literal as JSON text: a string, number, list, tuple, dict, True, False or None. */
export function* pythonValue(source: GrowingText, depth = 0): Reading<string> {
  if (depth > MAX_DEPTH) throw MISMATCH
  const char = yield* source.blanks()
  const inner = () => pythonValue(source, depth + 1)
  if (yield* source.takes('[')) return listJson(yield* itemsUpTo(source, ']', inner))
  if (yield* source.takes('(')) return yield* tuple(source, inner)
  if (char === '{') return objectJson(yield* pythonMembers(source, depth))
  if (char === '"' || char === "'") return JSON.stringify(yield* strings(source))
  if (/[-+.\d]/.test(char)) return yield* number(source)
  const word = yield* source.word(/[A-Za-z]/)
  const next = yield* source.peek()
  if ((next === '"' || next === "'") && PREFIX.test(word))
    return JSON.stringify(yield* strings(source, /r/i.test(word)))
  return WORDS.get(word) ?? source.fail()
}

/** Prefixes of strings: raw, Unicode, bytes and formatted. */
const PREFIX = /^(?:[rub]|f|rb|br|fr|rf)$/i

/** A tuple, as a list; a single value without a comma is merely in parentheses. */
function* tuple(source: GrowingText, inner: () => Reading<string>): Reading<string> {
  const items: string[] = []
  let isList = false
  while (!(yield* source.takes(')'))) {
    items.push(yield* inner())
    yield* source.blanks()
    if (yield* source.takes(',')) isList = true
    else if (!(yield* source.sees(')'))) source.fail()
    yield* source.blanks()
  }
  return items.length === 1 && !isList ? items[0]! : listJson(items)
}

/** The members of a dict. */
export function* pythonMembers(source: GrowingText, depth = 0): Reading<[string, string][]> {
  yield* source.blanks()
  yield* source.expect('{')
  const inner = () => pythonValue(source, depth + 1)
  return yield* itemsUpTo(source, '}', () => member(source, () => memberName(source), inner))
}

/** Adjacent strings, which Python concatenates. `isRaw`: whether the first is a raw string. */
function* strings(source: GrowingText, isRaw = false): Reading<string> {
  let found = yield* pythonString(source, isRaw)
  for (;;) {
    const next = yield* source.blanks()
    if (next !== '"' && next !== "'") return found
    found += yield* pythonString(source)
  }
}

const HEX = /^0[xX][\dA-Fa-f]{1,64}$/

/** The results of `read` for items separated by commas, up to and including `end`. */
export function* itemsUpTo<T>(source: GrowingText, end: string, read: () => Reading<T>): Reading<T[]> {
  const items: T[] = []
  for (;;) {
    yield* source.blanks()
    if (yield* source.takes(end)) return items
    items.push(yield* read())
    yield* source.blanks()
    if (!(yield* source.takes(',')) && !(yield* source.sees(end))) source.fail()
  }
}

/** A member of an object: `readName`, a colon, `readValue`. */
export function* member(
  source: GrowingText,
  readName: () => Reading<string>,
  readValue: () => Reading<string>,
): Reading<[string, string]> {
  const name = yield* readName()
  yield* source.blanks()
  yield* source.expect(':')
  return [name, yield* readValue()]
}

/** A string, or a number, whose digits become the name. */
function* memberName(source: GrowingText): Reading<string> {
  const first = yield* source.peek()
  if (/[-+.\d]/.test(first)) return yield* number(source)
  if (first !== '"' && first !== "'") source.fail()
  return yield* pythonString(source)
}

/** A number with its digits as written, in JSON's notation. */
function* number(source: GrowingText): Reading<string> {
  const text = yield* source.word(/[-+.\w]/)
  const found = NUMBER.exec(text)
  if (found === null) return HEX.test(text) ? String(BigInt(text)) : source.fail()
  const [, sign, whole = '0', point, fraction = point, exponent] = found
  const digits = whole.replaceAll('_', '').replace(/^0+(?=\d)/, '')
  const rest = fraction === undefined ? '' : `.${fraction.replaceAll('_', '') || '0'}`
  return `${sign === '-' ? '-' : ''}${digits}${rest}${exponent}`
}

/** A string in single, double or triple quotes. `isRaw`: backslashes are kept. */
export function* pythonString(source: GrowingText, isRaw = false): Reading<string> {
  const quote = yield* source.peek()
  const mark = (yield* source.sees(quote.repeat(3))) ? quote.repeat(3) : quote
  source.at += mark.length
  let found = ''
  while (!(yield* source.takes(mark))) {
    const char = yield* character(source)
    if (char !== '\\') found += char
    // A backslash in a raw string is kept, and the quote after it does not end the string.
    else if (isRaw) found += char + (yield* character(source))
    else found += yield* escaped(source)
  }
  return found
}

/** The next character of a text. */
function* character(source: GrowingText): Reading<string> {
  const char = yield* source.peek()
  if (char === '') throw CUT
  source.at += 1
  return char
}

/** The character that an escape stands for, after the backslash was read. */
function* escaped(source: GrowingText): Reading<string> {
  const char = yield* character(source)
  const digits = CODES.get(char) ?? 0
  if (digits > 0) {
    const start = source.at
    while (source.at - start < digits && /[\dA-Fa-f]/.test(yield* source.peek())) source.at += 1
    const code = source.text.slice(start, source.at)
    const point = Number.parseInt(code, 16)
    if (code.length === digits && point <= LAST_CODE) return String.fromCodePoint(point)
    source.at = start
  }
  // Python keeps the backslash of an unknown escape; JSON also escapes slashes.
  return ESCAPES.get(char) ?? (/['"\\/]/.test(char) ? char : `\\${char}`)
}
