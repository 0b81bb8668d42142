// Grammar constraint. In: a compiled grammar and the tokens that are picked. Out: the mask of each next
// token.
import { HalfbyteError } from '../base/errors.ts'
import type { Analysed } from './analyse.ts'
import { Automaton, DEAD, type StackId, type StateId } from './automaton.ts'
import type { CharacterWalks } from './character-walk.ts'
import type { TokenConstraint } from './constraint.ts'
import { createMasks, type Masks } from './masks.ts'
import type { TokenTrie } from './token-trie.ts'

/** The parts that all grammars of one model share. */
export interface ModelTokens {
  readonly trie: TokenTrie
  readonly walks: CharacterWalks
  readonly endIds: ReadonlySet<number>
}

/**
 * Constraints by one grammar, each on a new text. All of them reuse the masks computed so far. When those
 * have grown too large, they are discarded and computed anew.
 */
export function grammarConstraints(
  analysed: Analysed,
  { trie, walks, endIds }: ModelTokens,
): () => TokenConstraint {
  const inVocab = [...endIds].filter((id) => id < trie.vocab)
  const newMasks = () => createMasks(new Automaton(analysed), trie, walks, inVocab)
  let shared = newMasks()
  return () => {
    const masks = masksNow()
    return constraintFrom(masks, masks.automaton.start)
  }

  function masksNow(): Masks {
    if (shared.automaton.isFull) shared = newMasks()
    return shared
  }

  function constraintFrom(masks: Masks, state: StateId): TokenConstraint {
    const bytes = new Uint8Array(trie.longest)
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
        let next = read(id)
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
        state = next
      },
      get canEnd() {
        return closure().hasEnd
      },
      get mustEnd() {
        const { hasEnd, sets, tokens } = closure()
        return hasEnd && sets.length === 0 && tokens.length === 0
      },
      copy: () => constraintFrom(masks, state),
    }

    /** The state after the bytes of a token; DEAD for a token without bytes. */
    function read(id: number): StateId {
      let node = trie.nodeOf[id] ?? 0
      const length = trie.depth[node]!
      if (length === 0) return DEAD
      for (let at = length - 1; at >= 0; at--) {
        bytes[at] = trie.byte[node]!
        node = trie.parent[node]!
      }
      let next = state
      for (let at = 0; at < length && next !== DEAD; at++) next = masks.automaton.step(next, bytes[at]!)
      return next
    }
  }
}
