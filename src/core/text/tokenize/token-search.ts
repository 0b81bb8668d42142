// Finds where any of several strings begins in a text, in time linear in the text's length.
import { malformed } from '../spec.ts'

export interface AddedToken {
  readonly id: number
  readonly text: string
  /** True if the token is found only on request, because users' text must not control the model. */
  readonly special: boolean
  /** True if the token matches only where no letter, digit or underscore is adjacent. */
  readonly isWord?: boolean
  /**
   * True if the token also strips the white space before or after it. `ascii`: only ASCII white space, like
   * llama.cpp.
   */
  readonly stripsLeft?: boolean
  readonly stripsRight?: boolean | 'ascii'
}

/** Maximum UTF-16 units of all added tokens together; the largest published vocabularies have 80,000. */
const MAX_UNITS = 1 << 21
const UNITS = 1 << 16

/**
 * An Aho-Corasick automaton of the reversed strings. It reads a text backwards, so it finds the longest token
 * that begins at each position.
 */
export class TokenSearch {
  /** By node * UNITS + unit. */
  readonly #edges = new Map<number, number>()
  /** By node: the longest token found there. */
  readonly #found: (AddedToken | undefined)[] = [undefined]
  /** By node: the node of its longest proper suffix. */
  readonly #shorter: number[] = [0]

  /** Empty strings are never found. Throws `format` if all strings together are too long. */
  constructor(tokens: Iterable<AddedToken>) {
    const parents = [0]
    const units = [0]
    const levels: number[][] = []
    for (const token of tokens) {
      let node = 0
      for (let at = token.text.length - 1, depth = 0; at >= 0; at--, depth++) {
        const key = node * UNITS + token.text.charCodeAt(at)
        let next = this.#edges.get(key)
        if (next === undefined) {
          next = units.length
          if (next > MAX_UNITS) throw malformed(`has added tokens of more than ${MAX_UNITS} characters`)
          this.#edges.set(key, next)
          parents.push(node)
          units.push(token.text.charCodeAt(at))
          levels[depth] ??= []
          levels[depth]!.push(next)
        }
        node = next
      }
      if (node > 0) this.#found[node] = token
    }
    this.#shorter = new Array<number>(units.length).fill(0)
    for (const node of levels.slice(1).flat()) {
      const shorter = this.#step(this.#shorter[parents[node]!]!, units[node]!)
      this.#shorter[node] = shorter
      this.#found[node] ??= this.#found[shorter]
    }
  }

  get isEmpty(): boolean {
    return this.#edges.size === 0
  }

  /** Each position where a token begins, with the longest token there; the last position comes first. */
  find(text: string): { readonly at: number; readonly token: AddedToken }[] {
    const found: { at: number; token: AddedToken }[] = []
    if (this.isEmpty) return found
    let node = 0
    for (let at = text.length - 1; at >= 0; at--) {
      node = this.#step(node, text.charCodeAt(at))
      const token = this.#found[node]
      if (token !== undefined) found.push({ at, token })
    }
    return found
  }

  #step(from: number, unit: number): number {
    for (let node = from; ; node = this.#shorter[node]!) {
      const next = this.#edges.get(node * UNITS + unit)
      if (next !== undefined) return next
      if (node === 0) return 0
    }
  }
}
