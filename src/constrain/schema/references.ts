// Schema document. In: a JSON Schema from a page. Out: its parts by reference, or a typed error that names
// the keyword.
import type { ErrorDetail } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import { refused, shown } from '../refuse.ts'
import type { Json } from './json-text.ts'
import { KEYWORDS_OF } from './types.ts'

/** A schema whose keywords have been checked. */
export type Schema = boolean | SchemaObject
export type SchemaObject = { readonly [keyword: string]: Json }

const MAX_DEPTH = 128
const MAX_VALUES = 1 << 17

/** Keywords that are enforced. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', 'nullable', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
  ...['$ref', '$defs', 'definitions', ...Object.values(KEYWORDS_OF).flat()],
])

/** Keywords that do not affect which values are valid. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$anchor', '$comment', '$vocabulary', 'title', 'description', 'default', 'example'],
  ...['examples', 'deprecated', 'readOnly', 'writeOnly', 'contentEncoding', 'contentMediaType'],
  ...['contentSchema', 'discriminator', 'xml', 'externalDocs', 'markdownDescription'],
])

export class SchemaDocument {
  readonly root: Schema
  /** The JSON pointer of each object and array in the document. */
  readonly #places = new Map<unknown, string>()
  readonly #anchors = new Map<string, Schema>()
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
        `has ${shown(value)} as ${keyword}, which is not a schema`,
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

  /** The target of a `$ref`: `#`, `#/json/pointer` or `#anchor`. */
  resolve(schema: SchemaObject, reference: Json): Schema {
    if (typeof reference !== 'string' || !reference.startsWith('#')) {
      throw this.refuse(schema, '$ref', `points to ${shown(reference)}, outside the schema`)
    }
    const fragment = decode(reference.slice(1))
    const anchored = this.#anchors.get(fragment)
    if (anchored !== undefined) return anchored
    let at: Json | undefined = this.root
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

  /** The error for a keyword that cannot be enforced at its place. */
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
    if (schema['$id'] !== undefined && schema !== this.root && this.#places.get(schema) !== '') {
      throw this.refuse(schema, '$id', 'changes what references mean')
    }
  }

  /** Records where everything is. Not recursive, because the depth has not been checked yet. */
  #survey(schema: unknown): void {
    const open = [{ value: schema, path: '', depth: 0 }]
    let values = 0
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { value, path, depth } = next
      if (typeof value !== 'object' || value === null) continue
      if (depth > MAX_DEPTH)
        throw refused(`has a schema that nests more than ${MAX_DEPTH} levels`, 'flatten it')
      if (!this.#places.has(value)) this.#places.set(value, path)
      const anchor: unknown = Reflect.get(value, '$anchor')
      if (typeof anchor === 'string') this.#anchors.set(anchor, value as Schema)
      for (const [key, child] of Object.entries(value)) {
        if (++values > MAX_VALUES)
          throw refused(`has a schema of more than ${MAX_VALUES} values`, 'make it smaller')
        const step = key.replaceAll('~', '~0').replaceAll('/', '~1')
        open.push({ value: child, path: `${path}/${step}`, depth: depth + 1 })
      }
    }
  }
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    // A stray % is kept as it is.
    return fragment
  }
}
