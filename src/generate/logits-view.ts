// Logits view. In: where the plan leaves its logits. Out: each row as floats, without allocating one per token.
import type { Plan } from '../graph/plan.ts'
import type { Arena } from '../runtime/arena.ts'
import type { WrittenPlan } from '../runtime/write-plan.ts'

export class LogitsView {
  readonly #arena: Arena
  readonly #address: number
  readonly #stride: number
  readonly #vocab: number
  readonly #rows: Float32Array[] = []
  #buffer: ArrayBufferLike

  constructor(arena: Arena, { logits }: Plan, { activations }: WrittenPlan) {
    this.#arena = arena
    this.#address = activations + logits.arena
    this.#stride = logits.stride
    this.#vocab = logits.vocab
    this.#buffer = arena.memory.buffer
  }

  /** Logits of the step's row `index` [vocab]; valid until the next step, and scratch for its reader. */
  row(index: number): Float32Array {
    const { buffer } = this.#arena.memory
    if (buffer !== this.#buffer) {
      this.#buffer = buffer
      this.#rows.length = 0
    }
    this.#rows[index] ??= new Float32Array(buffer, this.#address + index * this.#stride, this.#vocab)
    return this.#rows[index]
  }
}
