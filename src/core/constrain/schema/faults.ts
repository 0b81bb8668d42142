// Explains in a sentence why a JSON value does not match a schema.

import { UNBOUNDED } from '../grammar.ts'
import { bounded, shown } from '../refuse.ts'
import { type Case, type Conjunction, type NumberCase, type StringCase, typeOf } from './cases.ts'
import { itemAt, propertyOf } from './intersect.ts'
import type { Json } from './json-text.ts'
import { SchemaDocument } from './references.ts'
import { Schemas } from './schemas.ts'

/** Explains what is wrong with a value; undefined if the schema allows it. */
export type FaultFinder = (value: unknown) => string | undefined

/**
 * Reads a schema once, for any number of values. `name`: what the message calls the whole value. This
 * function and the returned one throw `unsupported` for a keyword that cannot be enforced.
 */
export function faultFinder(schema: unknown, name: string): FaultFinder {
  const whole = new SchemaDocument(schema)
  const schemas = new Schemas(whole)
  const find = (value: unknown) => faultOf(schemas, [whole.root], value as Json, { name, path: '' })
  // Errors in the schema itself are reported before there is a value.
  bounded(() => schemas.cases([whole.root]))
  return (value) => bounded(() => find(value))
}

/** A part of the value: `path` is empty for the whole value. */
interface Place {
  readonly name: string
  readonly path: string
}

const said = ({ name, path }: Place): string => (path === '' ? name : path)

const keyOf = ({ name, path }: Place, key: string): Place => ({
  name,
  path: path === '' ? key : `${path}.${key}`,
})

function faultOf(schemas: Schemas, conjunction: Conjunction, value: Json, place: Place): string | undefined {
  const cases = schemas.cases(conjunction)
  if (cases.some((one) => schemas.accepts(one, value))) return undefined
  const own = cases.filter(({ type }) => type === typeOf(value))
  if (own.length === 0) return `${said(place)} is ${shown(value)} but must be ${wantedBy(cases)}`
  // If several cases have the value's type, it is unknown which one was intended.
  const inside = own.length === 1 ? faultWithin(schemas, own[0] as Case, value, place) : undefined
  return inside ?? `${said(place)} is ${shown(value)}, which its schema does not allow`
}

function faultWithin(schemas: Schemas, one: Case, value: Json, place: Place): string | undefined {
  switch (one.type) {
    case 'object': {
      const given = value as { readonly [key: string]: Json }
      const missing = [...one.required].find((key) => !Object.hasOwn(given, key))
      if (missing !== undefined) return `${said(keyOf(place, missing))} is missing`
      return first(Object.keys(given), (key) => {
        const schema = propertyOf(one, key)
        if (schema !== undefined) return faultOf(schemas, schema, given[key] as Json, keyOf(place, key))
        return `${said(keyOf(place, key))} is not one of its properties; leave it out`
      })
    }
    case 'array': {
      const items = value as readonly Json[]
      if (items.length < one.minItems || items.length > one.maxItems)
        return `${said(place)} has ${items.length} items but must have ${range(one.minItems, one.maxItems)}`
      return first([...items.keys()], (at) => {
        const schema = itemAt(one, at)
        const there = { ...place, path: `${said(place)}[${at}]` }
        if (schema !== undefined) return faultOf(schemas, schema, items[at] as Json, there)
        return `${said(there)} is beyond the last allowed item`
      })
    }
    case 'number':
      return numberFault(one, value as number, place)
    case 'string':
      return lengthFault(one, value as string, place)
    default:
      return undefined
  }
}

function numberFault({ isInteger, min, max }: NumberCase, value: number, place: Place): string | undefined {
  const must = (what: string) => `${said(place)} is ${value} but must be ${what}`
  if (isInteger && !Number.isInteger(value)) return must('a whole number')
  if (min !== undefined && (min.exclusive ? value <= min.value : value < min.value))
    return must(`${min.exclusive ? 'above' : 'at least'} ${min.value}`)
  if (max !== undefined && (max.exclusive ? value >= max.value : value > max.value))
    return must(`${max.exclusive ? 'below' : 'at most'} ${max.value}`)
  return undefined
}

function lengthFault({ minLength, maxLength }: StringCase, value: string, place: Place): string | undefined {
  const { length } = [...value]
  if (length >= minLength && length <= maxLength) return undefined
  return `${said(place)} has ${length} characters but must have ${range(minLength, maxLength)}`
}

const range = (least: number, most: number): string =>
  most >= UNBOUNDED ? `at least ${least}` : least === most ? `${least}` : `${least} to ${most}`

const NAMES: Readonly<Record<Exclude<Case['type'], 'literal' | 'number'>, string>> = {
  null: 'null',
  boolean: 'true or false',
  string: 'a text',
  array: 'a list',
  object: 'an object',
}

function wantedBy(cases: readonly Case[]): string {
  const names = cases.map((one) => {
    if (one.type === 'literal') return shown(one.value)
    if (one.type === 'number') return one.isInteger ? 'a whole number' : 'a number'
    return NAMES[one.type]
  })
  return [...new Set(names)].join(' or ') || 'left out'
}

function first<Item>(items: readonly Item[], fault: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = fault(item)
    if (found !== undefined) return found
  }
  return undefined
}
