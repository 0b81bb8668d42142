// Values. In: a JSON Schema. Out: the grammar of the values that it allows, with a rule for each shared part.

import { memo } from '../../base/memo.ts'
import { oneOf } from '../choices.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { tooLarge } from '../refuse.ts'
import { type Dfa, dfaOfTexts } from '../regex/dfa.ts'
import { dfaNode } from '../regex/dfa-node.ts'
import { regexNode } from '../regex/nodes.ts'
import { type ArrayCase, type Case, type Conjunction, likely, type StringCase } from './cases.ts'
import { comma, freeChar, literal, quoted, space, spelledChar } from './json-text.ts'
import { stringLanguage, withLength } from './languages.ts'
import { numberNode } from './numbers.ts'
import { type ObjectParts, objectNode } from './objects.ts'
import { type Schema, SchemaDocument } from './references.ts'
import { schemasOf } from './schemas.ts'

/** Most rules: one for each part of a schema and each way of writing it. */
const MAX_RULES = 1 << 12

/**
 * The JSON values that a schema allows. Throws `unsupported` and names the keyword that cannot be enforced.
 */
export function schemaNode(grammar: Grammar, schema: unknown): NodeId {
  const whole = new SchemaDocument(schema)
  const schemas = schemasOf(whole)
  const rules = new Map<string, NodeId>()
  const ids = new Map<Schema, number>()
  // Rules that have been declared but not defined.
  const open: { readonly rule: NodeId; readonly conjunction: Conjunction }[] = []
  const parts: ObjectParts = { valueNode, isPossible, nameLanguage, refuse }
  const root = valueNode([whole.root])
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    grammar.define(next.rule, bodyOf(next.conjunction))
  }
  return root

  function valueNode(conjunction: Conjunction): NodeId {
    const real = conjunction.filter((schema) => schema !== true)
    const key = real
      .map((schema) => memo(ids, schema, () => ids.size))
      .toSorted((one, other) => one - other)
      .join()
    return memo(rules, key, () => {
      if (rules.size >= MAX_RULES) throw tooLarge('parts of a schema', MAX_RULES + 1, MAX_RULES)
      const rule = grammar.declare(`value ${key}`)
      open.push({ rule, conjunction: real })
      return rule
    })
  }

  function isPossible(conjunction: Conjunction): boolean {
    return schemas.cases(conjunction).length > 0
  }

  function nameLanguage(conjunction: Conjunction): Dfa | undefined {
    if (conjunction.length === 0) return undefined
    const cases = schemas.cases([...conjunction, { type: 'string' }])
    const texts = cases.filter((one) => one.type === 'literal').map(({ value }) => String(value))
    const strings = cases.filter((one) => one.type === 'string')
    if (strings.length === 0) return dfaOfTexts(texts)
    if (strings.length > 1 || texts.length > 0) refuse('propertyNames', 'has alternatives')
    return stringLanguage(strings[0]!)
  }

  function refuse(keyword: string, why: string): never {
    return schemas.refuse(keyword, why)
  }

  function bodyOf(conjunction: Conjunction): NodeId {
    const cases = likely(schemas.cases(conjunction))
    const texts: string[] = []
    const nodes: NodeId[] = []
    for (const one of new Set(cases)) {
      if (one.type === 'literal' && typeof one.value !== 'object') texts.push(JSON.stringify(one.value))
      else nodes.push(nodeOf(one))
    }
    if (texts.length > 0) nodes.push(oneOf(grammar, texts))
    return grammar.alt(...nodes)
  }

  function nodeOf(one: Case): NodeId {
    switch (one.type) {
      case 'literal':
        return literal(grammar, one.value)
      case 'null':
        return grammar.text('null')
      case 'boolean':
        return grammar.alt(grammar.text('true'), grammar.text('false'))
      case 'number':
        return numberNode(grammar, one)
      case 'string':
        return quoted(grammar, textNode(one))
      case 'array':
        return arrayNode(one)
      case 'object':
        return objectNode(grammar, one, parts)
      default:
        return one satisfies never
    }
  }

  function textNode(one: StringCase): NodeId {
    const { minLength, maxLength, within, outside } = one
    if (within.length === 0 && outside.length === 0) {
      return grammar.repeat(freeChar(grammar), minLength, maxLength)
    }
    const spell = (set: readonly number[]) => spelledChar(grammar, set)
    const hasLength = minLength > 0 || maxLength < UNBOUNDED
    if (within.length === 1 && outside.length === 0) {
      const pattern = hasLength ? withLength(within[0]!, minLength, maxLength) : within[0]!
      if (pattern !== undefined) return regexNode(grammar, pattern, spell)
    }
    return dfaNode(grammar, stringLanguage(one), spell)
  }

  function arrayNode({ prefix, rest, restWeight, minItems, maxItems }: ArrayCase): NodeId {
    const isOpen =
      rest !== undefined && isPossible(rest) && (restWeight !== 'unlikely' || minItems > prefix.length)
    const end = (count: number) =>
      count < minItems || count > maxItems
        ? grammar.never
        : grammar.seq(count === 0 ? grammar.empty : space(grammar), grammar.text(']'))
    const separated = (count: number, item: NodeId) =>
      count === 0 ? item : grammar.seq(comma(grammar), item)
    const first = prefix.findIndex((item) => !isPossible(item))
    const length = Math.min(first < 0 ? prefix.length : first, maxItems)
    let after = end(length)
    if (isOpen && first < 0 && maxItems > length) {
      const item = valueNode(rest)
      const more = grammar.repeat(
        separated(1, item),
        Math.max(0, minItems - Math.max(1, length)),
        maxItems - Math.max(1, length),
      )
      const close = grammar.seq(space(grammar), grammar.text(']'))
      after = length > 0 ? grammar.seq(more, close) : grammar.alt(end(0), grammar.seq(item, more, close))
    }
    for (let at = length - 1; at >= 0; at--) {
      const written = grammar.seq(separated(at, valueNode(prefix[at]!)), after)
      after = grammar.alt(end(at), written)
    }
    return grammar.seq(grammar.text('['), space(grammar), after)
  }
}
