// Reads tool calls whose arguments each have a tag or a key, without JSON's quotes: Qwen3-Coder, GLM, Gemma.
import { CALL_MARKS, GLM_PAIRS, type PairTags } from '../../../base/calls/marks.ts'
import {
  type CallableTool,
  type CallableTools,
  callOf,
  listJson,
  NAME_CHARACTER,
  objectJson,
  type ParsedCall,
} from './call.ts'
import { CUT, type GrowingText, MISMATCH, type Reading } from './growing-text.ts'
import { jsonText } from './json-calls.ts'
import { itemsUpTo, MAX_DEPTH, member, pythonString, pythonValue } from './python-values.ts'
import { typedJson, withoutLineEnds } from './typed-values.ts'

const PARAMETER = '<parameter='
const PARAMETER_END = '</parameter>'
const FUNCTION_END = '</function>'
const CALL_END = CALL_MARKS.hermes.close!
const TAG_NAME = /[^<>\s]/
/** The end tags of the function and of the block, and nothing else, follow the value. */
const UNENDED = /^([\s\S]*?)\n?<\/function>\s*(?:<\/tool_call>\s*)?$/

/** The tool whose name comes next. */
export function* knownTool(
  source: GrowingText,
  tools: CallableTools,
  fits = NAME_CHARACTER,
): Reading<CallableTool> {
  return tools.get(yield* source.word(fits)) ?? source.fail()
}

/** The rest of `<function=f>..</function>`, starting with the name: parameter tags or a JSON object. */
export function* functionCall(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  const tool = tools.get(yield* tagName(source)) ?? source.fail()
  yield* source.expect('>')
  const isJson = (yield* source.blanks()) === '{'
  const given = isJson ? yield* jsonText(source) : objectJson(yield* parameterTags(source, tool))
  yield* source.blanks()
  if (!(yield* isLastEnd(source))) yield* source.expect(FUNCTION_END)
  return callOf(tool.name, given, tools)
}

/** The name in a tag, which some models quote. */
function* tagName(source: GrowingText): Reading<string> {
  return (yield* source.word(TAG_NAME)).replace(/^(["'])(.+)\1$/, '$2')
}

/** Whether the block's end tag comes next and ends the reply. Models forget the end tags before it. */
function* isLastEnd(source: GrowingText): Reading<boolean> {
  const start = source.at
  const isNext = yield* source.takes(CALL_END)
  const isLast = isNext && (yield* source.blanks()) === ''
  source.at = start
  return isLast
}

function* parameterTags(source: GrowingText, tool: CallableTool): Reading<[string, string][]> {
  const members: [string, string][] = []
  // A value may contain its own end tag, so that tag only ends the value if another tag follows.
  const isEnd = function* (): Reading<boolean> {
    if (yield* source.nears(PARAMETER, FUNCTION_END, PARAMETER_END)) return true
    return yield* isLastEnd(source)
  }
  while (yield* source.takes(PARAMETER)) {
    const name = yield* tagName(source)
    yield* source.expect('>')
    const text = yield* parameterText(source, isEnd)
    members.push([name, typedJson(withoutLineEnds(text), name, tool)])
    do yield* source.blanks()
    while (yield* source.takes(PARAMETER_END))
  }
  return members
}

/** The value of a parameter. The last one in a reply may lack its end tag. */
function* parameterText(source: GrowingText, isEnd: () => Reading<boolean>): Reading<string> {
  const start = source.at
  try {
    return yield* source.upTo(PARAMETER_END, isEnd)
  } catch (error) {
    const [, text] = error === CUT ? (UNENDED.exec(source.text.slice(start)) ?? []) : []
    if (text === undefined) throw error
    source.at = start + text.length
    return text
  }
}

/** GLM's `f<arg_key>a</arg_key><arg_value>1</arg_value>`, up to but not including `end`. */
export function* pairedCall(
  source: GrowingText,
  tools: CallableTools,
  end: string,
  tags: PairTags = GLM_PAIRS,
): Reading<ParsedCall> {
  return yield* pairsOf(yield* knownTool(source, tools), source, tools, end, tags)
}

/** The rest of such a call, starting with the first pair. */
export function* pairsOf(
  tool: CallableTool,
  source: GrowingText,
  tools: CallableTools,
  end: string,
  { key, value }: PairTags = GLM_PAIRS,
): Reading<ParsedCall> {
  const members: [string, string][] = []
  const isEnd = () => source.nears(`<${key}>`, end)
  for (;;) {
    yield* source.blanks()
    if (!(yield* source.takes(`<${key}>`))) break
    const name = (yield* source.upTo(`</${key}>`)).trim()
    yield* source.blanks()
    yield* source.expect(`<${value}>`)
    members.push([name, typedJson(yield* source.upTo(`</${value}>`, isEnd), name, tool)])
  }
  // Without its end tag, the call may be missing arguments.
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

function* gemmaValue(source: GrowingText, quote: string, depth: number): Reading<string> {
  if (depth > MAX_DEPTH) throw MISMATCH
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
