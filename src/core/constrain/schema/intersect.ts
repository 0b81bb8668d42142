// Intersects two cases: finds the cases that both allow. Listed values that both cases allow stay unchanged.
import { refused } from '../refuse.ts'
import {
  type ArrayCase,
  type Bound,
  type Case,
  type Conjunction,
  heavier,
  type LiteralCase,
  type NumberCase,
  type ObjectCase,
  type Step,
  type StringCase,
} from './cases.ts'
import { matches } from './languages.ts'

/** The schema functions that an intersection needs. */
export interface Judge {
  /** True if the case allows the value. */
  accepts(one: Case, value: LiteralCase['value']): boolean
  /** Throws the error for a keyword that cannot be enforced. */
  refuse(keyword: string, why: string): never
}

/** The cases that both allow; undefined if there is none. */
export function intersectCases(one: Case, other: Case, judge: Judge): Case | undefined {
  if (one.type === 'literal') return judge.accepts(other, one.value) ? one : undefined
  if (other.type === 'literal') return judge.accepts(one, other.value) ? other : undefined
  const weight = heavier(one.weight, other.weight)
  const met = meetTypes(one, other, judge)
  return met && { ...met, weight }
}

function meetTypes(one: Case, other: Case, judge: Judge): Case | undefined {
  switch (one.type) {
    case 'object':
      return other.type === 'object' ? meetObjects(one, other, judge) : undefined
    case 'array':
      return other.type === 'array' ? meetArrays(one, other, judge) : undefined
    case 'string':
      return other.type === 'string' ? meetStrings(one, other) : undefined
    case 'number':
      return other.type === 'number' ? meetNumbers(one, other) : undefined
    case 'literal':
    case 'null':
    case 'boolean':
      return one.type === other.type ? one : undefined
    default:
      return one satisfies never
  }
}

export function meetNumbers(one: NumberCase, other: NumberCase): NumberCase | undefined {
  const min = tighter(one.min, other.min, (a, b) => a > b)
  const max = tighter(one.max, other.max, (a, b) => a < b)
  if (min !== undefined && max !== undefined) {
    const isEmpty = min.value > max.value || (min.value === max.value && (min.exclusive || max.exclusive))
    if (isEmpty) return undefined
  }
  const isInteger = one.isInteger || other.isInteger
  return { ...one, isInteger, min, max, step: commonMultiple(one.step, other.step) }
}

/**
 * Maximum common multiple of two steps, in units of its last digit, because the grammar has a branch per
 * unit.
 */
const MAX_UNITS = 1000

/** Every number is a multiple of 1 here; `isInteger` marks whole numbers. */
function commonMultiple(one: Step, other: Step): Step {
  if (one.units === 1 && one.digits === 0) return other
  if (other.units === 1 && other.digits === 0) return one
  const digits = Math.max(one.digits, other.digits)
  const [left, right] = [one, other].map((step) => step.units * 10 ** (digits - step.digits)) as [
    number,
    number,
  ]
  const step = inLowestDigits({ units: (left * right) / greatestDivisor(left, right), digits })
  if (step.units <= MAX_UNITS) return step
  throw refused(
    `cannot enforce the schema's multipleOf, because the common multiple of two is ${step.units} units of its last digit and may be ${MAX_UNITS}`,
    'leave one of them out',
    { units: step.units, most: MAX_UNITS },
  )
}

const inLowestDigits = ({ units, digits }: Step): Step =>
  digits > 0 && units % 10 === 0
    ? inLowestDigits({ units: units / 10, digits: digits - 1 })
    : { units, digits }

function tighter(
  one: Bound | undefined,
  other: Bound | undefined,
  isTighter: (a: number, b: number) => boolean,
): Bound | undefined {
  if (one === undefined || other === undefined) return one ?? other
  if (one.value === other.value) return one.exclusive ? one : other
  return isTighter(one.value, other.value) ? one : other
}

export function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

function meetStrings(one: StringCase, other: StringCase): StringCase | undefined {
  const minLength = Math.max(one.minLength, other.minLength)
  const maxLength = Math.min(one.maxLength, other.maxLength)
  if (minLength > maxLength) return undefined
  return {
    ...one,
    minLength,
    maxLength,
    within: [...new Set([...one.within, ...other.within])],
    outside: [...new Set([...one.outside, ...other.outside])],
  }
}

function meetArrays(one: ArrayCase, other: ArrayCase, judge: Judge): ArrayCase | undefined {
  const isUnique = one.isUnique || other.isUnique
  if (
    one.contains !== undefined &&
    other.contains !== undefined &&
    one.contains.schema !== other.contains.schema
  ) {
    judge.refuse('contains', 'occurs twice')
  }
  const contains = one.contains ?? other.contains
  const minItems = Math.max(one.minItems, other.minItems)
  const maxItems = Math.min(one.maxItems, other.maxItems)
  if (minItems > maxItems) return undefined
  const prefix: Conjunction[] = []
  for (let at = 0; at < Math.max(one.prefix.length, other.prefix.length); at++) {
    const item = both(itemAt(one, at), itemAt(other, at))
    if (item === undefined) {
      // No item is possible here, so the array ends before it.
      return at < minItems
        ? undefined
        : { ...one, prefix, rest: undefined, minItems, maxItems, isUnique, contains }
    }
    prefix.push(item)
  }
  const restWeight = heavier(one.restWeight, other.restWeight)
  const rest = both(one.rest, other.rest)
  return { ...one, prefix, rest, restWeight, minItems, maxItems, isUnique, contains }
}

export function itemAt(array: ArrayCase, at: number): Conjunction | undefined {
  return at < array.prefix.length ? array.prefix[at] : array.rest
}

/** The schemas for a property; undefined if the property is not allowed. */
export function propertyOf(object: ObjectCase, name: string): Conjunction | undefined {
  if (object.properties.has(name)) return object.properties.get(name)
  const patterns = object.patterns.filter(({ names }) => matches(names, name))
  return patterns.length > 0 ? patterns.flatMap(({ value }) => value) : object.additional
}

function meetObjects(one: ObjectCase, other: ObjectCase, judge: Judge): ObjectCase | undefined {
  const names = new Set([...one.properties.keys(), ...other.properties.keys()])
  const properties = new Map(
    [...names].map((name) => [name, both(propertyOf(one, name), propertyOf(other, name))] as const),
  )
  const minProperties = Math.max(one.minProperties, other.minProperties)
  const maxProperties = Math.min(one.maxProperties, other.maxProperties)
  const required = new Set([...one.required, ...other.required])
  if (minProperties > maxProperties || required.size > maxProperties) return undefined
  // A name that matches a pattern on one side may be an additional property on the other.
  const isMixed =
    (one.patterns.length > 0 && other.additional?.length !== 0) ||
    (other.patterns.length > 0 && one.additional?.length !== 0)
  if (isMixed && one !== other)
    judge.refuse('patternProperties', 'conflicts with other limits on additional properties')
  return {
    ...one,
    properties,
    required,
    patterns: [...new Set([...one.patterns, ...other.patterns])],
    additional: both(one.additional, other.additional),
    additionalWeight: heavier(one.additionalWeight, other.additionalWeight),
    evaluated: new Set([...one.evaluated, ...other.evaluated]),
    minProperties,
    maxProperties,
    names: [...new Set([...one.names, ...other.names])],
  }
}

/** The same object, with its unevaluated properties also limited to `value`. */
export function withUnevaluated(one: ObjectCase, value: Conjunction | undefined): ObjectCase {
  // `additionalProperties` evaluates every property.
  if (one.additionalWeight === 'named') return one
  const properties = new Map(
    [...one.properties].map(
      ([name, own]) => [name, one.evaluated.has(name) ? own : both(own, value)] as const,
    ),
  )
  return { ...one, properties, additional: both(one.additional, value), additionalWeight: 'named' }
}

function both(one: Conjunction | undefined, other: Conjunction | undefined): Conjunction | undefined {
  return one === undefined || other === undefined ? undefined : [...new Set([...one, ...other])]
}
