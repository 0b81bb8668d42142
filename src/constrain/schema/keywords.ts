// Reads the keywords of one schema object as cases, one for each JSON type.
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
import type { Json } from './json-text.ts'
import { matches } from './languages.ts'
import { decimalOf } from './numbers.ts'
import { KEYWORDS_OF, type SchemaDocument, type SchemaObject, TYPES } from './references.ts'

const HEX = '[0-9a-fA-F]'
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `(${OCTET}\\.){3}${OCTET}`
/** February 29 is allowed only in leap years. */
const LEAP_YEAR = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)'
const DATE =
  '([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)|' +
  `[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])|${LEAP_YEAR}-02-29)`
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])'
const DURATION_TIME = 'T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S)'

/** Characters of a path, of its first part where a scheme could be meant, and of what follows `?` and `#`. */
const PATH_CHARS = "A-Za-z0-9._~!$&'()*+,;=:@-"
const FIRST_CHARS = PATH_CHARS.replace(':', '')
const QUERY_CHARS = `/?${PATH_CHARS}`

/** How often a part may be repeated: a small number, or any where the whole length is counted. */
type Counts = (most: number) => string

/** Formats whose texts may be long. */
function longFormats(upTo: Counts): Readonly<Record<string, string>> {
  const label = `[A-Za-z0-9]([A-Za-z0-9-]${upTo(30)}[A-Za-z0-9])?`
  const host = `${label}(\\.${label})${upTo(5)}`
  const word = `[A-Za-z0-9_+-][A-Za-z0-9_+-]${upTo(19)}`
  const email = `${word}(\\.${word})${upTo(3)}@${label}(\\.${label})${upTo(4)}\\.[A-Za-z]{2,12}`
  const some = (chars: string) => `([${chars}]|%[0-9A-F]{2})${upTo(200)}`
  const path = `(/${some(PATH_CHARS)})${upTo(20)}`
  const end = `(\\?${some(QUERY_CHARS)})?(#[${QUERY_CHARS}]${upTo(200)})?`
  const uri = `https?://${host}(:[1-9][0-9]{0,3})?${path}${end}`
  const reference = `${uri}|/?[${FIRST_CHARS}][${FIRST_CHARS}]${upTo(100)}${path}${end}|#[${QUERY_CHARS}]${upTo(200)}`
  const pointer = `(/([^~/\\x00-\\x1f]|~[01])${upTo(40)})${upTo(10)}`
  return {
    email,
    'idn-email': email,
    hostname: host,
    'idn-hostname': host,
    uri,
    iri: uri,
    'uri-reference': reference,
    'iri-reference': reference,
    'uri-template': `https?://${host}(/[${PATH_CHARS}]${upTo(100)}|/\\{[A-Za-z]${upTo(20)}[A-Za-z]\\})${upTo(10)}`,
    'json-pointer': pointer,
    'relative-json-pointer': `(0|[1-9][0-9]{0,3})(#|${pointer})`,
    regex: `\\^?(([A-Za-z0-9 _,:;=@#%&~<>/-]|\\.|\\\\[dswDSW.])[*+?]?)${upTo(60)}\\$?`,
  }
}

const SHORT: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  duration: `P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?(${DURATION_TIME})?|[0-9]{1,4}M([0-9]{1,4}D)?(${DURATION_TIME})?|[0-9]{1,4}D(${DURATION_TIME})?|${DURATION_TIME})`,
  ipv4: IPV4,
  ipv6: `(${HEX}{1,4}:){7}${HEX}{1,4}|::|(${HEX}{1,4}:){1,6}:${HEX}{1,4}`,
  uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
}

const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...SHORT, ...longFormats((most) => `{0,${most}}`) }),
)
const COUNTED: ReadonlyMap<string, string> = new Map(Object.entries({ ...SHORT, ...longFormats(() => '*') }))

export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()]

/**
 * The anchored pattern of a format; undefined for a format that is only an annotation. `isCounted`: the
 * length of the text is limited elsewhere, so the parts need no limits, which would take many states.
 */
function formatPattern(name: string, isCounted: boolean): string | undefined {
  const pattern = (isCounted ? COUNTED : FORMATS).get(name)
  return pattern && `^(?:${pattern})$`
}

type Limits<One extends Case> = Omit<One, 'type' | 'weight'>

/** Largest `multipleOf`, in units of its last digit. The grammar has a branch for each remainder. */
const MAX_STEP = 100
/** Most digits of `multipleOf` after the point. */
const MAX_STEP_DIGITS = 6

/**
 * Cases from the keywords about types. `enum`, `$ref` and keywords that combine schemas are not read here.
 */
export function ownCases(whole: SchemaDocument, schema: SchemaObject): readonly Case[] {
  const named = readTypes()
  const has = (keyword: string) => schema[keyword] !== undefined
  const spoken = TYPES.filter((type) => KEYWORDS_OF[type].some(has))
  return TYPES.flatMap((type): Case[] => {
    if (named !== undefined && !named.has(type) && !(type === 'number' && named.has('integer'))) return []
    const isLikely = spoken.length === 0 || spoken.includes(type)
    const weight = named !== undefined ? 'named' : isLikely ? 'open' : 'unlikely'
    switch (type) {
      case 'object':
        return [{ type, weight, ...objectLimits() }]
      case 'array':
        return [{ type, weight, ...arrayLimits() }]
      case 'string':
        return [{ type, weight, ...stringLimits() }]
      case 'number':
        return [{ type, weight, ...numberLimits(named?.has('number') === false) }]
      default:
        return [{ type, weight }]
    }
  })

  function readTypes(): ReadonlySet<string> | undefined {
    const { type, nullable } = schema
    if (type === undefined) return undefined
    const names = [type].flat()
    for (const name of names) {
      if (typeof name !== 'string' || ![...TYPES, 'integer'].includes(name)) {
        throw refuse('type', `names ${shown(name)}, which is not a type`)
      }
    }
    const set = new Set(names as string[])
    if (nullable === true) set.add('null')
    return set
  }

  function objectLimits(): Limits<ObjectCase> {
    const patterns = readEntries('patternProperties').map(([source, value]) => ({
      names: readPattern('patternProperties', source),
      value: [value],
    }))
    const properties = new Map<string, Conjunction | undefined>()
    for (const [name, value] of readEntries('properties')) {
      const more = patterns.filter(({ names }) => matches(names, name)).flatMap((pattern) => pattern.value)
      properties.set(name, value === false ? undefined : [value, ...more])
    }
    const isSilent = !['properties', 'required', 'patternProperties'].some(has)
    const additional = schema['additionalProperties']
    const names = schema['propertyNames']
    return {
      properties,
      patterns,
      required: new Set(readTexts('required')),
      additional: readConjunction('additionalProperties', additional),
      additionalWeight: additional !== undefined ? 'named' : isSilent ? 'open' : 'unlikely',
      minProperties: readCount('minProperties', 0),
      maxProperties: readCount('maxProperties', UNBOUNDED),
      names: names === undefined ? [] : [whole.schema(names, 'propertyNames')],
    }
  }

  function arrayLimits(): Limits<ArrayCase> {
    const { items, prefixItems, additionalItems, uniqueItems } = schema
    // Before draft 2020-12, `items` itself could be a list of schemas.
    const isOld = Array.isArray(items)
    const list = isOld ? items : (prefixItems ?? [])
    if (!Array.isArray(list)) throw refuse('prefixItems', 'is not a list')
    const rest = isOld ? additionalItems : items
    const maxItems = readCount('maxItems', UNBOUNDED)
    const contained = schema['contains']
    return {
      prefix: list.map((item: Json) => [whole.schema(item, 'prefixItems')]),
      rest: readConjunction(isOld ? 'additionalItems' : 'items', rest),
      restWeight: rest !== undefined ? 'named' : list.length > 0 ? 'unlikely' : 'open',
      minItems: readCount('minItems', 0),
      maxItems,
      isUnique: uniqueItems === true,
      contains:
        contained === undefined
          ? undefined
          : {
              schema: whole.schema(contained, 'contains'),
              min: readCount('minContains', 1),
              max: readCount('maxContains', UNBOUNDED),
            },
    }
  }

  function stringLimits(): Limits<StringCase> {
    const { pattern, format } = schema
    const within: Regex[] = []
    if (pattern !== undefined) {
      if (typeof pattern !== 'string') throw refuse('pattern', 'is not a text')
      within.push(readPattern('pattern', pattern))
    }
    const minLength = readCount('minLength', 0)
    const maxLength = readCount('maxLength', UNBOUNDED)
    // An unknown format is an annotation (JSON Schema 2020-12, validation, 7.2.3).
    const isCounted = maxLength < UNBOUNDED || within.length > 0
    const source = typeof format === 'string' ? formatPattern(format, isCounted) : undefined
    if (source !== undefined) within.push(found(parseRegex(source)))
    return { within, outside: [], minLength, maxLength }
  }

  function numberLimits(isInteger: boolean): Limits<NumberCase> {
    const step = readStep()
    return {
      isInteger: isInteger || (has('multipleOf') && step.digits === 0),
      step,
      min: readBound('minimum', 'exclusiveMinimum', (one, other) => one >= other),
      max: readBound('maximum', 'exclusiveMaximum', (one, other) => one <= other),
    }
  }

  function readStep(): Step {
    const value = schema['multipleOf'] ?? 1
    const { whole: before, fraction } = decimalOf(typeof value === 'number' ? Math.abs(value) : 0)
    const step = { units: Number(before + fraction), digits: fraction.length }
    const isSmall = step.units <= MAX_STEP && step.digits <= MAX_STEP_DIGITS
    if (typeof value === 'number' && value > 0 && isSmall) return step
    throw refuse(
      'multipleOf',
      `is ${shown(value)}; only numbers of up to ${MAX_STEP} units of their last digit are supported, such as 25 or 0.05`,
    )
  }

  function readBound(
    inclusive: string,
    exclusive: string,
    isTighter: (one: number, other: number) => boolean,
  ): Bound | undefined {
    const at = readNumber(inclusive)
    const beyond = readNumber(exclusive)
    if (beyond !== undefined && (at === undefined || isTighter(beyond, at))) {
      return { value: beyond, exclusive: true }
    }
    return at === undefined ? undefined : { value: at, exclusive: false }
  }

  function readConjunction(keyword: string, value: Json | undefined): Conjunction | undefined {
    if (value === undefined) return []
    const schema = whole.schema(value, keyword)
    return schema === false ? undefined : [schema]
  }

  function readEntries(keyword: string) {
    const value = schema[keyword] ?? {}
    if (!isObject(value)) {
      throw refuse(keyword, 'is not an object')
    }
    return Object.entries(value).map(
      ([name, item]) => [name, whole.schema(item, `${keyword}/${name}`)] as const,
    )
  }

  function readTexts(keyword: string): string[] {
    const value = schema[keyword] ?? []
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw refuse(keyword, 'is not a list of texts')
    }
    return value
  }

  function readCount(keyword: string, otherwise: number): number {
    const value = schema[keyword]
    if (value === undefined) return otherwise
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    throw refuse(keyword, `is ${shown(value)}, not a whole number from 0`)
  }

  function readNumber(keyword: string): number | undefined {
    const value = schema[keyword]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    throw refuse(keyword, `is ${shown(value)}, not a number`)
  }

  /** Texts that contain a match of the pattern. */
  function readPattern(keyword: string, source: string): Regex {
    try {
      return found(parseRegex(source))
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
      throw refuse(keyword, `cannot be read: ${error.message}`)
    }
  }

  function refuse(keyword: string, why: string): Error {
    return whole.refuse(schema, keyword, why)
  }
}
