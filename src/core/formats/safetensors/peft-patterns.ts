// PEFT's rank_pattern and alpha_pattern: values for modules whose names end with a match of a Python regular
// expression.
import { Budget } from '../../base/budget.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { malformed, shown } from '../malformed.ts'

/** Maximum number of attempts to match part of a pattern at a position in a name, over all modules. */
const MAX_TRIES = 1 << 23
const LONGEST_PATTERN = 1024

/**
 * The ends of all matches that begin at one of the given positions. Working with sets of positions avoids
 * backtracking.
 */
type Part = (name: string, places: ReadonlySet<number>) => Set<number>

interface Reading {
  readonly text: string
  at: number
  readonly budget: Budget
}

/**
 * A module's value: the value of the first pattern for which Python's `re.match(rf"(.*\.)?({pattern})$",
 * module)` finds a match. Throws `format` for values that are not numbers, `unsupported` for patterns with
 * lookarounds, back-references or flags, and for more than `MAX_TRIES` attempts.
 */
export function patternValues(
  file: string,
  setting: string,
  patterns: unknown,
): (module: string) => number | undefined {
  if (patterns === undefined || patterns === null) return () => undefined
  if (!isObject(patterns)) throw malformed(file, `${setting} is ${shown(patterns)}, not an object`)
  const budget = new Budget({
    work: MAX_TRIES,
    refuse: ({ most }) =>
      new HalfbyteError(
        'unsupported',
        `${file}: ${setting} takes more than ${most} steps to match patterns; merge the adapter into its model`,
        { file, most },
      ),
  })
  const values = Object.entries(patterns).map(([pattern, value]) => {
    if (typeof value !== 'number')
      throw malformed(file, `${setting} gives ${shown(pattern)} the value ${shown(value)}, not a number`)
    const part = partOf(pattern, budget)
    if (part !== undefined) return { part, value }
    throw new HalfbyteError(
      'unsupported',
      `${file}: the pattern ${shown(pattern)} of ${setting} is not supported; list the module names instead, or merge ` +
        'the adapter into its model',
      { file, pattern },
    )
  })
  return (module) => {
    const starts = new Set([0])
    for (let at = 0; at < module.length; at++) if (module[at] === '.') starts.add(at + 1)
    return values.find(({ part }) => part(module, starts).has(module.length))?.value
  }
}

/** Undefined for an unsupported pattern. */
function partOf(text: string, budget: Budget): Part | undefined {
  if (text.length > LONGEST_PATTERN) return undefined
  if (/^[\w.-]*$/.test(text)) return nameOf(text, budget)
  const reading: Reading = { text, at: 0, budget }
  const part = choice(reading)
  return reading.at === text.length ? part : undefined
}

/**
 * A pattern in which only dots are special. Most are like this, and an adapter may have one for each matrix.
 */
function nameOf(text: string, budget: Budget): Part {
  const matches = (name: string, from: number) => {
    for (let i = 0; i < text.length; i++) if (text[i] !== '.' && text[i] !== name[from + i]) return false
    return from + text.length <= name.length
  }
  return (name, places) => {
    budget.spend(1 + places.size)
    return new Set([...places].filter((from) => matches(name, from)).map((from) => from + text.length))
  }
}

/** Reads up to a closing parenthesis. */
function choice(reading: Reading): Part | undefined {
  const options: Part[] = []
  do {
    const option = sequence(reading)
    if (option === undefined) return undefined
    options.push(option)
  } while (taken(reading, '|'))
  if (options.length === 1) return options[0]
  return (name, places) => new Set(options.flatMap((option) => [...option(name, places)]))
}

function sequence(reading: Reading): Part | undefined {
  const parts: Part[] = []
  while (reading.at < reading.text.length && !'|)'.includes(reading.text[reading.at]!)) {
    const part = repeated(reading)
    if (part === undefined) return undefined
    parts.push(part)
  }
  return (name, places) => {
    let ends = new Set(places)
    for (const part of parts) {
      if (ends.size === 0) break
      reading.budget.spend(1 + ends.size)
      ends = part(name, ends)
    }
    return ends
  }
}

/** An atom with its quantifiers. Laziness does not affect what matches. */
function repeated(reading: Reading): Part | undefined {
  const atom = atomOf(reading)
  const [all, sign, least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(
    reading.text.slice(reading.at, reading.at + 32),
  ) ?? ['']
  if (atom === undefined || all === '') return atom
  reading.at += all.length
  // Python rejects a second quantifier, and treats a plus as possessive.
  if (/^[*+?{]/.test(reading.text.slice(reading.at))) return undefined
  const from = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
  const isOpen = sign === undefined ? comma !== '' && most === '' : sign !== '?'
  const to = isOpen ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : comma === '' ? from : Number(most)
  return (name, places) => {
    let newest = new Set(places)
    const ends = new Set(from === 0 ? places : [])
    for (let count = 1; count <= to && newest.size > 0; count++) {
      reading.budget.spend(1 + newest.size)
      newest = atom(name, newest)
      if (count < from) continue
      for (const end of newest) if (ends.has(end)) newest.delete(end)
      for (const end of newest) ends.add(end)
    }
    return ends
  }
}

function atomOf(reading: Reading): Part | undefined {
  const { text } = reading
  const char = text[reading.at++]!
  if (char === '(') {
    if (taken(reading, '?') && !taken(reading, ':')) return undefined
    const inner = choice(reading)
    return taken(reading, ')') ? inner : undefined
  }
  if (char === '^') return (_, places) => new Set(places.has(0) ? [0] : [])
  if (char === '$') return ({ length }, places) => new Set(places.has(length) ? [length] : [])
  if ('*+?'.includes(char)) return undefined
  const isIn =
    char === '.'
      ? () => true
      : char === '['
        ? classOf(reading)
        : char === '\\'
          ? escaped(reading)
          : same(char)
  if (isIn === undefined) return undefined
  return (name, places) => {
    const ends = new Set<number>()
    for (const at of places) if (at < name.length && isIn(name[at]!)) ends.add(at + 1)
    return ends
  }
}

type IsIn = (char: string) => boolean

const same =
  (wanted: string): IsIn =>
  (char) =>
    char === wanted

const CLASSES: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({ d: /\d/, D: /\D/, w: /\w/, W: /\W/, s: /\s/, S: /\S/ }),
)

/** An escape, after its backslash: a character class, or a character that is not a letter or digit. */
function escaped(reading: Reading): IsIn | undefined {
  const char = reading.text[reading.at++]
  if (char === undefined) return undefined
  const known = CLASSES.get(char)
  if (known !== undefined) return (each) => known.test(each)
  return /\w/.test(char) ? undefined : same(char)
}

/** Reads a character class, after its opening bracket. */
function classOf(reading: Reading): IsIn | undefined {
  const { text } = reading
  const isNegated = taken(reading, '^')
  const members: IsIn[] = []
  // A bracket at the start is a member of the class.
  for (let isFirst = true; isFirst || text[reading.at] !== ']'; isFirst = false) {
    const char = text[reading.at++]
    if (char === undefined) return undefined
    const [, high] = /^-([^\]\\])/.exec(text.slice(reading.at, reading.at + 2)) ?? []
    if (char === '\\') {
      const member = escaped(reading)
      if (member === undefined) return undefined
      members.push(member)
    } else if (high === undefined) members.push(same(char))
    else {
      if (high < char) return undefined
      reading.at += 2
      members.push((each) => each >= char && each <= high)
    }
  }
  reading.at++
  return (char) => members.some((isIn) => isIn(char)) !== isNegated
}

function taken(reading: Reading, char: string): boolean {
  if (reading.text[reading.at] !== char) return false
  reading.at++
  return true
}
