// The tokens of a vocabulary by their bytes, in an order that makes a walk a single loop.
//
// Nodes are in preorder: the subtree of a node follows it, up to `end`. A walk goes from one node to the
// next, or jumps to `end` if a byte is rejected. The depth tells which node is the parent, so no stack of
// nodes is needed.

import { memo } from '../base/values.ts'
import { addRange, type ByteSet, emptySet } from './grammar-nodes.ts'

/** The functions of a tokenizer that a trie needs. */
export interface TokenBytes {
  /** One more than the largest id. */
  readonly vocabSize: number
  /** The bytes of a token; empty for an id without a token. */
  tokenBytes(id: number): Uint8Array
  /** True for tokens that control the model and have no text. */
  isSpecial(id: number): boolean
}

export class TokenTrie {
  /** Number of ids in the logits, including ids without a token. */
  readonly vocab: number
  /** Number of words in a mask. */
  readonly words: number
  readonly nodes: number
  /** The byte that leads to a node. The root is node 0. [node] */
  readonly byte: Uint8Array
  /** Bytes from the root. [node] */
  readonly depth: Uint16Array
  /** The node after the subtree. [node] */
  readonly end: Uint32Array
  /** [node] */
  readonly parent: Uint32Array
  /** The node where a token ends, or 0 if the token is not in the trie. [id] */
  readonly nodeOf: Uint32Array
  /** A token that ends here, or -1. [node] */
  readonly token: Int32Array
  /** Number of bytes of the longest token. */
  readonly longest: number
  /** Bytes that exist as single-byte tokens. */
  readonly alphabet: ByteSet
  readonly #bytes: Uint8Array
  readonly #alike = new Map<number, number[]>()
  readonly #above = new Map<number, Uint8Array>()

  /** `endIds` end a text, so they are not part of any text. Takes about 150 ms for 150,000 tokens. */
  constructor(source: TokenBytes, vocab: number, endIds: ReadonlySet<number>) {
    this.vocab = vocab
    this.words = (vocab + 31) >> 5
    const building = new Building(source, endIds)
    this.nodes = building.size
    this.byte = new Uint8Array(this.nodes)
    this.depth = new Uint16Array(this.nodes)
    this.end = new Uint32Array(this.nodes)
    this.parent = new Uint32Array(this.nodes)
    this.nodeOf = new Uint32Array(vocab)
    this.token = new Int32Array(this.nodes).fill(-1)
    this.longest = building.longest
    this.#bytes = new Uint8Array(this.longest)
    this.alphabet = emptySet()
    this.#flatten(building)
    for (let node = 1; node < this.nodes; node = this.end[node]!) {
      const byte = this.byte[node]!
      if (this.token[node]! >= 0) addRange(this.alphabet, byte, byte)
    }
  }

  /** The bytes of a token; empty for an id without one. Valid until the next call. */
  bytesOf(id: number): Uint8Array {
    // hot
    let node = this.nodeOf[id] ?? 0
    const length = this.depth[node]!
    for (let at = length - 1; at >= 0; at--) {
      this.#bytes[at] = this.byte[node]!
      node = this.parent[node]!
    }
    return this.#bytes.subarray(0, length)
  }

  /** Allows the tokens that end at a node. */
  allow(node: number, mask: Uint32Array): void {
    // hot
    const id = this.token[node]!
    if (id < 0) return
    mask[id >> 5] = mask[id >> 5]! | (1 << (id & 31))
    if (this.#alike.size > 0) this.#allowAlike(id, mask)
  }

  /** Toggles the tokens that end at a node: allows forbidden ones and forbids allowed ones. */
  toggle(node: number, mask: Uint32Array): void {
    const id = this.token[node]!
    if (id < 0) return
    mask[id >> 5] = mask[id >> 5]! ^ (1 << (id & 31))
    for (const other of this.#alike.get(id) ?? []) mask[other >> 5] = mask[other >> 5]! ^ (1 << (other & 31))
  }

  /** Forbids the tokens that end at a node. */
  forbid(node: number, mask: Uint32Array): void {
    const id = this.token[node]!
    if (id < 0) return
    for (const each of [id, ...(this.#alike.get(id) ?? [])]) {
      mask[each >> 5] = mask[each >> 5]! & ~(1 << (each & 31))
    }
  }

  /** For each node: 1 if this byte occurs below it. */
  above(byte: number): Uint8Array {
    return memo(this.#above, byte, () => {
      const marks = new Uint8Array(this.nodes)
      for (let node = 1; node < this.nodes; node++) {
        if (this.byte[node] !== byte) continue
        for (let at = this.parent[node]!; marks[at] === 0; at = this.parent[at]!) marks[at] = 1
      }
      return marks
    })
  }

  #allowAlike(id: number, mask: Uint32Array): void {
    for (const other of this.#alike.get(id) ?? []) mask[other >> 5] = mask[other >> 5]! | (1 << (other & 31))
  }

  #flatten(building: Building): void {
    let count = 0
    const place = (from: number, parent: number) => {
      this.byte[count] = building.bytes[from]!
      this.depth[count] = count === 0 ? 0 : this.depth[parent]! + 1
      this.parent[count] = parent
      const ids = building.ids.get(from) ?? []
      for (const id of ids) this.nodeOf[id] = count
      if (ids.length > 0) this.token[count] = ids[0]!
      if (ids.length > 1) this.#alike.set(ids[0]!, ids.slice(1))
      return count++
    }
    // Each entry holds its next child to place, in the numbering used during the build.
    const open = [{ node: place(0, 0), next: building.first[0]! }]
    while (open.length > 0) {
      const top = open.at(-1)!
      const child = top.next
      if (child === 0) {
        this.end[top.node] = count
        open.pop()
        continue
      }
      top.next = building.sibling[child]!
      open.push({ node: place(child, top.node), next: building.first[child]! })
    }
  }
}

/**
 * The trie while tokens are added in any order: first child and next sibling of each node; 0 if there is
 * none.
 */
class Building {
  readonly bytes: number[] = [0]
  readonly first: number[] = [0]
  readonly sibling: number[] = [0]
  readonly ids = new Map<number, number[]>()
  longest = 0

  constructor(source: TokenBytes, endIds: ReadonlySet<number>) {
    for (let id = 0; id < source.vocabSize; id++) {
      if (endIds.has(id) || source.isSpecial(id)) continue
      const bytes = source.tokenBytes(id)
      if (bytes.length > 0) this.#add(id, bytes)
    }
  }

  get size(): number {
    return this.bytes.length
  }

  #add(id: number, bytes: Uint8Array): void {
    let node = 0
    for (const byte of bytes) node = this.#child(node, byte)
    const ids = this.ids.get(node)
    if (ids === undefined) this.ids.set(node, [id])
    else ids.push(id)
    this.longest = Math.max(this.longest, bytes.length)
  }

  #child(node: number, byte: number): number {
    let last = 0
    for (let child = this.first[node]!; child !== 0; child = this.sibling[child]!) {
      if (this.bytes[child] === byte) return child
      last = child
    }
    const fresh = this.bytes.push(byte) - 1
    this.first.push(0)
    this.sibling.push(0)
    if (last === 0) this.first[node] = fresh
    else this.sibling[last] = fresh
    return fresh
  }
}
