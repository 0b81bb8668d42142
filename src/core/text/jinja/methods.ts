// Python's methods of strings, lists, tuples and mappings.
import { formatBraces } from './format-text.ts'
import { SPACES } from './lexer.ts'
import { bound } from './operators.ts'
import {
  areEqual,
  Callable,
  charactersOf,
  type Dict,
  indexOf,
  itemsOf,
  iterate,
  type Keywords,
  keyOf,
  Markup,
  PART_UNITS,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  typeError,
  typeName,
  type Value,
  View,
} from './values.ts'

/** The method of a value; undefined if its type has no such method. */
export function methodOf(
  value: Value,
  name: string,
  attribute: Attribute,
  spend: Spend,
): Callable | undefined {
  const text = stringOf(value)
  if (text !== undefined) return textMethod(text, value instanceof Markup, name, attribute, spend)
  if (value instanceof Map) return mapMethod(value, name, spend)
  const items = value instanceof Tuple || Array.isArray(value) ? itemsOf(value) : undefined
  return items === undefined ? undefined : listMethod(items, Array.isArray(value), name, spend)
}

type Attribute = (value: Value, name: string, isItem: boolean) => Value

const CHANGES: readonly string[] = [
  'append',
  'extend',
  'insert',
  'remove',
  'sort',
  'reverse',
  'pop',
  'popitem',
  'update',
  'setdefault',
  'clear',
]

/** Transformers renders templates in a sandbox that makes lists and mappings immutable. */
const refuseChange = (name: string) =>
  new Callable(name, () => {
    throw new TemplateError(
      'SecurityError',
      `${name}() modifies a value, which templates are not allowed to do`,
    )
  })

function mapMethod(map: Dict, name: string, spend: Spend): Callable | undefined {
  const view = (kind: View['kind'], parts: () => readonly Value[]) =>
    new Callable(name, (args, keywords) => {
      bound(name, [], args, keywords)
      spend(map.size * PART_UNITS)
      return new View(kind, parts())
    })
  switch (name) {
    case 'keys':
      return view('dict_keys', () => [...map.keys()])
    case 'values':
      return view('dict_values', () => [...map.values()])
    case 'items':
      return view('dict_items', () => Array.from(map, (pair) => new Tuple(pair)))
    case 'get':
      return new Callable(name, (args, keywords) => {
        const [key, fallback = null] = bound(name, ['key', 'default?'], args, keywords)
        const at = keyOf(key)
        return map.has(at) ? map.get(at) : fallback
      })
    case 'copy':
      return new Callable(name, () => {
        spend(map.size * PART_UNITS)
        return new Map(map)
      })
  }
  return CHANGES.slice(6).includes(name) ? refuseChange(name) : undefined
}

function listMethod(
  items: readonly Value[],
  isList: boolean,
  name: string,
  spend: Spend,
): Callable | undefined {
  if (name === 'count') {
    return new Callable(name, ([sought]) => items.filter((item) => areEqual(item, sought, spend)).length)
  }
  if (name === 'index') {
    return new Callable(name, ([sought, start = 0]) => {
      const from = indexOf(start)
      const at = items.findIndex((item, index) => index >= from && areEqual(item, sought, spend))
      if (at < 0) throw new TemplateError('ValueError', 'the value is not in the list')
      return at
    })
  }
  if (isList && name === 'copy') return new Callable(name, () => [...items])
  return isList && CHANGES.includes(name) ? refuseChange(name) : undefined
}

type Run = (text: string, values: readonly Value[], spend: Spend) => Value

/** A string argument. */
function given(value: Value): string {
  const text = stringOf(value)
  if (text === undefined) throw typeError(`expected a str, got '${typeName(value)}'`)
  return text
}

const optional = (value: Value) => (value === undefined || value === null ? undefined : given(value))

const SPACE = new RegExp(`[${SPACES}]`)
const WORDS = new RegExp(`[^${SPACES}]+`, 'g')
const BREAKS = '\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029'
const LINES = new RegExp(`\\r\\n|[${BREAKS}]`)

/** Python's `strip`, at one end or both: removes white space, or any of `characters`. */
export function stripped(
  text: string,
  characters: string | undefined,
  left: boolean,
  right: boolean,
): string {
  const set = characters === undefined ? undefined : new Set(charactersOf(characters))
  const all = charactersOf(text)
  const goes = (character: string | undefined) =>
    character !== undefined && (set === undefined ? SPACE.test(character) : set.has(character))
  let start = 0
  let end = all.length
  if (left) while (start < end && goes(all[start])) start++
  if (right) while (end > start && goes(all[end - 1])) end--
  return all.length === text.length ? text.slice(start, end) : all.slice(start, end).join('')
}

/** Python's `splitlines`. */
export function linesOf(text: string, keepsEnds = false): string[] {
  const lines = keepsEnds ? text.split(new RegExp(`(?<=${LINES.source})(?<!\\r(?=\\n))`)) : text.split(LINES)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function split(text: string, separator: string | undefined, most: number, fromEnd: boolean): string[] {
  if (separator === '') throw new TemplateError('ValueError', 'empty separator')
  const limit = most < 0 ? Number.POSITIVE_INFINITY : most
  if (separator !== undefined) {
    const parts = text.split(separator)
    if (parts.length - 1 <= limit) return parts
    return fromEnd
      ? [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)]
      : [...parts.slice(0, limit), parts.slice(limit).join(separator)]
  }
  const words = [...text.matchAll(WORDS)]
  if (words.length <= limit) return words.map(([word]) => word)
  if (fromEnd) {
    const kept = limit === 0 ? [] : words.slice(-limit)
    const last = words[words.length - limit - 1] as RegExpMatchArray
    return [
      text.slice(words[0]?.index, (last.index as number) + last[0].length),
      ...kept.map(([word]) => word),
    ]
  }
  return [...words.slice(0, limit).map(([word]) => word), text.slice(words[limit]?.index)]
}

function parted(text: string, separator: string, at: number, isLast: boolean): Tuple {
  if (separator === '') throw new TemplateError('ValueError', 'empty separator')
  if (at < 0) return new Tuple(isLast ? ['', '', text] : [text, '', ''])
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)])
}

/** The position of `sought`, in characters from the start of the text; -1 if it does not occur. */
function found(text: string, [part, start, end]: readonly Value[], isLast: boolean): number {
  const sought = given(part)
  const all = charactersOf(text)
  const [from, to] = bounds(all.length, start, end)
  if (from > to) return -1
  const piece = all.slice(from, to).join('')
  const at = isLast ? piece.lastIndexOf(sought) : piece.indexOf(sought)
  return at < 0 ? -1 : from + charactersOf(piece.slice(0, at)).length
}

function bounds(length: number, start: Value, end: Value): [number, number] {
  const at = (value: Value, fallback: number) => {
    const index = value === undefined || value === null ? fallback : indexOf(value)
    return Math.max(0, index < 0 ? index + length : index)
  }
  return [at(start, 0), Math.min(length, at(end, length))]
}

const must = (at: number) => {
  if (at < 0) throw new TemplateError('ValueError', 'substring not found')
  return at
}

function counted(text: string, part: Value): number {
  const sought = given(part)
  return sought === '' ? charactersOf(text).length + 1 : text.split(sought).length - 1
}

function replaced(text: string, old: string, by: string, most: number): string {
  if (most < 0) return text.replaceAll(old, () => by)
  let result = ''
  let at = 0
  let count = 0
  for (; count < most; count++) {
    const next = text.indexOf(old, at + (old === '' && count > 0 ? 1 : 0))
    if (next < 0) break
    result += text.slice(at, next) + by
    at = next + old.length
  }
  return result + text.slice(at)
}

function has(
  text: string,
  [affix, start, end]: readonly Value[],
  fits: (text: string, part: string) => boolean,
): boolean {
  const parts = affix instanceof Tuple ? affix.items : [affix]
  const [from, to] = start === undefined ? [0, text.length] : bounds(charactersOf(text).length, start, end)
  const piece = start === undefined ? text : charactersOf(text).slice(from, to).join('')
  return from <= to && parts.some((part) => fits(piece, given(part)))
}

function justified(
  text: string,
  [width, fill = ' ']: readonly Value[],
  place: 'l' | 'r' | 'c',
  spend: Spend,
): string {
  const missing = indexOf(width) - charactersOf(text).length
  if (missing <= 0) return text
  spend(missing)
  const pad = given(fill)
  if (charactersOf(pad).length !== 1) throw typeError('The fill character must be exactly one character long')
  // Python puts the extra space on the left if both numbers are odd.
  const left =
    place === 'l' ? 0 : place === 'r' ? missing : Math.floor(missing / 2) + (missing & indexOf(width) & 1)
  return pad.repeat(left) + text + pad.repeat(missing - left)
}

export const lower = (text: string) => text.toLowerCase()
export const upper = (text: string) => text.toUpperCase()

export const capitalized = (text: string) => {
  const [first = '', ...rest] = charactersOf(text)
  return upper(first) + lower(rest.join(''))
}

/** True if the string is not empty and all characters are of one class. */
const all = (pattern: string): Run => {
  const whole = new RegExp(`^(?:${pattern})+$`, 'u')
  return (text) => whole.test(text)
}

const isCased = (text: string, to: (text: string) => string) =>
  to(text) === text && lower(text) !== upper(text)

/** String methods: the names of their parameters, and their functions. */
const TEXT: ReadonlyMap<string, readonly [parameters: string, run: Run]> = new Map<
  string,
  readonly [parameters: string, run: Run]
>(
  Object.entries({
    strip: ['chars?', (text, [chars]) => stripped(text, optional(chars), true, true)],
    lstrip: ['chars?', (text, [chars]) => stripped(text, optional(chars), true, false)],
    rstrip: ['chars?', (text, [chars]) => stripped(text, optional(chars), false, true)],
    split: ['sep? maxsplit?', (text, [by, most = -1]) => split(text, optional(by), indexOf(most), false)],
    rsplit: ['sep? maxsplit?', (text, [by, most = -1]) => split(text, optional(by), indexOf(most), true)],
    splitlines: ['keepends?', (text, [keeps]) => linesOf(text, keeps === true)],
    partition: ['sep', (text, [by]) => parted(text, given(by), text.indexOf(given(by)), false)],
    rpartition: ['sep', (text, [by]) => parted(text, given(by), text.lastIndexOf(given(by)), true)],
    replace: [
      'old new count?',
      (text, [old, by, most = -1]) => replaced(text, given(old), given(by), indexOf(most)),
    ],
    removeprefix: [
      'prefix',
      (text, [part]) => (text.startsWith(given(part)) ? text.slice(given(part).length) : text),
    ],
    removesuffix: [
      'suffix',
      (text, [part]) =>
        given(part) !== '' && text.endsWith(given(part)) ? text.slice(0, -given(part).length) : text,
    ],
    startswith: [
      'prefix start? end?',
      (text, values) => has(text, values, (whole, part) => whole.startsWith(part)),
    ],
    endswith: [
      'suffix start? end?',
      (text, values) => has(text, values, (whole, part) => whole.endsWith(part)),
    ],
    find: ['sub start? end?', (text, values) => found(text, values, false)],
    rfind: ['sub start? end?', (text, values) => found(text, values, true)],
    index: ['sub start? end?', (text, values) => must(found(text, values, false))],
    rindex: ['sub start? end?', (text, values) => must(found(text, values, true))],
    count: ['sub', (text, [part]) => counted(text, part)],
    lower: ['', lower],
    casefold: ['', lower],
    upper: ['', upper],
    capitalize: ['', capitalized],
    title: ['', (text) => text.replace(/\p{L}+/gu, capitalized)],
    swapcase: [
      '',
      (text) => text.replace(/\p{L}/gu, (each) => (each === upper(each) ? lower(each) : upper(each))),
    ],
    ljust: ['width fillchar?', (text, values, spend) => justified(text, values, 'l', spend)],
    rjust: ['width fillchar?', (text, values, spend) => justified(text, values, 'r', spend)],
    center: ['width fillchar?', (text, values, spend) => justified(text, values, 'c', spend)],
    zfill: [
      'width',
      (text, [width], spend) => {
        const sign = /^[-+]/.exec(text)?.[0] ?? ''
        const digits = text.slice(sign.length)
        return sign + justified(digits, [indexOf(width) - sign.length, '0'], 'r', spend)
      },
    ],
    join: [
      'iterable',
      (text, [list], spend) => {
        const parts = iterate(list, spend).map((part, at) => {
          const each = stringOf(part)
          if (each === undefined)
            throw typeError(`sequence item ${at}: expected str instance, ${typeName(part)} found`)
          spend(each.length + text.length)
          return each
        })
        return parts.join(text)
      },
    ],
    isalpha: ['', all('\\p{L}')],
    isdigit: ['', all('\\p{Nd}|[²³¹⁰-⁹₀-₉]')],
    isdecimal: ['', all('\\p{Nd}')],
    isnumeric: ['', all('\\p{N}')],
    isalnum: ['', all('\\p{L}|\\p{N}')],
    isspace: ['', all(`[${SPACES}]`)],
    isascii: ['', (text) => /^\p{ASCII}*$/u.test(text)],
    isidentifier: ['', (text) => /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}]*$/u.test(text)],
    isupper: ['', (text) => isCased(text, upper)],
    islower: ['', (text) => isCased(text, lower)],
  }),
)

function textMethod(
  text: string,
  isMarkup: boolean,
  name: string,
  attribute: Attribute,
  spend: Spend,
): Callable | undefined {
  if (name === 'format') {
    return new Callable(name, (args, keywords: Keywords) =>
      formatBraces(text, args, keywords, attribute, spend),
    )
  }
  const method = TEXT.get(name)
  if (method === undefined) return undefined
  const [parameters, run] = method
  return new Callable(name, (args, keywords) => {
    const values = bound(name, parameters.split(' ').filter(Boolean), args, keywords)
    spend(
      text.length *
        (PART_UNITS + values.reduce<number>((sum, value) => sum + (stringOf(value)?.length ?? 0), 0)),
    )
    const result = run(text, values, spend)
    if (Array.isArray(result)) spend(result.length * PART_UNITS)
    if (!isMarkup) return result
    if (typeof result === 'string') return new Markup(result)
    return Array.isArray(result) ? result.map((each) => new Markup(each as string)) : result
  })
}
