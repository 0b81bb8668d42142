// Writes the grammar of arguments that have a tag each, and no quotes.
import { allowedBy } from '../../base/calls/allowed-types.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { space } from '../schema/json-text.ts'
import { schemaNode } from '../schema/values.ts'
import type { ToolParameters } from '../written-grammar.ts'

/** What a tag can name. */
const TAG_NAME = '[^<>\\s]{1,256}'
/** Texts without the beginning of the tag that closes them. */
const UP_TO_PARAMETER_END = '(?:[^<]|<+[^</]|<+/[^p<])*'
const UP_TO_VALUE_END = '(?:[^<]|<+[^</]|<+/[^a<])*'

/**
 * The value of a parameter as `typedJson` reads it: a text where texts are allowed, else JSON. `anyText`:
 * the texts that the form can hold.
 */
export function plainValue(
  grammar: Grammar,
  schema: unknown,
  parameters: ToolParameters,
  anyText: (choices: readonly string[]) => NodeId,
): NodeId {
  const { types, values } = allowedBy(schema, parameters)
  const isNullable = types.has('null')
  if (types.has('string')) {
    const text = anyText(values.filter((value) => typeof value === 'string'))
    return isNullable ? grammar.alt(text, grammar.text('null')) : text
  }
  const { $defs = {}, definitions = {} } = parameters
  return schemaNode(
    grammar,
    typeof schema === 'object' && schema !== null ? { $defs, definitions, ...schema } : schema,
  )
}

const textNode =
  (grammar: Grammar, pattern: string) =>
  (choices: readonly string[]): NodeId =>
    choices.length > 0 ? oneOf(grammar, choices) : patternNode(grammar, pattern)

/** Arguments in the order of the schema, any where it is not to be enforced. */
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
  if (!Object.keys(properties).every((name) => new RegExp(`^${TAG_NAME}$`).test(name))) return grammar.never
  return grammar.seq(
    ...Object.entries(properties).map(([name, schema]) => {
      const value = plainValue(grammar, schema, parameters, textNode(grammar, upToEnd))
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
