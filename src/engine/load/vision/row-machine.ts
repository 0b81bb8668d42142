// One plan in memory, which runs on rows that it is given.
import { InputRows } from '../../../generate/schedule/input-rows.ts'
import type { RowsView } from '../../../generate/schedule/step-buffer.ts'
import type { Arena } from '../../../runtime/memory/arena.ts'
import type { Pool } from '../../../runtime/pool.ts'
import type { WeightHooks } from '../load-weights.ts'
import type { PlacedModel } from '../place-model.ts'
import type { PreparedModel } from '../prepare.ts'
import type { EngineTools } from './engine-tools.ts'

/** The name of the rows of any run, which are gone after it. */
const KEY = '00000000'

export class RowMachine {
  readonly #placed: PlacedModel
  readonly #inputs: InputRows
  readonly #outputs: RowsView
  readonly #words: readonly number[]
  readonly #tools: EngineTools

  private constructor(placed: PlacedModel, inputs: InputRows, tools: EngineTools) {
    this.#placed = placed
    this.#inputs = inputs
    this.#tools = tools
    this.#words = inputs.wordsOf(KEY, placed.plan.tokens)
    this.#outputs = new tools.RowsView(placed.arena, placed.plan.hidden, placed.written)
  }

  /** `width`: numbers in each input row. Throws what `placeModel` throws. */
  static async place(
    tools: EngineTools,
    arena: Arena,
    prepared: PreparedModel,
    width: number,
    hooks: WeightHooks,
  ): Promise<RowMachine> {
    const inputs = new InputRows(width)
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

  /** Runs `rows` [tokens of the plan][width]. The outputs are valid until the next run. */
  run(pool: Pool, rows: Float32Array): RowsView {
    const { step, cache, written, plan } = this.#placed
    const state = new this.#tools.SequenceState(cache)
    this.#inputs.hold(KEY, rows)
    try {
      state.reserve(plan.tokens)
      step.begin()
      step.addSequence(state)
      for (const word of this.#words) step.addToken(word, false)
      step.finish()
      pool.run(written.records, step.step, 0, plan.hidden.ops)
      return this.#outputs
    } finally {
      this.#inputs.release(KEY)
      state.release()
    }
  }
}
