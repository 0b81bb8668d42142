// One plan in memory, which runs on rows that it is given.
import { InputRows } from '../../../generate/schedule/input-rows.ts'
import type { RowsView } from '../../../generate/schedule/step-buffer.ts'
import type { Arena } from '../../../runtime/memory/arena.ts'
import type { Pool } from '../../../runtime/pool.ts'
import type { WeightHooks } from '../load-weights.ts'
import type { PlacedModel } from '../place-model.ts'
import type { PreparedModel } from '../prepare.ts'
import type { EngineTools } from './engine-tools.ts'

export class RowMachine {
  readonly #placed: PlacedModel
  readonly #inputs: InputRows
  readonly #outputs: RowsView
  readonly #tools: EngineTools

  private constructor(placed: PlacedModel, inputs: InputRows, tools: EngineTools) {
    this.#placed = placed
    this.#inputs = inputs
    this.#tools = tools
    this.#outputs = new tools.RowsView(placed.arena, placed.plan.hidden, placed.written)
  }

  /** `width`: numbers in each input row. `isPlaced`: see `RowSource`. Throws what `placeModel` throws. */
  static async place(
    tools: EngineTools,
    arena: Arena,
    prepared: PreparedModel,
    { width, isPlaced }: { readonly width: number; readonly isPlaced: boolean },
    hooks: WeightHooks,
  ): Promise<RowMachine> {
    const inputs = new InputRows(width, false, isPlaced)
    return new RowMachine(await tools.placeModel(arena, prepared, hooks, { inputs }), inputs, tools)
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
   * Runs `rows` [any number up to the plan's][width], which may lie in a grid of so many `columns`. The
   * outputs are valid until the next run.
   */
  run(pool: Pool, rows: Float32Array, columns?: number): RowsView {
    const { step, cache, written, plan } = this.#placed
    const count = rows.length / this.width
    // Rows of one shape have one name; they are gone after the run.
    const key = (count * 2 ** 16 + (columns ?? 0)).toString(16).padStart(8, '0')
    const words = this.#inputs.wordsOf(key, count, columns)
    const state = new this.#tools.SequenceState(cache)
    this.#inputs.hold(key, rows)
    try {
      state.reserve(count)
      step.begin()
      step.addSequence(state)
      for (const word of words) step.addToken(word, false)
      step.finish()
      pool.run(written.records, step.step, 0, plan.hidden.ops)
      return this.#outputs
    } finally {
      this.#inputs.release(key)
      state.release()
    }
  }
}
