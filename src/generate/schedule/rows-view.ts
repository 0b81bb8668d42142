// Rows view. In: where the plan writes rows of floats. Out: each row as floats, without allocating for each
// token.
import type { PlanRows } from '../../graph/plan/plan.ts'
import type { Arena } from '../../runtime/memory/arena.ts'
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
