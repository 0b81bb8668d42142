// What a JSON Schema allows a value to be, as far as a form without quotes needs it. The reader of calls and
// the writer of their grammars share it.
import { isObject, type JsonObject } from '../values.ts'

/** Most references that lead from one schema to the next. */
const MOST_STEPS = 32

export interface Allowed {
  readonly types: ReadonlySet<string>
  /** The values of `enum` and `const`, if the schema has them. */
  readonly values: readonly unknown[]
}

/** What a schema allows, with references within the tool's parameters followed. */
export function allowedBy(schema: unknown, root: object | undefined): Allowed {
  const types = new Set<string>()
  const values: unknown[] = []
  let steps = 0
  const add = (each: unknown): void => {
    if (!isObject(each) || ++steps > MOST_STEPS) return
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

/** The schema that a chain of references leads to; `schema` itself if it is none. */
export function followed(schema: unknown, root: object): unknown {
  let found = schema
  for (let steps = 0; isObject(found) && typeof found['$ref'] === 'string'; steps++) {
    if (steps === MOST_STEPS) return undefined
    found = referred(found['$ref'], root)
  }
  return found
}

/** What a reference such as `#/$defs/day` leads to. */
function referred(reference: string, root: object | undefined): unknown {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found = typeof found === 'object' && found !== null ? (found as JsonObject)[name] : undefined
  }
  return found
}
