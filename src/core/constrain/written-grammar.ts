// A grammar as lists that can be sent to another thread, and read there with a model's bytes and tokens.

import type { Grammar, TokenName } from './grammar.ts'
import { type ByteSet, GrammarNodes, NODE, type NodeId } from './grammar-nodes.ts'

/** The form of a whole text. */
export type ConstraintSpec =
  /** A JSON value that a JSON Schema allows. `compact`: without whitespace between tokens. Default false. */
  | { readonly type: 'schema'; readonly schema: unknown; readonly compact?: boolean | undefined }
  /** A grammar in llama.cpp's GBNF. */
  | { readonly type: 'grammar'; readonly grammar: string }
  /** A regular expression that matches the whole text. */
  | { readonly type: 'pattern'; readonly pattern: string }
  /** One of these texts. */
  | { readonly type: 'choices'; readonly choices: readonly string[] }
  /** What may follow the marker of a call to one of these tools. */
  | { readonly type: 'calls'; readonly tools: readonly CallTool[] }

/** A tool that may be called. */
export interface CallTool {
  readonly name: string
  /** JSON Schema of the arguments. Undefined: any object. */
  readonly parameters?: ToolParameters | undefined
}

/** The parts of a tool's schema that forms other than JSON need. */
export interface ToolParameters {
  readonly properties?: { readonly [name: string]: boolean | ToolParameter } | undefined
  readonly required?: readonly string[] | undefined
  readonly $defs?: object | undefined
  readonly definitions?: object | undefined
}

interface ToolParameter {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
}

/**
 * The tokens that may come next in one reply. Tracks the position in the reply; the grammar itself is shared.
 */
export interface TokenConstraint {
  /**
   * The mask for the next token, in words of 32 ids: bit `id % 32` of word `id >> 5` is set if the id is
   * allowed. There is a word for every id of the logits, and at least one bit is set. The mask is read-only
   * and valid until the next call. End-of-text ids are allowed only if the text may end. Throws `unsupported`
   * if no token fits.
   */
  mask(): Uint32Array
  /**
   * Records the token that was picked. An end-of-text id changes nothing. Throws `internal` for a token that
   * the mask forbids.
   */
  accept(id: number): void
  /**
   * Adds a text that was written before the constraint began. Returns false, without adding it, if the
   * constraint does not allow it.
   */
  acceptText(text: Uint8Array): boolean
  /** True if the accepted text is complete and may end here. */
  readonly canEnd: boolean
  /** True if only the end may follow. */
  readonly mustEnd: boolean
  /**
   * Ids that are likely next, because the constraint leaves no choice except in whitespace and tokenization.
   * Empty if there is any other choice. The constraint may forbid some of the ids.
   */
  expectedIds(): readonly number[]
  /** A copy in the same state, for forks and for speculation. */
  copy(): TokenConstraint
}

/** The part of a constraint that a reply uses. Without a mask, any token may come next. */
export interface ReplyConstraint
  extends Pick<TokenConstraint, 'accept' | 'canEnd' | 'mustEnd' | 'expectedIds'> {
  mask(): Uint32Array | undefined
}

/** The nodes of a `GrammarNodes`. Lists are flat, because every message is searched for nested values. */
export interface WrittenGrammar {
  /** Equal for equal constraints. */
  readonly key: string
  readonly root: NodeId
  readonly kinds: Uint8Array
  readonly a: Float64Array
  readonly b: Float64Array
  readonly c: Float64Array
  /** All lists of options, one after another. */
  readonly options: Uint32Array
  /** Where each list ends. [list] */
  readonly optionEnds: Uint32Array
  /** [set * 8 + word] */
  readonly sets: Uint32Array
  readonly ruleNames: readonly string[]
  /** 1 for a framed rule. [rule] */
  readonly framed: Uint8Array
  /** [rule] */
  readonly bodies: Uint32Array
  readonly tokens: readonly TokenName[]
}

/** Words of a byte set. */
const SET_WORDS = 8

export function writtenGrammar(grammar: Grammar, root: NodeId, key: string): WrittenGrammar {
  const { kinds, a, b, c, options, sets, rules, tokens } = grammar
  let end = 0
  return {
    key,
    root,
    kinds: Uint8Array.from(kinds),
    a: Float64Array.from(a),
    b: Float64Array.from(b),
    c: Float64Array.from(c),
    options: Uint32Array.from(options.flat()),
    optionEnds: Uint32Array.from(options, (list) => (end += list.length)),
    sets: Uint32Array.from(sets.flatMap((set) => [...set])),
    ruleNames: rules.map(({ name }) => name),
    framed: Uint8Array.from(rules, ({ framed }) => Number(framed)),
    bodies: Uint32Array.from(rules, ({ body }) => body ?? grammar.never),
    tokens,
  }
}

/**
 * The grammar over the bytes of `alphabet`, with the ids of its tokens. `tokenId` throws for a token that the
 * model lacks.
 */
export function readGrammar(
  written: WrittenGrammar,
  alphabet: ByteSet,
  tokenId: (name: TokenName) => number,
): { readonly grammar: GrammarNodes; readonly root: NodeId } {
  const { kinds, a, b, c, options, optionEnds, sets, ruleNames, framed, bodies } = written
  const grammar = new GrammarNodes(alphabet)
  const ids = written.tokens.map(tokenId)
  // A node's parts have lower numbers than the node, except the body of a rule.
  const nodes = new Uint32Array(kinds.length)
  const listOf = (list: number) => options.subarray(optionEnds[list - 1] ?? 0, optionEnds[list])
  const read = (node: NodeId): NodeId => {
    const first = a[node]!
    const second = b[node]!
    switch (kinds[node]) {
      case NODE.empty:
        return grammar.empty
      case NODE.bytes:
        return grammar.bytes(sets.slice(first * SET_WORDS, (first + 1) * SET_WORDS))
      case NODE.seq:
        return grammar.seq(nodes[first]!, nodes[second]!)
      case NODE.alt:
        return grammar.alt(...Array.from(listOf(first), (option) => nodes[option]!))
      case NODE.repeat:
        return grammar.repeat(nodes[first]!, second, c[node]!)
      case NODE.rule:
        return grammar.declare(ruleNames[first]!, framed[first] === 1)
      case NODE.distinct:
        return grammar.distinct(nodes[first]!)
      case NODE.check:
        // A check belongs to the `distinct` node that follows, which creates it.
        return grammar.empty
      default:
        return grammar.token(ids[first]!, second === 1)
    }
  }
  for (let node = 0; node < nodes.length; node++) nodes[node] = read(node)
  for (let node = 0; node < nodes.length; node++) {
    if (kinds[node] === NODE.rule) grammar.define(nodes[node]!, nodes[bodies[a[node]!]!]!)
  }
  return { grammar, root: nodes[written.root]! }
}
