// Subtracts one case from another, for `oneOf` and `not`.
import { dfaOfTexts, isEmpty, meet } from '../regex/dfa.ts'
import type { ArrayCase, Case, Conjunction, NumberCase, ObjectCase, StringCase } from './cases.ts'
import { itemAt, meetNumbers, propertyOf } from './intersect.ts'
import type { Json } from './json-text.ts'
import { stringLanguage } from './languages.ts'

/** The schema functions that a subtraction needs. */
export interface Oracle {
  cases(conjunction: Conjunction): readonly Case[]
  accepts(one: Case, value: Json): boolean
  /** The first minus the second, as schemas; undefined if nothing is left or the answer is unknown. */
  narrow(one: Conjunction, other: Conjunction): Conjunction | undefined
}

/** Maximum depth of nested properties that are compared to tell two objects apart. */
const MAX_DEPTH = 4

/**
 * Cases with the values of `one` that `other` does not allow. They may miss some of these values, but contain
 * no others. Undefined if this cannot be decided.
 */
export function without(one: Case, other: Case, oracle: Oracle): readonly Case[] | undefined {
  if (areApart(one, other, oracle)) return [one]
  switch (one.type) {
    case 'literal':
    case 'null':
      return []
    case 'boolean':
      return other.type === 'literal' ? [{ ...one, type: 'literal', value: other.value !== true }] : []
    case 'string': {
      const texts = other.type === 'literal' ? dfaOfTexts([String(other.value)]) : textsOf(other)
      return texts && [{ ...one, outside: [...one.outside, texts] }]
    }
    case 'number':
      return other.type === 'number' ? outsideRange(one, other) : undefined
    case 'object':
      return other.type === 'object' ? withoutProperties(one, other, oracle) : undefined
    case 'array':
      return undefined
    default:
      return one satisfies never
  }
}

/** True if no value is in both. False if this cannot be decided. */
function areApart(one: Case, other: Case, oracle: Oracle, depth = 0): boolean {
  if (one.type === 'literal') return !oracle.accepts(other, one.value)
  if (other.type === 'literal') return !oracle.accepts(one, other.value)
  if (one.type !== other.type) return true
  if (depth > MAX_DEPTH) return false
  switch (one.type) {
    case 'number':
      return meetNumbers(one, other as NumberCase) === undefined
    case 'string':
      return isEmpty(meet(stringLanguage(one), stringLanguage(other as StringCase)))
    case 'array':
      return areArraysApart(one, other as ArrayCase, oracle, depth)
    case 'object':
      return areObjectsApart(one, other as ObjectCase, oracle, depth)
    default:
      return false
  }
}

function areArraysApart(one: ArrayCase, other: ArrayCase, oracle: Oracle, depth: number): boolean {
  if (one.maxItems < other.minItems || other.maxItems < one.minItems) return true
  const certain = Math.min(
    Math.max(one.minItems, other.minItems),
    one.prefix.length + other.prefix.length + 1,
  )
  for (let at = 0; at < certain; at++) {
    if (areSchemasApart(itemAt(one, at), itemAt(other, at), oracle, depth)) return true
  }
  return false
}

/** A property that both require and for which their values are disjoint. */
function areObjectsApart(one: ObjectCase, other: ObjectCase, oracle: Oracle, depth: number): boolean {
  for (const name of new Set([...one.required, ...other.required])) {
    if (areSchemasApart(propertyOf(one, name), propertyOf(other, name), oracle, depth)) return true
  }
  return false
}

/** True if no value is allowed by both. False if this cannot be decided. */
export function areSchemasApart(
  one: Conjunction | undefined,
  other: Conjunction | undefined,
  oracle: Oracle,
  depth = 0,
): boolean {
  if (one === undefined || other === undefined) return true
  const these = oracle.cases(one)
  const those = oracle.cases(other)
  return these.every((each) => those.every((that) => areApart(each, that, oracle, depth + 1)))
}

/**
 * Objects without a property that the other case requires, or with a value that the other case does not allow
 * for it.
 */
function withoutProperties(one: ObjectCase, other: ObjectCase, oracle: Oracle): readonly Case[] | undefined {
  const list: ObjectCase[] = []
  for (const name of other.required) {
    if (one.required.has(name)) continue
    list.push({ ...one, properties: new Map([...one.properties, [name, undefined]]) })
  }
  for (const [name, those] of other.properties) {
    const own = propertyOf(one, name)
    if (own === undefined) continue
    const left = those === undefined ? own : oracle.narrow(own, those)
    if (left === undefined) continue
    const properties = new Map([...one.properties, [name, left]])
    list.push({ ...one, properties, required: new Set([...one.required, name]) })
  }
  return list.length > 0 ? list : undefined
}

/** Numbers below and above a range. */
function outsideRange(one: NumberCase, other: NumberCase): readonly Case[] | undefined {
  if (other.step.units > 1 || other.step.digits > 0 || (other.isInteger && !one.isInteger)) return undefined
  const { min, max } = other
  const open = { ...one, min: undefined, max: undefined }
  const below = min && meetNumbers(one, { ...open, max: { value: min.value, exclusive: !min.exclusive } })
  const above = max && meetNumbers(one, { ...open, min: { value: max.value, exclusive: !max.exclusive } })
  return [below, above].filter((part) => part !== undefined)
}

function textsOf(other: Case) {
  return other.type === 'string' ? stringLanguage(other) : undefined
}
