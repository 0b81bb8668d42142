// Reads tool calls whose arguments each have a tag or a key, without JSON's quotes: Qwen3-Coder, GLM, Gemma.
import {
  type CallableTool,
  type CallableTools,
  callOf,
  listJson,
  objectJson,
  type ParsedCall,
} from './call.ts'
import { CUT, type GrowingText, MISMATCH, type Reading } from './growing-text.ts'
import { jsonText } from './json-calls.ts'
import { itemsUpTo, member, pythonString, pythonValue } from './python-values.ts'
import { typedJson } from './typed-values.ts'

const PARAMETER = '<parameter='
const PARAMETER_END = '</parameter>'
const FUNCTION_END = '</function>'
const TAG_NAME = /[^<>\s]/

/** The tool whose name comes next. */
export function* knownTool(
  source: GrowingText,
  tools: CallableTools,
  fits = /[\w.-]/,
): Reading<CallableTool> {
  return tools.get(yield* source.word(fits)) ?? source.fail()
}

/** The rest of `<function=f>..</function>`, from the name on: parameter tags or a JSON object. */
export function* functionCall(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  const tool = yield* knownTool(source, tools, TAG_NAME)
  yield* source.expect('>')
  const isJson = (yield* source.blanks()) === '{'
  const given = isJson ? yield* jsonText(source) : objectJson(yield* parameterTags(source, tool))
  yield* source.blanks()
  yield* source.expect(FUNCTION_END)
  return callOf(tool.name, given, tools)
}

function* parameterTags(source: GrowingText, tool: CallableTool): Reading<[string, string][]> {
  const members: [string, string][] = []
  // A value may contain its own end tag, so that ends the value only before another tag.
  const isEnd = function* (): Reading<boolean> {
    yield* source.blanks()
    for (const mark of [PARAMETER, FUNCTION_END, PARAMETER_END]) if (yield* source.sees(mark)) return true
    return false
  }
  while (yield* source.takes(PARAMETER)) {
    const name = yield* source.word(TAG_NAME)
    yield* source.expect('>')
    const text = yield* source.upTo(PARAMETER_END, isEnd)
    members.push([name, typedJson(text.replace(/^\n/, '').replace(/\n$/, ''), name, tool)])
    do yield* source.blanks()
    while (yield* source.takes(PARAMETER_END))
  }
  return members
}

/** GLM's `f<arg_key>a</arg_key><arg_value>1</arg_value>`, up to but not including `end`. */
export function* pairedCall(source: GrowingText, tools: CallableTools, end: string): Reading<ParsedCall> {
  const tool = yield* knownTool(source, tools)
  const members: [string, string][] = []
  const isEnd = function* (): Reading<boolean> {
    yield* source.blanks()
    return (yield* source.sees('<arg_key>')) || (yield* source.sees(end))
  }
  for (;;) {
    yield* source.blanks()
    if (!(yield* source.takes('<arg_key>'))) break
    const name = (yield* source.upTo('</arg_key>')).trim()
    yield* source.blanks()
    yield* source.expect('<arg_value>')
    members.push([name, typedJson(yield* source.upTo('</arg_value>', isEnd), name, tool)])
  }
  // Without its end tag, the call may lack arguments.
  if (!(yield* source.sees(end))) source.fail()
  return callOf(tool.name, objectJson(members), tools)
}

/** Gemma's `call:f{a:1,b:<escape>text<escape>}`, with `quote` around texts. */
export function* gemmaCall(source: GrowingText, tools: CallableTools, quote: string): Reading<ParsedCall> {
  yield* source.expect('call:')
  const { name } = yield* knownTool(source, tools)
  yield* source.blanks()
  if (!(yield* source.sees('{'))) source.fail()
  return callOf(name, yield* gemmaValue(source, quote, 0), tools)
}

const MOST_DEPTH = 100

function* gemmaValue(source: GrowingText, quote: string, depth: number): Reading<string> {
  if (depth > MOST_DEPTH) throw MISMATCH
  yield* source.blanks()
  if (yield* source.takes(quote)) return JSON.stringify(yield* source.upTo(quote))
  const inner = () => gemmaValue(source, quote, depth + 1)
  if (yield* source.takes('[')) return listJson(yield* itemsUpTo(source, ']', inner))
  if (!(yield* source.takes('{'))) return yield* pythonValue(source)
  return objectJson(yield* itemsUpTo(source, '}', () => member(source, () => gemmaKey(source, quote), inner)))
}

function* gemmaKey(source: GrowingText, quote: string): Reading<string> {
  if (yield* source.takes(quote)) return yield* source.upTo(quote)
  if ((yield* source.peek()) === '"') return yield* pythonString(source)
  const name = yield* source.word(/[^:,{}[\]\s]/)
  if (name === '') throw (yield* source.peek()) === '' ? CUT : MISMATCH
  return name
}
