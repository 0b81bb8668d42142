// Schemas as cases. In: schemas that must all hold. Out: the cases that they allow together; which values
// those accept.
import { isHalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { shown } from '../refuse.ts'
import {
  type Case,
  type Conjunction,
  isSame,
  type LiteralCase,
  likely,
  type ObjectCase,
  typeOf,
} from './cases.ts'
import { intersectCases, itemAt, type Judge, propertyOf } from './intersect.ts'
import type { Json } from './json-text.ts'
import { ownCases } from './keywords.ts'
import { stringHas } from './languages.ts'
import { isMultiple } from './numbers.ts'
import type { Schema, SchemaDocument, SchemaObject } from './references.ts'
import { type Oracle, without } from './subtract.ts'

/** Most cases of one schema; each combination of `anyOf` within `allOf` is one. */
const MAX_CASES = 512
const MAX_DEPTH = 64

/** The schemas of one document. */
export function schemasOf(whole: SchemaDocument): Judge & Oracle {
  const schemas = { cases, accepts, narrow, refuse }
  // Every JSON value.
  const any = ownCases(whole, {})
  const known = new Map<Schema, readonly Case[]>()
  // Schemas being read, the outermost first.
  const open: Schema[] = []
  return schemas

  /** The cases that all schemas allow. Throws `unsupported` for a keyword that cannot be enforced. */
  function cases(conjunction: Conjunction): readonly Case[] {
    return conjunction.reduce((list, schema) => both(list, casesOf(schema)), any)
  }

  function accepts(one: Case, value: Json): boolean {
    if (one.type === 'literal') return isSame(one.value, value)
    if (one.type !== typeOf(value)) return false
    switch (one.type) {
      case 'number': {
        const { min, max, isInteger, step } = one
        const number = value as number
        return (
          (!isInteger || Number.isInteger(number)) &&
          isMultiple(number, step) &&
          (min === undefined || (min.exclusive ? number > min.value : number >= min.value)) &&
          (max === undefined || (max.exclusive ? number < max.value : number <= max.value))
        )
      }
      case 'string':
        return stringHas(one, value as string)
      case 'array': {
        const items = value as readonly Json[]
        if (items.length < one.minItems || items.length > one.maxItems) return false
        if (one.isUnique && items.some((item, at) => items.slice(0, at).some((each) => isSame(each, item)))) {
          return false
        }
        if (one.contains !== undefined) {
          const { schema, min, max } = one.contains
          const count = items.filter((item) => acceptsAll([schema], item)).length
          if (count < min || count > max) return false
        }
        return items.every((item, at) => acceptsAll(itemAt(one, at), item))
      }
      case 'object':
        return acceptsObject(one, value as { readonly [key: string]: Json })
      default:
        return true
    }
  }

  /** True if all schemas allow the value. An undefined list allows nothing. */
  function acceptsAll(conjunction: Conjunction | undefined, value: Json): boolean {
    return conjunction !== undefined && cases(conjunction).some((one) => accepts(one, value))
  }

  function narrow(one: Conjunction, other: Conjunction): Conjunction | undefined {
    const narrowed = [...one, { not: { allOf: other } }]
    try {
      return cases(narrowed).length > 0 ? narrowed : undefined
    } catch (error) {
      if (isHalfbyteError(error)) return undefined
      throw error
    }
  }

  function refuse(keyword: string, why: string): never {
    throw whole.refuse(open.at(-1) ?? whole.root, keyword, why)
  }

  function acceptsObject(one: ObjectCase, value: { readonly [key: string]: Json }): boolean {
    const names = Object.keys(value)
    return (
      names.length >= one.minProperties &&
      names.length <= one.maxProperties &&
      [...one.required].every((name) => Object.hasOwn(value, name)) &&
      names.every((name) => one.names.length === 0 || acceptsAll(one.names, name)) &&
      names.every((name) => acceptsAll(propertyOf(one, name), value[name]!))
    )
  }

  function both(left: readonly Case[], right: readonly Case[]): readonly Case[] {
    if (left === any) return right
    const list: Case[] = []
    for (const one of left) {
      for (const other of right) {
        const met = intersectCases(one, other, schemas)
        if (met !== undefined) list.push(met)
      }
    }
    return checked(list)
  }

  function casesOf(schema: Schema): readonly Case[] {
    if (schema === true) return any
    if (schema === false) return []
    const before = known.get(schema)
    if (before !== undefined) return before
    if (open.includes(schema)) refuse('$ref', 'refers to itself without a property or item in between')
    if (open.length >= MAX_DEPTH) refuse('allOf', `nests more than ${MAX_DEPTH} schemas in one`)
    open.push(schema)
    try {
      const cases = whole.isOpen(schema) ? any : combine(schema)
      known.set(schema, cases)
      return cases
    } finally {
      open.pop()
    }
  }

  function combine(schema: SchemaObject): readonly Case[] {
    let list = literals(schema, ownCases(whole, schema))
    const { $ref } = schema
    if ($ref !== undefined) list = both(list, casesOf(whole.resolve(schema, $ref)))
    for (const part of listAt(schema, 'allOf')) list = both(list, casesOf(part))
    if (schema['anyOf'] !== undefined) {
      list = both(list, [...new Set(listAt(schema, 'anyOf').flatMap((part) => casesOf(part)))])
    }
    if (schema['oneOf'] !== undefined) list = exactlyOne(list, listAt(schema, 'oneOf'))
    if (schema['not'] !== undefined) {
      const excluded = casesOf(whole.schema(schema['not'], 'not'))
      list = excluded === any ? [] : leaveOut(list, excluded, 'not')
    }
    for (const part of dependents(schema)) list = both(list, casesOf(part))
    return checked(conditional(schema, list))
  }

  /** With `enum` and `const` the values are listed. */
  function literals(schema: SchemaObject, own: readonly Case[]): readonly Case[] {
    const { enum: values, const: constant } = schema
    if (values !== undefined && !Array.isArray(values)) refuse('enum', 'is not a list')
    if (values === undefined && constant === undefined) return own
    const all: readonly Json[] = (values as readonly Json[] | undefined) ?? [constant!]
    return all
      .filter((value) => constant === undefined || isSame(value, constant))
      .filter((value) => own.some((one) => accepts(one, value)))
      .map((value): LiteralCase => ({ type: 'literal', weight: 'named', value }))
  }

  /** What a property asks for when it is there: it is not, or what it asks for holds. */
  function dependents(schema: SchemaObject): readonly Schema[] {
    const needs = entriesAt(schema, 'dependentRequired').map(
      ([name, names]) => [name, { required: names }] as const,
    )
    return [...needs, ...entriesAt(schema, 'dependentSchemas')].map(([name, need]) => {
      const there = { required: [name], allOf: [need] }
      return whole.schema({ anyOf: [{ properties: { [name]: false } }, there] }, 'dependentRequired')
    })
  }

  function entriesAt(schema: SchemaObject, keyword: string): readonly (readonly [string, Json])[] {
    const value = schema[keyword] ?? {}
    if (!isObject(value)) refuse(keyword, 'is not an object')
    return Object.entries(value as { readonly [name: string]: Json })
  }

  function exactlyOne(base: readonly Case[], options: readonly Schema[]): readonly Case[] {
    const cases = options.map((option) => casesOf(option))
    return cases.flatMap((own, index) => {
      let list = likely(both(base, own))
      for (const [other, those] of cases.entries()) {
        if (other !== index) list = leaveOut(list, those, 'oneOf')
      }
      return list
    })
  }

  function conditional(schema: SchemaObject, list: readonly Case[]): readonly Case[] {
    if (schema['if'] === undefined) return list
    const [condition, then, otherwise] = ['if', 'then', 'else'].map((keyword) =>
      casesOf(whole.schema(schema[keyword] ?? true, keyword)),
    ) as [readonly Case[], readonly Case[], readonly Case[]]
    const held = both(both(list, condition), then)
    return [...held, ...leaveOut(both(list, otherwise), condition, 'if')]
  }

  function leaveOut(list: readonly Case[], excluded: readonly Case[], keyword: string): readonly Case[] {
    return excluded.reduce<readonly Case[]>(
      (left, one) =>
        left.flatMap((each) => {
          const rest = without(each, one, schemas)
          if (rest === undefined) {
            refuse(
              keyword,
              `needs a ${typeName(each)} that is not a ${typeName(one)} of the kind it excludes`,
            )
          }
          return rest
        }),
      list,
    )
  }

  function listAt(schema: SchemaObject, keyword: string): readonly Schema[] {
    const value = schema[keyword] ?? []
    if (!Array.isArray(value)) refuse(keyword, 'is not a list')
    return (value as readonly Json[]).map((part) => whole.schema(part, keyword))
  }

  function checked(list: readonly Case[]): readonly Case[] {
    if (list.length <= MAX_CASES || list.every(({ type }) => type === 'literal')) return list
    return refuse('anyOf', `has more than ${MAX_CASES} combinations`)
  }
}

function typeName(one: Case): string {
  return one.type === 'literal' ? shown(one.value) : one.type
}
