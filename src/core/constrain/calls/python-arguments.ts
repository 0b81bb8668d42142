// Writes the grammar of calls in Python's syntax. Values are JSON, or Python literals at the top level.
import { allowedBy } from '../../base/calls/allowed-types.ts'
import { type Grammar, type NodeId, oneOf } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { schemaNode } from '../schema/values.ts'
import type { CallTool, ToolParameters } from '../written-grammar.ts'
import { areNames, membersNode, oneOrMore, parameterNode } from './parameters.ts'

const IDENTIFIER = '[A-Za-z_][A-Za-z0-9_]{0,255}'

/** `f(a=1, b="x")`, with the arguments in the schema's order. */
export function pythonCall(grammar: Grammar, { name, parameters }: CallTool): NodeId {
  return grammar.seq(grammar.text(`${name}(`), given(grammar, parameters), grammar.text(')'))
}

function given(grammar: Grammar, parameters: ToolParameters | undefined): NodeId {
  if (parameters === undefined) {
    const any = grammar.seq(patternNode(grammar, IDENTIFIER), grammar.text('='), schemaNode(grammar, true))
    return grammar.optional(oneOrMore(grammar, any, grammar.text(', ')))
  }
  const { properties = {}, required = [] } = parameters
  if (!areNames(properties, IDENTIFIER)) return grammar.never
  const members = Object.entries(properties).map(([each, schema]) => ({
    node: grammar.seq(grammar.text(`${each}=`), value(grammar, schema, parameters)),
    isRequired: required.includes(each),
  }))
  return membersNode(grammar, members, ', ')
}

function value(grammar: Grammar, schema: unknown, parameters: ToolParameters): NodeId {
  const json = parameterNode(grammar, schema, parameters)
  const { types, values } = allowedBy(schema, parameters)
  const words: string[] = []
  if (types.has('boolean') && values.length === 0) words.push('True', 'False')
  if (types.has('null')) words.push('None')
  return words.length === 0 ? json : grammar.alt(json, oneOf(grammar, words))
}
