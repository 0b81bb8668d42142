// Reads the keywords of one schema object as cases, one per JSON type.
import { isHalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { UNBOUNDED } from '../grammar.ts'
import { shown } from '../refuse.ts'
import { found } from '../regex/anchors.ts'
import { parseRegex, type Regex } from '../regex/syntax.ts'
import type {
  ArrayCase,
  Bound,
  Case,
  Conjunction,
  NumberCase,
  ObjectCase,
  Step,
  StringCase,
} from './cases.ts'
import { formatPattern } from './formats.ts'
import type { Json } from './json-text.ts'
import { matches } from './languages.ts'
import { decimalOf } from './numbers.ts'
import { KEYWORDS_OF, type SchemaDocument, type SchemaObject, TYPES } from './references.ts'

type Limits<One extends Case> = Omit<One, 'type' | 'weight'>

/** Maximum `multipleOf`, in units of its last digit, because the grammar has a branch for each remainder. */
const MAX_STEP = 100
/** Maximum number of digits of `multipleOf` after the decimal point. */
const MAX_STEP_DIGITS = 6

/**
 * The cases that follow from type-specific keywords. `enum`, `$ref` and keywords that combine schemas are
 * read elsewhere.
 */
export function ownCases(whole: SchemaDocument, schema: SchemaObject): readonly Case[] {
  return new KeywordReader(whole, schema).cases()
}

class KeywordReader {
  readonly #whole: SchemaDocument
  readonly #schema: SchemaObject

  constructor(whole: SchemaDocument, schema: SchemaObject) {
    this.#whole = whole
    this.#schema = schema
  }

  cases(): readonly Case[] {
    const named = this.#readTypes()
    const spoken = TYPES.filter((type) => KEYWORDS_OF[type].some((keyword) => this.#has(keyword)))
    return TYPES.flatMap((type): Case[] => {
      if (named !== undefined && !named.has(type) && !(type === 'number' && named.has('integer'))) return []
      const isLikely = spoken.length === 0 || spoken.includes(type)
      const weight = named !== undefined ? 'named' : isLikely ? 'open' : 'unlikely'
      switch (type) {
        case 'object':
          return [{ type, weight, ...this.#objectLimits() }]
        case 'array':
          return [{ type, weight, ...this.#arrayLimits() }]
        case 'string':
          return [{ type, weight, ...this.#stringLimits() }]
        case 'number':
          return [{ type, weight, ...this.#numberLimits(named?.has('number') === false) }]
        default:
          return [{ type, weight }]
      }
    })
  }

  #has(keyword: string): boolean {
    return this.#schema[keyword] !== undefined
  }

  #readTypes(): ReadonlySet<string> | undefined {
    const { type, nullable } = this.#schema
    if (type === undefined) return undefined
    const names = [type].flat()
    for (const name of names) {
      if (typeof name !== 'string' || ![...TYPES, 'integer'].includes(name)) {
        throw this.#refuse('type', `names ${shown(name)}, which is not a type`)
      }
    }
    const set = new Set(names as string[])
    if (nullable === true) set.add('null')
    return set
  }

  #objectLimits(): Limits<ObjectCase> {
    const patterns = this.#readEntries('patternProperties').map(([source, value]) => ({
      names: this.#readPattern('patternProperties', source),
      value: [value],
    }))
    const properties = new Map<string, Conjunction | undefined>()
    for (const [name, value] of this.#readEntries('properties')) {
      const more = patterns.filter(({ names }) => matches(names, name)).flatMap((pattern) => pattern.value)
      properties.set(name, value === false ? undefined : [value, ...more])
    }
    const isSilent = !['properties', 'required', 'patternProperties'].some((keyword) => this.#has(keyword))
    const additional = this.#schema['additionalProperties']
    const names = this.#schema['propertyNames']
    return {
      properties,
      patterns,
      required: new Set(this.#readTexts('required')),
      additional: this.#readConjunction('additionalProperties', additional),
      evaluated: new Set(properties.keys()),
      additionalWeight: additional !== undefined ? 'named' : isSilent ? 'open' : 'unlikely',
      minProperties: this.#readCount('minProperties', 0),
      maxProperties: this.#readCount('maxProperties', UNBOUNDED),
      names: names === undefined ? [] : [this.#whole.schema(names, 'propertyNames')],
    }
  }

  #arrayLimits(): Limits<ArrayCase> {
    const { items, prefixItems, additionalItems, uniqueItems } = this.#schema
    // Before draft 2020-12, `items` itself could be a list of schemas.
    const isOld = Array.isArray(items)
    const list = isOld ? items : (prefixItems ?? [])
    if (!Array.isArray(list)) throw this.#refuse('prefixItems', 'is not an array')
    const rest = isOld ? additionalItems : items
    const maxItems = this.#readCount('maxItems', UNBOUNDED)
    const contained = this.#schema['contains']
    return {
      prefix: list.map((item: Json) => [this.#whole.schema(item, 'prefixItems')]),
      rest: this.#readConjunction(isOld ? 'additionalItems' : 'items', rest),
      restWeight: rest !== undefined ? 'named' : list.length > 0 ? 'unlikely' : 'open',
      minItems: this.#readCount('minItems', 0),
      maxItems,
      isUnique: uniqueItems === true,
      contains:
        contained === undefined
          ? undefined
          : {
              schema: this.#whole.schema(contained, 'contains'),
              min: this.#readCount('minContains', 1),
              max: this.#readCount('maxContains', UNBOUNDED),
            },
    }
  }

  #stringLimits(): Limits<StringCase> {
    const { pattern, format } = this.#schema
    const within: Regex[] = []
    if (pattern !== undefined) {
      if (typeof pattern !== 'string') throw this.#refuse('pattern', 'is not a string')
      within.push(this.#readPattern('pattern', pattern))
    }
    const minLength = this.#readCount('minLength', 0)
    const maxLength = this.#readCount('maxLength', UNBOUNDED)
    // An unknown format is an annotation (JSON Schema 2020-12, validation, 7.2.3).
    const isCounted = maxLength < UNBOUNDED || within.length > 0
    const source = typeof format === 'string' ? formatPattern(format, isCounted) : undefined
    if (source !== undefined) within.push(found(parseRegex(source)))
    return { within, outside: [], minLength, maxLength }
  }

  #numberLimits(isInteger: boolean): Limits<NumberCase> {
    const step = this.#readStep()
    return {
      isInteger: isInteger || (this.#has('multipleOf') && step.digits === 0),
      step,
      min: this.#readBound('minimum', 'exclusiveMinimum', (one, other) => one >= other),
      max: this.#readBound('maximum', 'exclusiveMaximum', (one, other) => one <= other),
    }
  }

  #readStep(): Step {
    const value = this.#schema['multipleOf'] ?? 1
    const { whole: before, fraction } = decimalOf(typeof value === 'number' ? Math.abs(value) : 0)
    const step = { units: Number(before + fraction), digits: fraction.length }
    const isSmall = step.units <= MAX_STEP && step.digits <= MAX_STEP_DIGITS
    if (typeof value === 'number' && value > 0 && isSmall) return step
    throw this.#refuse(
      'multipleOf',
      `is ${shown(value)}; only numbers of up to ${MAX_STEP} units of their last digit are supported, such as 25 or 0.05`,
    )
  }

  #readBound(
    inclusive: string,
    exclusive: string,
    isTighter: (one: number, other: number) => boolean,
  ): Bound | undefined {
    const at = this.#readNumber(inclusive)
    // In draft 4 and OpenAPI 3.0, a boolean here says that the other bound is exclusive.
    const flag = this.#schema[exclusive]
    if (typeof flag === 'boolean') {
      const value = this.#readNumber(inclusive)
      return value === undefined ? undefined : { value, exclusive: flag }
    }
    const beyond = this.#readNumber(exclusive)
    if (beyond !== undefined && (at === undefined || isTighter(beyond, at))) {
      return { value: beyond, exclusive: true }
    }
    return at === undefined ? undefined : { value: at, exclusive: false }
  }

  #readConjunction(keyword: string, value: Json | undefined): Conjunction | undefined {
    if (value === undefined) return []
    const schema = this.#whole.schema(value, keyword)
    return schema === false ? undefined : [schema]
  }

  #readEntries(keyword: string) {
    const value = this.#schema[keyword] ?? {}
    if (!isObject(value)) {
      throw this.#refuse(keyword, 'is not an object')
    }
    return Object.entries(value).map(
      ([name, item]) => [name, this.#whole.schema(item, `${keyword}/${name}`)] as const,
    )
  }

  #readTexts(keyword: string): string[] {
    const value = this.#schema[keyword] ?? []
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.#refuse(keyword, 'is not an array of strings')
    }
    return value
  }

  #readCount(keyword: string, otherwise: number): number {
    const value = this.#schema[keyword]
    if (value === undefined) return otherwise
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    throw this.#refuse(keyword, `is ${shown(value)}, not a whole number of at least 0`)
  }

  #readNumber(keyword: string): number | undefined {
    const value = this.#schema[keyword]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    throw this.#refuse(keyword, `is ${shown(value)}, not a number`)
  }

  /** Texts that contain a match of the pattern. */
  #readPattern(keyword: string, source: string): Regex {
    try {
      return found(parseRegex(source))
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
      throw this.#refuse(keyword, `cannot be read: ${error.message}`)
    }
  }

  #refuse(keyword: string, why: string): Error {
    return this.#whole.refuse(this.#schema, keyword, why)
  }
}
