// Builds nodes for texts, choices and characters, independently of any model.
import { memo } from '../base/values.ts'
import { type CodePoints, pairs, utf8Sequences } from './code-points.ts'
import { addRange, emptySet, GrammarNodes, NODE, type NodeId, ofRange, UNBOUNDED } from './grammar-nodes.ts'

/** Prefixes nested more deeply remain alternatives. */
const MAX_DEPTH = 500

export function oneOf(grammar: Grammar, texts: readonly string[]): NodeId {
  const sorted = [...new Set(texts)].map((text) => Array.from(text)).toSorted(byChars)
  return branch(grammar, sorted, 0, 0)
}

function byChars(one: readonly string[], other: readonly string[]): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const difference = one[at]!.codePointAt(0)! - other[at]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** Matches one of the sorted texts. Their first `from` characters are equal and already matched. */
function branch(
  grammar: Grammar,
  texts: readonly (readonly string[])[],
  from: number,
  depth: number,
): NodeId {
  const rest = (text: readonly string[]) => grammar.text(text.slice(from).join(''))
  if (texts.length === 1 || depth >= MAX_DEPTH) return grammar.alt(...texts.map(rest))
  return grammar.alt(
    ...groups(texts, from).map((group) => {
      if (group[0]!.length === from) return grammar.empty
      const common = commonLength(group[0]!, group.at(-1)!)
      const head = group[0]!.slice(from, common).join('')
      return grammar.seq(grammar.text(head), branch(grammar, group, common, depth + 1))
    }),
  )
}

/** Groups sorted texts by the character at a position. Texts that end there come first. */
function groups(texts: readonly (readonly string[])[], at: number): (readonly string[])[][] {
  const result: (readonly string[])[][] = []
  for (const text of texts) {
    const last = result.at(-1)
    if (last !== undefined && last[0]![at] === text[at]) last.push(text)
    else result.push([text])
  }
  return result
}

/** Length of the common prefix of the first and the last text of a sorted group, which all others share. */
function commonLength(first: readonly string[], last: readonly string[]): number {
  let length = 0
  while (length < first.length && length < last.length && first[length] === last[length]) length += 1
  return length
}

export { NODE, type NodeId, UNBOUNDED }

const encoder = new TextEncoder()

/** A token that a grammar names, and the position where it is first named. */
export interface TokenName {
  /** The text between `<` and `>`. */
  readonly text: string
  readonly line: number
  readonly column: number
}

export class Grammar extends GrammarNodes {
  /** Indexed by the operand of the token's node. */
  readonly tokens: TokenName[] = []
  /** Whether JSON is written without whitespace between its parts. */
  isCompact = false
  /** True if values that must differ are not compared, because the surrounding text is not JSON. */
  isLoose = false
  readonly #tokenIds = new Map<string, number>()
  readonly #named = new Map<string, NodeId>()
  readonly #spelled = new Map<string, NodeId>()
  /** For each byte, the node that matches only this byte. */
  readonly #single: (NodeId | undefined)[] = []

  override distinct(value: NodeId): NodeId {
    return this.isLoose ? value : super.distinct(value)
  }

  /** Matches exactly this text, in UTF-8. */
  text(text: string): NodeId {
    let result = this.empty
    for (const byte of encoder.encode(text).reverse()) {
      this.#single[byte] ??= this.bytes(ofRange(byte, byte))
      result = this.seq(this.#single[byte], result)
    }
    return result
  }

  /** One character of the set, in UTF-8. */
  chars(set: CodePoints): NodeId {
    return memo(this.#spelled, set.join(), () => {
      const ascii = emptySet()
      for (const [low, high] of pairs(set)) if (low <= 0x7f) addRange(ascii, low, Math.min(high, 0x7f))
      const rest = utf8Sequences(set).filter(([first]) => first![0] > 0x7f)
      return this.alt(
        this.bytes(ascii),
        ...rest.map((ranges) => this.seq(...ranges.map(([low, high]) => this.bytes(ofRange(low, high))))),
      )
    })
  }

  /** The node with this name, created on first use. */
  once(name: string, make: () => NodeId): NodeId {
    return memo(this.#named, name, make)
  }

  optional(node: NodeId): NodeId {
    return this.alt(node, this.empty)
  }

  /** A rule with its body. */
  rule(name: string, body: NodeId, framed = true): NodeId {
    const rule = this.declare(name, framed)
    this.define(rule, body)
    return rule
  }

  /** The named token; with `negated`, any other token. */
  namedToken(name: TokenName, negated: boolean): NodeId {
    return this.token(
      memo(this.#tokenIds, name.text, () => this.tokens.push(name) - 1),
      negated,
    )
  }
}
