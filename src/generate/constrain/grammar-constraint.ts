// Grammar constraint. In: a compiled grammar and the tokens that are picked. Out: the mask of each next token.
import { HalfbyteError } from '../../base/errors.ts'
import type { Analysed } from './analyse.ts'
import { Automaton, DEAD, type StackId, type StateId } from './automaton.ts'
import type { CharacterWalks } from './character-walk.ts'
import type { TokenConstraint } from './constraint.ts'
import { Masks } from './masks.ts'
import type { TokenTrie } from './token-trie.ts'

/** What all grammars of one model share. */
export interface ModelTokens {
  readonly trie: TokenTrie
  readonly walks: CharacterWalks
  readonly endIds: ReadonlySet<number>
}

/** A grammar and the masks found so far; every reply that it constrains goes on with them. */
export class CompiledGrammar {
  readonly tokens: ModelTokens
  readonly #analysed: Analysed
  #masks: Masks

  constructor(analysed: Analysed, tokens: ModelTokens) {
    this.tokens = tokens
    this.#analysed = analysed
    this.#masks = this.#newMasks()
  }

  /** The masks to use now. Where they have grown too large they are left behind, and new ones begun. */
  masks(): Masks {
    if (this.#masks.automaton.isFull) this.#masks = this.#newMasks()
    return this.#masks
  }

  /** A constraint on a text that begins. */
  begin(): TokenConstraint {
    return new GrammarConstraint(this)
  }

  #newMasks(): Masks {
    const { trie, walks, endIds } = this.tokens
    const inVocab = [...endIds].filter((id) => id < trie.vocab)
    return new Masks(new Automaton(this.#analysed), trie, walks, inVocab)
  }
}

class GrammarConstraint implements TokenConstraint {
  readonly #compiled: CompiledGrammar
  readonly #bytes: Uint8Array
  #masks: Masks
  #state: StateId

  constructor(compiled: CompiledGrammar, masks = compiled.masks(), state = masks.automaton.start) {
    this.#compiled = compiled
    this.#bytes = new Uint8Array(compiled.tokens.trie.longest)
    this.#masks = masks
    this.#state = state
  }

  mask(): Uint32Array {
    // hot
    const masks = this.#compiled.masks()
    if (masks !== this.#masks) {
      this.#state = masks.automaton.carry(this.#masks.automaton, this.#state)
      this.#masks = masks
    }
    return masks.of(this.#state)
  }

  accept(id: number): void {
    // hot
    const { automaton } = this.#masks
    const { tokens, hasEnd } = automaton.closure(this.#state)
    if (hasEnd && this.#compiled.tokens.endIds.has(id)) return
    automaton.work = 0
    let next = this.#read(id)
    if (tokens.length > 0) {
      const stacks: StackId[] = []
      for (const token of tokens) if ((token.id === id) !== token.negated) stacks.push(token.next)
      next = automaton.state([...automaton.stacks(next), ...stacks])
    }
    if (next === DEAD) {
      throw new HalfbyteError(
        'internal',
        `token ${id} was picked, which the constraint forbids; the mask was not applied, so report this`,
        { token: id },
      )
    }
    this.#state = next
  }

  get canEnd(): boolean {
    return this.#masks.automaton.closure(this.#state).hasEnd
  }

  get mustEnd(): boolean {
    const { hasEnd, sets, tokens } = this.#masks.automaton.closure(this.#state)
    return hasEnd && sets.length === 0 && tokens.length === 0
  }

  copy(): TokenConstraint {
    return new GrammarConstraint(this.#compiled, this.#masks, this.#state)
  }

  /** The state after the bytes of a token; DEAD for one that writes nothing. */
  #read(id: number): StateId {
    const { trie } = this.#compiled.tokens
    const { automaton } = this.#masks
    let node = trie.nodeOf[id] ?? 0
    const length = trie.depth[node]!
    if (length === 0) return DEAD
    for (let at = length - 1; at >= 0; at--) {
      this.#bytes[at] = trie.byte[node]!
      node = trie.parent[node]!
    }
    let state = this.#state
    for (let at = 0; at < length && state !== DEAD; at++) state = automaton.step(state, this.#bytes[at]!)
    return state
  }
}
