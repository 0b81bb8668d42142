// The grammar of an object: named properties in order, then others.
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { tooLarge } from '../refuse.ts'
import {
  complementDfa,
  type Dfa,
  dfaHas,
  dfaNode,
  dfaOfLength,
  dfaOfTexts,
  isEmpty,
  meet,
} from '../regex/dfa.ts'
import type { Conjunction, ObjectCase } from './cases.ts'
import { textCount } from './count.ts'
import { propertyOf } from './intersect.ts'
import { anyKey, colon, comma, quoted, space, spelledChar } from './json-text.ts'
import { languageOf } from './languages.ts'

/** The schema functions that an object's grammar needs. */
export interface ObjectParts {
  /** The node of a value. */
  valueNode(conjunction: Conjunction): NodeId
  /** False if it is certain that no value is allowed. */
  isPossible(conjunction: Conjunction): boolean
  /** The names that the schemas allow; undefined if all names are allowed. */
  nameLanguage(conjunction: Conjunction): Dfa | undefined
  refuse(keyword: string, why: string): never
}

/**
 * Maximum number of name patterns that are distinguished, because every combination is a separate kind of
 * key.
 */
const MAX_PATTERNS = 4
const MAX_PLACES = 1 << 16

/** Properties that are not listed by name. No two of them have the same name. */
interface Others {
  /** One such property: key and value. */
  readonly node: NodeId
  /** How many names there are. */
  readonly count: number
}

interface Member {
  readonly node: NodeId
  readonly isRequired: boolean
}

export function objectNode(grammar: Grammar, one: ObjectCase, parts: ObjectParts): NodeId {
  const names = parts.nameLanguage(one.names)
  const members: Member[] = []
  for (const name of new Set([...one.properties.keys(), ...one.required])) {
    const isRequired = one.required.has(name)
    const schemas = propertyOf(one, name)
    const isNamed = names === undefined || dfaHas(names, name)
    if (schemas === undefined || !isNamed || !parts.isPossible(schemas)) {
      if (isRequired) return grammar.never
      continue
    }
    const key = grammar.text(JSON.stringify(name))
    members.push({ node: grammar.seq(key, colon(grammar), parts.valueNode(schemas)), isRequired })
  }
  return grammar.seq(
    grammar.text('{'),
    space(grammar),
    membersNode(grammar, one, members, othersNode(grammar, one, names, parts)),
  )
}

/** The contents between the braces, including the closing brace. */
function membersNode(grammar: Grammar, one: ObjectCase, members: readonly Member[], others: Others): NodeId {
  const { minProperties, maxProperties } = one
  const counts = minProperties > 0 || maxProperties < members.length || maxProperties < UNBOUNDED
  // How many properties have been written. Without limits, all that matters is whether there are any.
  const most = counts ? Math.min(members.length, maxProperties) : Math.min(1, members.length)
  if ((most + 1) * members.length > MAX_PLACES) {
    throw tooLarge('places of properties', (most + 1) * members.length, MAX_PLACES)
  }
  let after: NodeId[] = []
  for (let count = 0; count <= most; count++) after.push(endNode(grammar, one, count, others))
  for (const { node, isRequired } of members.toReversed()) {
    const before: NodeId[] = []
    for (let count = 0; count <= most; count++) {
      const next = counts ? count + 1 : 1
      const isFull = counts && next > most
      const written = isFull
        ? grammar.never
        : grammar.seq(count === 0 ? grammar.empty : comma(grammar), node, after[next]!)
      before.push(isRequired ? written : grammar.alt(written, after[count]!))
    }
    after = before
  }
  return after[0]!
}

/**
 * What follows the named properties, `count` of which have been written: other properties and the closing
 * brace.
 */
function endNode(
  grammar: Grammar,
  { minProperties, maxProperties }: ObjectCase,
  count: number,
  { node: other, count: names }: Others,
): NodeId {
  const lacking = Math.max(0, minProperties - count)
  const left = Math.min(maxProperties - count, names)
  const brace = grammar.text('}')
  const close = grammar.seq(space(grammar), brace)
  if (lacking > names) return grammar.never
  if (names === 0) return count === 0 ? brace : close
  const next = grammar.seq(comma(grammar), other)
  if (count > 0) return grammar.seq(grammar.repeat(next, lacking, left), close)
  const some =
    left > 0
      ? grammar.seq(other, grammar.repeat(next, Math.max(0, lacking - 1), left - 1), close)
      : grammar.never
  return lacking > 0 ? some : grammar.alt(brace, some)
}

function othersNode(grammar: Grammar, one: ObjectCase, names: Dfa | undefined, parts: ObjectParts): Others {
  const { patterns, additional, additionalWeight } = one
  const isOpen = additional !== undefined && additionalWeight !== 'unlikely' && parts.isPossible(additional)
  const named = [...new Set([...one.properties.keys(), ...one.required])]
  const member = (key: NodeId, value: Conjunction) =>
    grammar.seq(one.maxProperties > 1 ? grammar.distinct(key) : key, colon(grammar), parts.valueNode(value))
  if (!isOpen && patterns.length === 0) return { node: grammar.never, count: 0 }
  if (patterns.length === 0 && named.length === 0 && names === undefined) {
    return { node: member(anyKey(grammar), additional!), count: UNBOUNDED }
  }
  if (patterns.length > MAX_PATTERNS) {
    parts.refuse(
      'patternProperties',
      `has ${patterns.length} patterns; at most ${MAX_PATTERNS} are supported`,
    )
  }
  const options: NodeId[] = []
  let count = 0
  const free = meet(names ?? dfaOfLength(0, UNBOUNDED), complementDfa(dfaOfTexts(named)))
  for (let subset = 0; subset < 1 << patterns.length; subset++) {
    const inside = patterns.filter((_, index) => (subset >> index) % 2 === 1)
    const value =
      subset === 0 ? (isOpen ? additional : undefined) : inside.flatMap((pattern) => pattern.value)
    if (value === undefined || !parts.isPossible(value)) continue
    const keys = patterns.reduce((left, pattern) => {
      const language = languageOf(pattern.names)
      return meet(left, inside.includes(pattern) ? language : complementDfa(language))
    }, free)
    if (isEmpty(keys)) continue
    count += textCount(keys)
    const inQuotes = dfaNode(grammar, keys, (set) => spelledChar(grammar, set))
    options.push(member(quoted(grammar, inQuotes), value))
  }
  return { node: grammar.alt(...options), count }
}
