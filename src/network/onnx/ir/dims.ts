// Symbolic dims: numbers, or expressions such as `past + 2*tokens`, in one canonical form, so that equal dims
// are equal strings.
//
// An expression is a polynomial with integer coefficients over atoms. Atoms are names, names in brackets
// (`[any text]`), and quotients or limits that could not be simplified: `floor(a / b)`, `min(a, b)`, `max(a,
// b)`.

/** A size, or the canonical text of an expression. */
export type Dim = number | string

/** Coefficients by monomial; a monomial is its sorted atoms joined by `*`, '' for 1. */
type Polynomial = ReadonlyMap<string, number>

/** Maximum terms and length of an expression; longer ones become an unknown. */
const MAX_TERMS = 32
const MAX_LENGTH = 512
const ATOM = /^(?:floor|min|max)\(|^\[[^\]]*\]|^[A-Za-z_][\w.]*|^\d+/

/**
 * The dim for a name from a file. Sums and products in the name are parsed: exporters write `past +
 * sequence`.
 */
export function dimFrom(name: string): Dim {
  const parsed = name.length > MAX_LENGTH ? undefined : new Parser(name).whole()
  return parsed === undefined ? `[${name.replaceAll(/[\]\n]/g, '_').slice(0, 64)}]` : shownAs(parsed)
}

export const addDims = (left: Dim, right: Dim): Dim =>
  typeof left === 'number' && typeof right === 'number'
    ? left + right
    : shownAs(sum(read(left), read(right), 1))

export const subtractDims = (left: Dim, right: Dim): Dim =>
  typeof left === 'number' && typeof right === 'number'
    ? left - right
    : shownAs(sum(read(left), read(right), -1))

export function multiplyDims(left: Dim, right: Dim): Dim {
  if (typeof left === 'number' && typeof right === 'number') return left * right
  const made = new Map<string, number>()
  for (const [a, x] of read(left)) {
    for (const [b, y] of read(right)) {
      const key = [...factors(a), ...factors(b)].sort().join('*')
      made.set(key, (made.get(key) ?? 0) + x * y)
    }
  }
  return shownAs(made)
}

export const productOf = (dims: readonly Dim[]): Dim => dims.reduce<Dim>(multiplyDims, 1)

/** left / right without a remainder, or undefined if that is not certain. */
export function divideExactly(left: Dim, right: Dim): Dim | undefined {
  if (right === 0) return undefined
  if (left === right) return 1
  const divisor = [...read(right)]
  if (divisor.length !== 1) return quotientOfSums(left, right)
  const [monomial, coefficient] = divisor[0]!
  const made = new Map<string, number>()
  for (const [key, value] of read(left)) {
    const rest = without(factors(key), factors(monomial))
    if (rest === undefined || value % coefficient !== 0) return undefined
    made.set(rest.join('*'), value / coefficient)
  }
  return shownAs(made)
}

/** The quotient rounded down. */
export function divideDims(left: Dim, right: Dim): Dim {
  if (typeof left === 'number' && typeof right === 'number') return Math.floor(left / right)
  return divideExactly(left, right) ?? bounded(`floor(${left} / ${right})`)
}

/** `minDims(x, x + 3)` is x, because the difference is known. */
export const minDims = (left: Dim, right: Dim): Dim => limit('min', left, right)
export const maxDims = (left: Dim, right: Dim): Dim => limit('max', left, right)

function limit(kind: 'min' | 'max', left: Dim, right: Dim): Dim {
  const difference = subtractDims(left, right)
  const sign = signOf(difference)
  if (sign !== undefined) return sign < 0 === (kind === 'min') ? left : right
  return bounded(`${kind}(${[left, right].map(String).sort().join(', ')})`)
}

/** 1 or -1 if a difference cannot be below or above 0: names are sizes, which are never negative. */
function signOf(dim: Dim): -1 | 1 | undefined {
  if (typeof dim === 'number') return dim < 0 ? -1 : 1
  const terms = [...read(dim)]
  // An expression in parentheses may be negative.
  if (terms.some(([key]) => /[(].*-/.test(key))) return undefined
  if (terms.every(([, value]) => value >= 0)) return 1
  return terms.every(([, value]) => value <= 0) ? -1 : undefined
}

/** The value of the expression for these names; undefined if a name has no value. */
export function evaluateDim(dim: Dim, values: ReadonlyMap<string, number>): number | undefined {
  if (typeof dim === 'number') return dim
  let total = 0
  for (const [key, coefficient] of read(dim)) {
    let product = coefficient
    for (const atom of factors(key)) {
      const value = values.get(atom) ?? compound(atom, values)
      if (value === undefined) return undefined
      product *= value
    }
    total += product
  }
  return total
}

function compound(atom: string, values: ReadonlyMap<string, number>): number | undefined {
  const match = /^(floor|min|max)\((.*)\)$/.exec(atom)
  if (match === null) return undefined
  const [, kind, inner = ''] = match
  const [left, right] = cutAt(inner, kind === 'floor' ? ' / ' : ', ').map((part) =>
    evaluateDim(dimFrom(part), values),
  )
  if (left === undefined || right === undefined) return undefined
  if (kind === 'floor') return Math.floor(left / right)
  return kind === 'min' ? Math.min(left, right) : Math.max(left, right)
}

/** The text before and after the first separator outside parentheses. */
function cutAt(text: string, separator: string): [string, string] {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')') depth--
    if (depth === 0 && text.startsWith(separator, at))
      return [text.slice(0, at), text.slice(at + separator.length)]
  }
  return [text, '']
}

/** (2*a + 2*b) / (a + b) is 2. */
function quotientOfSums(left: Dim, right: Dim): Dim | undefined {
  const over = read(left)
  const under = read(right)
  const [key, first] = [...under][0]!
  const quotient = (over.get(key) ?? 0) / first
  if (!Number.isInteger(quotient)) return undefined
  return multiplyDims(right, quotient) === left ? quotient : undefined
}

/** Factors of a monomial; a `*` in parentheses or brackets belongs to its atom. */
function factors(key: string): string[] {
  if (key === '') return []
  const found: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < key.length; at++) {
    const letter = key[at]!
    if ('(['.includes(letter)) depth++
    else if (')]'.includes(letter)) depth--
    else if (letter === '*' && depth === 0) {
      found.push(key.slice(start, at))
      start = at + 1
    }
  }
  return [...found, key.slice(start)]
}

function without(all: readonly string[], some: readonly string[]): string[] | undefined {
  const rest = [...all]
  for (const each of some) {
    const at = rest.indexOf(each)
    if (at < 0) return undefined
    rest.splice(at, 1)
  }
  return rest
}

function sum(left: Polynomial, right: Polynomial, sign: number): Polynomial {
  const made = new Map(left)
  for (const [key, value] of right) made.set(key, (made.get(key) ?? 0) + sign * value)
  return made
}

function read(dim: Dim): Polynomial {
  if (typeof dim === 'number') return new Map([['', dim]])
  return new Parser(dim).whole() ?? new Map([[dim, 1]])
}

function shownAs(polynomial: Polynomial): Dim {
  const terms = [...polynomial].filter(([, value]) => value !== 0)
  if (terms.length === 0) return 0
  if (terms.length === 1 && terms[0]![0] === '') return terms[0]![1]
  if (terms.length > MAX_TERMS) return unknown(terms.map(([key, value]) => `${value}${key}`).join())
  // Constants come last.
  terms.sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1))
  const text = terms.map(([key, value], index) => {
    const size = Math.abs(value)
    const sign = value < 0 ? (index === 0 ? '-' : ' - ') : index === 0 ? '' : ' + '
    return `${sign}${key === '' ? size : size === 1 ? key : `${size}*${key}`}`
  })
  return bounded(text.join(''))
}

const bounded = (text: string): string => (text.length > MAX_LENGTH ? unknown(text) : text)

/** A name for an expression that is too long to keep. Equal expressions get equal names. */
function unknown(text: string): string {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  return `[long ${(hash >>> 0).toString(16)} ${text.length}]`
}

/** Parses sums of products of atoms. Anything else is not an expression. */
class Parser {
  #rest: string

  constructor(text: string) {
    this.#rest = text.trim()
  }

  whole(): Polynomial | undefined {
    let total: Polynomial = new Map()
    let sign = this.#take(/^-\s*/) ? -1 : 1
    for (;;) {
      const term = this.#term()
      if (term === undefined) return undefined
      total = sum(total, new Map([term]), sign)
      if (this.#rest === '') return total
      const operator = this.#take(/^\s*[+-]\s*/)
      if (operator === undefined) return undefined
      sign = operator.includes('-') ? -1 : 1
    }
  }

  #term(): [string, number] | undefined {
    let coefficient = 1
    const atoms: string[] = []
    do {
      const atom = this.#atom()
      if (atom === undefined) return undefined
      if (/^\d+$/.test(atom)) coefficient *= Number(atom)
      else atoms.push(atom)
    } while (this.#take(/^\s*\*\s*/) !== undefined)
    return Number.isSafeInteger(coefficient) ? [atoms.sort().join('*'), coefficient] : undefined
  }

  #atom(): string | undefined {
    const match = ATOM.exec(this.#rest)?.[0]
    if (match === undefined) return undefined
    const length = match.endsWith('(') ? closing(this.#rest, match.length - 1) : match.length
    if (length === undefined) return undefined
    const atom = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return atom
  }

  #take(pattern: RegExp): string | undefined {
    const match = pattern.exec(this.#rest)?.[0]
    if (match !== undefined) this.#rest = this.#rest.slice(match.length)
    return match
  }
}

/** The index after the parenthesis that closes the one at `from`. */
function closing(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')' && --depth === 0) return at + 1
  }
  return undefined
}
