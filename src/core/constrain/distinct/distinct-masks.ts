// Masks with values that must differ. In: positions. Out: the tokens that may come next: those of the
// grammar, except tokens that end a value equal to an earlier one, or after which only such values are
// possible.

import { memo } from '../../base/values.ts'
import { type Automaton, DEAD, type StateId } from '../automaton.ts'
import type { Masks } from '../masks.ts'
import { refused } from '../refuse.ts'
import type { TokenTrie } from '../token-trie.ts'
import type { DistinctReader, Position } from './distinct-reader.ts'
import { isAtRisk, mayEqual, type Place } from './place.ts'

const QUOTE = 0x22

export class DistinctMasks {
  readonly reader: DistinctReader
  readonly #masks: Masks
  readonly #trie: TokenTrie
  /** The corresponding states of the grammar without checks. */
  readonly #free = new Map<StateId, StateId>()
  /** States in which no token ends a checked value. */
  readonly #quiet = new Set<StateId>()
  /** The path to the current node. [depth] */
  readonly #path: Position[] = []
  readonly #isTainted: boolean[] = []
  readonly #mayEqual: boolean[] = []

  /** `masks`: the masks of the same grammar without the check for equal values. */
  constructor(reader: DistinctReader, masks: Masks, trie: TokenTrie) {
    this.reader = reader
    this.#masks = masks
    this.#trie = trie
  }

  get isFull(): boolean {
    return this.reader.automaton.isFull || this.#masks.automaton.isFull
  }

  /** Throws `unsupported` if no token fits. */
  of(position: Position): Uint32Array {
    // hot
    const { state, place } = position
    const base = this.#masks.of(this.#freeState(state))
    const isQuiet = this.#quiet.has(state)
    if (isQuiet && !isAtRisk(place)) return base
    this.reader.automaton.work.renew()
    this.reader.tries.renew()
    const mask = base.slice()
    if (!this.#forbid(position, mask)) this.#quiet.add(state)
    if (mask.every((word) => word === 0)) {
      throw refused(
        'cannot continue: every allowed value is already used',
        'allow more values or ask for fewer',
      )
    }
    return mask
  }

  #freeState(state: StateId): StateId {
    const { automaton }: { automaton: Automaton } = this.#masks
    return memo(this.#free, state, () => automaton.carry(this.reader.automaton, state))
  }

  /**
   * Forbids the tokens that repeat a value or can only lead to repeated ones. Returns true if some token ends
   * a checked value.
   */
  #forbid(from: Position, mask: Uint32Array): boolean {
    const trie = this.#trie
    const hasQuote = trie.above(QUOTE)
    const path = this.#path
    let hasCheck = false
    path[0] = from
    this.#isTainted[0] = false
    this.#mayEqual[0] = mayEqual(from.place)
    for (let node = 1; node < trie.nodes; ) {
      const depth = trie.depth[node]!
      const before = path[depth - 1]!
      const after = this.reader.read(before, trie.byte[node]!)
      hasCheck ||= after.isPassed !== undefined
      // After a failed check, the grammar without checks would continue with texts that are forbidden here.
      const isTainted = this.#isTainted[depth - 1]! || after.isPassed === false
      const end = trie.end[node]!
      if (after.state === DEAD) {
        if (isTainted) for (let each = node; each < end; each++) trie.forbid(each, mask)
        node = end
        continue
      }
      const isSame = isText(before.place) && isText(after.place) && !this.#mayEqual[depth - 1]!
      const isRisk = !isSame && mayEqual(after.place)
      if (isRisk && trie.token[node]! >= 0 && !this.reader.canDiffer(after)) trie.forbid(node, mask)
      const isInside = !isRisk && !isTainted && isText(after.place) && hasQuote[node] === 0
      path[depth] = after
      this.#isTainted[depth] = isTainted
      this.#mayEqual[depth] = isRisk
      node = isInside ? end : node + 1
    }
    return hasCheck
  }
}

/** Whether the place is inside a string, where a text that already differs cannot become equal again. */
const isText = ({ mode }: Place) => mode === 'string' || mode === 'escape' || mode === 'unicode'
