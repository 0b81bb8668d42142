// The automaton of a grammar. It creates states and their transitions by byte on demand.
//
// A stack holds the items still to be matched, the next one on top: each cell has an item and the stack below
// it. Items are grammar nodes, repetitions with their remaining counts, and `FRAME`, which marks where a
// framed rule was entered. A state is a set of stacks: all ways to parse the text so far.
// Stacks and states are interned, so two texts with the same stacks of remaining items reach the same state.
//
//   "[1, [2"  in JSON:  digits* | FRAME , rest of inner array | FRAME , rest of outer array | END
import { memo } from '../base/values.ts'
import type { Analysed } from './analyse.ts'
import { type ByteSet, type GrammarNodes, hasByte, NODE, type NodeId } from './grammar-nodes.ts'
import { budgetOf, tooLarge } from './refuse.ts'

export type StackId = number
export type StateId = number

/** Nothing remains to be matched: the text may end. */
export const END: StackId = 0
/** The continuation is unknown: the bottom of a stack that was truncated at a frame. */
const HOLE: StackId = 1
/** The state without stacks: the text cannot be parsed. */
export const DEAD: StateId = 0
const UNKNOWN = -1
const FRAME = 0

/** Maximum number of stacks in one state, including its closure. */
const MAX_STACKS = 1 << 14
const MAX_STATES = 1 << 15
const MAX_CELLS = 1 << 22
const MAX_WORK = 1 << 21

/** The items on top of a state's stacks, expanded until only bytes, tokens and ends are on top. */
export interface Closure {
  /** Byte sets, and the stack that remains after each. */
  readonly sets: readonly ByteSet[]
  readonly next: readonly StackId[]
  /** Token nodes, and the stack that remains after each. */
  readonly tokens: readonly { readonly id: number; readonly negated: boolean; readonly next: StackId }[]
  readonly hasEnd: boolean
  readonly hasHole: boolean
  /** With checks: the stacks whose top is a byte, a token or the end. */
  readonly open: readonly StackId[]
  /** What remains after the checks on top of the stacks. */
  readonly checked: readonly StackId[]
}

/** Whether a text must end in this state because nothing may follow. */
export const mustEnd = ({ hasEnd, sets, tokens }: Closure): boolean =>
  hasEnd && sets.length === 0 && tokens.length === 0

/** The states that follow when the value that ends here is compared with the others. */
export interface Verdict {
  /** The state if the value differs from all others. */
  readonly passed: StateId
  /** The state if the value equals one of the others, so it cannot end here. */
  readonly failed: StateId
}

/** A repetition of one character. */
export interface CharacterRun {
  readonly character: NodeId
  readonly min: number
  readonly max: number
  /** The stack that remains after the run. */
  readonly below: StackId
  /** True if nothing follows the run in its frame. */
  readonly endsFrame: boolean
}

export class Automaton {
  readonly grammar: GrammarNodes
  readonly analysed: Analysed
  /** Transitions. [state][256] */
  table = new Int32Array(64 * 256)
  /** Number of stacks expanded for new states since the last renewal. */
  readonly work = budgetOf('steps for one token', MAX_WORK)
  readonly #stateBudget = budgetOf('states at once', MAX_STATES)
  readonly #cellBudget = budgetOf('stack cells at once', MAX_CELLS)
  readonly #items: number[] = [FRAME, FRAME]
  readonly #below: StackId[] = [END, HOLE]
  readonly #cells = new Map<number, StackId>()
  /**
   * Repetitions with counts that differ from the grammar's. Their nodes are numbered after the grammar's own.
   */
  readonly #counted: { body: number; min: number; max: number }[] = []
  readonly #countedIds = new Map<string, number>()
  readonly #kernels: (readonly StackId[])[] = []
  readonly #states = new Map<string, StateId>()
  readonly #single = new Map<StackId, StateId>()
  readonly #closures: (Closure | undefined)[] = []
  readonly #locals = new Map<StackId, StackId>()
  readonly #least = new Map<StackId, number>()
  readonly #verdicts = new Map<StateId, Verdict | undefined>()
  readonly #hasChecks: boolean
  readonly start: StateId

  /** `hasChecks`: whether to check values that must differ. Otherwise they may be equal. */
  constructor(analysed: Analysed, hasChecks = false) {
    this.analysed = analysed
    this.#hasChecks = hasChecks
    this.grammar = analysed.grammar
    this.state([])
    this.table.fill(DEAD, 0, 256)
    this.start = this.state([this.#push(analysed.root, END)])
  }

  /** Number of stacks in all cached closures. */
  #held = 0

  /** True once the automaton is so large that a new one should replace it; see `carry`. */
  get isFull(): boolean {
    return this.#kernels.length > MAX_STATES / 2 || Math.max(this.#items.length, this.#held) > MAX_CELLS / 2
  }

  /** The state after one more byte; DEAD if no text can continue this way. */
  step(state: StateId, byte: number): StateId {
    // hot
    const next = this.table[state * 256 + byte]!
    return next === UNKNOWN ? this.#step(state, byte) : next
  }

  /** The state of these stacks. */
  state(stacks: readonly StackId[]): StateId {
    if (stacks.length === 1) return memo(this.#single, stacks[0]!, () => this.#newState(stacks))
    const kernel = [...new Set(stacks)].sort((one, other) => one - other)
    if (kernel.length === 1) return this.state(kernel)
    return memo(this.#states, kernel.join(), () => this.#newState(kernel))
  }

  /** The stacks that a state was created from. */
  stacks(state: StateId): readonly StackId[] {
    return this.#kernels[state]!
  }

  closure(state: StateId): Closure {
    this.#closures[state] ??= this.#close(this.#kernels[state]!)
    return this.#closures[state]
  }

  /** Undefined if no checked value ends in the state. */
  verdict(state: StateId): Verdict | undefined {
    return memo(this.#verdicts, state, () => {
      const { open, checked } = this.closure(state)
      if (checked.length === 0) return undefined
      return { passed: this.state([...open, ...checked]), failed: this.state(open) }
    })
  }

  /** The stack below the nearest frame; undefined if the bottom comes first. */
  parent(stack: StackId): StackId | undefined {
    let at = stack
    while (at > HOLE) {
      if (this.#items[at] === FRAME) return this.#bare(at)
      at = this.#below[at]!
    }
    return undefined
  }

  /**
   * The stack down to the nearest frame, above a hole: its mask can be computed without knowing the rest.
   * Counts that no token can exhaust are rounded; `longest` is the number of bytes in the longest token.
   */
  local(stack: StackId, longest: number): StackId {
    return memo(this.#locals, stack, () => {
      const items: number[] = []
      let at = stack
      while (at > HOLE && this.#items[at] !== FRAME) {
        items.push(this.#rounded(this.#items[at]!, longest))
        at = this.#below[at]!
      }
      return items.reduceRight((local, item) => this.#push(item, local), Math.min(at, HOLE))
    })
  }

  /** The run of characters on top of a stack; undefined if there is none. */
  run(stack: StackId): CharacterRun | undefined {
    if (stack <= HOLE) return undefined
    const item = this.#items[stack]!
    if (this.#kind(item) !== NODE.repeat) return undefined
    const { body, min, max } = this.#repeat(item)
    if (this.analysed.isCharacter[body] === 0) return undefined
    const below = this.#below[stack]!
    const endsFrame = below > HOLE && this.#items[below] === FRAME
    return { character: body, min, max, below: this.#bare(below), endsFrame }
  }

  /** The fewest bytes that complete a text. `lengths`: the minimum length of each node. */
  leastBytes(state: StateId, lengths: Float64Array): number {
    return Math.min(...this.stacks(state).map((stack) => this.#leastOf(stack, lengths)))
  }

  #leastOf(stack: StackId, lengths: Float64Array): number {
    const above: StackId[] = []
    let at = stack
    for (; at > HOLE && !this.#least.has(at); at = this.#below[at]!) above.push(at)
    let bytes = this.#least.get(at) ?? 0
    for (const cell of above.reverse()) {
      const item = this.#items[cell]!
      if (item < this.grammar.size) bytes += lengths[item]!
      else {
        const { body, min } = this.#repeat(item)
        if (min > 0) bytes += min * lengths[body]!
      }
      this.#least.set(cell, bytes)
    }
    return bytes
  }

  /** The state with only this node left to match, above a hole. */
  only(node: NodeId): StateId {
    return this.state([this.#push(node, HOLE)])
  }

  /** Converts a state of another automaton of the same grammar to a state of this one. */
  carry(other: Automaton, state: StateId): StateId {
    return this.state(
      other.stacks(state).map((stack) => {
        const items: number[] = []
        for (let at = stack; at > HOLE; at = other.#below[at]!) items.push(other.#items[at]!)
        let result: StackId = END
        for (const item of items.reverse()) {
          if (item === FRAME) result = this.#frame(result)
          else if (this.grammar.kinds[item] === NODE.check && !this.#hasChecks) continue
          else if (item < this.grammar.size) result = this.#push(item, result)
          else {
            const { body, min, max } = other.#repeat(item)
            result = this.#push(this.#counts(body, min, max), result)
          }
        }
        return result
      }),
    )
  }

  #step(state: StateId, byte: number): StateId {
    const { sets, next } = this.closure(state)
    this.work.spend(sets.length)
    const stacks: StackId[] = []
    for (let index = 0; index < sets.length; index++) {
      if (hasByte(sets[index]!, byte)) stacks.push(this.#bare(next[index]!))
    }
    const result = this.state(stacks)
    this.table[state * 256 + byte] = result
    return result
  }

  #newState(kernel: readonly StackId[]): StateId {
    this.#stateBudget.spend(1)
    const id = this.#kernels.push(kernel) - 1
    this.#closures.push(undefined)
    if (this.table.length < (id + 1) * 256) {
      const grown = new Int32Array(this.table.length * 2)
      grown.set(this.table)
      this.table = grown
    }
    this.table.fill(UNKNOWN, id * 256, (id + 1) * 256)
    return id
  }

  /** Expands the top of each stack until it is a byte, a token or an end. */
  #close(kernel: readonly StackId[]): Closure {
    const { grammar } = this
    const { productive } = this.analysed
    const seen = new Set<StackId>(kernel)
    const sets: ByteSet[] = []
    const next: StackId[] = []
    const tokens: { id: number; negated: boolean; next: StackId }[] = []
    const open: StackId[] = []
    const checked: StackId[] = []
    // The set grows while it is iterated, so each stack is expanded once.
    for (const stack of seen) {
      if (stack <= HOLE) {
        if (this.#hasChecks) open.push(stack)
        continue
      }
      if (seen.size > MAX_STACKS) throw tooLarge('ways to read one text', seen.size, MAX_STACKS)
      const item = this.#items[stack]!
      const below = this.#below[stack]!
      const a = grammar.a[item]!
      const b = grammar.b[item]!
      if (item === FRAME) seen.add(below)
      else {
        switch (this.#kind(item)) {
          case NODE.bytes:
            if (this.#hasChecks) open.push(stack)
            sets.push(grammar.sets[a]!)
            next.push(below)
            break
          case NODE.token:
            if (this.#hasChecks) open.push(stack)
            tokens.push({ id: a, negated: b === 1, next: below })
            break
          case NODE.distinct:
            seen.add(this.#push(a, this.#hasChecks ? this.#push(b, below) : below))
            break
          case NODE.check:
            checked.push(below)
            break
          case NODE.seq:
            seen.add(this.#push(a, this.#push(b, below)))
            break
          case NODE.alt:
            for (const option of grammar.options[a]!) {
              if (productive[option] === 1) seen.add(this.#push(option, below))
            }
            break
          case NODE.repeat: {
            const { body, min, max } = this.#repeat(item)
            if (min === 0) seen.add(below)
            if (productive[body] === 0) break
            seen.add(this.#push(body, this.#push(this.#counts(body, Math.max(0, min - 1), max - 1), below)))
            break
          }
          default: {
            const { framed, body } = grammar.rules[a]!
            const isFramed = framed && this.analysed.isCharacter[item] === 0
            seen.add(this.#push(body!, isFramed ? this.#frame(below) : below))
          }
        }
      }
    }
    this.work.spend(seen.size)
    this.#held += seen.size
    return { sets, next, tokens, hasEnd: seen.has(END), hasHole: seen.has(HOLE), open, checked }
  }

  /**
   * The stack without top items that will certainly be skipped, so that equal states are recognised as equal.
   */
  #bare(stack: StackId): StackId {
    let at = stack
    for (;;) {
      if (at <= HOLE) return at
      const item = this.#items[at]!
      if (item === FRAME) at = this.#below[at]!
      else if (this.#kind(item) === NODE.seq) {
        at = this.#push(this.grammar.a[item]!, this.#push(this.grammar.b[item]!, this.#below[at]!))
      } else return at
    }
  }

  #push(item: number, below: StackId): StackId {
    if (item === this.grammar.empty) return below
    return this.#cell(item, below)
  }

  /**
   * Adds a frame, unless there is nothing to match between it and the one below, so tail recursion adds no
   * depth.
   */
  #frame(below: StackId): StackId {
    return below <= HOLE || this.#items[below] === FRAME ? below : this.#cell(FRAME, below)
  }

  #cell(item: number, below: StackId): StackId {
    const key = below * 2 ** 26 + item
    const known = this.#cells.get(key)
    if (known !== undefined) return known
    this.#cellBudget.spend(1)
    this.#below.push(below)
    const id = this.#items.push(item) - 1
    this.#cells.set(key, id)
    return id
  }

  #kind(item: number): number {
    return item >= this.grammar.size ? NODE.repeat : this.grammar.kinds[item]!
  }

  #repeat(item: number): { body: number; min: number; max: number } {
    const { a, b, c, size } = this.grammar
    return item >= size ? this.#counted[item - size]! : { body: a[item]!, min: b[item]!, max: c[item]! }
  }

  /** The item of a repetition with these counts. */
  #counts(body: number, min: number, max: number): number {
    if (max === 0) return this.grammar.empty
    return memo(
      this.#countedIds,
      `${body} ${min} ${max}`,
      () => this.grammar.size + this.#counted.push({ body, min, max }) - 1,
    )
  }

  #rounded(item: number, longest: number): number {
    if (this.#kind(item) !== NODE.repeat) return item
    const { body, min, max } = this.#repeat(item)
    return this.#counts(body, Math.min(min, longest + 1), max > longest ? Number.POSITIVE_INFINITY : max)
  }
}
