// Finds all pieces of a vocabulary that end at each position of a text, in time linear in the text.
import { malformed } from '../spec.ts'

/** Maximum number of nodes in the automaton, at 30 bytes each; XLM-RoBERTa's 250,000 pieces need 700,000. */
const MAX_NODES = 1 << 22
/** Maximum number of pieces that end at one position, such as `c`, `bc` and `abc`. */
const MAX_ENDINGS = 256
/** Random on each visit, so that nobody can construct a vocabulary whose edges all collide. */
const SEED = Math.trunc(Math.random() * 2 ** 31)
const NONE = -1

/** The value that is returned for a found piece. */
export interface Piece {
  readonly text: string
  /** At least 0. */
  readonly id: number
}

/** An Aho-Corasick automaton (Aho and Corasick 1975, "Efficient string matching") over UTF-16 units. */
export class PieceSearch {
  readonly #edges = new Edges()
  readonly #ids: Int32Array
  readonly #depths: Uint16Array
  /** By node: the node of its longest proper suffix. */
  readonly #shorter: Int32Array
  /** By node: the longest proper suffix that is a piece; 0 if there is none. */
  readonly #ending: Int32Array

  /** Empty pieces are never found. Throws `format` if the pieces take too much memory or time. */
  constructor(pieces: Iterable<Piece>) {
    const parents = [0]
    const units = [0]
    const depths = [0]
    const ids = [NONE]
    for (const { text, id } of pieces) {
      let node = 0
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at)
        let next = this.#edges.find(node, unit)
        if (next === NONE) {
          next = parents.length
          if (next >= MAX_NODES) throw malformed(`has pieces of more than ${MAX_NODES} characters in total`)
          this.#edges.add(node, unit, next)
          parents.push(node)
          units.push(unit)
          depths.push(at + 1)
          ids.push(NONE)
        }
        node = next
      }
      if (node > 0) ids[node] = id
    }
    this.#ids = Int32Array.from(ids)
    this.#depths = Uint16Array.from(depths)
    this.#shorter = new Int32Array(ids.length)
    this.#ending = new Int32Array(ids.length)
    this.#link(parents, units)
  }

  /** Suffixes are shorter than their node, so nodes are linked in order of depth. */
  #link(parents: readonly number[], units: readonly number[]): void {
    const counts = new Uint16Array(parents.length)
    for (const node of byDepth(this.#depths)) {
      if (node === 0) continue
      const parent = parents[node]!
      const shorter = parent === 0 ? 0 : this.step(this.#shorter[parent]!, units[node]!)
      const ending = this.#ids[shorter]! === NONE ? this.#ending[shorter]! : shorter
      this.#shorter[node] = shorter
      this.#ending[node] = ending
      const count = counts[ending]! + (this.#ids[node] === NONE ? 0 : 1)
      counts[node] = count
      if (count > MAX_ENDINGS)
        throw malformed(`has more than ${MAX_ENDINGS} pieces that are suffixes of each other`, {
          most: MAX_ENDINGS,
        })
    }
  }

  /** The node after one more unit. A text begins at node 0. */
  step(from: number, unit: number): number {
    for (let node = from; ; node = this.#shorter[node]!) {
      const next = this.#edges.find(node, unit)
      if (next !== NONE) return next
      if (node === 0) return 0
    }
  }

  /** The node of the longest piece that ends at the current position, given its `node`; 0 if none does. */
  longest(node: number): number {
    return this.#ids[node] === NONE ? this.#ending[node]! : node
  }

  /** The node of the next shorter piece that ends at the same position; 0 if none does. */
  shorter(piece: number): number {
    return this.#ending[piece]!
  }

  idOf(piece: number): number {
    return this.#ids[piece]!
  }

  /** UTF-16 units of the piece. */
  lengthOf(piece: number): number {
    return this.#depths[piece]!
  }
}

/** All nodes, shallowest first. */
function byDepth(depths: Uint16Array): Int32Array {
  const starts = new Int32Array(depths.reduce((most, depth) => Math.max(most, depth), 0) + 2)
  for (const depth of depths) starts[depth + 1]!++
  for (let depth = 1; depth < starts.length; depth++) starts[depth]! += starts[depth - 1]!
  const order = new Int32Array(depths.length)
  for (let node = 0; node < depths.length; node++) order[starts[depths[node]!]!++] = node
  return order
}

/**
 * Nodes by their parent and the unit in between. Most nodes have one child, which is stored with them;
 * further children are in a hash table with open addressing.
 */
class Edges {
  /** By node: its first child; 0 if there is none. */
  readonly #first = [0]
  readonly #firstUnit = [0]
  #more = 0
  #from = new Int32Array(1 << 12).fill(NONE)
  #units = new Uint16Array(1 << 12)
  #to = new Int32Array(1 << 12)

  /** -1 if there is none. */
  find(from: number, unit: number): number {
    const first = this.#first[from]!
    if (first === 0) return NONE
    if (this.#firstUnit[from] === unit) return Math.abs(first)
    // A negative value means that there are more children.
    if (first > 0) return NONE
    const slot = this.#slotOf(from, unit)
    return this.#from[slot] === NONE ? NONE : this.#to[slot]!
  }

  /** `to`: the next node. */
  add(from: number, unit: number, to: number): void {
    this.#first.push(0)
    this.#firstUnit.push(0)
    const first = this.#first[from]!
    if (first === 0) {
      this.#first[from] = to
      this.#firstUnit[from] = unit
      return
    }
    this.#first[from] = -Math.abs(first)
    if (2 * ++this.#more > this.#from.length) this.#grow()
    this.#put(from, unit, to)
  }

  #put(from: number, unit: number, to: number): void {
    const slot = this.#slotOf(from, unit)
    this.#from[slot] = from
    this.#units[slot] = unit
    this.#to[slot] = to
  }

  #slotOf(from: number, unit: number): number {
    const last = this.#from.length - 1
    let hash = Math.imul(from ^ SEED, 0x9e3779b1) ^ Math.imul(unit + SEED, 0x85ebca6b)
    hash ^= hash >>> 15
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const found = this.#from[slot]
      if (found === NONE || (found === from && this.#units[slot] === unit)) return slot
    }
  }

  #grow(): void {
    const [from, units, to] = [this.#from, this.#units, this.#to]
    this.#from = new Int32Array(2 * from.length).fill(NONE)
    this.#units = new Uint16Array(2 * from.length)
    this.#to = new Int32Array(2 * from.length)
    for (let slot = 0; slot < from.length; slot++)
      if (from[slot] !== NONE) this.#put(from[slot]!, units[slot]!, to[slot]!)
  }
}
