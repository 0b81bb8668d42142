// Masks. In: a state. Out: the tokens that may come next, from what was walked before wherever that serves.
//
// What a token does inside its frame does not depend on what surrounds it. So for each stack of a state the part down to
// the nearest frame is walked once, whatever lies below: that gives the tokens that stay inside, and the trie nodes where
// the frame is left. From those few nodes the rest is walked with the real stack.
import { memo } from '../../base/memo.ts'
import { type Automaton, DEAD, END, type Run, type StackId, type StateId } from './automaton.ts'
import { addSet, emptySet } from './byte-set.ts'
import type { CharacterWalk, CharacterWalks } from './character-walk.ts'
import { refused } from './refuse.ts'
import type { TokenTrie } from './token-trie.ts'

/** Masks that are kept, in bytes; past it they are computed anew. */
const KEPT_BYTES = 32 << 20

interface LocalMask {
  /** Tokens that can be read without leaving the frame. */
  readonly mask: Uint32Array
  /** Nodes at which the frame is left and the token goes on. */
  readonly exits: readonly number[]
  /** The frame can be left before the token begins. */
  readonly isPassable: boolean
}

export class Masks {
  readonly automaton: Automaton
  readonly #trie: TokenTrie
  readonly #walks: CharacterWalks
  readonly #endIds: readonly number[]
  readonly #states = new Map<StateId, Uint32Array>()
  readonly #locals = new Map<StackId, LocalMask>()
  /** By character and what follows. */
  readonly #runs = new Map<number, CharacterWalk | undefined>()
  readonly #most: number
  /** States on the way to the node that is walked. [depth] */
  readonly #path: Int32Array

  constructor(automaton: Automaton, trie: TokenTrie, walks: CharacterWalks, endIds: readonly number[]) {
    this.automaton = automaton
    this.#trie = trie
    this.#walks = walks
    this.#endIds = endIds
    this.#most = Math.max(64, Math.floor(KEPT_BYTES / (trie.words * 4)))
    this.#path = new Int32Array(trie.longest + 1)
  }

  /** Throws `unsupported` when no token fits, or when too much would have to be looked at. */
  of(state: StateId): Uint32Array {
    // hot
    return this.#states.get(state) ?? this.#make(state)
  }

  #make(state: StateId): Uint32Array {
    const { automaton } = this
    automaton.work = 0
    const mask = new Uint32Array(this.#trie.words)
    for (const stack of automaton.stacks(state)) this.#add(stack, mask)
    if (automaton.closure(state).hasEnd) for (const id of this.#endIds) allowId(id, mask)
    if (mask.every((word) => word === 0)) {
      throw refused(
        "cannot go on: no token of the model's vocabulary fits",
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

  /** Adds what one stack allows. */
  #add(stack: StackId, mask: Uint32Array): void {
    let at: StackId | undefined = stack
    while (at !== undefined && at !== END) {
      if (this.#addRun(at, mask)) return
      const { mask: inside, exits, isPassable } = this.#local(at)
      or(mask, inside)
      const parent = this.automaton.parent(at)
      if (parent === undefined) return
      const state = this.automaton.state([parent])
      for (const node of exits) this.#walk(node, state, mask)
      at = isPassable ? parent : undefined
    }
  }

  #local(stack: StackId): LocalMask {
    const { automaton } = this
    const local = automaton.local(stack, this.#trie.longest)
    return memo(this.#locals, local, () => {
      const mask = new Uint32Array(this.#trie.words)
      const exits: number[] = []
      let isPassable = false
      if (!this.#addRun(local, mask, exits)) {
        const state = automaton.state([local])
        this.#allowTokens(state, mask)
        this.#walk(0, state, mask, exits)
        isPassable = automaton.closure(state).hasHole
      }
      this.#makeRoom()
      return { mask, exits, isPassable }
    })
  }

  /**
   * Adds a run of characters and what follows it. Without `exits` it must end its frame: there every node would be one;
   * with them what follows must be in its frame. False, and nothing is added, for anything else.
   */
  #addRun(stack: StackId, mask: Uint32Array, exits?: number[]): boolean {
    const { automaton } = this
    const run = automaton.run(stack)
    if (run === undefined || (exits === undefined && !run.endsFrame)) return false
    const after = automaton.state([run.below])
    if (exits !== undefined && automaton.closure(after).hasHole) return false
    const walk = this.#walkOf(run, after)
    if (walk === undefined) return false
    or(mask, walk.upTo(run.max))
    for (let index = 0; index < walk.exits.length; index++) {
      const count = walk.exitCounts[index]!
      if (count < run.min || count > run.max) continue
      const node = walk.exits[index]!
      const state = automaton.step(after, this.#trie.byte[node]!)
      this.#trie.allow(node, mask)
      if (this.#trie.end[node]! === node + 1) continue
      if (exits !== undefined && automaton.closure(state).hasHole) exits.push(node)
      this.#walk(node, state, mask, exits)
    }
    if (run.min === 0) this.#allowTokens(after, mask)
    return true
  }

  #walkOf({ character }: Run, after: StateId): CharacterWalk | undefined {
    return memo(this.#runs, after * 2 ** 20 + character, () => {
      const first = emptySet()
      for (const set of this.automaton.closure(after).sets) addSet(first, set)
      return this.#walks.of(this.automaton, character, first)
    })
  }

  /** Allows what the grammar names as tokens. */
  #allowTokens(state: StateId, mask: Uint32Array): void {
    for (const { id, negated } of this.automaton.closure(state).tokens) {
      if (!negated) allowId(id, mask)
      else for (let other = 0; other < this.#trie.vocab; other++) if (other !== id) allowId(other, mask)
    }
  }

  /**
   * Allows the tokens below a node that `state` can read. Adds the nodes at which a frame is left to `exits`; without it
   * the stack is whole and there are none.
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
