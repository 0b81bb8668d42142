// Finds the parts of a JSON Schema by reference, and checks their keywords.
import type { ErrorDetail } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { refused, shown } from '../refuse.ts'
import type { Json } from './json-text.ts'

/** A JSON type and the keywords that apply only to it. */
export type Type = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
export const KEYWORDS_OF: Readonly<Record<Type, readonly string[]>> = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'unevaluatedProperties',
    'patternProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
  ],
  array: [
    'items',
    'prefixItems',
    'additionalItems',
    'minItems',
    'maxItems',
    'uniqueItems',
    'contains',
    'minContains',
    'maxContains',
  ],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}
export const TYPES = Object.keys(KEYWORDS_OF) as readonly Type[]

/** A schema whose keywords have been checked. */
export type Schema = boolean | SchemaObject
export type SchemaObject = { readonly [keyword: string]: Json }

const MAX_DEPTH = 128
const MAX_VALUES = 1 << 17

/** Keywords that are enforced. */
const KEYWORDS: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'nullable',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  '$ref',
  '$defs',
  'definitions',
  ...Object.values(KEYWORDS_OF).flat(),
])

/** Keywords whose schemas are used only through references. */
const DEFINITIONS: ReadonlySet<string> = new Set(['$defs', 'definitions'])

/** Keywords that do not affect validity. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  '$vocabulary',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'discriminator',
  'xml',
  'externalDocs',
  'markdownDescription',
])

export class SchemaDocument {
  readonly root: Schema
  /** The JSON pointer of each object and array in the document. */
  readonly #places = new Map<unknown, string>()
  /** The base address of each object inside a schema with an `$id`. */
  readonly #bases = new Map<unknown, string>()
  /** Schemas with an `$id`, and anchors after `#`, keyed by address. */
  readonly #targets = new Map<string, Schema>()
  readonly #checked = new Set<SchemaObject>()

  /** Throws `unsupported` if the value is not a schema, is too large, or is nested too deeply. */
  constructor(schema: unknown) {
    this.#survey(schema)
    this.root = this.schema(schema, 'schema')
  }

  /** A part of the document as a schema. `keyword` is where it was found. */
  schema(value: unknown, keyword: string): Schema {
    if (typeof value === 'boolean') return value
    if (!isObject(value)) {
      throw refused(
        `has ${shown(value)} for ${keyword}, which is not a schema`,
        'give an object or a boolean',
        {
          keyword,
        },
      )
    }
    const schema = value as SchemaObject
    if (!this.#checked.has(schema)) this.#check(schema)
    return schema
  }

  /** Whether every value is allowed because the schema only has annotations. */
  isOpen(schema: SchemaObject): boolean {
    return Object.keys(schema).every((keyword) => !KEYWORDS.has(keyword) || DEFINITIONS.has(keyword))
  }

  /**
   * The target of a `$ref`: `#`, `#/json/pointer` or `#anchor` in the schema whose `$id` is nearest, or the
   * same after the `$id` of another part of the document.
   */
  resolve(schema: SchemaObject, reference: Json): Schema {
    const address = typeof reference === 'string' ? addressOf(reference, this.#bases.get(schema)) : undefined
    const [base = '', encoded = ''] = address?.split('#') ?? []
    const document = base === NO_ADDRESS ? this.root : this.#targets.get(base)
    if (document === undefined) {
      throw this.refuse(schema, '$ref', `points to ${shown(reference)}, outside the schema`)
    }
    const fragment = decode(encoded)
    const anchored = this.#targets.get(`${base}#${fragment}`)
    if (anchored !== undefined) return anchored
    let at: Json | undefined = document
    const steps = fragment === '' ? [] : fragment.split('/').slice(1)
    if (fragment !== '' && !fragment.startsWith('/')) at = undefined
    for (const step of steps) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
    }
    if (at === undefined)
      throw this.refuse(schema, '$ref', `points to ${shown(reference)}, which does not exist`)
    return this.schema(at, '$ref')
  }

  /** The error for a keyword that cannot be enforced where it occurs. */
  refuse(schema: Schema, keyword: string, why: string, detail: ErrorDetail = {}): Error {
    const path = this.#places.get(schema) ?? ''
    const where = path === '' ? '' : ` at ${path}`
    return refused(
      `cannot enforce the schema's ${keyword}${where}, which ${why}`,
      'leave it out or rewrite it',
      {
        keyword,
        path,
        ...detail,
      },
    )
  }

  #check(schema: SchemaObject): void {
    this.#checked.add(schema)
    for (const keyword of Object.keys(schema)) {
      if (KEYWORDS.has(keyword) || ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) continue
      throw this.refuse(schema, keyword, 'is not supported')
    }
  }

  /** Records the location of every part. Not recursive, because the depth has not been checked yet. */
  #survey(schema: unknown): void {
    const open = [{ value: schema, path: '', depth: 0, outer: NO_ADDRESS }]
    let values = 0
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { value, path, depth, outer } = next
      if (typeof value !== 'object' || value === null) continue
      if (depth > MAX_DEPTH)
        throw refused(`has a schema nested more than ${MAX_DEPTH} levels deep`, 'flatten it')
      if (!this.#places.has(value)) this.#places.set(value, path)
      const [id, anchor]: unknown[] = [Reflect.get(value, '$id'), Reflect.get(value, '$anchor')]
      const base = (typeof id === 'string' ? addressOf(id, outer)?.split('#')[0] : undefined) ?? outer
      if (base !== outer && !this.#targets.has(base)) this.#targets.set(base, value as Schema)
      if (typeof anchor === 'string') this.#targets.set(`${base}#${anchor}`, value as Schema)
      if (!this.#bases.has(value)) this.#bases.set(value, base)
      for (const [key, child] of Object.entries(value)) {
        if (++values > MAX_VALUES)
          throw refused(`has a schema of more than ${MAX_VALUES} values`, 'make it smaller')
        const step = key.replaceAll('~', '~0').replaceAll('/', '~1')
        open.push({ value: child, path: `${path}/${step}`, depth: depth + 1, outer: base })
      }
    }
  }
}

/** The address of a document without an `$id`. */
const NO_ADDRESS = 'schema://none/'

function addressOf(reference: string, base = NO_ADDRESS): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    // A stray % is left unchanged.
    return fragment
  }
}
