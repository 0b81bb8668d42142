// Counting. In: schemas. Out: a lower bound on the number of different values that are generated, so that
// unique items and names cannot run out.

import { groupBy } from '../../base/values.ts'
import { pairs } from '../code-points.ts'
import { UNBOUNDED } from '../grammar.ts'
import { columnSets, type Dfa, liveStates } from '../regex/dfa.ts'
import {
  type ArrayCase,
  type Case,
  type Conjunction,
  canonical,
  likely,
  type ObjectCase,
  typeOf,
} from './cases.ts'
import { itemAt, propertyOf } from './intersect.ts'
import { writtenLanguage } from './languages.ts'
import { numberCount } from './numbers.ts'
import type { Type } from './references.ts'

/** This many values count as unlimited. A single unrestricted character has more. */
const ENDLESS = 2 ** 20
/** More deeply nested parts count as one value. */
const MAX_DEPTH = 3

type CasesOf = (conjunction: Conjunction) => readonly Case[]

/** Infinity stands for many. At least 1 if there is any value. */
export function countOf(conjunction: Conjunction, casesOf: CasesOf, depth = 0): number {
  const cases = likely(casesOf(conjunction))
  if (cases.length === 0) return 0
  if (depth > MAX_DEPTH) return 1
  // Cases of one type may overlap, so only the largest counts.
  const counts = new Map<Type, number>()
  const atLeast = (type: Type, count: number) => counts.set(type, Math.max(counts.get(type) ?? 0, count))
  const literals = cases.filter((one) => one.type === 'literal').map(({ value }) => value)
  for (const [type, values] of groupBy(literals, typeOf)) {
    atLeast(type, new Set(values.map(canonical)).size)
  }
  for (const one of cases) if (one.type !== 'literal') atLeast(one.type, caseCount(one, casesOf, depth))
  return enough([...counts.values()].reduce((sum, count) => sum + count, 0))
}

const enough = (count: number) => (count >= ENDLESS ? UNBOUNDED : count)

function caseCount(one: Exclude<Case, { type: 'literal' }>, casesOf: CasesOf, depth: number): number {
  switch (one.type) {
    case 'null':
      return 1
    case 'boolean':
      return 2
    case 'number':
      return numberCount(one)
    case 'string':
      if (one.within.length > 0 || one.outside.length > 0) return textCount(writtenLanguage(one))
      return one.maxLength === 0 ? 1 : UNBOUNDED
    case 'array':
      return arrayCount(one, casesOf, depth)
    case 'object':
      return objectCount(one, casesOf, depth)
    default:
      return one satisfies never
  }
}

/** The number of arrays of one length. */
function arrayCount(one: ArrayCase, casesOf: CasesOf, depth: number): number {
  const { prefix, minItems, maxItems, restWeight, isUnique, contains } = one
  if (isUnique || contains !== undefined) return 1
  const isOpen = one.rest !== undefined && restWeight !== 'unlikely' && casesOf(one.rest).length > 0
  if (isOpen && maxItems === UNBOUNDED) return UNBOUNDED
  const length = Math.min(maxItems, Math.max(minItems, prefix.length + Number(isOpen)))
  let count = 1
  for (let at = 0; at < length && count < ENDLESS; at++) {
    const item = itemAt(one, at)
    const values = item === undefined ? 0 : countOf(item, casesOf, depth + 1)
    // The array ends before an impossible item.
    if (values === 0) break
    count *= values
  }
  return count
}

/** The number of objects with all required named properties, with or without each optional one. */
function objectCount(one: ObjectCase, casesOf: CasesOf, depth: number): number {
  const isFree = one.minProperties <= one.required.size && one.maxProperties === UNBOUNDED
  if (one.names.length > 0) return 1
  if (one.patterns.length === 0 && one.maxProperties > one.required.size && isOpen(one, casesOf))
    return UNBOUNDED
  let count = 1
  for (const name of new Set([...one.properties.keys(), ...one.required])) {
    const value = propertyOf(one, name)
    const values = value === undefined ? 0 : countOf(value, casesOf, depth + 1)
    if (one.required.has(name)) count *= Math.max(1, values)
    else if (isFree) count *= 1 + values
    if (count >= ENDLESS) return UNBOUNDED
  }
  return count
}

/** Whether properties with arbitrary names are generated. */
function isOpen({ additional, additionalWeight }: ObjectCase, casesOf: CasesOf): boolean {
  return additional !== undefined && additionalWeight !== 'unlikely' && casesOf(additional).length > 0
}

/** The number of texts in a language; Infinity stands for many. */
export function textCount(dfa: Dfa): number {
  const widths = columnSets(dfa).map((set) =>
    pairs(set).reduce((sum, [low, high]) => sum + high - low + 1, 0),
  )
  const isLive = liveStates(dfa)
  let count = 0
  /** How many texts of a given length lead to each state. */
  let ways = new Map([[0, 1]])
  for (let length = 0; ways.size > 0; length++) {
    // A text with as many characters as there are states visits some state twice.
    if (length > dfa.next.length) return UNBOUNDED
    const longer = new Map<number, number>()
    for (const [state, many] of ways) {
      if (dfa.accepts[state]) count += many
      if (count >= ENDLESS) return UNBOUNDED
      for (const [column, to] of dfa.next[state]!.entries()) {
        if (isLive[to]) longer.set(to, Math.min(ENDLESS, (longer.get(to) ?? 0) + many * widths[column]!))
      }
    }
    ways = longer
  }
  return count
}
