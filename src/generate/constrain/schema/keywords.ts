// Keywords. In: one schema object. Out: the cases of its own keywords, each type by itself.
import { isHalfbyteError } from '../../../base/errors.ts'
import { UNBOUNDED } from '../grammar.ts'
import { shown } from '../refuse.ts'
import { found } from '../regex/anchors.ts'
import { parseRegex, type Regex } from '../regex/syntax.ts'
import {
  ANY,
  type ArrayCase,
  type Bound,
  type Case,
  type Conjunction,
  type NumberCase,
  type ObjectCase,
  type StringCase,
  type Weight,
} from './cases.ts'
import { FORMAT_NAMES, formatPattern } from './formats.ts'
import type { Json } from './json-text.ts'
import { matches } from './languages.ts'
import type { SchemaDocument, SchemaObject } from './references.ts'

const TYPES = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const
type Type = (typeof TYPES)[number]

/** Keywords that speak of one type only. */
const OF_TYPE: readonly (readonly [Type, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames']],
  ['object', ['minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** Greatest `multipleOf`: the grammar has a branch for each remainder. */
const MAX_STEP = 100

/** Cases by the keywords that speak of types; `enum`, `$ref` and what combines schemas is not looked at. */
export function ownCases(whole: SchemaDocument, schema: SchemaObject): readonly Case[] {
  return new Keywords(whole, schema).cases()
}

class Keywords {
  readonly #whole: SchemaDocument
  readonly #schema: SchemaObject

  constructor(whole: SchemaDocument, schema: SchemaObject) {
    this.#whole = whole
    this.#schema = schema
  }

  cases(): readonly Case[] {
    const named = this.#types()
    const spoken = new Set(
      OF_TYPE.flatMap(([type, keywords]) => (keywords.some((keyword) => this.#has(keyword)) ? [type] : [])),
    )
    const weightOf = (type: Type): Weight => {
      if (named !== undefined) return 'named'
      return spoken.size === 0 || spoken.has(type) ? 'open' : 'unlikely'
    }
    const list: Case[] = []
    for (const one of ANY) {
      const type = one.type
      if (named !== undefined && !named.has(type) && !(type === 'number' && named.has('integer'))) continue
      const weight = weightOf(type)
      switch (type) {
        case 'object':
          list.push({ ...this.#object(one), weight })
          break
        case 'array':
          list.push({ ...this.#array(one), weight })
          break
        case 'string':
          list.push({ ...this.#string(one), weight })
          break
        case 'number':
          list.push({ ...this.#number(one, named !== undefined && !named.has('number')), weight })
          break
        default:
          list.push({ ...one, weight })
      }
    }
    return list
  }

  #types(): ReadonlySet<string> | undefined {
    const { type, nullable } = this.#schema
    if (type === undefined) return undefined
    const names = [type].flat()
    for (const name of names) {
      if (typeof name !== 'string' || ![...TYPES, 'integer'].includes(name)) {
        throw this.#refuse('type', `names ${shown(name)}, which is no type`)
      }
    }
    const set = new Set(names as string[])
    if (nullable === true) set.add('null')
    return set
  }

  #object(any: ObjectCase): ObjectCase {
    const patterns = this.#entries('patternProperties').map(([source, value]) => ({
      names: this.#pattern('patternProperties', source),
      value: [value],
    }))
    const properties = new Map<string, Conjunction | undefined>()
    for (const [name, value] of this.#entries('properties')) {
      const more = patterns.filter(({ names }) => matches(names, name)).flatMap((pattern) => pattern.value)
      properties.set(name, value === false ? undefined : [value, ...more])
    }
    const isSilent = !['properties', 'required', 'patternProperties'].some((keyword) => this.#has(keyword))
    const additional = this.#schema['additionalProperties']
    const names = this.#schema['propertyNames']
    return {
      ...any,
      properties,
      patterns,
      required: new Set(this.#texts('required')),
      additional: this.#conjunction('additionalProperties', additional),
      additionalWeight: additional !== undefined ? 'named' : isSilent ? 'open' : 'unlikely',
      minProperties: this.#count('minProperties', 0),
      maxProperties: this.#count('maxProperties', UNBOUNDED),
      names: names === undefined ? [] : [this.#whole.schema(names, 'propertyNames')],
    }
  }

  #array(any: ArrayCase): ArrayCase {
    const { items, prefixItems, additionalItems, uniqueItems } = this.#schema
    // Before draft 2020-12 a list of schemas was `items` itself.
    const isOld = Array.isArray(items)
    const list = isOld ? items : (prefixItems ?? [])
    if (!Array.isArray(list)) throw this.#refuse('prefixItems', 'is no list')
    const rest = isOld ? additionalItems : items
    const maxItems = this.#count('maxItems', UNBOUNDED)
    if (uniqueItems === true && maxItems > 1) {
      throw this.#refuse('uniqueItems', 'no grammar can see to')
    }
    return {
      ...any,
      prefix: list.map((item: Json) => [this.#whole.schema(item, 'prefixItems')]),
      rest: this.#conjunction(isOld ? 'additionalItems' : 'items', rest),
      restWeight: rest !== undefined ? 'named' : list.length > 0 ? 'unlikely' : 'open',
      minItems: this.#count('minItems', 0),
      maxItems,
    }
  }

  #string(any: StringCase): StringCase {
    const { pattern, format } = this.#schema
    const within: Regex[] = []
    if (pattern !== undefined) {
      if (typeof pattern !== 'string') throw this.#refuse('pattern', 'is no text')
      within.push(this.#pattern('pattern', pattern))
    }
    if (format !== undefined) {
      const source = typeof format === 'string' ? formatPattern(format) : undefined
      if (source !== undefined) within.push(found(parseRegex(source)))
      else if (this.#types()?.has('string') !== false) {
        throw this.#refuse('format', `is ${shown(format)}; known are ${FORMAT_NAMES.join(', ')}`)
      }
    }
    return {
      ...any,
      within,
      minLength: this.#count('minLength', 0),
      maxLength: this.#count('maxLength', UNBOUNDED),
    }
  }

  #number(any: NumberCase, isInteger: boolean): NumberCase {
    const step = this.#schema['multipleOf'] ?? 1
    if (typeof step !== 'number' || !Number.isInteger(step) || step < 1 || step > MAX_STEP) {
      throw this.#refuse('multipleOf', `is ${shown(step)}; whole numbers up to ${MAX_STEP} can be honoured`)
    }
    const has = this.#schema['multipleOf'] !== undefined
    return {
      ...any,
      isInteger: isInteger || has,
      step,
      min: this.#bound('minimum', 'exclusiveMinimum', (one, other) => one >= other),
      max: this.#bound('maximum', 'exclusiveMaximum', (one, other) => one <= other),
    }
  }

  #bound(
    inclusive: string,
    exclusive: string,
    isTighter: (one: number, other: number) => boolean,
  ): Bound | undefined {
    const [at, beyond] = [this.#real(inclusive), this.#real(exclusive)]
    if (beyond !== undefined && (at === undefined || isTighter(beyond, at))) {
      return { value: beyond, exclusive: true }
    }
    return at === undefined ? undefined : { value: at, exclusive: false }
  }

  #conjunction(keyword: string, value: Json | undefined): Conjunction | undefined {
    if (value === undefined) return []
    const schema = this.#whole.schema(value, keyword)
    return schema === false ? undefined : [schema]
  }

  #entries(keyword: string) {
    const value = this.#schema[keyword] ?? {}
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw this.#refuse(keyword, 'is no object')
    }
    return Object.entries(value).map(
      ([name, item]) => [name, this.#whole.schema(item, `${keyword}/${name}`)] as const,
    )
  }

  #texts(keyword: string): string[] {
    const value = this.#schema[keyword] ?? []
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.#refuse(keyword, 'is no list of texts')
    }
    return value
  }

  #count(keyword: string, otherwise: number): number {
    const value = this.#schema[keyword]
    if (value === undefined) return otherwise
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    throw this.#refuse(keyword, `is ${shown(value)}, no whole number from 0`)
  }

  #real(keyword: string): number | undefined {
    const value = this.#schema[keyword]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    throw this.#refuse(keyword, `is ${shown(value)}, no number`)
  }

  /** Texts in which the pattern is found. */
  #pattern(keyword: string, source: string): Regex {
    try {
      return found(parseRegex(source))
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
      throw this.#refuse(keyword, `cannot be read: ${error.message}`)
    }
  }

  #has(keyword: string): boolean {
    return this.#schema[keyword] !== undefined
  }

  #refuse(keyword: string, why: string): Error {
    return this.#whole.refuse(this.#schema, keyword, why)
  }
}
