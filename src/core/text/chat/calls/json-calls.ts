// Reads tool calls that are JSON: one object, a list of them, or several in a row.
import { jsonParts, MAX_DEPTH } from '../../../base/json.ts'
import { type CallableTools, namedCall, type ParsedCall, parsed } from './call.ts'
import { CUT, type GrowingText, MISMATCH, type Reading } from './growing-text.ts'
import { pythonLiteral } from './python-values.ts'

/**
 * The text of an object or a list as JSON. Only matches brackets and strings; parsing it shows whether it is
 * JSON. Converts Python literals, trailing commas and line breaks in strings.
 */
export function* jsonText(source: GrowingText): Reading<string> {
  const start = source.at
  const first = yield* source.peek()
  if (first !== '{' && first !== '[') source.fail()
  let depth = 0
  let quote = ''
  let isEscaped = false
  for (;;) {
    const { text } = source
    for (; source.at < text.length; source.at++) {
      const char = text[source.at]!
      if (quote !== '') {
        if (!isEscaped && char === quote) quote = ''
        isEscaped = !isEscaped && char === '\\'
      } else if (char === '{' || char === '[') {
        depth += 1
        if (depth > MAX_DEPTH) throw MISMATCH
      } else if (char === '"' || char === "'") quote = char
      else if (char === '}' || char === ']') {
        depth -= 1
        if (depth === 0) return asJson(text.slice(start, ++source.at))
      }
    }
    if (source.isOver) throw CUT
    yield
  }
}

const asJson = (text: string): string => (parsed(text) === undefined ? (pythonLiteral(text) ?? text) : text)

/** The calls of one JSON value. */
export function* jsonCalls(source: GrowingText, tools: CallableTools): Reading<readonly ParsedCall[]> {
  const calls = callsOf(yield* jsonText(source), tools)
  if (calls === undefined) throw MISMATCH
  return calls
}

/** Adds the calls in JSON values separated by whitespace, commas or semicolons. */
export function* jsonRun(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  for (;;) {
    yield* source.blanks()
    found.push(...(yield* jsonCalls(source, tools)))
    yield* source.blanks()
    if (yield* source.takes(';', ',')) yield* source.blanks()
    const next = yield* source.peek()
    if (next !== '{' && next !== '[') return
  }
}

/** Runs `read` on a text that may be in a fence, and returns its result. */
export function* inFence<T>(source: GrowingText, read: () => Reading<T>): Reading<T> {
  yield* source.blanks()
  const isFenced = yield* source.takes('```')
  if (isFenced) yield* source.word(/\w/)
  yield* source.blanks()
  const found = yield* read()
  yield* source.blanks()
  if (isFenced) yield* source.expect('```')
  return found
}

/** Like `jsonRun`, for a text that may be in a fence. */
export const fencedJson = (source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> =>
  inFence(source, () => jsonRun(source, tools, found))

/**
 * One call, a list of calls, or OpenAI's `{"tool_calls": [..]}`. Undefined if any part of it is not a call.
 */
function callsOf(text: string, tools: CallableTools): readonly ParsedCall[] | undefined {
  if (parsed(text) === undefined) return undefined
  const inner = members(text)?.get('tool_calls') ?? text
  return allOf(
    inner.startsWith('[')
      ? jsonParts(inner).map((part) => objectCall(part.text, tools))
      : [objectCall(inner, tools)],
  )
}

/** One or more calls. Undefined if any of them is not a call. */
const allOf = (calls: readonly (ParsedCall | undefined)[]): readonly ParsedCall[] | undefined =>
  calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined

/** The values that stand for no arguments. */
const EMPTY: ReadonlySet<string> = new Set(['null', '', '[]'])

/** A call with its name as `name`, `tool_name` or `function`, and its arguments as an object or JSON text. */
function objectCall(text: string, tools: CallableTools): ParsedCall | undefined {
  const call = members(text)
  if (call === undefined) return undefined
  const nested = call.get('function')
  if (nested?.startsWith('{') === true) return objectCall(nested, tools)
  const name = parsed(call.get('name') ?? call.get('tool_name') ?? nested ?? 'null')
  const given = call.get('arguments') ?? call.get('parameters') ?? 'null'
  const inner = given.startsWith('"') ? parsed(given) : given
  const json = typeof inner === 'string' ? inner.trim() : given
  return namedCall(name, EMPTY.has(json) ? '{}' : json, tools)
}

/** The calls of a list of objects whose keys are names and whose values are arguments. */
export function* keyedCalls(source: GrowingText, tools: CallableTools): Reading<readonly ParsedCall[]> {
  const text = yield* jsonText(source)
  if (!text.startsWith('[') || parsed(text) === undefined) throw MISMATCH
  const calls = allOf(
    jsonParts(text).flatMap((part) =>
      [...(members(part.text) ?? [['', '']])].map(([name, json]) => namedCall(name, json, tools)),
    ),
  )
  if (calls === undefined) throw MISMATCH
  return calls
}

/** The members of an object, with the text of each value; undefined for anything else. */
function members(text: string): ReadonlyMap<string, string> | undefined {
  if (!text.startsWith('{')) return undefined
  return new Map(jsonParts(text).map((part) => [part.name, part.text]))
}
