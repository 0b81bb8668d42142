// Writes the grammar of Gemma's arguments: objects with bare keys, and a mark in place of the quotes of
// texts.
import { allowedBy, followed } from '../../base/calls/allowed-types.ts'
import { isObject } from '../../base/values.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { patternNode } from '../regex/pattern-node.ts'
import { schemaNode } from '../schema/values.ts'
import type { ToolParameters } from '../written-grammar.ts'
import { membersNode } from './members.ts'

const KEY = '[^:,{}\\[\\]\\s"<]{1,256}'
/** Most levels of lists and objects that a schema may ask for; deeper ones hold any value. */
const MOST_LEVELS = 8

/**
 * `{a:1,b:<escape>text<escape>}`, with the keys in the order of the schema. `quote`: the mark around texts.
 */
export const gemmaArguments = (grammar: Grammar, parameters: ToolParameters, quote: string): NodeId =>
  objectNode({ grammar, quote, root: parameters }, parameters, 0)

/** An object with any members. */
export const anyMembers = (grammar: Grammar, quote: string): NodeId =>
  objectNode({ grammar, quote, root: {} }, {}, 0)

interface Writer {
  readonly grammar: Grammar
  readonly quote: string
  /** The parameters, into which references lead. */
  readonly root: ToolParameters
}

function objectNode(writer: Writer, schema: object, level: number): NodeId {
  const { grammar } = writer
  const { properties, required = [] } = schema as ToolParameters
  const around = (inside: NodeId) => grammar.seq(grammar.text('{'), inside, grammar.text('}'))
  if (properties === undefined) {
    const any = grammar.seq(patternNode(grammar, KEY), grammar.text(':'), anyValue(writer))
    const more = grammar.repeat(grammar.seq(grammar.text(','), any), 0, UNBOUNDED)
    return around(grammar.optional(grammar.seq(any, more)))
  }
  if (!Object.keys(properties).every((name) => new RegExp(`^${KEY}$`).test(name))) return grammar.never
  const members = Object.entries(properties).map(([name, value]) => ({
    node: grammar.seq(grammar.text(`${name}:`), valueNode(writer, value, level + 1)),
    isRequired: required.includes(name),
  }))
  return around(membersNode(grammar, members, ','))
}

function valueNode(writer: Writer, given: unknown, level: number): NodeId {
  const { grammar, quote, root } = writer
  const schema = followed(given, root)
  const { types, values } = allowedBy(schema, root)
  const { items, properties } = isObject(schema) ? schema : {}
  if (level > MOST_LEVELS || types.size === 0) return anyValue(writer)
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
    nodes.push(isObject(properties) ? objectNode(writer, schema as object, level) : anyObject(writer))
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

const listOf = (grammar: Grammar, item: NodeId): NodeId => {
  const more = grammar.repeat(grammar.seq(grammar.text(','), item), 0, UNBOUNDED)
  return grammar.seq(grammar.text('['), grammar.optional(grammar.seq(item, more)), grammar.text(']'))
}

/** A text between two marks, which it may not contain: one of `choices`, or any. */
function quoted({ grammar, quote }: Writer, choices: readonly string[]): NodeId {
  const second = quote[1] as string
  const escaped = second === '|' ? '\\|' : second
  const any = patternNode(grammar, `(?:[^<]|<+[^<${escaped}])*`)
  const text = choices.length > 0 ? oneOf(grammar, choices) : any
  return grammar.seq(grammar.text(quote), text, grammar.text(quote))
}

const anyObject = (writer: Writer): NodeId => objectNode(writer, {}, 0)

/** Any value, nested as deeply as a reply is long. */
function anyValue(writer: Writer): NodeId {
  const { grammar, quote } = writer
  return grammar.once(`gemma value ${quote}`, () => {
    const rule = grammar.declare('gemma value', true)
    const any = grammar.seq(patternNode(grammar, KEY), grammar.text(':'), rule)
    const more = grammar.repeat(grammar.seq(grammar.text(','), any), 0, UNBOUNDED)
    const object = grammar.seq(grammar.text('{'), grammar.optional(grammar.seq(any, more)), grammar.text('}'))
    const plain = schemaNode(grammar, { type: ['boolean', 'number', 'null'] })
    grammar.define(rule, grammar.alt(quoted(writer, []), listOf(grammar, rule), object, plain))
    return rule
  })
}
