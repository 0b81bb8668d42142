// A tool call as the readers of all forms return it.
import { MAX_DEPTH, parseJson } from '../../../base/json.ts'
import { isObject, type JsonObject } from '../../../base/values.ts'
import { MISMATCH } from './growing-text.ts'

/** A call that a model requests. */
export interface ParsedCall {
  readonly name: string
  readonly arguments: JsonObject
  /**
   * The arguments as JSON text, with the model's own digits and key order, so that numbers beyond 2^53 and
   * `1.0` survive.
   */
  readonly json: string
}

/** The parts of a tool that are needed to read its calls. */
export interface CallableTool {
  readonly name: string
  /** JSON Schema of the arguments. In forms without quotes, it says which arguments are strings. */
  readonly parameters?: object | undefined
}

export type CallableTools = ReadonlyMap<string, CallableTool>

/** A character of an unquoted tool name. */
export const NAME_CHARACTER = /[^\s<>()[\]{}"'`,;=|]/

/** A call of a known tool whose arguments are an object; undefined for anything else. */
export function namedCall(name: unknown, json: string, tools: CallableTools): ParsedCall | undefined {
  if (typeof name !== 'string' || !tools.has(name)) return undefined
  const strict = parsed(json, false)
  if (isObject(strict)) return { name, arguments: strict, json }
  // Python can write numbers that JSON cannot.
  const given = parsed(json)
  return isObject(given) ? { name, arguments: given, json: JSON.stringify(given) } : undefined
}

/** Like `namedCall`, but throws `MISMATCH` instead of returning undefined. */
export function callOf(name: string, json: string, tools: CallableTools): ParsedCall {
  const call = namedCall(name, json, tools)
  if (call === undefined) throw MISMATCH
  return call
}

/** The JSON text of an object with these members, whose values are JSON texts. */
export const objectJson = (members: readonly (readonly [name: string, json: string])[]): string =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(', ')}}`

/** The JSON text of a list with these items, which are JSON texts. */
export const listJson = (items: readonly string[]): string => `[${items.join(', ')}]`

/** The schema of an argument, if the tool has one. */
export function schemaOf({ parameters }: CallableTool, name: string): unknown {
  const { properties } = (parameters ?? {}) as { properties?: unknown }
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
}

/** Undefined if the text is not JSON, or nests too deeply. `isPython`: see `parseJson`. */
export function parsed(json: string, isPython = true): unknown {
  try {
    return parseJson(json, MAX_DEPTH, isPython)
  } catch {
    return undefined
  }
}
