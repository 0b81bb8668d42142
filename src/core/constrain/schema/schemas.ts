// Finds the cases that several schemas allow together, and which values they accept.
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
import { intersectCases, itemAt, type Judge, propertyOf, withUnevaluated } from './intersect.ts'
import type { Json } from './json-text.ts'
import { ownCases } from './keywords.ts'
import { stringHas } from './languages.ts'
import { isMultiple } from './numbers.ts'
import type { Schema, SchemaDocument, SchemaObject } from './references.ts'
import { type Oracle, without } from './subtract.ts'

/** Maximum number of cases of one schema. Each combination of `anyOf` within `allOf` is a case. */
const MAX_CASES = 512
const MAX_DEPTH = 64

/** The schemas of one document. */
export class Schemas implements Judge, Oracle {
  readonly #whole: SchemaDocument
  /** Every JSON value. */
  readonly #any: readonly Case[]
  readonly #known = new Map<Schema, readonly Case[]>()
  /** Schemas being read, the outermost first. */
  readonly #open: Schema[] = []

  constructor(whole: SchemaDocument) {
    this.#whole = whole
    this.#any = ownCases(whole, {})
  }

  /** The cases that all schemas allow. Throws `unsupported` for a keyword that cannot be enforced. */
  cases(conjunction: Conjunction): readonly Case[] {
    return conjunction.reduce((list, schema) => this.#both(list, this.#casesOf(schema)), this.#any)
  }

  accepts(one: Case, value: Json): boolean {
    if (one.type === 'literal') return isSame(one.value, value)
    if (one.type !== typeOf(value)) return false
    switch (one.type) {
      case 'number': {
        const { min, max, isInteger, step } = one
        const number = value as number
        // Without multipleOf, the step is 1, but any fraction is allowed.
        const isFree = !isInteger && step.digits === 0
        return (
          (!isInteger || Number.isInteger(number)) &&
          (isFree ? Number.isFinite(number) : isMultiple(number, step)) &&
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
          const count = items.filter((item) => this.#acceptsAll([schema], item)).length
          if (count < min || count > max) return false
        }
        return items.every((item, at) => this.#acceptsAll(itemAt(one, at), item))
      }
      case 'object':
        return this.#acceptsObject(one, value as { readonly [key: string]: Json })
      default:
        return true
    }
  }

  /** True if all schemas allow the value. An undefined list allows nothing. */
  #acceptsAll(conjunction: Conjunction | undefined, value: Json): boolean {
    return conjunction !== undefined && this.cases(conjunction).some((one) => this.accepts(one, value))
  }

  narrow(one: Conjunction, other: Conjunction): Conjunction | undefined {
    const narrowed = [...one, { not: { allOf: other } }]
    try {
      return this.cases(narrowed).length > 0 ? narrowed : undefined
    } catch (error) {
      if (isHalfbyteError(error)) return undefined
      throw error
    }
  }

  refuse(keyword: string, why: string): never {
    throw this.#whole.refuse(this.#open.at(-1) ?? this.#whole.root, keyword, why)
  }

  #acceptsObject(one: ObjectCase, value: { readonly [key: string]: Json }): boolean {
    const names = Object.keys(value)
    return (
      names.length >= one.minProperties &&
      names.length <= one.maxProperties &&
      [...one.required].every((name) => Object.hasOwn(value, name)) &&
      names.every((name) => one.names.length === 0 || this.#acceptsAll(one.names, name)) &&
      names.every((name) => this.#acceptsAll(propertyOf(one, name), value[name]!))
    )
  }

  #both(left: readonly Case[], right: readonly Case[]): readonly Case[] {
    if (left === this.#any) return right
    const list: Case[] = []
    for (const one of left) {
      for (const other of right) {
        const met = intersectCases(one, other, this)
        if (met !== undefined) list.push(met)
      }
    }
    return this.#checked(list)
  }

  #casesOf(schema: Schema): readonly Case[] {
    if (schema === true) return this.#any
    if (schema === false) return []
    const before = this.#known.get(schema)
    if (before !== undefined) return before
    if (this.#open.includes(schema))
      this.refuse('$ref', 'refers to itself without a property or item in between')
    if (this.#open.length >= MAX_DEPTH) this.refuse('allOf', `nests schemas more than ${MAX_DEPTH} deep`)
    this.#open.push(schema)
    try {
      const cases = this.#whole.isOpen(schema) ? this.#any : this.#combine(schema)
      this.#known.set(schema, cases)
      return cases
    } finally {
      this.#open.pop()
    }
  }

  #combine(schema: SchemaObject): readonly Case[] {
    let list = this.#conjoined(schema)
    if (schema['anyOf'] !== undefined) {
      list = this.#both(list, [
        ...new Set(this.#listAt(schema, 'anyOf').flatMap((part) => this.#casesOf(part))),
      ])
    }
    if (schema['oneOf'] !== undefined) list = this.#exactlyOne(list, this.#listAt(schema, 'oneOf'))
    if (schema['not'] !== undefined) {
      const excluded = this.#casesOf(this.#whole.schema(schema['not'], 'not'))
      list = excluded === this.#any ? [] : this.#leaveOut(list, excluded, 'not')
    }
    for (const part of this.#dependents(schema)) list = this.#both(list, this.#casesOf(part))
    return this.#checked(this.#unevaluated(schema, this.#conditional(schema, list)))
  }

  /**
   * The schema's own keywords, `$ref` and `allOf`. Properties are in the order of these three in the schema.
   */
  #conjoined(schema: SchemaObject): readonly Case[] {
    const { $ref } = schema
    const parts: [keyword: string, cases: readonly Case[]][] = [
      ['properties', this.#literals(schema, ownCases(this.#whole, schema))],
    ]
    if ($ref !== undefined) parts.push(['$ref', this.#casesOf(this.#whole.resolve(schema, $ref))])
    for (const part of this.#listAt(schema, 'allOf')) parts.push(['allOf', this.#casesOf(part)])
    const places = Object.keys(schema)
    parts.sort(([one], [other]) => places.indexOf(one) - places.indexOf(other))
    return parts.map(([, cases]) => cases).reduce((left, right) => this.#both(left, right))
  }

  /** `enum` and `const` list the values. */
  #literals(schema: SchemaObject, own: readonly Case[]): readonly Case[] {
    const { enum: values, const: constant } = schema
    if (values !== undefined && !Array.isArray(values)) this.refuse('enum', 'is not an array')
    if (values === undefined && constant === undefined) return own
    const all: readonly Json[] = (values as readonly Json[] | undefined) ?? [constant!]
    return all
      .filter((value) => constant === undefined || isSame(value, constant))
      .filter((value) => own.some((one) => this.accepts(one, value)))
      .map((value): LiteralCase => ({ type: 'literal', weight: 'named', value }))
  }

  /**
   * A requirement that applies if a property is present: either the property is absent, or the requirement
   * holds.
   */
  #dependents(schema: SchemaObject): readonly Schema[] {
    const needs = this.#entriesAt(schema, 'dependentRequired').map(
      ([name, names]) => [name, { required: names }] as const,
    )
    return [...needs, ...this.#entriesAt(schema, 'dependentSchemas')].map(([name, need]) => {
      const there = { required: [name], allOf: [need] }
      return this.#whole.schema({ anyOf: [{ properties: { [name]: false } }, there] }, 'dependentRequired')
    })
  }

  #entriesAt(schema: SchemaObject, keyword: string): readonly (readonly [string, Json])[] {
    const value = schema[keyword] ?? {}
    if (!isObject(value)) this.refuse(keyword, 'is not an object')
    return Object.entries(value as { readonly [name: string]: Json })
  }

  #exactlyOne(base: readonly Case[], options: readonly Schema[]): readonly Case[] {
    const cases = options.map((option) => this.#casesOf(option))
    return cases.flatMap((own, index) => {
      let list = likely(this.#both(base, own))
      for (const [other, those] of cases.entries()) {
        if (other !== index) list = this.#leaveOut(list, those, 'oneOf')
      }
      return list
    })
  }

  #conditional(schema: SchemaObject, list: readonly Case[]): readonly Case[] {
    if (schema['if'] === undefined) return list
    const [condition, then, otherwise] = ['if', 'then', 'else'].map((keyword) =>
      this.#casesOf(this.#whole.schema(schema[keyword] ?? true, keyword)),
    ) as [readonly Case[], readonly Case[], readonly Case[]]
    const held = this.#both(this.#both(list, condition), then)
    return [...held, ...this.#leaveOut(this.#both(list, otherwise), condition, 'if')]
  }

  /** Each case of `anyOf` has only its own properties, although a value may fit several. */
  #unevaluated(schema: SchemaObject, list: readonly Case[]): readonly Case[] {
    const { unevaluatedProperties: given } = schema
    if (given === undefined || given === true) return list
    const value = given === false ? undefined : [this.#whole.schema(given, 'unevaluatedProperties')]
    return list.map((one) => (one.type === 'object' ? withUnevaluated(one, value) : one))
  }

  #leaveOut(list: readonly Case[], excluded: readonly Case[], keyword: string): readonly Case[] {
    return excluded.reduce<readonly Case[]>(
      (left, one) =>
        left.flatMap((each) => {
          const rest = without(each, one, this)
          if (rest === undefined) {
            this.refuse(
              keyword,
              `needs a ${typeName(each)} that is not one of the ${typeName(one)} values it excludes`,
            )
          }
          return rest
        }),
      list,
    )
  }

  #listAt(schema: SchemaObject, keyword: string): readonly Schema[] {
    const value = schema[keyword] ?? []
    if (!Array.isArray(value)) this.refuse(keyword, 'is not an array')
    return (value as readonly Json[]).map((part) => this.#whole.schema(part, keyword))
  }

  #checked(list: readonly Case[]): readonly Case[] {
    if (list.length <= MAX_CASES || list.every(({ type }) => type === 'literal')) return list
    return this.refuse('anyOf', `has more than ${MAX_CASES} combinations`)
  }
}

function typeName(one: Case): string {
  return one.type === 'literal' ? shown(one.value) : one.type
}
