// Compiles a written grammar for a model's vocabulary. Each reply has a separate constraint.

import { LruCache } from '../base/lru-cache.ts'
import { memo } from '../base/values.ts'
import { type Analysed, analyse } from './analyse.ts'
import { Automaton, DEAD, mustEnd, type StackId, type StateId } from './automaton.ts'
import { CharacterWalks } from './character-walk.ts'
import { distinctConstraints, type ModelTokens } from './distinct/distinct-constraint.ts'
import { BlankHabits, expectedText } from './expected-text.ts'
import type { TokenName } from './grammar.ts'
import { Masks } from './masks.ts'
import { bounded, forbidden, gbnfFault } from './refuse.ts'
import { type TokenBytes, TokenTrie } from './token-trie.ts'
import { readGrammar, type TokenConstraint, type WrittenGrammar } from './written-grammar.ts'

/**
 * Creates constraints with one grammar, each for a new text. All of them reuse the masks computed so far.
 * When these grow too large, they are discarded and computed again.
 */
function grammarConstraints(
  analysed: Analysed,
  { trie, walks, endIds, encode }: ModelTokens,
): () => TokenConstraint {
  const inVocab = [...endIds].filter((id) => id < trie.vocab)
  const newMasks = () => new Masks(new Automaton(analysed), trie, walks, inVocab)
  let shared = newMasks()
  const encoded = new LruCache<string, readonly number[]>(KEPT_TEXTS)
  return () => {
    const masks = masksNow()
    return constraintFrom(masks, masks.automaton.start, new BlankHabits())
  }

  function masksNow(): Masks {
    if (shared.automaton.isFull) shared = newMasks()
    return shared
  }

  function constraintFrom(masks: Masks, state: StateId, habits: BlankHabits): TokenConstraint {
    const closure = () => masks.automaton.closure(state)
    return {
      mask() {
        // hot
        const now = masksNow()
        if (now !== masks) {
          state = now.automaton.carry(masks.automaton, state)
          masks = now
        }
        return masks.of(state)
      },
      accept(id) {
        // hot
        const { automaton } = masks
        const { tokens, hasEnd } = closure()
        if (hasEnd && endIds.has(id)) return
        automaton.work.renew()
        const bytes = trie.bytesOf(id)
        let next = bytes.length === 0 ? DEAD : step(bytes)
        if (tokens.length > 0) {
          const stacks: StackId[] = []
          for (const token of tokens) if ((token.id === id) !== token.negated) stacks.push(token.next)
          next = automaton.state([...automaton.stacks(next), ...stacks])
        }
        if (next === DEAD) throw forbidden(id)
        state = next
        habits.read(bytes)
      },
      acceptText(text) {
        masks.automaton.work.renew()
        const next = step(text)
        if (next !== DEAD) {
          state = next
          habits.read(text)
        }
        return next !== DEAD
      },
      get canEnd() {
        return closure().hasEnd
      },
      get mustEnd() {
        return mustEnd(closure())
      },
      expectedIds() {
        // hot
        masks.automaton.work.renew()
        const { bytes, ends } = expectedText(masks.automaton, state, habits)
        if (bytes.length === 0) return NO_IDS
        // A truncated character yields no output.
        const text = new TextDecoder().decode(bytes, { stream: true })
        const ids = encoded.memo(text, () => encode(text))
        // The last id is picked from the row before it. The row that follows it would belong to the state
        // after the end.
        return ends ? ids.slice(0, -1) : ids
      },
      copy: () => constraintFrom(masks, state, habits.copy()),
    }

    function step(bytes: Uint8Array): StateId {
      // hot
      let next = state
      for (let at = 0; at < bytes.length && next !== DEAD; at++) next = masks.automaton.step(next, bytes[at]!)
      return next
    }
  }
}

const NO_IDS: readonly number[] = []
/** Maximum number of expected texts per grammar whose ids are cached. */
const KEPT_TEXTS = 256

/** The functions of a tokenizer that constraints need. */
export interface ModelVocabulary extends TokenBytes {
  /** The id of the token with this spelling; undefined if no single token has it. */
  idOf(text: string): number | undefined
  /** Ids of a text that continues another text. */
  encode(text: string, options: { readonly continues: true }): readonly number[]
}

/** Maximum number of cached grammars per model, with their masks. */
const KEPT_GRAMMARS = 8

/** The constraints of one model. Each vocabulary is read when its first constraint is compiled. */
export class ConstraintCompiler {
  readonly #source: ModelVocabulary
  readonly #callSource: ModelVocabulary
  readonly #vocab: number
  readonly #endIds: ReadonlySet<number>
  /** Keyed by the grammar's key. */
  readonly #compiled = new LruCache<string, () => TokenConstraint>(KEPT_GRAMMARS)
  readonly #tokens = new Map<ModelVocabulary, ModelTokens>()

  /**
   * `vocab`: number of ids in the logits. `endIds`: ids that may follow a complete text. `callSource`: the
   * vocabulary in which the special tokens of calls are texts. Default: `source`.
   */
  constructor(
    source: ModelVocabulary,
    vocab: number,
    endIds: ReadonlySet<number>,
    callSource: ModelVocabulary = source,
  ) {
    this.#source = source
    this.#callSource = callSource
    this.#vocab = vocab
    this.#endIds = endIds
  }

  /** A constraint for a new text. Throws `unsupported` for a constraint that cannot be enforced. */
  constrain(written: WrittenGrammar): TokenConstraint {
    return this.#compiled.memo(written.key, () => this.#compile(written, this.#source))()
  }

  /** Like `constrain`, for the text after the marker of a call. */
  constrainCalls(written: WrittenGrammar): TokenConstraint {
    return this.#compiled.memo(written.key, () => this.#compile(written, this.#callSource))()
  }

  #compile(written: WrittenGrammar, source: ModelVocabulary): () => TokenConstraint {
    const tokens = memo(this.#tokens, source, () => this.#tokensOf(source))
    return bounded(() => {
      const { grammar, root } = readGrammar(written, tokens.trie.alphabet, (name) => this.#tokenId(name))
      const analysed = analyse(grammar, root)
      return grammar.hasDistinct
        ? distinctConstraints(analysed, tokens)
        : grammarConstraints(analysed, tokens)
    })
  }

  #tokenId({ text, line, column }: TokenName): number {
    const number = /^\[([0-9]{1,9})\]$/.exec(text)?.[1]
    const id = number === undefined ? this.#source.idOf(`<${text}>`) : Number(number)
    if (id !== undefined && id < this.#vocab) return id
    throw gbnfFault(`names <${text}>, which is not one token of this model`, line, column)
  }

  #tokensOf(source: ModelVocabulary): ModelTokens {
    const trie = new TokenTrie(source, this.#vocab, this.#endIds)
    const encode = (text: string) => source.encode(text, { continues: true })
    return { trie, walks: new CharacterWalks(trie), endIds: this.#endIds, encode }
  }
}
