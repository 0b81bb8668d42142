// Compiling constraints. In: a model's vocabulary, and the form of its texts. Out: constraints on one reply
// each.

import { reasonOf } from '../base/errors.ts'
import { recentMemo } from '../base/memo.ts'
import { analyse } from './analyse.ts'
import { CharacterWalks } from './character-walk.ts'
import { oneOf } from './choices.ts'
import type { TokenConstraint } from './constraint.ts'
import { parseGbnf, type TokenNames } from './gbnf.ts'
import { Grammar, type NodeId } from './grammar.ts'
import { grammarConstraints, type ModelTokens } from './grammar-constraint.ts'
import { refused, tooLarge } from './refuse.ts'
import { whole } from './regex/anchors.ts'
import { regexNode } from './regex/nodes.ts'
import { parseRegex } from './regex/syntax.ts'
import { schemaNode } from './schema/values.ts'
import { type TokenBytes, TokenTrie } from './token-trie.ts'

/** The form of a whole text. */
export type ConstraintSpec =
  /** A JSON value that a JSON Schema allows. */
  | { readonly type: 'schema'; readonly schema: unknown }
  /** A grammar in llama.cpp's GBNF. */
  | { readonly type: 'grammar'; readonly grammar: string }
  /** A regular expression that matches the whole text. */
  | { readonly type: 'pattern'; readonly pattern: string }
  /** One of these texts. */
  | { readonly type: 'choices'; readonly choices: readonly string[] }

/** Most grammars of one model that are kept, with their masks. */
const KEPT_GRAMMARS = 8

/** The constraints of one model. The vocabulary is read when the first one is compiled. */
export class ConstraintCompiler {
  readonly #source: TokenBytes & Omit<TokenNames, 'vocab'>
  readonly #vocab: number
  readonly #endIds: ReadonlySet<number>
  /** Keyed by their source; the most recently used is last. */
  readonly #compiled = new Map<string, () => TokenConstraint>()
  #tokens: ModelTokens | undefined

  /** `vocab`: number of ids in the logits. `endIds` may follow a complete text. */
  constructor(source: TokenBytes & Omit<TokenNames, 'vocab'>, vocab: number, endIds: ReadonlySet<number>) {
    this.#source = source
    this.#vocab = vocab
    this.#endIds = endIds
  }

  /** A constraint on a new text. Throws `unsupported` for a constraint that cannot be enforced. */
  constrain(spec: ConstraintSpec): TokenConstraint {
    return recentMemo(this.#compiled, keyOf(spec), KEPT_GRAMMARS, () => this.#compile(spec))()
  }

  #compile(spec: ConstraintSpec): () => TokenConstraint {
    const tokens = this.#modelTokens()
    try {
      const grammar = new Grammar(tokens.trie.alphabet)
      const root = this.#root(grammar, spec)
      return grammarConstraints(analyse(grammar, root), tokens)
    } catch (error) {
      // The engine's own limits, which stop recursion or growth that no other bound has stopped.
      if (error instanceof RangeError) throw refused(`is too large: ${error.message}`, 'make it smaller')
      throw error
    }
  }

  #root(grammar: Grammar, spec: ConstraintSpec): NodeId {
    switch (spec.type) {
      case 'grammar':
        return parseGbnf(grammar, spec.grammar, {
          vocab: this.#vocab,
          idOf: (text) => this.#source.idOf(text),
        })
      case 'schema':
        return schemaNode(grammar, spec.schema)
      case 'pattern':
        return patternNode(grammar, spec.pattern)
      case 'choices':
        if (spec.choices.length === 0) throw refused('has no choices', 'give at least one')
        return oneOf(grammar, spec.choices)
      default:
        return spec satisfies never
    }
  }

  #modelTokens(): ModelTokens {
    if (this.#tokens === undefined) {
      const trie = new TokenTrie(this.#source, this.#vocab, this.#endIds)
      this.#tokens = { trie, walks: new CharacterWalks(trie), endIds: this.#endIds }
    }
    return this.#tokens
  }
}

/** Most characters of a constraint as JSON. 100,000 choices take 3 s. */
const MAX_LENGTH = 1 << 20

/** Equal constraints give equal texts. */
function keyOf(spec: ConstraintSpec): string {
  let key: string
  try {
    key = JSON.stringify(spec)
  } catch (error) {
    throw refused(`cannot be read as JSON: ${reasonOf(error)}`, 'give a plain value without cycles')
  }
  if (key.length > MAX_LENGTH) throw tooLarge('characters', key.length, MAX_LENGTH)
  return key
}

/** The texts that a pattern matches as a whole. */
export function patternNode(grammar: Grammar, pattern: string): NodeId {
  return regexNode(grammar, whole(parseRegex(pattern)), (set) => grammar.chars(set))
}
