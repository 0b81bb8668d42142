// Rows view. In: where the plan leaves rows of floats. Out: each row as floats, without allocating one per token.
import type { PlanRows } from '../../graph/plan/plan.ts'
import type { Arena } from '../../runtime/arena.ts'
import type { WrittenPlan } from '../../runtime/write-plan.ts'

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

  /** The step's row `index` [width]; valid until the next step, and scratch for its reader. */
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
