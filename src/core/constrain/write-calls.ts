// Writes the grammar of the text that may follow the marker of a tool call.

import { type Grammar, type NodeId, oneOf, UNBOUNDED } from './grammar.ts'
import { patternNode } from './regex/pattern-node.ts'
import { colon, comma, space } from './schema/json-text.ts'
import { schemaNode } from './schema/values.ts'
import type { CallTool } from './written-grammar.ts'

/** A text without the closing tag of an argument. */
const UP_TO_TAG = '(?:[^<]|<+[^</]|<+/[^p<])*'
/** Names that a tag can have. */
const TAG_NAME = '[^<>\\s]{1,256}'
const isTagName = (name: string): boolean => new RegExp(`^${TAG_NAME}$`).test(name)

/**
 * A call as JSON, a list of such calls, or `<function=NAME>` with an object or with a tag for each argument,
 * up to its closing tag.
 */
export function callsNode(grammar: Grammar, tools: readonly CallTool[]): NodeId {
  const blank = space(grammar)
  const between = (open: string, inside: NodeId, close: string) =>
    grammar.seq(grammar.text(open), blank, inside, blank, grammar.text(close))
  const call = grammar.rule(
    'call',
    grammar.alt(...tools.map((tool) => between('{', jsonCall(grammar, tool), '}'))),
  )
  const more = grammar.repeat(grammar.seq(comma(grammar), call), 0, UNBOUNDED)
  const list = between('[', grammar.seq(call, more), ']')
  grammar.isLoose = true
  const tagged = tools
    .filter(({ name }) => isTagName(name))
    .map((tool) => {
      const given = grammar.alt(grammar.seq(argumentsNode(grammar, tool), blank), tagsNode(grammar, tool))
      return grammar.seq(grammar.text(`<function=${tool.name}>`), blank, given, grammar.text('</function>'))
    })
  grammar.isLoose = false
  return grammar.seq(blank, grammar.alt(call, list, ...tagged))
}

const jsonCall = (grammar: Grammar, tool: CallTool): NodeId =>
  grammar.seq(
    grammar.text('"name"'),
    colon(grammar),
    grammar.text(JSON.stringify(tool.name)),
    comma(grammar),
    grammar.text('"arguments"'),
    colon(grammar),
    argumentsNode(grammar, tool),
  )

/** Whatever else the parameters allow, arguments are an object. */
const argumentsNode = (grammar: Grammar, { parameters }: CallTool): NodeId =>
  schemaNode(grammar, { ...parameters, type: 'object' })

/** A tag for each argument, in the order of the schema; any tags if the schema is not enforced. */
function tagsNode(grammar: Grammar, { parameters }: CallTool): NodeId {
  const line = grammar.optional(grammar.text('\n'))
  const tag = (name: NodeId, value: NodeId) =>
    grammar.seq(
      grammar.text('<parameter='),
      name,
      grammar.text('>'),
      line,
      value,
      line,
      grammar.text('</parameter>'),
      space(grammar),
    )
  const anyText = patternNode(grammar, UP_TO_TAG)
  if (parameters === undefined)
    return grammar.repeat(tag(patternNode(grammar, TAG_NAME), anyText), 0, UNBOUNDED)
  const { properties = {}, required = [], $defs = {}, definitions = {} } = parameters
  const tags = Object.entries(properties).map(([name, schema]) => {
    const isText = typeof schema === 'object' && schema.type === 'string'
    const texts = isText ? schema.enum?.map(String) : undefined
    const other = () =>
      isText
        ? anyText
        : schemaNode(grammar, typeof schema === 'object' ? { $defs, definitions, ...schema } : schema)
    const node = tag(grammar.text(name), texts === undefined ? other() : oneOf(grammar, texts))
    return required.includes(name) ? node : grammar.optional(node)
  })
  return Object.keys(properties).every(isTagName) ? grammar.seq(...tags) : grammar.never
}
