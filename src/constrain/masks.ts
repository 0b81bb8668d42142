// Makes the mask of the tokens that may come next in a state, from earlier walks where possible.
//
// What a token does inside its frame does not depend on the surroundings. The part of each stack down to the
// nearest frame is therefore walked only once, whatever is below. This walk gives the tokens that stay inside
// the frame, and the trie nodes where the frame is left. From those few nodes the walk continues with the
// complete stack.
import { memo } from '../base/values.ts'
import { type Automaton, type CharacterRun, DEAD, END, type StackId, type StateId } from './automaton.ts'
import type { CharacterWalk, CharacterWalks } from './character-walk.ts'
import { addSet, emptySet } from './grammar-nodes.ts'
import { refused } from './refuse.ts'
import type { TokenTrie } from './token-trie.ts'

/** Most bytes of masks that are kept; beyond this they are computed again. */
const KEPT_BYTES = 32 << 20

interface LocalMask {
  /** Tokens that can be read without leaving the frame. */
  readonly mask: Uint32Array
  /** Trie nodes where the frame is left in the middle of a token. */
  readonly exits: readonly number[]
  /** The frame can be left before the token begins. */
  readonly isPassable: boolean
}

export interface Masks {
  readonly automaton: Automaton
  /** Throws `unsupported` if no token fits, or if the search exceeds its bound. */
  of(state: StateId): Uint32Array
}

export function createMasks(
  automaton: Automaton,
  trie: TokenTrie,
  walks: CharacterWalks,
  endIds: readonly number[],
): Masks {
  const states = new Map<StateId, Uint32Array>()
  const locals = new Map<StackId, LocalMask>()
  // Keyed by the character and what follows it.
  const runs = new Map<number, CharacterWalk | undefined>()
  const most = Math.max(64, Math.floor(KEPT_BYTES / (trie.words * 4)))
  // States on the way to the current node. [depth]
  const path = new Int32Array(trie.longest + 1)
  return {
    automaton,
    // hot
    of: (state) => states.get(state) ?? make(state),
  }

  function make(state: StateId): Uint32Array {
    automaton.work.renew()
    const mask = new Uint32Array(trie.words)
    for (const stack of automaton.stacks(state)) add(stack, mask)
    if (automaton.closure(state).hasEnd) for (const id of endIds) allowId(id, mask)
    if (mask.every((word) => word === 0)) {
      throw refused(
        "cannot go on: no token of the model's vocabulary fits",
        'choose another grammar or model',
      )
    }
    makeRoom()
    states.set(state, mask)
    return mask
  }

  function makeRoom(): void {
    if (states.size + locals.size < most) return
    states.clear()
    locals.clear()
  }

  /** Adds the tokens that one stack allows. */
  function add(stack: StackId, mask: Uint32Array): void {
    let at: StackId | undefined = stack
    while (at !== undefined && at !== END) {
      if (addRun(at, mask)) return
      const { mask: inside, exits, isPassable } = localMask(at)
      or(mask, inside)
      const parent = automaton.parent(at)
      if (parent === undefined) return
      const state = automaton.state([parent])
      for (const node of exits) walk(node, state, mask)
      at = isPassable ? parent : undefined
    }
  }

  function localMask(stack: StackId): LocalMask {
    const local = automaton.local(stack, trie.longest)
    return memo(locals, local, () => {
      const mask = new Uint32Array(trie.words)
      const exits: number[] = []
      let isPassable = false
      if (!addRun(local, mask, exits)) {
        const state = automaton.state([local])
        allowTokens(state, mask)
        walk(0, state, mask, exits)
        isPassable = automaton.closure(state).hasHole
      }
      makeRoom()
      return { mask, exits, isPassable }
    })
  }

  /**
   * Adds a run of characters and what follows it. Without `exits` the run must end its frame. With `exits`
   * the continuation must be in the run's frame; otherwise every node would be an exit. In any other case it
   * returns false and adds nothing.
   */
  function addRun(stack: StackId, mask: Uint32Array, exits?: number[]): boolean {
    const run = automaton.run(stack)
    if (run === undefined || (exits === undefined && !run.endsFrame)) return false
    const after = automaton.state([run.below])
    if (exits !== undefined && automaton.closure(after).hasHole) return false
    const characters = walkOf(run, after)
    if (characters === undefined) return false
    or(mask, characters.upTo(run.max))
    for (let index = 0; index < characters.exits.length; index++) {
      const count = characters.exitCounts[index]!
      if (count < run.min || count > run.max) continue
      const node = characters.exits[index]!
      const state = automaton.step(after, trie.byte[node]!)
      trie.allow(node, mask)
      if (trie.end[node]! === node + 1) continue
      if (exits !== undefined && automaton.closure(state).hasHole) exits.push(node)
      walk(node, state, mask, exits)
    }
    if (run.min === 0) allowTokens(after, mask)
    return true
  }

  function walkOf({ character }: CharacterRun, after: StateId): CharacterWalk | undefined {
    return memo(runs, after * 2 ** 20 + character, () => {
      const first = emptySet()
      for (const set of automaton.closure(after).sets) addSet(first, set)
      return walks.of(automaton, character, first)
    })
  }

  /** Allows the tokens that the grammar names. */
  function allowTokens(state: StateId, mask: Uint32Array): void {
    for (const { id, negated } of automaton.closure(state).tokens) {
      if (!negated) allowId(id, mask)
      else for (let other = 0; other < trie.vocab; other++) if (other !== id) allowId(other, mask)
    }
  }

  /**
   * Allows the tokens below a node that `state` can read. Adds the nodes where a frame is left to `exits`.
   * Without `exits` the stack is complete, and no frame is left.
   */
  function walk(root: number, state: StateId, mask: Uint32Array, exits?: number[]): void {
    // hot
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
