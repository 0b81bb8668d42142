// The nodes of a byte grammar, which the automaton reads. Equal nodes exist only once.
//
// A node is an index into parallel arrays. Only rules can form cycles.
import { memo } from '../base/values.ts'
import { budgetOf } from './refuse.ts'

/** Bit `byte & 31` of word `byte >> 5` is set for each byte in the set. [8] */
export type ByteSet = Uint32Array

export function emptySet(): ByteSet {
  return new Uint32Array(8)
}

export function addRange(set: ByteSet, low: number, high: number): void {
  for (let byte = low; byte <= high; byte++) set[byte >> 5] = set[byte >> 5]! | (1 << (byte & 31))
}

export function ofRange(low: number, high: number): ByteSet {
  const set = emptySet()
  addRange(set, low, high)
  return set
}

/** The set of all bytes. */
export const ALL_BYTES: ByteSet = ofRange(0, 255)

export function hasByte(set: ByteSet, byte: number): boolean {
  // hot
  return ((set[byte >> 5]! >>> (byte & 31)) & 1) === 1
}

/** Adds the bytes of another set. */
export function addSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] = set[word]! | other[word]!
}

/** The bytes that are in any of the sets. */
export function unionOf(sets: readonly ByteSet[]): ByteSet {
  const union = emptySet()
  for (const set of sets) addSet(union, set)
  return union
}

/** Space, line feed, tab and carriage return, which JSON allows between tokens (RFC 8259, section 2). */
export const BLANKS: readonly number[] = [0x20, 0x0a, 0x09, 0x0d]

export function isBlank(byte: number): boolean {
  // hot
  return byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0d
}

/** Keeps the bytes that are also in the other set. */
function keepSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] = set[word]! & other[word]!
}

/** Equal sets have equal keys. */
export function setKey(set: ByteSet): string {
  return set.join()
}

export type NodeId = number

/** The kind of a node, and the meaning of its operands `a`, `b`, `c`. */
export const NODE = {
  /** The empty text. */
  empty: 0,
  /** One byte of the set `a`. */
  bytes: 1,
  /** Node `a`, then node `b`. */
  seq: 2,
  /** One of the nodes in list `a`. */
  alt: 3,
  /** Node `a`, repeated from `b` to `c` times. */
  repeat: 4,
  /** The body of rule `a`. */
  rule: 5,
  /** The token `a`; with `b` = 1, any other token, whatever its text. */
  token: 6,
  /** Node `a`: a JSON value that differs from the earlier ones in its container; then node `b`, the check. */
  distinct: 7,
  /** Consumes no bytes; at this point the preceding value is compared with the others. */
  check: 8,
} as const

export const UNBOUNDED = Number.POSITIVE_INFINITY
const MAX_NODES = 1 << 18

export interface Rule {
  readonly name: string
  /**
   * Whether the rule's masks are computed separately from what follows it. This pays off for values
   * that occur in many places; unframed rules exist only to close cycles.
   */
  readonly framed: boolean
  body: NodeId | undefined
}

export class GrammarNodes {
  readonly kinds: number[] = []
  readonly a: number[] = []
  readonly b: number[] = []
  readonly c: number[] = []
  /** Lists, indexed by the operand of an `alt`. */
  readonly options: (readonly NodeId[])[] = []
  /** Sets, indexed by the operand of a `bytes`. */
  readonly sets: ByteSet[] = []
  readonly rules: Rule[] = []
  readonly empty: NodeId
  /** The node that matches nothing. */
  readonly never: NodeId
  readonly #alphabet: ByteSet
  readonly #budget = budgetOf('grammar nodes', MAX_NODES)
  readonly #interned = new Map<string, NodeId>()
  readonly #setIds = new Map<string, number>()

  /**
   * `alphabet`: bytes that exist as single-byte tokens. Sets omit all other bytes, so that every text that
   * the grammar allows can be written to its end.
   */
  constructor(alphabet: ByteSet = ALL_BYTES) {
    this.#alphabet = alphabet
    this.empty = this.#node(NODE.empty, 0, 0, 0)
    this.never = this.bytes(emptySet())
  }

  get size(): number {
    return this.kinds.length
  }

  /** One byte of the set. The grammar owns the set from now on. */
  bytes(set: ByteSet): NodeId {
    keepSet(set, this.#alphabet)
    return this.#bytes(set)
  }

  seq(...parts: readonly NodeId[]): NodeId {
    let result = this.empty
    for (let index = parts.length - 1; index >= 0; index--) {
      const part = parts[index]!
      if (part === this.never) return this.never
      if (part === this.empty) continue
      result = result === this.empty ? part : this.#node(NODE.seq, part, result, 0)
    }
    return result
  }

  alt(...options: readonly NodeId[]): NodeId {
    const rest = new Set<NodeId>()
    let bytes: ByteSet | undefined
    for (const option of options) {
      if (option === this.never) continue
      if (this.kinds[option] !== NODE.bytes) rest.add(option)
      else {
        bytes ??= emptySet()
        addSet(bytes, this.sets[this.a[option]!]!)
      }
    }
    if (bytes !== undefined) rest.add(this.#bytes(bytes))
    const list = [...rest]
    if (list.length === 0) return this.never
    if (list.length === 1) return list[0]!
    const key = `alt ${list.toSorted((one, other) => one - other).join()}`
    const known = this.#interned.get(key)
    if (known !== undefined) return known
    this.options.push(list)
    return this.#node(NODE.alt, this.options.length - 1, 0, 0, key)
  }

  repeat(node: NodeId, min: number, max: number): NodeId {
    if (node === this.empty || max === 0) return this.empty
    if (min > max || (node === this.never && min > 0)) return this.never
    if (node === this.never) return this.empty
    if (min === 1 && max === 1) return node
    return this.#node(NODE.repeat, node, min, max)
  }

  /** A rule whose body is set later with `define`. */
  declare(name: string, framed = true): NodeId {
    this.rules.push({ name, framed, body: undefined })
    return this.#node(NODE.rule, this.rules.length - 1, 0, 0)
  }

  define(rule: NodeId, body: NodeId): void {
    this.rules[this.a[rule]!]!.body = body
  }

  token(token: number, negated: boolean): NodeId {
    return this.#node(NODE.token, token, Number(negated), 0)
  }

  /** An item or a key that must differ from the earlier ones in its array or object. */
  distinct(value: NodeId): NodeId {
    if (value === this.never) return value
    return this.#node(NODE.distinct, value, this.#node(NODE.check, 0, 0, 0), 0)
  }

  /** Whether some values must differ from others. */
  get hasDistinct(): boolean {
    return this.kinds.includes(NODE.distinct)
  }

  /** The child nodes of a node; for a rule, its body. */
  children(node: NodeId): readonly NodeId[] {
    const a = this.a[node]!
    const b = this.b[node]!
    switch (this.kinds[node]) {
      case NODE.seq:
        return [a, b]
      case NODE.alt:
        return this.options[a]!
      case NODE.repeat:
      case NODE.distinct:
        return [a]
      case NODE.rule:
        return [this.rules[a]!.body ?? this.never]
      default:
        return []
    }
  }

  #bytes(set: ByteSet): NodeId {
    const id = memo(this.#setIds, setKey(set), () => this.sets.push(set) - 1)
    return this.#node(NODE.bytes, id, 0, 0)
  }

  #node(kind: number, a: number, b: number, c: number, key = `${kind} ${a} ${b} ${c}`): NodeId {
    const known = this.#interned.get(key)
    if (known !== undefined) return known
    this.#budget.spend(1)
    this.a.push(a)
    this.b.push(b)
    this.c.push(c)
    const id = this.kinds.push(kind) - 1
    this.#interned.set(key, id)
    return id
  }
}
