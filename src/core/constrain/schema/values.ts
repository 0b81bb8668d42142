// The grammar of the values that a JSON Schema allows, with a rule for each shared part.

import { memo } from '../../base/values.ts'
import { type Grammar, type NodeId, oneOf, UNBOUNDED } from '../grammar.ts'
import { budgetOf } from '../refuse.ts'
import { type Dfa, dfaNode, dfaOfTexts, regexNode } from '../regex/dfa.ts'
import { type ArrayCase, type Case, type Conjunction, canonical, likely, type StringCase } from './cases.ts'
import { countOf } from './count.ts'
import { comma, freeChar, type Json, literal, quoted, space, spelledChar } from './json-text.ts'
import { shortest, stringLanguage, withLength, writtenLanguage } from './languages.ts'
import { numberNode } from './numbers.ts'
import { type ObjectParts, objectNode } from './objects.ts'
import { type Schema, SchemaDocument } from './references.ts'
import { Schemas } from './schemas.ts'
import { areSchemasApart } from './subtract.ts'
import { listedValues, mostTaken } from './unique.ts'

/** Maximum number of items that `contains` may require. */
const MAX_CONTAINED = 64
/** Maximum number of values of unique items for which the grammar tracks the remaining ones. */
const MAX_PERMUTED = 8
/**
 * Limits up to which the number of used values is computed exactly: listed values of an item, and items
 * before it.
 */
const MAX_MATCHED = { values: 16, items: 64 }
/** Maximum number of rules: one for each part of a schema and each way of writing it. */
const MAX_RULES = 1 << 12

/**
 * The grammar of the JSON values that a schema allows. Throws `unsupported` and names the keyword that cannot
 * be enforced.
 */
export function schemaNode(grammar: Grammar, schema: unknown): NodeId {
  return new SchemaWriter(grammar, new SchemaDocument(schema)).write()
}

class SchemaWriter implements ObjectParts {
  readonly #grammar: Grammar
  readonly #whole: SchemaDocument
  readonly #schemas: Schemas
  readonly #rules = new Map<string, NodeId>()
  readonly #ids = new Map<Schema, number>()
  readonly #budget = budgetOf('parts of a schema', MAX_RULES)
  /** Rules that have been declared but not defined. */
  readonly #open: { readonly rule: NodeId; readonly conjunction: Conjunction }[] = []

  constructor(grammar: Grammar, whole: SchemaDocument) {
    this.#grammar = grammar
    this.#whole = whole
    this.#schemas = new Schemas(whole)
  }

  write(): NodeId {
    const root = this.valueNode([this.#whole.root])
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      this.#grammar.define(next.rule, this.#bodyOf(next.conjunction))
    }
    return root
  }

  valueNode(conjunction: Conjunction): NodeId {
    const real = conjunction.filter((schema) => schema !== true)
    const key = real
      .map((schema) => memo(this.#ids, schema, () => this.#ids.size))
      .toSorted((one, other) => one - other)
      .join()
    return memo(this.#rules, key, () => {
      this.#budget.spend(1)
      const rule = this.#grammar.declare(`value ${key}`)
      this.#open.push({ rule, conjunction: real })
      return rule
    })
  }

  isPossible(conjunction: Conjunction): boolean {
    return this.#schemas.cases(conjunction).length > 0
  }

  nameLanguage(conjunction: Conjunction): Dfa | undefined {
    if (conjunction.length === 0) return undefined
    const cases = this.#schemas.cases([...conjunction, { type: 'string' }])
    const texts = cases.filter((one) => one.type === 'literal').map(({ value }) => String(value))
    const strings = cases.filter((one) => one.type === 'string')
    if (strings.length === 0) return dfaOfTexts(texts)
    if (strings.length > 1 || texts.length > 0) this.refuse('propertyNames', 'has alternatives')
    return stringLanguage(strings[0]!)
  }

  refuse(keyword: string, why: string): never {
    return this.#schemas.refuse(keyword, why)
  }

  #bodyOf(conjunction: Conjunction): NodeId {
    const cases = likely(this.#schemas.cases(conjunction))
    const texts: string[] = []
    const nodes: NodeId[] = []
    for (const one of new Set(cases)) {
      if (one.type === 'literal' && typeof one.value !== 'object') texts.push(JSON.stringify(one.value))
      else nodes.push(this.#nodeOf(one))
    }
    if (texts.length > 0) nodes.push(oneOf(this.#grammar, texts))
    return this.#grammar.alt(...nodes)
  }

  #nodeOf(one: Case): NodeId {
    switch (one.type) {
      case 'literal':
        return literal(this.#grammar, one.value)
      case 'null':
        return this.#grammar.text('null')
      case 'boolean':
        return this.#grammar.alt(this.#grammar.text('true'), this.#grammar.text('false'))
      case 'number':
        return numberNode(this.#grammar, one)
      case 'string':
        return quoted(this.#grammar, this.#textNode(one))
      case 'array':
        return this.#arrayNode(one)
      case 'object':
        return objectNode(this.#grammar, one, this)
      default:
        return one satisfies never
    }
  }

  #textNode(one: StringCase): NodeId {
    const grammar = this.#grammar
    const { maxLength, within, outside } = one
    const isLong = within.some((regex) => shortest(regex) >= one.minLength)
    const minLength = isLong ? 0 : one.minLength
    if (within.length === 0 && outside.length === 0) {
      return grammar.repeat(freeChar(grammar), minLength, maxLength)
    }
    const spell = (set: readonly number[]) => spelledChar(grammar, set)
    const hasLength = minLength > 0 || maxLength < UNBOUNDED
    if (within.length === 1 && outside.length === 0) {
      const pattern = hasLength ? withLength(within[0]!, minLength, maxLength) : within[0]!
      if (pattern !== undefined) return regexNode(grammar, pattern, spell)
    }
    return dfaNode(grammar, writtenLanguage({ ...one, minLength }), spell)
  }

  #arrayNode(one: ArrayCase): NodeId {
    const contained = one.contains === undefined ? one : this.#withContained(one, one.contains)
    if (!one.isUnique || one.maxItems < 2) return this.#itemsNode(contained)
    const lists = this.#listed(one)
    return lists === undefined
      ? this.#itemsNode(this.#withinCounts(contained))
      : this.#permutedNode(one, lists)
  }

  #itemsNode(one: ArrayCase): NodeId {
    const grammar = this.#grammar
    const { prefix, rest, minItems, maxItems } = one
    const isOpen = rest !== undefined && this.isPossible(rest) && isRestWritten(one)
    const end = (count: number) =>
      count < minItems || count > maxItems
        ? grammar.never
        : grammar.seq(count === 0 ? grammar.empty : space(grammar), grammar.text(']'))
    const separated = (count: number, schemas: Conjunction) => {
      const value = this.valueNode(schemas)
      const item = one.isUnique && maxItems > 1 ? grammar.distinct(value) : value
      return count === 0 ? item : grammar.seq(comma(grammar), item)
    }
    const first = prefix.findIndex((item) => !this.isPossible(item))
    const length = Math.min(first < 0 ? prefix.length : first, maxItems)
    let after = end(length)
    if (isOpen && first < 0 && maxItems > length) {
      const more = grammar.repeat(
        separated(1, rest),
        Math.max(0, minItems - Math.max(1, length)),
        maxItems - Math.max(1, length),
      )
      const close = grammar.seq(space(grammar), grammar.text(']'))
      after =
        length > 0
          ? grammar.seq(more, close)
          : grammar.alt(end(0), grammar.seq(separated(0, rest), more, close))
    }
    for (let at = length - 1; at >= 0; at--) {
      const written = grammar.seq(separated(at, prefix[at]!), after)
      after = grammar.alt(end(at), written)
    }
    return grammar.seq(grammar.text('['), space(grammar), after)
  }

  /** The items that `contains` counts come first, then the others. */
  #withContained(one: ArrayCase, contains: NonNullable<ArrayCase['contains']>): ArrayCase {
    const { schema, min, max } = contains
    const { prefix, rest } = one
    const plain = { ...one, contains: undefined }
    if (min === 0 && max >= one.maxItems) return plain
    if (prefix.length > 0 || min > MAX_CONTAINED) {
      this.refuse('contains', `is supported without prefixItems and for up to ${MAX_CONTAINED} items`)
    }
    const least = Math.max(one.minItems, min)
    const most = Math.min(one.maxItems, max)
    const isBounded = max < one.maxItems
    if (rest === undefined) return { ...plain, minItems: least }
    const counted: Conjunction = [...rest, schema]
    const others: Conjunction = isBounded ? [{ allOf: rest, not: schema }] : rest
    const first = Array.from({ length: isBounded ? Math.min(most, min) : min }, () => counted)
    return { ...plain, prefix: first, rest: others, restWeight: 'named', minItems: least }
  }

  /** The array, limited so that every item is sure to have a value that no earlier item has used. */
  #withinCounts(one: ArrayCase): ArrayCase {
    const { prefix, rest, minItems } = one
    const casesOf = (conjunction: Conjunction) => this.#schemas.cases(conjunction)
    const cases = prefix.map(casesOf)
    /** How many values certainly remain for an item after `count` items of the prefix. */
    const left = (item: Conjunction, count: number) => {
      const values = listedValues(likely(casesOf(item)), MAX_MATCHED.values)
      if (values !== undefined && count <= MAX_MATCHED.items) {
        const canTake = (value: number, at: number) =>
          cases[at]!.some((other) => this.#schemas.accepts(other, values[value]!))
        return values.length - mostTaken(values.length, count, canTake)
      }
      const rivals = prefix.slice(0, count).filter((other) => !areSchemasApart(item, other, this.#schemas))
      return countOf(item, casesOf) - rivals.length
    }
    const full = prefix.findIndex((item, at) => left(item, at) <= 0)
    const others = rest === undefined ? 0 : left(rest, prefix.length)
    const most = full < 0 ? prefix.length + Math.max(0, others) : full
    if (minItems > most) {
      this.refuse(
        'uniqueItems',
        `asks for ${minItems} different items, but only ${most} are guaranteed to exist`,
      )
    }
    return { ...one, maxItems: Math.min(one.maxItems, most) }
  }

  /** The values of all items, if they are listed and few; undefined otherwise. */
  #listed(one: ArrayCase): Listed | undefined {
    const { prefix, rest, contains } = one
    if (contains !== undefined) return undefined
    const written = rest === undefined || !isRestWritten(one) ? [] : [rest]
    const union = new Map<string, Json>()
    const lists: (readonly string[])[] = []
    for (const item of [...prefix, ...written]) {
      const values = listedValues(likely(this.#schemas.cases(item)), MAX_PERMUTED)
      if (values === undefined) return undefined
      for (const value of values) union.set(canonical(value), value)
      if (union.size > MAX_PERMUTED) return undefined
      lists.push(values.map(canonical))
    }
    return { values: union, prefix: lists.slice(0, prefix.length), rest: lists[prefix.length] ?? [] }
  }

  /** Arrays of a few listed values. The node for the next item depends on the remaining values. */
  #permutedNode({ minItems, maxItems }: ArrayCase, { values, prefix, rest }: Listed): NodeId {
    const grammar = this.#grammar
    const known = new Map<string, NodeId>()
    const close = grammar.text(']')
    /** The rest of the array once every value except those in `left` has been used. */
    const after = (left: readonly string[]): NodeId =>
      memo(known, left.join(), () => {
        const count = values.size - left.length
        const end =
          count < minItems ? grammar.never : count === 0 ? close : grammar.seq(space(grammar), close)
        if (count >= maxItems) return end
        const allowed = prefix[count] ?? rest
        const items = left.map((value, at) => {
          if (!allowed.includes(value)) return grammar.never
          const written = grammar.seq(literal(grammar, values.get(value)!), after(left.toSpliced(at, 1)))
          return count === 0 ? written : grammar.seq(comma(grammar), written)
        })
        return grammar.alt(end, ...items)
      })
    return grammar.seq(grammar.text('['), space(grammar), after([...values.keys()]))
  }
}

/** Canonical texts of the values that each item may be. */
interface Listed {
  /** All values, keyed by their canonical texts. */
  readonly values: ReadonlyMap<string, Json>
  readonly prefix: readonly (readonly string[])[]
  readonly rest: readonly string[]
}

const isRestWritten = ({ prefix, restWeight, minItems }: ArrayCase): boolean =>
  restWeight !== 'unlikely' || minItems > prefix.length
