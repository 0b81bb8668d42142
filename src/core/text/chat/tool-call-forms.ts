// The forms of tool calls: finds where a block of calls ends in a growing text, and reads its calls.
//
//   Hermes, Qwen, Granite 4   <tool_call>{"name": .., "arguments": {..}}</tool_call>
//   Qwen3-Coder               <tool_call><function=f><parameter=a>1</parameter></function></tool_call>
//   Mistral                   [TOOL_CALLS] [{"name": .., "arguments": {..}}, ..]
//   Mistral since 2506        [TOOL_CALLS]f[ARGS]{..}, also without [ARGS], or with [CALL_ID]..
//   Llama 3                   <|python_tag|>{"name": .., "parameters": {..}}; separated by ; or blanks
//   Llama 3.1, user-defined   <function=f>{..}</function>
//   Granite 3, Phi-4-mini     <|tool_call|>[{"name": .., "arguments": {..}}]<|/tool_call|>, maybe without end
//   Phi-4                     functools[{"name": .., "arguments": {..}}]
//   LFM2                      <|tool_call_start|>[f(a=1)]<|tool_call_end|>
//   OLMo 3                    <function_calls>f(a=1)</function_calls>, a call a line
//   DeepSeek                  <｜tool▁call▁begin｜>function<｜tool▁sep｜>f ```json {..} ```<｜tool▁call▁end｜>
//
// A call may also be the whole reply without a marker: JSON, a list of f(a=1), or either in a fence.
import { MOST_DEPTH, parseJson } from '../../base/json.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { type CallableTool, type CallableTools, type ParsedCall, pythonCalls } from './python-calls.ts'

/**
 * Follows brackets and strings from `at` in a growing text; only the parser decides whether the contents are
 * JSON. Returns the index after the value, undefined while it is incomplete, or -1 when it is not an object
 * or array or nests too deeply.
 */
function jsonScan(at: number): (text: string) => number | undefined {
  let depth = 0
  let isString = false
  let isEscaped = false
  return (text) => {
    for (; at < text.length; at++) {
      const char = text[at]!
      if (isString) {
        isString = isEscaped || char !== '"'
        isEscaped = !isEscaped && char === '\\'
      } else if (char === '{' || char === '[') {
        depth += 1
        if (depth > MOST_DEPTH) return -1
      } else if (depth === 0 && !/\s/.test(char)) return -1
      else if (char === '"') isString = true
      else if (char === '}' || char === ']') {
        depth -= 1
        if (depth === 0) return at + 1
      }
    }
    return undefined
  }
}

/**
 * `more`: the block is not complete, or was cut off if nothing follows. `none`: it is not a block of calls.
 * `end`: the index after the block.
 */
export type BlockState = 'more' | 'none' | { readonly end: number; readonly calls: readonly ParsedCall[] }

/** Follows one block in a text that grows; `isOver` when nothing more comes. */
export type BlockReader = (held: string, isOver: boolean) => BlockState

/** `cut`: the text ends within a call. */
type Parse = (text: string, tools: CallableTools) => readonly ParsedCall[] | 'cut' | undefined

/** How a grammar can constrain a call that follows a marker. */
interface HeldParts {
  /** First non-space characters of the calls that the grammar covers. Undefined: all of them. */
  readonly starts?: string
  /** The part of the marker that the grammar also covers. */
  readonly begins?: string
  /** What follows the call. */
  readonly end?: string
}

export interface HeldForm extends HeldParts {
  readonly marker: string
}

interface Form {
  readonly marker: string
  /** Undefined: the grammar of calls does not know this form. */
  readonly held?: HeldParts
  /** Texts that may end a block. */
  readonly ends: readonly string[]
  /** The reader of a block whose first non-space character is `first`. */
  readonly open: (start: number, first: string, tools: CallableTools) => BlockReader
}

const never: BlockReader = () => 'none'
const HERMES_END = '</tool_call>'
const PHI_END = '<|/tool_call|>'
const LFM_END = '<|tool_call_end|>'
const OLMO_END = '</function_calls>'
const DEEPSEEK_CALL = '<｜tool▁call▁begin｜>'
const DEEPSEEK_CALL_END = '<｜tool▁call▁end｜>'
const DEEPSEEK_SEPARATOR = '<｜tool▁sep｜>'
const FUNCTION = '<function='
const FUNCTION_END = '</function>'

const FORMS: readonly Form[] = [
  {
    marker: '<tool_call>',
    held: { end: HERMES_END },
    ends: [HERMES_END],
    open: (start, first, tools) =>
      first === '<'
        ? delimited(start, HERMES_END, functionTags, tools)
        : jsonBlock(start, tools, { end: HERMES_END }),
  },
  {
    marker: FUNCTION,
    held: { begins: FUNCTION },
    ends: [FUNCTION_END],
    open: (start, _, tools) =>
      delimited(start, FUNCTION_END, (text) => functionTags(`${FUNCTION}${text}`, tools), tools),
  },
  {
    marker: '[TOOL_CALLS]',
    held: { starts: '[{' },
    ends: ['[ARGS]', '[CALL_ID]'],
    open: (start, first, tools) =>
      first === '[' || first === '{' ? jsonBlock(start, tools) : namedArguments(start, tools),
  },
  {
    marker: '<|python_tag|>',
    held: { starts: '{' },
    ends: [],
    open: (start, first, tools) => (first === '{' ? jsonRun(start, tools) : never),
  },
  {
    marker: '<|tool_call|>',
    held: { starts: '[{' },
    ends: [PHI_END],
    open: (start, _, tools) => jsonBlock(start, tools, { end: PHI_END, isOptional: true }),
  },
  {
    marker: 'functools',
    held: { starts: '[' },
    ends: [],
    open: (start, first, tools) => (first === '[' ? jsonBlock(start, tools) : never),
  },
  {
    marker: '<|tool_call_start|>',
    ends: [LFM_END],
    open: (start, _, tools) => delimited(start, LFM_END, jsonOrPython, tools),
  },
  {
    marker: '<function_calls>',
    ends: [OLMO_END],
    open: (start, _, tools) => delimited(start, OLMO_END, jsonOrPython, tools),
  },
  {
    marker: '<｜tool▁calls▁begin｜>',
    ends: [DEEPSEEK_SEPARATOR],
    open: (start, _, tools) => delimited(start, '<｜tool▁calls▁end｜>', deepSeekCalls, tools),
  },
  {
    marker: DEEPSEEK_CALL,
    ends: [DEEPSEEK_CALL_END, '<｜tool▁calls▁end｜>'],
    open: (start, _, tools) => delimited(start, DEEPSEEK_CALL_END, deepSeekCall, tools),
  },
]

export const MARKERS: readonly string[] = FORMS.map(({ marker }) => marker)

/** The forms whose calls a grammar can constrain. */
export const HELD_FORMS: readonly HeldForm[] = FORMS.flatMap(({ marker, held }) =>
  held === undefined ? [] : [{ marker, ...held }],
)

/** Tokens that must be written as text to find calls, although some vocabularies mark them as special. */
export const TOOL_CALL_TEXTS: readonly string[] = FORMS.flatMap(({ marker, ends }) => [marker, ...ends])

/** Waits for what follows the marker at the beginning of the text, then reads it in the marker's form. */
export function openMarked(marker: string, tools: CallableTools): BlockReader {
  const form = FORMS.find((each) => each.marker === marker)
  let reader: BlockReader | undefined
  return (held, isOver) => {
    if (reader === undefined) {
      const first = held.slice(marker.length).trimStart()[0]
      if (first === undefined) return 'more'
      reader = form?.open(marker.length, first, tools) ?? never
    }
    return reader(held, isOver)
  }
}

const JSON_STARTS = ['{"name"', '{"type"', '{"function"', '{"tool_calls"'].flatMap((start) => [
  start,
  `[${start}`,
])
const JSON_FENCES = ['```json', '```tool_call', '```']
const PYTHON_FENCE = '```tool_code'

/** How calls without a marker begin, without whitespace. */
export function bareStarts(tools: CallableTools): readonly string[] {
  const called = [...tools.keys()].map((name) => `${name}(`)
  return [
    ...JSON_STARTS,
    ...JSON_FENCES.flatMap((fence) => JSON_STARTS.map((start) => fence + start)),
    ...called.map((start) => `[${start}`),
    ...called.flatMap((start) => [PYTHON_FENCE + start, `${PYTHON_FENCE}[${start}`]),
  ]
}

/** Reads a whole reply that begins as `bareStarts` says. */
export function openBare(held: string, tools: CallableTools): BlockReader {
  const start = held.search(/\S/)
  const isFenced = held.startsWith('```', start)
  if (!isFenced) {
    const isJson = /[{"]/.test(held.slice(start + 1).trimStart()[0] ?? '')
    return isJson ? jsonRun(start, tools) : pythonReply(start, tools)
  }
  const inside = start + (/^`{3}\w*/.exec(held.slice(start))?.[0].length ?? 0)
  return wholeReply(
    held.startsWith(PYTHON_FENCE, start)
      ? delimited(inside, '```', pythonCalls, tools)
      : jsonBlock(inside, tools, { end: '```' }),
  )
}

/** Python's calls that are the whole reply. */
const pythonReply =
  (start: number, tools: CallableTools): BlockReader =>
  (held, isOver) => {
    if (!isOver) return 'more'
    const calls = pythonCalls(held.slice(start), tools)
    if (calls === 'cut') return 'more'
    return calls === undefined ? 'none' : { calls, end: held.length }
  }

/** A block that counts only if nothing but whitespace follows it. */
function wholeReply(read: BlockReader): BlockReader {
  let state: BlockState = 'more'
  return (held, isOver) => {
    if (typeof state === 'string') state = read(held, isOver)
    if (typeof state === 'string') return state
    if (held.slice(state.end).trim() !== '') return 'none'
    return isOver ? state : 'more'
  }
}

interface JsonBlockOptions {
  /** What comes after the value. Default: nothing. */
  readonly end?: string | undefined
  /** Whether something else may follow instead. Default: nothing else. */
  readonly isOptional?: boolean | undefined
}

/** One JSON value with a call or a list of calls, and the text that ends it. */
function jsonBlock(start: number, tools: CallableTools, options: JsonBlockOptions = {}): BlockReader {
  const scan = jsonScan(start)
  const { end = '', isOptional = end === '' } = options
  let value: number | undefined
  let calls: readonly ParsedCall[] | undefined
  return (held, isOver) => {
    if (value === undefined) {
      value = scan(held)
      if (value === undefined) return 'more'
      calls = value < 0 ? undefined : jsonCalls(held.slice(start, value), tools)
    }
    if (calls === undefined) return 'none'
    const rest = held.slice(value)
    const next = rest.trimStart()
    if (next.startsWith(end))
      return { calls, end: end === '' ? value : held.length - next.length + end.length }
    if (end.startsWith(next)) return isOver ? { calls, end: held.length } : 'more'
    return isOptional ? { calls, end: value } : 'none'
  }
}

/** JSON values that are the rest of the reply, separated by `;` or blanks. */
function jsonRun(start: number, tools: CallableTools): BlockReader {
  const calls: ParsedCall[] = []
  let at = start
  let scan: ReturnType<typeof jsonScan> | undefined
  return (held, isOver) => {
    for (;;) {
      if (scan === undefined) {
        const begin = at + (/^\s*;?\s*/.exec(held.slice(at))?.[0].length ?? 0)
        if (begin < held.length) {
          at = begin
          scan = jsonScan(at)
        }
      }
      const value = scan?.(held)
      // Complete calls are followed by whitespace, or by a call that was cut off.
      if (value === undefined) return isOver && calls.length > 0 ? { calls, end: held.length } : 'more'
      const found = value < 0 ? undefined : jsonCalls(held.slice(at, value), tools)
      if (found === undefined) return 'none'
      calls.push(...found)
      at = value
      scan = undefined
    }
  }
}

/** A name, then its arguments in JSON. */
function namedArguments(start: number, tools: CallableTools): BlockReader {
  let open: { readonly name: string; readonly at: number; scan: ReturnType<typeof jsonScan> } | undefined
  return (held) => {
    if (open === undefined) {
      const rest = held.slice(start)
      const found = /^\s*([\w.-]{1,256})(?:\[CALL_ID\][\w-]{0,256})?(?:\[ARGS\])?\s*(?=\{)/.exec(rest)
      if (found === null) {
        return /^\s*[\w.-]{0,256}(?:\[[A-Z_]{0,7}\]?[\w-]{0,256}){0,2}\s*$/.test(rest) ? 'more' : 'none'
      }
      const at = start + found[0].length
      open = { name: found[1] ?? '', at, scan: jsonScan(at) }
    }
    const end = open.scan(held)
    if (end === undefined) return tools.has(open.name) ? 'more' : 'none'
    const call = end < 0 ? undefined : callOf({ name: open.name, arguments: held.slice(open.at, end) }, tools)
    return call === undefined ? 'none' : { calls: [call], end }
  }
}

/** Everything up to an end, or up to the end of the reply. */
function delimited(start: number, end: string, parse: Parse, tools: CallableTools): BlockReader {
  let searched = start
  return (held, isOver) => {
    const at = held.indexOf(end, searched)
    if (at < 0 && !isOver) {
      searched = Math.max(start, held.length - end.length)
      return 'more'
    }
    const calls = parse(held.slice(start, at < 0 ? held.length : at), tools)
    if (calls === undefined || calls === 'cut') return at < 0 ? 'more' : 'none'
    return { calls, end: at < 0 ? held.length : at + end.length }
  }
}

const jsonOrPython: Parse = (text, tools) => {
  const isJson = /^\s*(?:\{|\[\s*\{)/.test(text)
  return isJson ? jsonCalls(text, tools) : pythonCalls(text, tools)
}

/** One call, a list of calls, or OpenAI's `{"tool_calls": [..]}`. */
function jsonCalls(text: string, tools: CallableTools): readonly ParsedCall[] | undefined {
  const value = parsed(text)
  const inner = isObject(value) && Array.isArray(value['tool_calls']) ? value['tool_calls'] : value
  const list: readonly unknown[] = Array.isArray(inner) ? inner : [inner]
  const found = list.map((each) => callOf(each, tools)).filter((call) => call !== undefined)
  return list.length > 0 && found.length === list.length ? found : undefined
}

/** A call with its name as `name` or `function`, its arguments as an object or as JSON text. */
function callOf(value: unknown, tools: CallableTools): ParsedCall | undefined {
  if (!isObject(value)) return undefined
  if (isObject(value['function'])) return callOf({ ...value['function'], function: undefined }, tools)
  const name = value['name'] ?? value['function']
  const given = value['arguments'] ?? value['parameters'] ?? {}
  const args = typeof given === 'string' ? parsed(given) : given
  if (typeof name !== 'string' || !tools.has(name) || !isObject(args)) return undefined
  return { name, arguments: args }
}

/** Undefined if the text is not JSON, or nests too deeply. */
function parsed(json: string): unknown {
  try {
    return parseJson(json)
  } catch {
    return undefined
  }
}

/** `<function=f>` with `<parameter=a>` tags, or with a JSON object; any number of them. */
function functionTags(text: string, tools: CallableTools): readonly ParsedCall[] | undefined {
  const calls: ParsedCall[] = []
  for (let rest = text.trimStart(); rest !== ''; ) {
    const head = /^<function=([^<>\s]{1,256})>/.exec(rest)
    const tool = tools.get(head?.[1] ?? '')
    if (head === null || tool === undefined) return undefined
    const [body, after] = upTo(rest.slice(head[0].length), FUNCTION_END)
    const given = body.trimStart().startsWith('{') ? parsed(body) : parameterTags(body, tool)
    if (!isObject(given)) return undefined
    calls.push({ name: tool.name, arguments: given })
    rest = after.trimStart()
  }
  return calls.length > 0 ? calls : undefined
}

function parameterTags(text: string, tool: CallableTool): JsonObject | undefined {
  const found: [string, unknown][] = []
  for (let rest = text.trimStart(); rest !== ''; ) {
    const head = /^<parameter=([^<>\s]{1,256})>\n?/.exec(rest)
    if (head === null) return undefined
    const [body, after] = upTo(rest.slice(head[0].length), '</parameter>')
    const key = head[1] ?? ''
    found.push([key, typedValue(body.replace(/\n$/, ''), key, tool)])
    rest = after.trimStart()
  }
  return Object.fromEntries(found)
}

/** A value without quotes: a string if the tool's schema says so or if it is not JSON. */
function typedValue(text: string, key: string, { parameters }: CallableTool): unknown {
  const { properties } = (parameters ?? {}) as { properties?: unknown }
  const schema = isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined
  if (isObject(schema) && schema['type'] === 'string') return text
  return parsed(text) ?? (text.trim() === 'null' ? null : text)
}

/** The text before `end` and the text after it; the whole text and nothing if `end` does not occur. */
function upTo(text: string, end: string): readonly [string, string] {
  const at = text.indexOf(end)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + end.length)]
}

function deepSeekCalls(text: string, tools: CallableTools): readonly ParsedCall[] | undefined {
  const parts = text.split(DEEPSEEK_CALL)
  if (parts.shift()?.trim() !== '') return undefined
  const calls = parts.map((part) => deepSeekCall(upTo(part, DEEPSEEK_CALL_END)[0], tools))
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls.flat() : undefined
}

/** `function<sep>name` and fenced JSON, or since V3.1 `name<sep>` and JSON. */
function deepSeekCall(text: string, tools: CallableTools): readonly ParsedCall[] | undefined {
  const [before, after] = upTo(text, DEEPSEEK_SEPARATOR)
  const old = /^\s*([^\s`{]+)\s*(?:```(?:json)?)?\s*(\{[\s\S]*\})\s*(?:```)?\s*$/.exec(after)
  const isOld = before.trim() === 'function' && old !== null
  const given = isOld ? { name: old[1], arguments: old[2] } : { name: before.trim(), arguments: after }
  const call = callOf(given, tools)
  return call && [call]
}
