// Computes the mask of the tokens that may come next in a state, from earlier walks if possible.
//
// What a token does inside its frame does not depend on what surrounds the frame. The part of each stack down
// to the nearest frame is therefore walked only once, regardless of what is below. This walk finds the tokens
// that stay inside the frame, and the trie nodes where the frame is left. From those few nodes the walk
// continues with the complete stack.
import { memo } from '../base/values.ts'
import { type Automaton, type CharacterRun, DEAD, END, type StackId, type StateId } from './automaton.ts'
import type { CharacterWalk, CharacterWalks } from './character-walk.ts'
import { addSet, emptySet } from './grammar-nodes.ts'
import { refused } from './refuse.ts'
import type { TokenTrie } from './token-trie.ts'

/** Maximum bytes of cached masks; beyond this, masks are computed again. */
const KEPT_BYTES = 32 << 20

interface LocalMask {
  /** Tokens that can be read without leaving the frame. */
  readonly mask: Uint32Array
  /** Trie nodes where the frame is left in the middle of a token. */
  readonly exits: readonly number[]
  /** The frame can be left before the token begins. */
  readonly isPassable: boolean
}

/** The masks of one automaton. */
export class Masks {
  readonly automaton: Automaton
  readonly #trie: TokenTrie
  readonly #walks: CharacterWalks
  readonly #endIds: readonly number[]
  readonly #states = new Map<StateId, Uint32Array>()
  readonly #locals = new Map<StackId, LocalMask>()
  /** Keyed by the character and what follows it. */
  readonly #runs = new Map<number, CharacterWalk | undefined>()
  readonly #most: number
  /** States on the path to the current node. [depth] */
  readonly #path: Int32Array

  constructor(automaton: Automaton, trie: TokenTrie, walks: CharacterWalks, endIds: readonly number[]) {
    this.automaton = automaton
    this.#trie = trie
    this.#walks = walks
    this.#endIds = endIds
    this.#most = Math.max(64, Math.floor(KEPT_BYTES / (trie.words * 4)))
    this.#path = new Int32Array(trie.longest + 1)
  }

  /** Throws `unsupported` if no token fits, or if the search exceeds its bound. */
  of(state: StateId): Uint32Array {
    // hot
    return this.#states.get(state) ?? this.#make(state)
  }

  #make(state: StateId): Uint32Array {
    this.automaton.work.renew()
    const mask = new Uint32Array(this.#trie.words)
    for (const stack of this.automaton.stacks(state)) this.#add(stack, mask)
    if (this.automaton.closure(state).hasEnd) for (const id of this.#endIds) allowId(id, mask)
    if (mask.every((word) => word === 0)) {
      throw refused(
        "cannot continue: no token of the model's vocabulary fits",
        'choose another grammar or model',
      )
    }
    this.#makeRoom()
    this.#states.set(state, mask)
    return mask
  }

  #makeRoom(): void {
    if (this.#states.size + this.#locals.size < this.#most) return
    this.#states.clear()
    this.#locals.clear()
  }

  /** Adds the tokens that one stack allows. */
  #add(stack: StackId, mask: Uint32Array): void {
    let at: StackId | undefined = stack
    while (at !== undefined && at !== END) {
      if (this.#addRun(at, mask)) return
      const { mask: inside, exits, isPassable } = this.#localMask(at)
      or(mask, inside)
      const parent = this.automaton.parent(at)
      if (parent === undefined) return
      const state = this.automaton.state([parent])
      for (const node of exits) this.#walk(node, state, mask)
      at = isPassable ? parent : undefined
    }
  }

  #localMask(stack: StackId): LocalMask {
    const local = this.automaton.local(stack, this.#trie.longest)
    return memo(this.#locals, local, () => {
      const mask = new Uint32Array(this.#trie.words)
      const exits: number[] = []
      let isPassable = false
      if (!this.#addRun(local, mask, exits)) {
        const state = this.automaton.state([local])
        this.#allowTokens(state, mask)
        this.#walk(0, state, mask, exits)
        isPassable = this.automaton.closure(state).hasHole
      }
      this.#makeRoom()
      return { mask, exits, isPassable }
    })
  }

  /**
   * Adds the tokens of a run of characters and of what follows it. Without `exits`, the run must end its
   * frame. With `exits`, the continuation must be in the run's frame, because otherwise every node would be
   * an exit. In any other case, adds nothing and returns false.
   */
  #addRun(stack: StackId, mask: Uint32Array, exits?: number[]): boolean {
    const run = this.automaton.run(stack)
    if (run === undefined || (exits === undefined && !run.endsFrame)) return false
    const after = this.automaton.state([run.below])
    if (exits !== undefined && this.automaton.closure(after).hasHole) return false
    const characters = this.#walkOf(run, after)
    if (characters === undefined) return false
    or(mask, characters.upTo(run.max))
    for (let index = 0; index < characters.exits.length; index++) {
      const count = characters.exitCounts[index]!
      if (count < run.min || count > run.max) continue
      const node = characters.exits[index]!
      const state = this.automaton.step(after, this.#trie.byte[node]!)
      this.#trie.allow(node, mask)
      if (this.#trie.end[node]! === node + 1) continue
      if (exits !== undefined && this.automaton.closure(state).hasHole) exits.push(node)
      this.#walk(node, state, mask, exits)
    }
    if (run.min === 0) this.#allowTokens(after, mask)
    return true
  }

  #walkOf({ character }: CharacterRun, after: StateId): CharacterWalk | undefined {
    return memo(this.#runs, after * 2 ** 20 + character, () => {
      const first = emptySet()
      for (const set of this.automaton.closure(after).sets) addSet(first, set)
      return this.#walks.of(this.automaton, character, first)
    })
  }

  /** Allows the tokens that the grammar names. */
  #allowTokens(state: StateId, mask: Uint32Array): void {
    for (const { id, negated } of this.automaton.closure(state).tokens) {
      if (!negated) allowId(id, mask)
      else for (let other = 0; other < this.#trie.vocab; other++) if (other !== id) allowId(other, mask)
    }
  }

  /**
   * Among the tokens below a node, allows those that `state` accepts. Adds the nodes where a frame is left to
   * `exits`. Without `exits`, the stack is complete, and no frame is left.
   */
  #walk(root: number, state: StateId, mask: Uint32Array, exits?: number[]): void {
    // hot
    const { automaton } = this
    const trie = this.#trie
    const path = this.#path
    path[trie.depth[root]!] = state
    const end = trie.end[root]!
    for (let node = root + 1; node < end; ) {
      const depth = trie.depth[node]!
      const next = automaton.step(path[depth - 1]!, trie.byte[node]!)
      if (next === DEAD) {
        node = trie.end[node]!
        continue
      }
      path[depth] = next
      trie.allow(node, mask)
      if (exits !== undefined && trie.end[node]! > node + 1 && automaton.closure(next).hasHole)
        exits.push(node)
      node += 1
    }
  }
}

function or(mask: Uint32Array, other: Uint32Array): void {
  // hot
  for (let word = 0; word < mask.length; word++) mask[word] = mask[word]! | other[word]!
}

function allowId(id: number, mask: Uint32Array): void {
  mask[id >> 5] = mask[id >> 5]! | (1 << (id & 31))
}
