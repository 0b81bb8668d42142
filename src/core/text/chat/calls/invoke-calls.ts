// Reads tool calls that have the names of the tool and its arguments in attributes: MiniMax, DeepSeek V3.2,
// MiniCPM 5.
import type { CallTags } from '../../../base/calls/marks.ts'
import { type CallableTool, type CallableTools, callOf, objectJson, type ParsedCall, parsed } from './call.ts'
import type { GrowingText, Reading } from './growing-text.ts'
import { knownTool } from './tagged-calls.ts'
import { typedJson, withoutLineEnds } from './typed-values.ts'

const NAME = /[^"<>\s]/
const CDATA = /^<!\[CDATA\[([\s\S]*)\]\]>$/

/** `f"><parameter name="a">1</parameter></invoke>`: the rest of a call, starting with the name. */
export function* invokedCall(source: GrowingText, tools: CallableTools, tags: CallTags): Reading<ParsedCall> {
  const tool = yield* knownTool(source, tools, NAME)
  yield* source.expect('">')
  const members: [string, string][] = []
  for (;;) {
    yield* source.blanks()
    if (!(yield* source.takes(`<${tags.parameter} name="`))) break
    members.push(yield* parameter(source, tool, tags))
  }
  yield* source.expect(`</${tags.call}>`)
  return callOf(tool.name, objectJson(members), tools)
}

function* parameter(source: GrowingText, tool: CallableTool, tags: CallTags): Reading<[string, string]> {
  const end = `</${tags.parameter}>`
  // A value may contain its own closing tag, so that tag only ends the value if another tag follows.
  const isEnd = () => source.nears(`<${tags.parameter} name="`, `</${tags.call}>`)
  const name = yield* source.upTo('"')
  const isText = yield* source.takes(' string="true"')
  const isJson = !isText && (yield* source.takes(' string="false"'))
  yield* source.expect('>')
  const given = yield* source.upTo(end, isEnd)
  const text = CDATA.exec(given)?.[1] ?? (isText ? given : withoutLineEnds(given))
  if (isText) return [name, JSON.stringify(text)]
  return [name, isJson && parsed(text) !== undefined ? text : typedJson(text, name, tool)]
}
