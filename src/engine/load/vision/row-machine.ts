// A plan in memory that runs on given rows.
import { ABI } from '../../../core/abi/constants.ts'
import { RowSource } from '../../../core/generate/schedule/row-source.ts'
import type { RowsView } from '../../../core/generate/schedule/step-buffer.ts'
import type { Plan } from '../../../core/graph/plan/plan.ts'
import type { Arena } from '../../../core/runtime/memory/arena.ts'
import type { Pool } from '../../../core/runtime/pool.ts'
import type { RowOrder } from '../../../core/vision/row-order.ts'
import type { WeightHooks } from '../load-weights.ts'
import type { PlacedModel } from '../place-model.ts'
import type { PreparedModel } from '../prepare.ts'
import type { EngineTools } from './engine-tools.ts'

/** A machine's input. */
interface RowKind {
  /** Numbers in each row. */
  readonly width: number
  /** See `RowSource`. */
  readonly isPlaced: boolean
  /** For each layer, whether its rows attend only to the same window. */
  readonly windowed: readonly boolean[]
}

export class RowMachine {
  readonly #placed: PlacedModel
  readonly #inputs: GivenRows
  readonly #outputs: RowsView
  readonly #tools: EngineTools
  readonly #parts: readonly PlanPart[]

  private constructor(
    placed: PlacedModel,
    inputs: GivenRows,
    windowed: readonly boolean[],
    tools: EngineTools,
  ) {
    this.#placed = placed
    this.#inputs = inputs
    this.#tools = tools
    this.#parts = partsOf(placed.plan, windowed)
    this.#outputs = new tools.RowsView(placed.arena, placed.plan.hidden, placed.written)
  }

  /** Throws the same errors as `placeModel`. */
  static async place(
    tools: EngineTools,
    arena: Arena,
    prepared: PreparedModel,
    { width, isPlaced, windowed }: RowKind,
    hooks: WeightHooks,
  ): Promise<RowMachine> {
    const inputs = new GivenRows(width, isPlaced)
    // A window has at least one row.
    const sequences = windowed.includes(true) ? prepared.plan.tokens : 1
    const placed = await tools.placeModel(arena, prepared, hooks, { inputs, sequences })
    return new RowMachine(placed, inputs, windowed, tools)
  }

  get width(): number {
    return this.#inputs.width
  }

  get weightsBytes(): number {
    return this.#placed.weightsBytes
  }

  get arenaBytes(): number {
    return this.#placed.plan.arenaBytes
  }

  /**
   * Runs `rows` [any number up to the plan's][width]. `order`: their positions in the image, if they have
   * any. The outputs are valid until the next run.
   */
  run(pool: Pool, rows: Float32Array, order?: RowOrder): RowsView {
    const { step, written } = this.#placed
    const count = rows.length / this.width
    this.#inputs.give(rows, order)
    try {
      for (const { first, last, isWindowed } of this.#parts)
        this.#describe(isWindowed && order !== undefined ? order.windows : [count], () =>
          pool.run(written.records, step.step, first, last),
        )
      return this.#outputs
    } finally {
      this.#inputs.give(NO_ROWS, undefined)
    }
  }

  /** Runs `use` on a step whose rows are in groups of these sizes: each row attends to its group. */
  #describe(groups: readonly number[], use: () => void): void {
    const { step, cache } = this.#placed
    const states = groups.map(() => new this.#tools.SequenceState(cache))
    try {
      step.begin()
      let word = FIRST
      for (const [index, rows] of groups.entries()) {
        const state = states[index]!
        state.reserve(rows)
        step.addSequence(state)
        for (let end = word + rows; word < end; word++) step.addToken(word, false)
      }
      step.finish()
      use()
    } finally {
      for (const state of states) state.release()
    }
  }
}

const NO_ROWS = new Float32Array(0)
const FIRST = 2 ** ABI.INPUT_BIT

/** The rows of one run: word `FIRST` represents the first of them. */
class GivenRows extends RowSource {
  override readonly width: number
  override readonly isPlaced: boolean
  #rows: Float32Array = NO_ROWS
  #order: RowOrder | undefined

  constructor(width: number, isPlaced: boolean) {
    super()
    this.width = width
    this.isPlaced = isPlaced
  }

  give(rows: Float32Array, order: RowOrder | undefined): void {
    this.#rows = rows
    this.#order = order
  }

  override row(word: number): Float32Array {
    const at = (word - FIRST) * this.width
    return this.#rows.subarray(at, at + this.width)
  }

  /** By row and column of the image, regardless of what came before. */
  override locate(word: number, place: number, into: Uint32Array, at: number): number {
    const { patches, columns } = this.#order!
    const patch = patches[word - FIRST]!
    into[at] = 0
    into[at + 1] = Math.floor(patch / columns)
    into[at + 2] = patch % columns
    return place
  }
}

/** Records [first, last) of a plan, for layers that either all have windows or all have none. */
interface PlanPart {
  readonly first: number
  readonly last: number
  readonly isWindowed: boolean
}

/**
 * The record that stores a layer's keys is its first record that depends on which rows attend to each other.
 */
function partsOf({ ops, hidden }: Plan, windowed: readonly boolean[]): PlanPart[] {
  const layers = ops.flatMap(({ name }, index) => (name === 'rope_kv' ? [index] : []))
  const starts = layers.filter((_, layer) => layer === 0 || windowed[layer] !== windowed[layer - 1])
  if (starts.length === 0) return [{ first: 0, last: hidden.ops, isWindowed: false }]
  return starts.map((start, part) => ({
    first: part === 0 ? 0 : start,
    last: starts[part + 1] ?? hidden.ops,
    isWindowed: windowed[layers.indexOf(start)] === true,
  }))
}
