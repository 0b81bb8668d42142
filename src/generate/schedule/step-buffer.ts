// Step buffer. In: the sequences and tokens of one step. Out: the ragged descriptor of wasm/core/abi.h, in linear memory.

import { SEQUENCE, SEQUENCE_WORDS, STEP, STEP_WORDS } from '../../abi/blocks.ts'
import { ABI } from '../../abi/constants.ts'
import { fillRopeTable, type RopeTable } from '../../arch/rope.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Arena, Ptr } from '../../runtime/arena.ts'
import type { SequenceState } from '../../state/sequence-state.ts'

export interface StepCapacity {
  /** Most rows of a step; the plan's `tokens`. */
  readonly tokens: number
  /** Most rows whose logits a step may want; the plan's `logitRows`. */
  readonly logitRows: number
  /** Most sequences of a step. */
  readonly sequences: number
}

/** One RoPE variant's table [tokens][pairs][2] of cosines and sines. */
interface RopeRegion {
  readonly table: RopeTable
  readonly address: Ptr
  view: Float32Array
}

/** Filled anew for each step: `begin`, then per sequence `addSequence` and its `addToken`s, then `finish`. */
export class StepBuffer {
  /** The descriptor; does not move. */
  readonly step: Ptr
  readonly capacity: StepCapacity
  readonly #arena: Arena
  readonly #groups: number
  readonly #ropes: readonly RopeRegion[]
  readonly #ids: Ptr
  readonly #sequenceOf: Ptr
  readonly #positions: Ptr
  readonly #sequences: Ptr
  readonly #logitRows: Ptr
  #tokenCount = 0
  #sequenceCount = 0
  #logitCount = 0
  #position = 0
  #positionsView: Uint32Array = new Uint32Array(0)

  /**
   * `groups`: state groups of the plan. `ropes`: each way in which the model rotates.
   * Throws `out-of-memory`.
   */
  constructor(arena: Arena, capacity: StepCapacity, groups: number, ropes: readonly RopeTable[]) {
    if (ropes.length > ABI.MAX_ROPES) {
      throw new HalfbyteError(
        'architecture',
        `the model rotates in ${ropes.length} ways but the engine holds ${ABI.MAX_ROPES}; use another model`,
      )
    }
    const words = (count: number): Ptr => arena.allocate(count * 4, 'the step')
    this.#arena = arena
    this.capacity = capacity
    this.#groups = groups
    this.step = words(STEP_WORDS)
    this.#ids = words(capacity.tokens)
    this.#sequenceOf = words(capacity.tokens)
    this.#positions = words(capacity.tokens)
    this.#sequences = words(capacity.sequences * SEQUENCE_WORDS)
    this.#logitRows = words(capacity.logitRows)
    this.#ropes = ropes.map((table) => ({
      table,
      address: words(capacity.tokens * table.frequencies.length * 2),
      view: new Float32Array(0),
    }))
  }

  /** Rows added so far. */
  get rows(): number {
    return this.#tokenCount
  }

  begin(): void {
    this.#tokenCount = 0
    this.#sequenceCount = 0
    this.#logitCount = 0
  }

  // hot
  /** The tokens that follow continue `state`, whose positions have been reserved. */
  addSequence(state: SequenceState): void {
    const { u32 } = this.#arena
    const sequence = this.#sequences / 4 + this.#sequenceCount * SEQUENCE_WORDS
    this.#sequenceCount++
    this.#position = state.length
    u32[sequence + SEQUENCE.row0] = this.#tokenCount
    u32[sequence + SEQUENCE.rows] = 0
    u32[sequence + SEQUENCE.position] = state.length
    for (let group = 0; group < ABI.MAX_STATE_GROUPS; group++) {
      u32[sequence + SEQUENCE.tables + group] = group < this.#groups ? state.table(group) : 0
    }
  }

  /** Adds the sequence's next row. Returns its index among the logits when they are wanted, else undefined. */
  addToken(id: number, wantLogits: boolean): number | undefined {
    const { u32 } = this.#arena
    const row = this.#tokenCount++
    const sequence = this.#sequenceCount - 1
    u32[this.#ids / 4 + row] = id
    u32[this.#sequenceOf / 4 + row] = sequence
    u32[this.#positions / 4 + row] = this.#position
    u32[this.#sequences / 4 + sequence * SEQUENCE_WORDS + SEQUENCE.rows]!++
    this.#position++
    if (!wantLogits) return undefined
    u32[this.#logitRows / 4 + this.#logitCount] = row
    return this.#logitCount++
  }

  /** Writes the descriptor itself. Throws `internal` when more was added than fits. */
  finish(): void {
    const { tokens, logitRows, sequences } = this.capacity
    if (this.#tokenCount > tokens || this.#logitCount > logitRows || this.#sequenceCount > sequences) {
      throw new HalfbyteError(
        'internal',
        `a step of ${this.#tokenCount} rows, ${this.#logitCount} logits and ${this.#sequenceCount} sequences ` +
          `does not fit ${tokens}, ${logitRows} and ${sequences}`,
      )
    }
    const { u32 } = this.#arena
    const step = this.step / 4
    u32[step + STEP.tokens] = this.#tokenCount
    u32[step + STEP.sequences] = this.#sequenceCount
    u32[step + STEP.logit_count] = this.#logitCount
    u32[step + STEP.ids] = this.#ids
    u32[step + STEP.sequence_of] = this.#sequenceOf
    u32[step + STEP.positions] = this.#positions
    u32[step + STEP.seqs] = this.#sequences
    u32[step + STEP.logit_rows] = this.#logitRows
    for (let rope = 0; rope < ABI.MAX_ROPES; rope++) {
      u32[step + STEP.ropes + rope] = this.#ropes[rope]?.address ?? 0
    }
    this.#rotate()
  }

  #rotate(): void {
    const { buffer } = this.#arena.memory
    if (this.#positionsView.buffer !== buffer) this.#makeViews(buffer)
    for (let rope = 0; rope < this.#ropes.length; rope++) {
      const { view, table } = this.#ropes[rope]!
      fillRopeTable(view, this.#positionsView, this.#tokenCount, table)
    }
  }

  #makeViews(buffer: ArrayBufferLike): void {
    const { tokens } = this.capacity
    this.#positionsView = new Uint32Array(buffer, this.#positions, tokens)
    for (const rope of this.#ropes) {
      rope.view = new Float32Array(buffer, rope.address, tokens * rope.table.frequencies.length * 2)
    }
  }
}
