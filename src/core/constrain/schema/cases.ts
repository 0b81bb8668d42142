// What a schema allows, as a list of cases: each covers one JSON type and has its own limits.
import type { Dfa } from '../regex/dfa.ts'
import type { Regex } from '../regex/syntax.ts'
import type { Json } from './json-text.ts'
import type { Schema, Type } from './references.ts'

/** Schemas that must all hold; an empty list allows everything. */
export type Conjunction = readonly Schema[]

/**
 * How a schema allows a type. `named`: it names the type. `open`: it mentions no types. `unlikely`: it only
 * has keywords for another type, such as `properties` without `type`. Unlikely types count as allowed but are
 * not generated.
 */
export type Weight = 'named' | 'open' | 'unlikely'

interface Weighted {
  readonly weight: Weight
}

/** Exactly this value. */
export interface LiteralCase extends Weighted {
  readonly type: 'literal'
  readonly value: Json
}
interface PlainCase extends Weighted {
  readonly type: 'null' | 'boolean'
}
export interface Bound {
  readonly value: number
  readonly exclusive: boolean
}
export interface NumberCase extends Weighted {
  readonly type: 'number'
  readonly isInteger: boolean
  readonly min: Bound | undefined
  readonly max: Bound | undefined
  /** The value is a multiple of this. */
  readonly step: Step
}
/** The decimal `units` / 10^`digits`. */
export interface Step {
  readonly units: number
  readonly digits: number
}
export interface StringCase extends Weighted {
  readonly type: 'string'
  readonly minLength: number
  readonly maxLength: number
  /** The whole text belongs to all of these languages. */
  readonly within: readonly Regex[]
  /** The text belongs to none of these languages. */
  readonly outside: readonly Dfa[]
}
export interface ArrayCase extends Weighted {
  readonly type: 'array'
  readonly prefix: readonly Conjunction[]
  /** Schemas of the items after the prefix; undefined: no further items are allowed. */
  readonly rest: Conjunction | undefined
  /** Whether items after the prefix are generated; `unlikely` if a schema only describes the prefix. */
  readonly restWeight: Weight
  readonly minItems: number
  readonly maxItems: number
  /** Whether all items must differ. */
  readonly isUnique: boolean
  /** Items that must occur at least `min` and at most `max` times. */
  readonly contains: { readonly schema: Schema; readonly min: number; readonly max: number } | undefined
}
export interface ObjectCase extends Weighted {
  readonly type: 'object'
  /** In the order in which they are written. If a schema is undefined, the property is not allowed. */
  readonly properties: ReadonlyMap<string, Conjunction | undefined>
  readonly required: ReadonlySet<string>
  /** Schemas of unlisted properties whose names are in the language. */
  readonly patterns: readonly { readonly names: Regex; readonly value: Conjunction }[]
  /** The schemas of all other properties; undefined if no others are allowed. */
  readonly additional: Conjunction | undefined
  readonly additionalWeight: Weight
  /** The names listed under `properties` in the schemas, for `unevaluatedProperties`. */
  readonly evaluated: ReadonlySet<string>
  readonly minProperties: number
  readonly maxProperties: number
  /** Schemas of the names themselves. */
  readonly names: Conjunction
}

export type Case = LiteralCase | PlainCase | NumberCase | StringCase | ArrayCase | ObjectCase

/** Joins two weights of the same type: `named` wins over `unlikely`, and `unlikely` over `open`. */
export function heavier(one: Weight, other: Weight): Weight {
  if (one === 'named' || other === 'named') return 'named'
  return one === 'unlikely' || other === 'unlikely' ? 'unlikely' : 'open'
}

/** The cases that are generated; unlikely ones only if there are no others. */
export function likely(cases: readonly Case[]): readonly Case[] {
  const found = cases.filter(({ weight }) => weight !== 'unlikely')
  return found.length > 0 ? found : cases
}

/** The JSON type of a value. */
export function typeOf(value: Json): Type {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as Type
}

/** Equal values have equal texts, because the properties of objects are sorted. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
  return `{${entries.sort().join()}}`
}

export function isSame(one: Json, other: Json): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return one === other
  }
  const keys = Object.keys(one)
  const others = Object.keys(other)
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(Reflect.get(one, key), Reflect.get(other, key)))
  )
}
