// Describes one step in linear memory: its sequences, tokens and requested logits.

import { ABI, SEQUENCE, SEQUENCE_WORDS } from '../../abi/constants.ts'
import { AXES, type RopeTable } from '../../arch/rope.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Plan, PlanRows } from '../../graph/plan/plan.ts'
import type { Arena, Ptr } from '../../runtime/memory/arena.ts'
import type { Pool } from '../../runtime/pool.ts'
import { type StepCapacity, StepDescriptor } from '../../runtime/step-descriptor.ts'
import type { WrittenPlan } from '../../runtime/write-plan.ts'
import type { SequenceState } from '../../state/sequence-state.ts'
import { isInputWord, NO_ROWS, type RowSource, rowMissing } from './row-source.ts'

export class RowsView {
  readonly #arena: Arena
  readonly #address: number
  readonly #stride: number
  readonly #width: number
  readonly #rows: Float32Array[] = []
  #buffer: ArrayBufferLike

  constructor(arena: Arena, rows: PlanRows, { activations }: WrittenPlan) {
    this.#arena = arena
    this.#address = activations + rows.arena
    this.#stride = rows.stride
    this.#width = rows.width
    this.#buffer = arena.memory.buffer
  }

  /** Row `index` [width] of the step. Valid until the next step; the reader may overwrite it. */
  row(index: number): Float32Array {
    const { buffer } = this.#arena.memory
    if (buffer !== this.#buffer) {
      this.#buffer = buffer
      this.#rows.length = 0
    }
    this.#rows[index] ??= new Float32Array(buffer, this.#address + index * this.#stride, this.#width)
    return this.#rows[index]
  }
}

/** A plan, its address in memory, and the threads that run it on the rows described by `step`. */
export interface StepMachine {
  readonly pool: Pool
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  /** Milliseconds. */
  readonly now: () => number
}

/**
 * Filled in for each step: `begin`, then `addSequence` and its `addToken`s for each sequence, then `finish`.
 */
export class StepBuffer {
  /** The address of the descriptor, which never moves. */
  readonly step: Ptr
  readonly capacity: StepCapacity
  /** Rows in place of tokens. */
  readonly inputs: RowSource
  readonly #arena: Arena
  readonly #groups: number
  readonly #descriptor: StepDescriptor
  /** Coordinates [tokens][AXES] of the rows; undefined if they all equal the rows' positions. */
  readonly #places: Uint32Array | undefined
  #tokenCount = 0
  #sequenceCount = 0
  #logitCount = 0
  #position = 0
  /** The coordinate of the next row, which is smaller than its position after an image. */
  #place = 0

  /**
   * `groups`: the plan's state groups. `ropes`: the model's kinds of rotation. `inputs`: rows in place of
   * tokens; default none. Throws `architecture` for too many rotations, `out-of-memory`.
   */
  constructor(
    arena: Arena,
    capacity: StepCapacity,
    groups: number,
    ropes: readonly RopeTable[],
    inputs = NO_ROWS,
  ) {
    this.#arena = arena
    this.capacity = capacity
    this.#groups = groups
    this.inputs = inputs
    this.#descriptor = new StepDescriptor(arena, { ...capacity, inputWidth: inputs.width }, ropes)
    this.step = this.#descriptor.step
    const isPlaced = inputs.isPlaced && ropes.some(({ axes }) => axes !== undefined)
    this.#places = isPlaced ? new Uint32Array((capacity.tokens + 1) * AXES) : undefined
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
  /**
   * The tokens added next continue `state`, whose positions have been reserved. `isWhole`: they all attend
   * to each other. `tokens`: the sequence's tokens; needed if it may have images.
   */
  addSequence(state: SequenceState, isWhole = false, tokens: readonly number[] = []): void {
    const { u32 } = this.#arena
    const sequence = this.#descriptor.sequences / 4 + this.#sequenceCount * SEQUENCE_WORDS
    this.#sequenceCount++
    this.#position = state.length
    this.#place = 0
    // The coordinates of earlier rows are written after the last row, where nothing reads them.
    const rest = this.capacity.tokens
    if (this.#places !== undefined)
      for (let at = 0; at < state.length; at++) this.#locate(tokens[at] ?? 0, rest)
    u32[sequence + SEQUENCE.row0] = this.#tokenCount
    u32[sequence + SEQUENCE.rows] = 0
    u32[sequence + SEQUENCE.position] = state.length
    u32[sequence + SEQUENCE.whole] = isWhole ? 1 : 0
    for (let group = 0; group < ABI.MAX_STATE_GROUPS; group++) {
      u32[sequence + SEQUENCE.tables + group] = group < this.#groups ? state.table(group) : 0
    }
  }

  /**
   * Adds the sequence's next row. Returns its index among the logits if requested, otherwise undefined.
   * Throws `internal` for the word of a row that is not held.
   */
  addToken(id: number, wantLogits: boolean): number | undefined {
    const { u32, f32 } = this.#arena
    const { inputs = 0 } = this.#descriptor
    if (isInputWord(id)) {
      const brought = this.inputs.row(id)
      if (brought === undefined) throw rowMissing(id)
      f32.set(brought, inputs / 4 + this.#tokenCount * brought.length)
    }
    const row = this.#tokenCount++
    const sequence = this.#sequenceCount - 1
    u32[this.#descriptor.ids / 4 + row] = id
    u32[this.#descriptor.sequenceOf / 4 + row] = sequence
    u32[this.#descriptor.positions / 4 + row] = this.#position
    u32[this.#descriptor.sequences / 4 + sequence * SEQUENCE_WORDS + SEQUENCE.rows]!++
    this.#position++
    this.#locate(id, row)
    if (!wantLogits) return undefined
    u32[this.#descriptor.logitRows / 4 + this.#logitCount] = row
    return this.#logitCount++
  }

  #locate(word: number, row: number): void {
    const places = this.#places
    if (places === undefined) return
    const at = row * AXES
    if (isInputWord(word)) this.#place = this.inputs.locate(word, this.#place, places, at)
    else places.fill(this.#place++, at, at + AXES)
  }

  /** Writes the descriptor itself. Throws `internal` if more was added than fits. */
  finish(): void {
    const { tokens, logitRows, sequences } = this.capacity
    if (this.#tokenCount > tokens || this.#logitCount > logitRows || this.#sequenceCount > sequences) {
      throw new HalfbyteError(
        'internal',
        `a step of ${this.#tokenCount} rows, ${this.#logitCount} logits and ${this.#sequenceCount} sequences ` +
          `does not fit ${tokens}, ${logitRows} and ${sequences}`,
      )
    }
    this.#descriptor.describe(this.#tokenCount, this.#sequenceCount, this.#logitCount, this.#places)
  }
}
