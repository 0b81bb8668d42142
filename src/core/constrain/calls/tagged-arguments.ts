// Writes the grammar of arguments that each have a tag, without quotes.
import { allowedBy } from '../../base/calls/allowed-types.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { space } from '../schema/json-text.ts'
import type { ToolParameters } from '../written-grammar.ts'
import { areNames, parameterNode } from './parameters.ts'

/** Names that a tag can contain. */
const TAG_NAME = '[^<>\\s]{1,256}'
/** Texts that do not contain the beginning of their closing tag. */
const UP_TO_PARAMETER_END = '(?:[^<]|<+[^</]|<+/[^p<])*'
const UP_TO_VALUE_END = '(?:[^<]|<+[^</]|<+/[^a<])*'

/**
 * The value of a parameter as `typedJson` reads it: a string if strings are allowed, otherwise JSON.
 * `upToEnd`: the texts that the form can contain.
 */
function plainValue(grammar: Grammar, schema: unknown, parameters: ToolParameters, upToEnd: string): NodeId {
  const { types, values } = allowedBy(schema, parameters)
  if (!types.has('string')) return parameterNode(grammar, schema, parameters)
  const choices = values.filter((value) => typeof value === 'string')
  const text = choices.length > 0 ? oneOf(grammar, choices) : patternNode(grammar, upToEnd)
  return types.has('null') ? grammar.alt(text, grammar.text('null')) : text
}

/** Arguments in the order of the schema, or any arguments if the schema is not enforced. */
function argumentsNode(
  grammar: Grammar,
  parameters: ToolParameters | undefined,
  tag: (name: NodeId, value: NodeId) => NodeId,
  upToEnd: string,
): NodeId {
  if (parameters === undefined) {
    const any = tag(patternNode(grammar, TAG_NAME), patternNode(grammar, upToEnd))
    return grammar.repeat(any, 0, UNBOUNDED)
  }
  const { properties = {}, required = [] } = parameters
  if (!areNames(properties, TAG_NAME)) return grammar.never
  return grammar.seq(
    ...Object.entries(properties).map(([name, schema]) => {
      const value = plainValue(grammar, schema, parameters, upToEnd)
      const node = tag(grammar.text(name), value)
      return required.includes(name) ? node : grammar.optional(node)
    }),
  )
}

/** `<parameter=a>1</parameter>` for each argument. */
export function tagsNode(grammar: Grammar, parameters: ToolParameters | undefined): NodeId {
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
  return argumentsNode(grammar, parameters, tag, UP_TO_PARAMETER_END)
}

/** `<arg_key>a</arg_key><arg_value>1</arg_value>` for each argument. */
export function pairsNode(grammar: Grammar, parameters: ToolParameters | undefined): NodeId {
  const line = grammar.optional(grammar.text('\n'))
  const pair = (name: NodeId, value: NodeId) =>
    grammar.seq(
      line,
      grammar.text('<arg_key>'),
      name,
      grammar.text('</arg_key>'),
      line,
      grammar.text('<arg_value>'),
      value,
      grammar.text('</arg_value>'),
    )
  return argumentsNode(grammar, parameters, pair, UP_TO_VALUE_END)
}
