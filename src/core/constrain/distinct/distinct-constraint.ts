// Constraints with values that must differ. In: a grammar and a vocabulary. Out: constraints, one per reply.
import type { Analysed } from '../analyse.ts'
import { Automaton, DEAD, mustEnd } from '../automaton.ts'
import type { CharacterWalks } from '../character-walk.ts'
import { Masks } from '../masks.ts'
import { forbidden } from '../refuse.ts'
import type { TokenTrie } from '../token-trie.ts'
import type { TokenConstraint } from '../written-grammar.ts'
import { DistinctMasks } from './distinct-masks.ts'
import { DistinctReader, type Position } from './distinct-reader.ts'

/** What all grammars of one model share. */
export interface ModelTokens {
  readonly trie: TokenTrie
  readonly walks: CharacterWalks
  readonly endIds: ReadonlySet<number>
  /** Ids of a text that continues another text. */
  readonly encode: (text: string) => readonly number[]
}

/**
 * Creates constraints with one grammar, each for a new text. All of them reuse the states and masks found so
 * far.
 */
export function distinctConstraints(
  analysed: Analysed,
  { trie, walks, endIds }: ModelTokens,
): () => TokenConstraint {
  const inVocab = [...endIds].filter((id) => id < trie.vocab)
  const newMasks = () => {
    const masks = new Masks(new Automaton(analysed), trie, walks, inVocab)
    return new DistinctMasks(new DistinctReader(analysed), masks, trie)
  }
  let shared = newMasks()
  const masksNow = () => {
    if (shared.isFull) shared = newMasks()
    return shared
  }
  return () => {
    const masks = masksNow()
    return new DistinctConstraint({ trie, endIds, masksNow }, masks, masks.reader.start)
  }
}

interface Shared {
  readonly trie: TokenTrie
  readonly endIds: ReadonlySet<number>
  /** The current masks, which are replaced when they grow too large. */
  readonly masksNow: () => DistinctMasks
}

class DistinctConstraint implements TokenConstraint {
  readonly #shared: Shared
  #masks: DistinctMasks
  #position: Position

  constructor(shared: Shared, masks: DistinctMasks, position: Position) {
    this.#shared = shared
    this.#masks = masks
    this.#position = position
  }

  mask(): Uint32Array {
    // hot
    const now = this.#shared.masksNow()
    if (now !== this.#masks) {
      const state = now.reader.automaton.carry(this.#masks.reader.automaton, this.#position.state)
      this.#position = { ...this.#position, state }
      this.#masks = now
    }
    return this.#masks.of(this.#position)
  }

  accept(id: number): void {
    // hot
    const { trie, endIds } = this.#shared
    if (this.canEnd && endIds.has(id)) return
    const bytes = trie.bytesOf(id)
    if (bytes.length === 0 || !this.acceptText(bytes)) throw forbidden(id)
  }

  acceptText(text: Uint8Array): boolean {
    // hot
    const { reader } = this.#masks
    reader.automaton.work.renew()
    let next = this.#position
    for (const byte of text) if (next.state !== DEAD) next = reader.read(next, byte)
    if (next.state === DEAD) return false
    this.#position = next
    return true
  }

  get canEnd(): boolean {
    return this.#masks.reader.automaton.closure(this.#position.state).hasEnd
  }

  get mustEnd(): boolean {
    return mustEnd(this.#masks.reader.automaton.closure(this.#position.state))
  }

  /** Always empty, because earlier values determine what may follow. */
  expectedIds(): readonly number[] {
    return []
  }

  copy(): TokenConstraint {
    return new DistinctConstraint(this.#shared, this.#masks, this.#position)
  }
}
