// Writes the grammar of arguments that each have a tag and no quotes.
import { type Allowed, allowedBy } from '../../base/calls/allowed-types.ts'
import { type CallTags, GLM_PAIRS, type PairTags } from '../../base/calls/marks.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { space } from '../schema/json-text.ts'
import type { ToolParameters } from '../written-grammar.ts'
import { areNames, parameterNode } from './parameters.ts'

/** Names that a tag can contain. */
const TAG_NAME = '[^<>\\s]{1,256}'
/** Texts that do not contain the beginning of their closing tag, whose name begins with `first`. */
const upToEnd = (grammar: Grammar, first: string): NodeId =>
  patternNode(grammar, `(?:[^<]|<+[^</]|<+/[^${first}<])*`)

/** How a form writes values: any value, or the values that a schema allows. */
interface Values {
  readonly any: NodeId
  of(schema: unknown, parameters: ToolParameters): NodeId
}

/** One of the texts in `values`; any text that the form can contain if `values` is empty. */
function textNode(grammar: Grammar, { values }: Allowed, any: NodeId): NodeId {
  const choices = values.filter((value) => typeof value === 'string')
  return choices.length > 0 ? oneOf(grammar, choices) : any
}

/** Values as `typedJson` reads them: a string if strings are allowed, otherwise JSON. */
const plainValues = (grammar: Grammar, any: NodeId): Values => ({
  any,
  of(schema, parameters) {
    const allowed = allowedBy(schema, parameters)
    if (!allowed.types.has('string')) return parameterNode(grammar, schema, parameters)
    const text = textNode(grammar, allowed, any)
    return allowed.types.has('null') ? grammar.alt(text, grammar.text('null')) : text
  },
})

/** Arguments in the schema's order, or any arguments if the schema is not enforced. */
function argumentsNode(
  grammar: Grammar,
  parameters: ToolParameters | undefined,
  tag: (name: NodeId, value: NodeId) => NodeId,
  values: Values,
): NodeId {
  if (parameters === undefined)
    return grammar.repeat(tag(patternNode(grammar, TAG_NAME), values.any), 0, UNBOUNDED)
  const { properties = {}, required = [] } = parameters
  if (!areNames(properties, TAG_NAME)) return grammar.never
  return grammar.seq(
    ...Object.entries(properties).map(([name, schema]) => {
      const node = tag(grammar.text(name), values.of(schema, parameters))
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
  return argumentsNode(grammar, parameters, tag, plainValues(grammar, upToEnd(grammar, 'p')))
}

/** `<arg_key>a</arg_key><arg_value>1</arg_value>` for each argument. */
export function pairsNode(
  grammar: Grammar,
  parameters: ToolParameters | undefined,
  { key, value: valueTag }: PairTags = GLM_PAIRS,
): NodeId {
  const line = grammar.optional(grammar.text('\n'))
  const pair = (name: NodeId, value: NodeId) =>
    grammar.seq(
      line,
      grammar.text(`<${key}>`),
      name,
      grammar.text(`</${key}>`),
      line,
      grammar.text(`<${valueTag}>`),
      value,
      grammar.text(`</${valueTag}>`),
    )
  return argumentsNode(grammar, parameters, pair, plainValues(grammar, upToEnd(grammar, valueTag[0]!)))
}

/** `<parameter name="a">1</parameter>` for each argument. */
export function invokedNode(
  grammar: Grammar,
  parameters: ToolParameters | undefined,
  { parameter, saysTexts = false }: CallTags,
): NodeId {
  const tag = (name: NodeId, value: NodeId) =>
    grammar.seq(
      grammar.text(`<${parameter} name="`),
      name,
      grammar.text(saysTexts ? '"' : '">'),
      value,
      grammar.text(`</${parameter}>`),
      space(grammar),
    )
  const values = saysTexts ? saidValues : plainValues
  return argumentsNode(grammar, parameters, tag, values(grammar, upToEnd(grammar, parameter[0]!)))
}

/** Values after an attribute that says whether they are strings. */
function saidValues(grammar: Grammar, any: NodeId): Values {
  const text = (value: NodeId) => grammar.seq(grammar.text(' string="true">'), value)
  return {
    any: text(any),
    of(schema, parameters) {
      const allowed = allowedBy(schema, parameters)
      return allowed.types.has('string')
        ? text(textNode(grammar, allowed, any))
        : grammar.seq(grammar.text(' string="false">'), parameterNode(grammar, schema, parameters))
    },
  }
}
