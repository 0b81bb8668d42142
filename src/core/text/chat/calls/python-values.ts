// Converts Python literals in models' calls to JSON text.
import { listJson, objectJson } from './call.ts'
import { CUT, type GrowingText, MISMATCH, type Reading } from './growing-text.ts'

/** Maximum depth of lists and objects in a value. */
const MOST_DEPTH = 100

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

/** The number of digits of numeric escapes. */
const CODES: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
])

const NUMBER = /^([-+]?)(?:(\d[\d_]*)(?:\.([\d_]*))?|\.(\d[\d_]*))((?:[eE][-+]?\d+)?)$/

/** A literal as JSON text: a text, number, list, tuple, object, True, False or None. */
export function* pythonValue(source: GrowingText, depth = 0): Reading<string> {
  if (depth > MOST_DEPTH) throw MISMATCH
  const char = yield* source.blanks()
  const inner = () => pythonValue(source, depth + 1)
  if (yield* source.takes('[')) return listJson(yield* itemsUpTo(source, ']', inner))
  if (yield* source.takes('(')) return listJson(yield* itemsUpTo(source, ')', inner))
  if (yield* source.takes('{'))
    return objectJson(yield* itemsUpTo(source, '}', () => member(source, () => quotedName(source), inner)))
  if (char === '"' || char === "'") return JSON.stringify(yield* pythonString(source))
  if (/[-+.\d]/.test(char)) return yield* number(source)
  const word = yield* source.word(/[A-Za-z]/)
  return WORDS.get(word) ?? source.fail()
}

/** What `read` returns for each of the items, which commas separate, up to and including `end`. */
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

function* quotedName(source: GrowingText): Reading<string> {
  const quote = yield* source.peek()
  if (quote !== '"' && quote !== "'") source.fail()
  return yield* pythonString(source)
}

/** A number with its digits as written, in JSON's notation. */
function* number(source: GrowingText): Reading<string> {
  const text = yield* source.word(/[-+.\w]/)
  const found = NUMBER.exec(text)
  if (found === null) return source.fail()
  const [, sign, whole = '0', point, fraction = point, exponent] = found
  const digits = whole.replaceAll('_', '').replace(/^0+(?=\d)/, '')
  const rest = fraction === undefined ? '' : `.${fraction.replaceAll('_', '') || '0'}`
  return `${sign === '-' ? '-' : ''}${digits}${rest}${exponent}`
}

/** A text in single, double or triple quotes. */
export function* pythonString(source: GrowingText): Reading<string> {
  const quote = yield* source.peek()
  const mark = (yield* source.sees(quote.repeat(3))) ? quote.repeat(3) : quote
  source.at += mark.length
  let found = ''
  while (!(yield* source.takes(mark))) {
    const char = yield* source.peek()
    if (char === '') throw CUT
    source.at += 1
    found += char === '\\' ? yield* escaped(source) : char
  }
  return found
}

/** The character that an escape stands for, read after the backslash. */
function* escaped(source: GrowingText): Reading<string> {
  const char = yield* source.peek()
  if (char === '') throw CUT
  source.at += 1
  const digits = CODES.get(char) ?? 0
  if (digits > 0) {
    const start = source.at
    while (source.at - start < digits && /[\dA-Fa-f]/.test(yield* source.peek())) source.at += 1
    const code = source.text.slice(start, source.at)
    if (code.length === digits) return String.fromCharCode(Number.parseInt(code, 16))
    source.at = start
  }
  // Python keeps the backslash of an unknown escape; JSON also escapes slashes.
  return ESCAPES.get(char) ?? (/['"\\/]/.test(char) ? char : `\\${char}`)
}
