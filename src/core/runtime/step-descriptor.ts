// Lays out `struct step` of wasm/core/abi.h in linear memory, with space for the arrays that it points to.

import { ABI, SEQUENCE_WORDS, STEP, STEP_WORDS } from '../abi/constants.ts'
import { fillRopeTable, type RopeTable } from '../arch/rope.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Arena, Ptr } from './memory/arena.ts'

export interface StepCapacity {
  /** Maximum rows of a step; the plan's `tokens`. */
  readonly tokens: number
  /** Maximum rows whose logits a step may request; the plan's `logitRows`. */
  readonly logitRows: number
  /** Maximum number of sequences in a step. */
  readonly sequences: number
  /** Numbers per input row of a step. Default 0: no input rows. */
  readonly inputWidth?: number | undefined
}

/** One RoPE variant's table [tokens][pairs][2] of cosines and sines. */
interface RopeRegion {
  readonly table: RopeTable
  readonly address: Ptr
  view: Float32Array
}

/** The owner fills in the arrays of a step, then calls `describe`. */
export class StepDescriptor {
  /** The address of the descriptor, which never moves. */
  readonly step: Ptr
  /** Token id, sequence index and position of each row: one u32 each. */
  readonly ids: Ptr
  readonly sequenceOf: Ptr
  readonly positions: Ptr
  /** Rows whose logits are requested. */
  readonly logitRows: Ptr
  /** Records of SEQUENCE_WORDS words. */
  readonly sequences: Ptr
  /** Input rows of the step, f32 [tokens][inputWidth]; undefined if there are none. */
  readonly inputs: Ptr | undefined
  readonly #arena: Arena
  readonly #tokens: number
  readonly #ropes: readonly RopeRegion[]
  #positionsView: Uint32Array = new Uint32Array(0)

  /** `ropes`: the model's kinds of rotation. Throws `architecture` for too many, `out-of-memory`. */
  constructor(arena: Arena, capacity: StepCapacity, ropes: readonly RopeTable[]) {
    const { tokens, logitRows, sequences, inputWidth = 0 } = capacity
    if (ropes.length > ABI.MAX_ROPES) {
      throw new HalfbyteError(
        'architecture',
        `the model has ${ropes.length} kinds of rotary embedding but the engine supports ${ABI.MAX_ROPES}; use another model`,
      )
    }
    const words = (count: number): Ptr => arena.allocate(count * 4, 'the step')
    this.#arena = arena
    this.#tokens = tokens
    this.step = words(STEP_WORDS)
    this.ids = words(tokens)
    this.sequenceOf = words(tokens)
    this.positions = words(tokens)
    this.sequences = words(sequences * SEQUENCE_WORDS)
    this.logitRows = words(logitRows)
    this.inputs = inputWidth === 0 ? undefined : words(tokens * inputWidth)
    this.#ropes = ropes.map((table) => ({
      table,
      address: words(tokens * table.frequencies.length * 2),
      view: new Float32Array(0),
    }))
  }

  // hot
  /**
   * Writes the descriptor of a step with these numbers of rows, sequences and logits, and the RoPE tables for
   * the rows' positions. `places`: as in `fillRopeTable`.
   */
  describe(tokens: number, sequences: number, logits: number, places?: Uint32Array): void {
    const { u32 } = this.#arena
    const step = this.step / 4
    u32[step + STEP.tokens] = tokens
    u32[step + STEP.sequences] = sequences
    u32[step + STEP.logit_count] = logits
    u32[step + STEP.ids] = this.ids
    u32[step + STEP.sequence_of] = this.sequenceOf
    u32[step + STEP.positions] = this.positions
    u32[step + STEP.seqs] = this.sequences
    u32[step + STEP.logit_rows] = this.logitRows
    u32[step + STEP.inputs] = this.inputs ?? 0
    for (let rope = 0; rope < ABI.MAX_ROPES; rope++) {
      u32[step + STEP.ropes + rope] = this.#ropes[rope]?.address ?? 0
    }
    this.#rotate(tokens, places)
  }

  #rotate(tokens: number, places?: Uint32Array): void {
    const { buffer } = this.#arena.memory
    if (this.#positionsView.buffer !== buffer) this.#makeViews(buffer)
    for (let rope = 0; rope < this.#ropes.length; rope++) {
      const { view, table } = this.#ropes[rope]!
      fillRopeTable(view, this.#positionsView, tokens, table, places)
    }
  }

  #makeViews(buffer: ArrayBufferLike): void {
    this.#positionsView = new Uint32Array(buffer, this.positions, this.#tokens)
    for (const rope of this.#ropes) {
      rope.view = new Float32Array(buffer, rope.address, this.#tokens * rope.table.frequencies.length * 2)
    }
  }
}
