// Reads texts with values that must differ. In: bytes. Out: positions, i.e. the state of the automaton and
// the place in the JSON text; and whether a position can still be completed with values that differ from the
// earlier ones.
import type { Analysed } from '../analyse.ts'
import { Automaton, DEAD, type StateId } from '../automaton.ts'
import { hasByte, isBlank, unionOf } from '../grammar-nodes.ts'
import { budgetOf } from '../refuse.ts'
import { leastBytes } from './least-bytes.ts'
import { checked, ended, isNew, mayEqual, type Place, START, step } from './place.ts'

/** Immutable, so copies share it. */
export interface Position {
  readonly state: StateId
  readonly place: Place
  /** The result of comparing the value that ends here; undefined if no value ends here. */
  readonly isPassed: boolean | undefined
}

/** Maximum number of positions in one search, and in all searches for one token. */
const MAX_TRIES = 1 << 14
const MAX_TRIES_OF_TOKEN = 1 << 18
/** With this many possible digits, there are more numbers than values in a reply. */
const MANY_DIGITS = 7

export class DistinctReader {
  readonly automaton: Automaton
  /** Renewed for every token. */
  readonly tries = budgetOf('positions on the way to new values', MAX_TRIES_OF_TOKEN)
  readonly #lengths: Float64Array

  constructor(analysed: Analysed) {
    this.automaton = new Automaton(analysed, true)
    this.#lengths = leastBytes(analysed.grammar)
  }

  get start(): Position {
    return { state: this.automaton.start, place: START, isPassed: undefined }
  }

  /** The position after one more byte. Its state is DEAD if the text cannot continue this way. */
  read({ state, place }: Position, byte: number): Position {
    // hot
    const next = this.automaton.step(state, byte)
    if (next === DEAD) return { state: DEAD, place, isPassed: undefined }
    const after = step(place, byte)
    const verdict = this.automaton.verdict(next)
    if (verdict === undefined) return { state: next, place: after, isPassed: undefined }
    return isNew(after)
      ? { state: verdict.passed, place: checked(after), isPassed: true }
      : { state: verdict.failed, place: after, isPassed: false }
  }

  /**
   * Whether the values that are being written can be completed so that they differ from the earlier ones.
   * Tries the shortest texts first. Whitespace between parts does not change values, so it is skipped.
   */
  canDiffer(from: Position): boolean {
    if (this.#differs(from)) return true
    const queue = new Queue<{ position: Position; bytes: number }>()
    queue.add(0, { position: from, bytes: 0 })
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      this.tries.spend(1)
      const next = queue.take()
      if (next === undefined) return false
      const { position } = next
      if (this.#isEndless(position)) return true
      const bytes = next.bytes + 1
      for (const byte of this.#nextBytes(position)) {
        const after = this.read(position, byte)
        if (after.state === DEAD) continue
        if (this.#differs(after)) return true
        queue.add(bytes + this.automaton.leastBytes(after.state, this.#lengths), { position: after, bytes })
      }
    }
    return false
  }

  #differs({ place, isPassed }: Position): boolean {
    return !mayEqual(isPassed === true ? ended(place) : place)
  }

  /** Whether the string or number being written has more possible endings than there can be values. */
  #isEndless({ state, place }: Position): boolean {
    const isNumber = place.mode === 'bare' && /^-?[1-9]\d*$/.test(place.text)
    if (!isNumber && place.mode !== 'string') return false
    const { automaton } = this
    const many = isNumber ? MANY_DIGITS : Number.POSITIVE_INFINITY
    return automaton.stacks(state).some((stack) => (automaton.run(stack)?.max ?? 0) >= many)
  }

  #nextBytes({ state, place }: Position): number[] {
    const set = unionOf(this.automaton.closure(state).sets)
    const isText = place.mode === 'string'
    const bytes: number[] = []
    for (let byte = 0; byte < 256; byte++) {
      if (hasByte(set, byte) && (isText || !isBlank(byte))) bytes.push(byte)
    }
    return bytes
  }
}

/** A priority queue: returns the item with the lowest rank, and among equals the most recent one. */
class Queue<Item> {
  readonly #ranks: Item[][] = []
  #lowest = 0

  add(rank: number, item: Item): void {
    this.#ranks[rank] ??= []
    this.#ranks[rank].push(item)
    this.#lowest = Math.min(this.#lowest, rank)
  }

  take(): Item | undefined {
    while (this.#lowest < this.#ranks.length) {
      const item = this.#ranks[this.#lowest]?.pop()
      if (item !== undefined) return item
      this.#lowest += 1
    }
    return undefined
  }
}
