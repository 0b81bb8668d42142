// Decides whether a call's arguments are right, by the rules of BFCL's checker for Python calls.
import { isObject } from '../../../core/base/values.ts'

export interface Parameter {
  /** BFCL's name of the type, such as `dict` or `float`. */
  readonly type: string
  readonly items?: { readonly type: string } | undefined
}

export interface PossibleCall {
  readonly name: string
  /** All correct values, by parameter. If '' is among them, the parameter may be omitted. */
  readonly values: Readonly<Record<string, readonly unknown[]>>
}

interface Callable {
  readonly properties: Readonly<Record<string, Parameter>>
  readonly required: readonly string[]
}

/** Source: `simple_function_checker` of bfcl_eval. Numbers are compared by value, so 5.0 is 5. */
export function matchesCall(
  given: Readonly<Record<string, unknown>>,
  { properties, required }: Callable,
  { values }: PossibleCall,
): boolean {
  const isKnown = ([key, value]: [string, unknown]) => {
    if (!Object.hasOwn(properties, key) || !Object.hasOwn(values, key)) return false
    return matchesValue(value, properties[key]!, values[key]!)
  }
  return (
    required.every((key) => Object.hasOwn(given, key)) &&
    Object.entries(given).every(isKnown) &&
    Object.entries(values).every(([key, answers]) => Object.hasOwn(given, key) || answers.includes(''))
  )
}

type Kind = 'text' | 'whole' | 'real' | 'truth' | 'list' | 'object' | 'none'

const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries({
    string: 'text',
    any: 'text',
    integer: 'whole',
    float: 'real',
    boolean: 'truth',
    array: 'list',
    tuple: 'list',
    dict: 'object',
  } satisfies Record<string, Kind>),
)

function kindOf(value: unknown): Kind {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return Number.isInteger(value) ? 'whole' : 'real'
  if (typeof value === 'boolean') return 'truth'
  if (Array.isArray(value)) return 'list'
  return isObject(value) ? 'object' : 'none'
}

/**
 * A value whose type differs from the parameter's is right if an answer of its type equals it. Such answers
 * name a variable, so they are compared unchanged.
 */
function matchesValue(value: unknown, { type, items }: Parameter, answers: readonly unknown[]): boolean {
  const expected = KINDS.get(type)
  const fits = (each: unknown) => {
    const kind = kindOf(each)
    return kind === expected || (expected === 'real' && kind === 'whole')
  }
  const first = answers.find((answer) => answer !== '')
  const isVariable = first !== undefined && !fits(first)
  if (!fits(value)) return first !== undefined && kindOf(value) === kindOf(first) && isAmong(value, answers)
  if (isVariable) return isAmong(value, answers)
  if (expected === 'object') return answers.some((answer) => matchesObject(value, answer))
  if (expected === 'list' && items?.type === 'dict') return matchesObjects(value as unknown[], answers)
  if (expected === 'list') {
    const listed = answers.map((answer) => (Array.isArray(answer) ? answer.map(simple) : []))
    return isAmong((value as unknown[]).map(simple), listed)
  }
  return isAmong(simple(value), answers.map(simple))
}

/** Whether the answer allows each entry, and every missing entry is optional. */
function matchesObject(value: unknown, answer: unknown): boolean {
  if (!isObject(value) || !isObject(answer)) return false
  const allowed = (key: string): readonly unknown[] => [answer[key]].flat().map(simple)
  return (
    Object.entries(value).every(
      ([key, each]) => Object.hasOwn(answer, key) && isAmong(simple(each), allowed(key)),
    ) && Object.keys(answer).every((key) => Object.hasOwn(value, key) || allowed(key).includes(''))
  )
}

/** The answer '' represents an empty list. */
const matchesObjects = (value: readonly unknown[], answers: readonly unknown[]): boolean =>
  answers.some((answer) => {
    const listed = Array.isArray(answer) ? answer : []
    return listed.length === value.length && value.every((each, at) => matchesObject(each, listed[at]))
  })

/** The text without case, spaces and most punctuation, so that "April 1, 2024" equals "april 1 2024". */
const simple = (value: unknown): unknown =>
  typeof value === 'string'
    ? value
        .replaceAll(/[ ,./\-_*^]/g, '')
        .toLowerCase()
        .replaceAll("'", '"')
    : value

const isAmong = (value: unknown, answers: readonly unknown[]): boolean =>
  answers.some((answer) => isEqual(value, answer))

function isEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, at) => isEqual(each, other[at]))
  if (!isObject(one) || !isObject(other)) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  )
}
