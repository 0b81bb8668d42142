// Shared parts of argument grammars: lists with separators, and schemas of single parameters.
import { isObject } from '../../base/values.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { schemaNode } from '../schema/values.ts'
import type { ToolParameters } from '../written-grammar.ts'

export interface Member {
  readonly node: NodeId
  readonly isRequired: boolean
}

/** The members in order, with `separator` between those that are present. */
export function membersNode(grammar: Grammar, members: readonly Member[], separator: string): NodeId {
  let first = grammar.empty
  let next = grammar.empty
  for (const { node, isRequired } of members.toReversed()) {
    const begins = grammar.seq(node, next)
    const goesOn = grammar.seq(grammar.text(separator), node, next)
    first = isRequired ? begins : grammar.alt(begins, first)
    next = isRequired ? goesOn : grammar.alt(goesOn, next)
  }
  return first
}

/** One or more of the item, with separators in between. */
export const oneOrMore = (grammar: Grammar, item: NodeId, separator: NodeId): NodeId =>
  grammar.seq(item, grammar.repeat(grammar.seq(separator, item), 0, UNBOUNDED))

/** The JSON values of one parameter, whose schema may refer to shared definitions. */
export function parameterNode(
  grammar: Grammar,
  schema: unknown,
  { $defs = {}, definitions = {} }: ToolParameters,
): NodeId {
  return schemaNode(grammar, isObject(schema) ? { $defs, definitions, ...schema } : schema)
}

/** Whether a form can express the names of all properties. */
export const areNames = (properties: object, pattern: string): boolean =>
  Object.keys(properties).every((name) => new RegExp(`^${pattern}$`).test(name))
