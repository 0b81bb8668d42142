// Grammars. In: texts and characters of a language. Out: their nodes, which do not depend on a model.
import { memo } from '../base/memo.ts'
import { addRange, emptySet, ofRange } from './byte-set.ts'
import { type CodePoints, pairs, utf8Sequences } from './code-points.ts'
import { GrammarNodes, NODE, type NodeId, UNBOUNDED } from './grammar-nodes.ts'

export { NODE, type NodeId, UNBOUNDED }

const encoder = new TextEncoder()

/** A token that a grammar names, and where it does so first. */
export interface TokenName {
  /** What stands between `<` and `>`. */
  readonly text: string
  readonly line: number
  readonly column: number
}

export class Grammar extends GrammarNodes {
  /** By operand of a token's node. */
  readonly tokens: TokenName[] = []
  /** Whether JSON is written without blanks between its parts. */
  isCompact = false
  readonly #tokenIds = new Map<string, number>()
  readonly #spelled = new Map<string, NodeId>()
  /** For each byte: the node that matches only it. */
  readonly #single: (NodeId | undefined)[] = []

  /** Exactly this text, in UTF-8. */
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

  optional(node: NodeId): NodeId {
    return this.alt(node, this.empty)
  }

  /** A rule with its body. */
  rule(name: string, body: NodeId, framed = true): NodeId {
    const rule = this.declare(name, framed)
    this.define(rule, body)
    return rule
  }

  /** The named token, or with `negated` any other. */
  namedToken(name: TokenName, negated: boolean): NodeId {
    return this.token(
      memo(this.#tokenIds, name.text, () => this.tokens.push(name) - 1),
      negated,
    )
  }
}
