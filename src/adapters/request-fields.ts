// Normalises the fields of a request in OpenAI's form: its clients send null for absent fields, and clients
// of other servers send special values for "off".
import { MAX_ITEMS } from '../core/base/check-options.ts'
import { isObject } from '../core/base/values.ts'

/** A request after `requestFields`: no field is null, except in values that are passed on unchanged. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends (...args: never) => unknown
    ? T
    : T extends object
      ? { readonly [Name in keyof T]: Name extends Verbatim ? Exclude<T[Name], null> : GivenField<T[Name]> }
      : T
type GivenField<T> = T extends null ? never : Given<T>

/** JSON Schemas, arguments, variables of templates, metadata and our own options may contain null. */
const VERBATIM = {
  schema: true,
  parameters: true,
  arguments: true,
  chat_template_kwargs: true,
  metadata: true,
  halfbyte: true,
} as const
type Verbatim = keyof typeof VERBATIM

/** Larger than any context. */
const UNLIMITED = Number.MAX_SAFE_INTEGER
/** What -1 means to llama.cpp's server, vLLM and LM Studio. */
const MINUS_ONE: Readonly<Record<string, number | undefined>> = {
  seed: undefined,
  top_k: 0,
  max_tokens: UNLIMITED,
  max_completion_tokens: UNLIMITED,
  max_output_tokens: UNLIMITED,
}

/**
 * The request without fields that are null, with -1 replaced by its meaning, and without empty stop texts.
 * Anything other than an object is returned unchanged.
 */
export function requestFields<Params>(params: Params): Given<Params> {
  const given = withoutNulls(params, new Map())
  if (isObject(given)) {
    const fields = given as Record<string, unknown>
    for (const [name, meaning] of Object.entries(MINUS_ONE)) if (fields[name] === -1) fields[name] = meaning
    const { stop } = fields
    if (stop === '') fields['stop'] = undefined
    if (Array.isArray(stop) && stop.length <= MAX_ITEMS) fields['stop'] = stop.filter((text) => text !== '')
  }
  return given as Given<Params>
}

/** Copies lists and plain objects. `seen`: the copy of each, because pages may pass cyclic values. */
function withoutNulls(value: unknown, seen: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  if (Array.isArray(value)) {
    // An empty list may claim four billion items. Lists of token ids are long, too.
    if (value.length > MAX_ITEMS || !value.some((each) => typeof each === 'object')) return value
    const copy: unknown[] = []
    seen.set(value, copy)
    for (const each of value) copy.push(withoutNulls(each, seen))
    return copy
  }
  if (!isPlain(value)) return value
  // Without a prototype, so that `__proto__` is an ordinary key.
  const copy: Record<string, unknown> = Object.create(null)
  seen.set(value, copy)
  for (const [name, field] of Object.entries(value)) {
    if (field !== null) copy[name] = Object.hasOwn(VERBATIM, name) ? field : withoutNulls(field, seen)
  }
  return copy
}

/** Whether it is a plain object, from this realm or another. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
