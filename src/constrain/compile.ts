// Compiling constraints. In: a model's vocabulary, and a written grammar. Out: constraints on one reply each.

import { recentMemo } from '../base/memo.ts'
import { analyse } from './analyse.ts'
import { CharacterWalks } from './character-walk.ts'
import type { TokenConstraint } from './constraint.ts'
import type { TokenName } from './grammar.ts'
import { grammarConstraints, type ModelTokens } from './grammar-constraint.ts'
import { bounded, gbnfFault } from './refuse.ts'
import { type TokenBytes, TokenTrie } from './token-trie.ts'
import { readGrammar, type WrittenGrammar } from './written-grammar.ts'

/** The functions of a tokenizer that constraints need. */
export interface ModelVocabulary extends TokenBytes {
  /** The id of the token with this spelling; undefined if no single token has it. */
  idOf(text: string): number | undefined
}

/** Most grammars of one model that are kept, with their masks. */
const KEPT_GRAMMARS = 8

/** The constraints of one model. The vocabulary is read when the first one is compiled. */
export class ConstraintCompiler {
  readonly #source: ModelVocabulary
  readonly #vocab: number
  readonly #endIds: ReadonlySet<number>
  /** By the grammar's key; the most recently used is last. */
  readonly #compiled = new Map<string, () => TokenConstraint>()
  #tokens: ModelTokens | undefined

  /** `vocab`: number of ids in the logits. `endIds` may follow a complete text. */
  constructor(source: ModelVocabulary, vocab: number, endIds: ReadonlySet<number>) {
    this.#source = source
    this.#vocab = vocab
    this.#endIds = endIds
  }

  /** A constraint on a new text. Throws `unsupported` for a constraint that cannot be enforced. */
  constrain(written: WrittenGrammar): TokenConstraint {
    return recentMemo(this.#compiled, written.key, KEPT_GRAMMARS, () => this.#compile(written))()
  }

  #compile(written: WrittenGrammar): () => TokenConstraint {
    const tokens = this.#modelTokens()
    return bounded(() => {
      const { grammar, root } = readGrammar(written, tokens.trie.alphabet, (name) => this.#tokenId(name))
      return grammarConstraints(analyse(grammar, root), tokens)
    })
  }

  #tokenId({ text, line, column }: TokenName): number {
    const number = /^\[([0-9]{1,9})\]$/.exec(text)?.[1]
    const id = number === undefined ? this.#source.idOf(`<${text}>`) : Number(number)
    if (id !== undefined && id < this.#vocab) return id
    throw gbnfFault(`names <${text}>, which is not one token of this model`, line, column)
  }

  #modelTokens(): ModelTokens {
    if (this.#tokens === undefined) {
      const trie = new TokenTrie(this.#source, this.#vocab, this.#endIds)
      this.#tokens = { trie, walks: new CharacterWalks(trie), endIds: this.#endIds }
    }
    return this.#tokens
  }
}
