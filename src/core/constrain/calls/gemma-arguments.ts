// Writes the grammar of Gemma's arguments: objects with bare keys, and marks in place of quotes around
// strings.
import { allowedBy, followed } from '../../base/calls/allowed-types.ts'
import { isObject } from '../../base/values.ts'
import { type Grammar, type NodeId, oneOf } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { schemaNode } from '../schema/values.ts'
import type { ToolParameters } from '../written-grammar.ts'
import { areNames, membersNode, oneOrMore } from './parameters.ts'

const KEY = '[^:,{}\\[\\]\\s"<]{1,256}'
/** Maximum depth to which lists and objects follow the schema; deeper ones may contain any value. */
const MAX_LEVELS = 8

/**
 * `{a:1,b:<escape>text<escape>}`, with the keys in the schema's order, or with any keys if there is no
 * schema. `quote`: the mark around strings.
 */
export const gemmaArguments = (
  grammar: Grammar,
  parameters: ToolParameters | undefined,
  quote: string,
): NodeId => objectNode({ grammar, quote, root: parameters ?? {} }, parameters ?? {}, 0)

interface Writer {
  readonly grammar: Grammar
  readonly quote: string
  /** The parameters that references point into. */
  readonly root: ToolParameters
}

function objectNode(writer: Writer, schema: object, level: number): NodeId {
  const { grammar } = writer
  const { properties, required = [] } = schema as ToolParameters
  if (properties === undefined) return anyObject(grammar, anyValue(writer))
  if (!areNames(properties, KEY)) return grammar.never
  const members = Object.entries(properties).map(([name, value]) => ({
    node: grammar.seq(grammar.text(`${name}:`), valueNode(writer, value, level + 1)),
    isRequired: required.includes(name),
  }))
  return grammar.seq(grammar.text('{'), membersNode(grammar, members, ','), grammar.text('}'))
}

function valueNode(writer: Writer, given: unknown, level: number): NodeId {
  const { grammar, quote, root } = writer
  const schema = followed(given, root)
  const { types, values } = allowedBy(schema, root)
  const { items, properties } = isObject(schema) ? schema : {}
  if (level > MAX_LEVELS || types.size === 0) return anyValue(writer)
  const nodes: NodeId[] = []
  const texts = values.filter((value) => typeof value === 'string')
  if (types.has('string'))
    nodes.push(
      quoted(
        writer,
        texts.filter((text) => !text.includes(quote)),
      ),
    )
  if (types.has('array')) nodes.push(listOf(grammar, valueNode(writer, items, level + 1)))
  if (types.has('object'))
    nodes.push(objectNode(writer, isObject(properties) ? (schema as object) : {}, level))
  const plain = ['boolean', 'integer', 'number', 'null'].filter((type) => types.has(type))
  const others = values.filter((value) => typeof value !== 'string')
  if (others.length > 0) nodes.push(schemaNode(grammar, { enum: others }))
  else if (plain.length > 0 && texts.length === 0)
    nodes.push(
      schemaNode(grammar, {
        ...(isObject(schema) && plain.length === types.size ? schema : {}),
        type: plain,
      }),
    )
  return grammar.alt(...nodes)
}

/** Comma-separated items in brackets. */
const enclosed = (grammar: Grammar, open: string, item: NodeId, close: string): NodeId =>
  grammar.seq(
    grammar.text(open),
    grammar.optional(oneOrMore(grammar, item, grammar.text(','))),
    grammar.text(close),
  )

const listOf = (grammar: Grammar, item: NodeId): NodeId => enclosed(grammar, '[', item, ']')

/** An object with any keys. */
const anyObject = (grammar: Grammar, value: NodeId): NodeId =>
  enclosed(grammar, '{', grammar.seq(patternNode(grammar, KEY), grammar.text(':'), value), '}')

/** A string between two marks, which it may not contain: one of `choices`, or any string. */
function quoted({ grammar, quote }: Writer, choices: readonly string[]): NodeId {
  const second = quote[1] as string
  const escaped = second === '|' ? '\\|' : second
  const any = patternNode(grammar, `(?:[^<]|<+[^<${escaped}])*`)
  const text = choices.length > 0 ? oneOf(grammar, choices) : any
  return grammar.seq(grammar.text(quote), text, grammar.text(quote))
}

/** Any value, nested to any depth. */
function anyValue(writer: Writer): NodeId {
  const { grammar, quote } = writer
  return grammar.once(`gemma value ${quote}`, () => {
    const rule = grammar.declare('gemma value', true)
    const plain = schemaNode(grammar, { type: ['boolean', 'number', 'null'] })
    grammar.define(
      rule,
      grammar.alt(quoted(writer, []), listOf(grammar, rule), anyObject(grammar, rule), plain),
    )
    return rule
  })
}
