// Schemas as cases. In: schemas that must all hold. Out: the cases they allow together; which values those accept.
import { isHalfbyteError } from '../../../base/errors.ts'
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
import type { Schema, SchemaDocument, SchemaObject } from './references.ts'
import { type Oracle, without } from './subtract.ts'

/** Of one schema; each combination of `anyOf` within `allOf` is one. */
const MAX_CASES = 512
const MAX_DEPTH = 64

export class Schemas implements Judge, Oracle {
  readonly document: SchemaDocument
  /** Everything that JSON can write. */
  readonly #any: readonly Case[]
  readonly #cases = new Map<Schema, readonly Case[]>()
  /** Schemas that are being looked at, the outermost first. */
  readonly #open: Schema[] = []

  constructor(document: SchemaDocument) {
    this.document = document
    this.#any = ownCases(document, {})
  }

  /** The cases that all schemas allow. Throws `unsupported` for what cannot be honoured. */
  cases(conjunction: Conjunction): readonly Case[] {
    return conjunction.reduce((list, schema) => this.#both(list, this.#of(schema)), this.#any)
  }

  accepts(one: Case, value: Json): boolean {
    if (one.type === 'literal') return isSame(one.value, value)
    if (one.type !== typeOf(value)) return false
    switch (one.type) {
      case 'number': {
        const { min, max, isInteger, step } = one
        const number = value as number
        return (
          (!isInteger || number % step === 0) &&
          (min === undefined || (min.exclusive ? number > min.value : number >= min.value)) &&
          (max === undefined || (max.exclusive ? number < max.value : number <= max.value))
        )
      }
      case 'string':
        return stringHas(one, value as string)
      case 'array': {
        const items = value as readonly Json[]
        if (items.length < one.minItems || items.length > one.maxItems) return false
        return items.every((item, at) => this.acceptsAll(itemAt(one, at), item))
      }
      case 'object':
        return this.#acceptsObject(one, value as { readonly [key: string]: Json })
      default:
        return true
    }
  }

  /** True when all schemas allow the value; nothing does where there must be none. */
  acceptsAll(conjunction: Conjunction | undefined, value: Json): boolean {
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
    throw this.document.refuse(this.#open.at(-1) ?? this.document.root, keyword, why)
  }

  #acceptsObject(one: ObjectCase, value: { readonly [key: string]: Json }): boolean {
    const names = Object.keys(value)
    return (
      names.length >= one.minProperties &&
      names.length <= one.maxProperties &&
      [...one.required].every((name) => Object.hasOwn(value, name)) &&
      names.every((name) => one.names.length === 0 || this.acceptsAll(one.names, name)) &&
      names.every((name) => this.acceptsAll(propertyOf(one, name), value[name]!))
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

  #of(schema: Schema): readonly Case[] {
    if (schema === true) return this.#any
    if (schema === false) return []
    const known = this.#cases.get(schema)
    if (known !== undefined) return known
    if (this.#open.includes(schema))
      this.refuse('$ref', 'comes back to itself without a property or item between')
    if (this.#open.length >= MAX_DEPTH) this.refuse('allOf', `nests more than ${MAX_DEPTH} schemas in one`)
    this.#open.push(schema)
    try {
      const cases = this.#combine(schema)
      this.#cases.set(schema, cases)
      return cases
    } finally {
      this.#open.pop()
    }
  }

  #combine(schema: SchemaObject): readonly Case[] {
    const { document: whole } = this
    let list = this.#literals(schema, ownCases(whole, schema))
    const { $ref } = schema
    if ($ref !== undefined) list = this.#both(list, this.#of(whole.resolve(schema, $ref)))
    for (const part of this.#list(schema, 'allOf')) list = this.#both(list, this.#of(part))
    if (schema['anyOf'] !== undefined) {
      list = this.#both(list, [...new Set(this.#list(schema, 'anyOf').flatMap((part) => this.#of(part)))])
    }
    if (schema['oneOf'] !== undefined) list = this.#exactlyOne(list, this.#list(schema, 'oneOf'))
    if (schema['not'] !== undefined) {
      list = this.#without(list, this.#of(whole.schema(schema['not'], 'not')), 'not')
    }
    return this.#checked(this.#conditional(schema, list))
  }

  /** With `enum` and `const` the values are known one by one. */
  #literals(schema: SchemaObject, own: readonly Case[]): readonly Case[] {
    const { enum: values, const: constant } = schema
    if (values !== undefined && !Array.isArray(values)) this.refuse('enum', 'is no list')
    if (values === undefined && constant === undefined) return own
    const all: readonly Json[] = (values as readonly Json[] | undefined) ?? [constant!]
    return all
      .filter((value) => constant === undefined || isSame(value, constant))
      .filter((value) => own.some((one) => this.accepts(one, value)))
      .map((value): LiteralCase => ({ type: 'literal', weight: 'named', value }))
  }

  #exactlyOne(base: readonly Case[], options: readonly Schema[]): readonly Case[] {
    const cases = options.map((option) => this.#of(option))
    return cases.flatMap((own, index) => {
      let list = likely(this.#both(base, own))
      for (const [other, those] of cases.entries()) {
        if (other !== index) list = this.#without(list, those, 'oneOf')
      }
      return list
    })
  }

  #conditional(schema: SchemaObject, list: readonly Case[]): readonly Case[] {
    if (schema['if'] === undefined) return list
    const [condition, then, otherwise] = ['if', 'then', 'else'].map((keyword) =>
      this.#of(this.document.schema(schema[keyword] ?? true, keyword)),
    ) as [readonly Case[], readonly Case[], readonly Case[]]
    const held = this.#both(this.#both(list, condition), then)
    return [...held, ...this.#without(this.#both(list, otherwise), condition, 'if')]
  }

  #without(list: readonly Case[], excluded: readonly Case[], keyword: string): readonly Case[] {
    return excluded.reduce<readonly Case[]>(
      (left, one) =>
        left.flatMap((each) => {
          const rest = without(each, one, this)
          if (rest === undefined) {
            this.refuse(
              keyword,
              `needs a ${typeName(each)} that is no ${typeName(one)} of the kind it excludes`,
            )
          }
          return rest
        }),
      list,
    )
  }

  #list(schema: SchemaObject, keyword: string): readonly Schema[] {
    const value = schema[keyword] ?? []
    if (!Array.isArray(value)) this.refuse(keyword, 'is no list')
    return (value as readonly Json[]).map((part) => this.document.schema(part, keyword))
  }

  #checked(list: readonly Case[]): readonly Case[] {
    if (list.length <= MAX_CASES || list.every(({ type }) => type === 'literal')) return list
    return this.refuse('anyOf', `has more than ${MAX_CASES} combinations`)
  }
}

function typeName(one: Case): string {
  return one.type === 'literal' ? shown(one.value) : one.type
}
