// Template values. In: values of the Jinja interpreter. Out: their texts, equality and size, as in Python.
import type { Environment } from '@huggingface/jinja'
import type { Budget } from '../../base/budget.ts'

/** The value of an expression; `type` says what `value` is. */
export type Value = ReturnType<Environment['set']>

/** Cost of each part of a new value. A part is an object, while a character takes only one or two bytes. */
export const PART_UNITS = 32

/** Characters of a text, parts of a list or mapping. */
export function sizeOf({ value }: Value): number {
  if (typeof value === 'string') return value.length
  return Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0
}

/** Parts of a list, values of a mapping; undefined for other values. */
export function partsOf({ value }: Value): Iterable<Value> | undefined {
  return Array.isArray(value) ? value : value instanceof Map ? (value.values() as Iterable<Value>) : undefined
}

/** Charges for a walk over everything in a value: `units` for each part, and more for deeper parts. */
export function spendWhole(value: Value, budget: Budget, units = PART_UNITS, depth = 1): void {
  budget.spend(units * depth + (typeof value.value === 'string' ? value.value.length : 0))
  for (const part of partsOf(value) ?? []) spendWhole(part, budget, units, depth + 1)
}

/** Python's `str`; undefined values write nothing. */
export function textOf(value: Value, budget: Budget): string {
  if (typeof value.value === 'string') return value.value
  return value.type === 'UndefinedValue' ? '' : reprOf(value, budget)
}

function reprOf(value: Value, budget: Budget): string {
  const { type, value: held } = value
  budget.spend(PART_UNITS)
  if (typeof held === 'string') {
    budget.spend(held.length)
    return quotedText(held)
  }
  if (typeof held === 'boolean') return held ? 'True' : 'False'
  if (type === 'NullValue') return 'None'
  if (Array.isArray(held)) {
    const parts = held.map((part) => reprOf(part, budget))
    if (type !== 'TupleValue') return `[${parts.join(', ')}]`
    return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(', ')})`
  }
  if (held instanceof Map) {
    const parts = Array.from(held, ([key, part]) => {
      budget.spend(key.length)
      return `${quotedText(key)}: ${reprOf(part, budget)}`
    })
    return `{${parts.join(', ')}}`
  }
  return typeof held === 'number' ? value.toString() : ''
}

const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }),
)

/** Python writes single quotes, unless the text contains single quotes but no double ones. */
function quotedText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === ' ' || (character === "'" && quote === '"')) return character
    const code = character.codePointAt(0) as number
    const hex = (digits: number) => code.toString(16).padStart(digits, '0')
    if (character === "'") return "\\'"
    return (
      ESCAPES.get(character) ??
      (code < 256 ? `\\x${hex(2)}` : code < 65_536 ? `\\u${hex(4)}` : `\\U${hex(8)}`)
    )
  })
  return quote + inner + quote
}

/** Python's `==`: compares content. Values of different types differ, but true equals 1. */
export function areEqual(one: Value, other: Value, budget: Budget): boolean {
  budget.spend(1)
  const a = one.value
  const b = other.value
  if (typeof a === 'string' && typeof b === 'string') {
    budget.spend(Math.min(a.length, b.length))
    return a === b
  }
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b)
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((part, at) => areEqual(part, b[at]!, budget))
  }
  if (a instanceof Map && b instanceof Map) {
    if (a.size !== b.size) return false
    for (const [key, part] of a) {
      const same = b.get(key)
      if (same === undefined || !areEqual(part, same, budget)) return false
    }
    return true
  }
  return a === b && (a !== undefined || one.type === other.type)
}

const isNumeric = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'

/** Python's white space. */
const SPACE = /(?!\uFEFF)[\s\x85]/

/** Python's `strip`, at one end or both: removes white space, or any of `characters`. */
export function stripped(
  text: string,
  characters: string | undefined,
  left: boolean,
  right: boolean,
): string {
  const goes = (character: string) =>
    characters === undefined ? SPACE.test(character) : characters.includes(character)
  let start = 0
  let end = text.length
  if (left) while (start < end && goes(text.charAt(start))) start++
  if (right) while (end > start && goes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}
