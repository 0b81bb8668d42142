// The types and values that a JSON Schema allows, for call forms that write values without quotes. Shared by
// the call parser and the grammar writer.
import { isObject, type JsonObject } from '../values.ts'

/** Maximum length of a chain of references. */
const MAX_STEPS = 32

export interface Allowed {
  readonly types: ReadonlySet<string>
  /** The values of `enum` and `const`, if the schema has them. */
  readonly values: readonly unknown[]
}

/** What a schema allows, following references within the tool's parameters. */
export function allowedBy(schema: unknown, root: object | undefined): Allowed {
  const types = new Set<string>()
  const values: unknown[] = []
  let steps = 0
  const add = (each: unknown): void => {
    if (!isObject(each) || ++steps > MAX_STEPS) return
    const { type, enum: choices } = each
    for (const one of Array.isArray(type) ? type : [type]) if (typeof one === 'string') types.add(one)
    if (each['nullable'] === true) types.add('null')
    const listed: readonly unknown[] = Object.hasOwn(each, 'const')
      ? [each['const']]
      : Array.isArray(choices)
        ? choices
        : []
    values.push(...listed)
    if (type === undefined) for (const value of listed) types.add(value === null ? 'null' : typeof value)
    for (const key of ['anyOf', 'oneOf', 'allOf']) {
      const parts = each[key]
      if (Array.isArray(parts)) for (const part of parts) add(part)
    }
    if (typeof each['$ref'] === 'string') add(referred(each['$ref'], root))
  }
  add(schema)
  return { types, values }
}

/** The schema at the end of a chain of references; `schema` itself if it is not a reference. */
export function followed(schema: unknown, root: object): unknown {
  let found = schema
  for (let steps = 0; isObject(found) && typeof found['$ref'] === 'string'; steps++) {
    if (steps === MAX_STEPS) return undefined
    found = referred(found['$ref'], root)
  }
  return found
}

/** Resolves a reference such as `#/$defs/day`. */
function referred(reference: string, root: object | undefined): unknown {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found = typeof found === 'object' && found !== null ? (found as JsonObject)[name] : undefined
  }
  return found
}
