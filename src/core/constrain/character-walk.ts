// Finds all tokens that begin with a run of one character of a grammar, in a single walk.
//
// The inside of a string allows almost the whole vocabulary. If its length is limited, each position in it is
// a different state. One walk serves them all: a token of n characters fits wherever n more are allowed.
import { LruCache } from '../base/lru-cache.ts'
import { memo } from '../base/values.ts'
import { type Automaton, DEAD } from './automaton.ts'
import { type ByteSet, type GrammarNodes, hasByte, NODE, type NodeId, setKey } from './grammar-nodes.ts'
import type { TokenTrie } from './token-trie.ts'

/** Tokens that begin with a run of characters. */
export class CharacterWalk {
  /** Trie nodes where the text after a run begins, and the number of characters before each. */
  readonly exits: Int32Array
  readonly exitCounts: Uint16Array
  readonly #trie: TokenTrie
  /**
   * Trie nodes with a token that is only a run, by its number of characters, including an unfinished one.
   * [characters][]
   */
  readonly #inside: readonly (readonly number[])[]
  readonly #masks = new Map<number, Uint32Array>()

  constructor(trie: TokenTrie, inside: readonly (readonly number[])[], exits: Exits) {
    this.#trie = trie
    this.#inside = inside
    this.exits = Int32Array.from(exits.nodes)
    this.exitCounts = Uint16Array.from(exits.counts)
    const all = new Uint32Array(trie.words)
    for (const nodes of inside) for (const node of nodes) trie.toggle(node, all)
    this.#masks.set(inside.length, all)
  }

  /** The tokens that consist of at most `count` characters of a run. */
  upTo(count: number): Uint32Array {
    const most = Math.min(count, this.#inside.length)
    return memo(this.#masks, most, () => {
      // Few tokens are long, so the mask of all tokens needs few changes.
      const mask = this.#masks.get(this.#inside.length)!.slice()
      for (let longer = most + 1; longer < this.#inside.length; longer++) {
        for (const node of this.#inside[longer]!) this.#trie.toggle(node, mask)
      }
      return mask
    })
  }
}

interface Exits {
  readonly nodes: number[]
  readonly counts: number[]
}

/**
 * Walks the whole trie once. `first`: bytes that may begin the text after a run. Undefined if one character
 * can begin with another, because then the length of a run is ambiguous.
 */
function walkCharacters(
  automaton: Automaton,
  trie: TokenTrie,
  character: NodeId,
  first: ByteSet,
): CharacterWalk | undefined {
  const start = automaton.only(character)
  const states = new Int32Array(trie.longest + 1)
  const counts = new Uint16Array(trie.longest + 1)
  states[0] = start
  const inside: number[][] = [[]]
  const exits: Exits = { nodes: [], counts: [] }
  for (let node = 1; node < trie.nodes; ) {
    const depth = trie.depth[node]!
    const byte = trie.byte[node]!
    const before = states[depth - 1]!
    if (before === start && hasByte(first, byte)) {
      exits.nodes.push(node)
      exits.counts.push(counts[depth - 1]!)
    }
    const state = automaton.step(before, byte)
    if (state === DEAD) {
      node = trie.end[node]!
      continue
    }
    const { hasHole, sets } = automaton.closure(state)
    if (hasHole && sets.length > 0) return undefined
    states[depth] = hasHole ? start : state
    counts[depth] = counts[depth - 1]! + Number(hasHole)
    if (trie.token[node]! >= 0) {
      const count = counts[depth]! + Number(!hasHole)
      while (inside.length <= count) inside.push([])
      inside[count]!.push(node)
    }
    node += 1
  }
  return new CharacterWalk(trie, inside, exits)
}

/** The walks of one vocabulary, shared by all grammars, because JSON strings are the same in each. */
export class CharacterWalks {
  readonly #trie: TokenTrie
  readonly #walks = new LruCache<string, CharacterWalk | undefined>(MAX_WALKS)

  constructor(trie: TokenTrie) {
    this.#trie = trie
  }

  of(automaton: Automaton, character: NodeId, first: ByteSet): CharacterWalk | undefined {
    const key = `${spelling(automaton.grammar, character)} ${setKey(first)}`
    return this.#walks.memo(key, () => walkCharacters(automaton, this.#trie, character, first))
  }
}

/** Maximum number of cached walks. One takes about 1 MB for 150,000 tokens. */
const MAX_WALKS = 16

/** Equal characters have equal keys in any grammar. */
function spelling(grammar: GrammarNodes, node: NodeId): string {
  if (grammar.kinds[node] === NODE.bytes) return setKey(grammar.sets[grammar.a[node]!]!)
  const parts = grammar.children(node).map((child) => spelling(grammar, child))
  const times = grammar.kinds[node] === NODE.repeat ? `{${grammar.b[node]},${grammar.c[node]}}` : ''
  return `(${parts.join(grammar.kinds[node] === NODE.alt ? '|' : '.')})${times}`
}
