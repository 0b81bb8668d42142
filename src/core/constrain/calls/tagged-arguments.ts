// Writes the grammar of arguments that each have a tag, without quotes.
import { allowedBy } from '../../base/calls/allowed-types.ts'
import { type CallTags, GLM_PAIRS, type PairTags } from '../../base/calls/marks.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { space } from '../schema/json-text.ts'
import type { ToolParameters } from '../written-grammar.ts'
import { areNames, parameterNode } from './parameters.ts'

/** Names that a tag can contain. */
const TAG_NAME = '[^<>\\s]{1,256}'
/** Texts that do not contain the beginning of their closing tag, whose name begins with `first`. */
const upToEnd = (first: string): string => `(?:[^<]|<+[^</]|<+/[^${first}<])*`

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

/** How a form writes values: any value, and those that a schema allows. */
interface Values {
  readonly any: NodeId
  of(schema: unknown, parameters: ToolParameters): NodeId
}

const plainValues = (grammar: Grammar, upToEnd: string): Values => ({
  any: patternNode(grammar, upToEnd),
  of: (schema, parameters) => plainValue(grammar, schema, parameters, upToEnd),
})

/** Arguments in the order of the schema, or any arguments if the schema is not enforced. */
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
  return argumentsNode(grammar, parameters, tag, plainValues(grammar, upToEnd('p')))
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
  return argumentsNode(grammar, parameters, pair, plainValues(grammar, upToEnd(valueTag[0]!)))
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
  const plain = plainValues(grammar, upToEnd(parameter[0]!))
  return argumentsNode(grammar, parameters, tag, saysTexts ? saidValues(grammar, plain) : plain)
}

/** Values after an attribute that says whether they are strings. */
function saidValues(grammar: Grammar, plain: Values): Values {
  const text = (value: NodeId) => grammar.seq(grammar.text(' string="true">'), value)
  return {
    any: text(plain.any),
    of: (schema, parameters) =>
      allowedBy(schema, parameters).types.has('string')
        ? text(plain.of(textsOnly(schema, parameters), parameters))
        : grammar.seq(grammar.text(' string="false">'), parameterNode(grammar, schema, parameters)),
  }
}

/** The part of a schema that allows strings. */
function textsOnly(schema: unknown, parameters: ToolParameters): object {
  const texts = allowedBy(schema, parameters).values.filter((value) => typeof value === 'string')
  return { type: 'string', ...(texts.length > 0 && { enum: texts }) }
}
